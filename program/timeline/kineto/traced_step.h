#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "program/timeline/kineto/kineto_trace.h"

namespace shardsim {

// Where the time of one rank's training step went, by a profiler's trace. Every instant of the step counts once: as
// work of its kernels, else as a collective that nothing hides, else as a copy, else as waiting for the host.
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

// What a trace says of the steps in it.
struct TracedModel {
  std::string path;
  TracedStep step;                                      // the median one
  std::int64_t steps = 0;                               // that count
  std::int64_t left_out = 0;                            // warm-up and outliers
  Seconds shortest, longest;                            // of those that count
  std::int64_t lookup_kernels = 0, update_kernels = 0;  // of the median step
  std::vector<std::pair<std::string, Seconds>> dense;   // its kernels that take longest, of the dense part
  std::string device;                                   // as the trace has it; "" where it does not
  std::int64_t world_size = 1;
};

// Errors (Failure::input, naming the file): no GPU kernels, no steps (ProfilerStep#N), one step only, kernels of
// several processes or devices, steps that overlap, launches that most kernels lack, no backward pass (a trace of
// inference), a trace of ROCm.
TracedModel traced_model(const KinetoTrace& trace);

}  // namespace shardsim
