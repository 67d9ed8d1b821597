#pragma once

#include <string>
#include <vector>

#include "program/timeline/kineto/kineto_trace.h"

namespace shardsim {

// One training step. Where the GPU keeps up with the host it is the host's own (ProfilerStep#N), to the start of the
// next one. Where the host runs ahead, its steps are as long as the queue lets them be: there the step is from the end
// of the work that the step before launched to the end of its own.
struct StepWindow {
  int number = 0;
  double start_us = 0, end_us = 0;
  double host_start_us = 0, host_end_us = 0;  // in which it is launched
  double us() const { return end_us - start_us; }
};

struct StepWindows {
  std::vector<StepWindow> kept;  // by length
  std::int64_t left_out = 0;     // steps that are none, or far longer or shorter than the median
  std::vector<std::string> notes;
};

// Errors (Failure::input, naming the file): no steps, one only, steps of several processes or in the wrong order, steps
// that overlap, kernels that run long before their launch, no step whose work has both ends in the trace.
StepWindows step_windows(const KinetoTrace& trace, const KinetoRank& rank);

}  // namespace shardsim
