#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "program/timeline/kineto/kineto_trace.h"
#include "program/timeline/kineto/traced_tables.h"

namespace shardsim {

// Where the time of one rank's training step went, by a profiler's trace. Every instant of the step counts once: as
// work of its kernels, else as a copy, else as a collective that nothing hides, else as waiting for the host.
struct TracedStep {
  struct Part {
    Seconds compute, exchange, copies, waiting;
    Seconds all() const { return compute + exchange + copies + waiting; }
  };
  enum class Phase { lookup, forward, backward, update };
  std::map<Phase, Part> parts;  // waiting, and exposed exchanges and copies, count for what runs next
  Seconds length;               // of the step; the sum of all parts
  Seconds optimizer;            // of the dense part; in `backward`
};

// Kernels of the dense part that do the same kind of work.
struct TracedKernels {
  std::string kind;  // as kernel_kind() has it; "" for names that are not known
  std::int64_t count = 0;
  Seconds time;  // of the GPU, kernels that run beside each other counted each
};

// Holds what a trace says of the steps in it.
struct TracedModel {
  std::string path;
  TracedStep step;                                       // the median one
  std::int64_t steps = 0;                                // that count
  std::int64_t left_out = 0;                             // warm-up and outliers
  Seconds shortest, longest;                             // of those that count
  std::int64_t lookup_kernels = 0, update_kernels = 0;   // of the median step
  std::vector<TracedKernels> kernels;                    // of the dense part by kind, the longest first
  std::vector<std::pair<std::string, Seconds>> largest;  // kernels of the dense part by name, the longest first
  std::vector<std::pair<std::string, Seconds>> unknown;  // those whose names say nothing, the longest first
  TracedShapes shapes;                                   // of the median step, where the profiler recorded them
  std::string device;                                    // as the trace has it; "" where it does not
  std::int64_t device_memory = 0;                        // bytes; 0: not said
  std::int64_t rank = 0, world_size = 1;
  bool passes_known = true;   // false: what is forward of the dense part and what backward is not, all is `forward`
  bool waiting_known = true;  // false: kernels that were lost are part of what waits
  bool world_known = true;    // false: there are collectives, and nothing says of how many ranks
  std::int64_t lost_exchanges = 0;  // launches of collectives without their kernels, in the median step
  std::vector<std::string> notes;   // what was left out or looks wrong, whole sentences
};

// Errors (Failure::input, naming the file): no GPU kernels, those of step_windows(), kernels of several processes or
// devices, launches that most kernels lack, no backward pass (a trace of inference).
TracedModel traced_model(const KinetoTrace& trace);

}  // namespace shardsim
