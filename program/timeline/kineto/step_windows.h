#pragma once

#include <cstdint>
#include <optional>
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
  // Kernels that it launches, and those of them that the profiler has lost: their launches are there alone.
  std::int64_t launched = 0, lost = 0;
  std::int64_t lost_exchanges = 0;  // of `lost`, collectives
  double us() const { return end_us - start_us; }
  double lost_share() const { return launched > 0 ? static_cast<double>(lost) / static_cast<double>(launched) : 0; }
  bool is_whole() const;
  // " 15 kernels that the host launches in `step`, 1 (6.67 %) is not in the trace, 1 of them of collectives".
  std::string lost_text(const std::string& step) const;
};

struct StepWindows {
  std::vector<StepWindow> kept;  // by length
  std::int64_t left_out = 0;     // steps that are none, far longer or shorter than the median, or that lost kernels
  std::vector<std::string> notes;
  const StepWindow& median() const { return kept[(kept.size() - 1) / 2]; }
};

constexpr double kMostLost = 0.02;  // of the kernels of a step: it counts as whole

// Steps that lost kernels count only where all have. Errors (Failure::input, naming the file): no steps, one only,
// steps of several processes or in the wrong order, steps that overlap, kernels that run long before their launch, no
// step whose work has both ends in the trace, a tenth or more of the kernels lost in every step.
StepWindows step_windows(const KinetoTrace& trace, const KinetoRank& rank);

// The same, and nothing for a trace of fewer than two steps, or without work that has both ends.
std::optional<StepWindows> whole_steps(const KinetoTrace& trace, const KinetoRank& rank);

}  // namespace shardsim
