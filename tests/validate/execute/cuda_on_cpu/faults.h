#pragma once

#include <cstddef>

namespace shardsim::on_cpu {

// Faults on purpose in this process. Numbers count from 0 in the order of launches; -1: no fault.
struct Faults {
  enum class When { before, in, after };
  int dies_at = -1;  // collective at which the process is killed: when it is launched, half done on its stream, or done
  When when = When::before;
  int hangs_at = -1;         // collective whose launch does not return before its communicator is aborted
  int breaks_at = -1;        // collective after which NCCL reports an error
  int refused_kernel = -1;   // kernel whose launch fails
  int refusal = 1;           // CUDA's code for that
  int faulty_kernel = -1;    // kernel that reads foreign memory: every later call fails
  bool abort_hangs = false;  // taking a communicator away never ends
  int no_devices = 0;        // CUDA's code where it is asked for devices; 0: there is one
  int gpu = -1;              // which GPU this process has; -1: one of its own
  std::size_t memory = std::size_t{1} << 30;  // of the GPU, bytes
};
Faults& faults();

}  // namespace shardsim::on_cpu
