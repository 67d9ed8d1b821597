#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"
#include "models/compute/gpus/gpu_constants.h"
#include "program/timeline/timeline.h"
#include "study/confidence/interval.h"
#include "study/confidence/path_times.h"
#include "study/confidence/residuals.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// The class of errors of calls in a node whose copies through host memory run at a share that nobody stated
// (guesses_host_copies()): nothing is known of it, so its scale is that of a guess.
inline constexpr std::string_view kHostCopies = "host_copies";

// The class of errors of a call of a collective. `across`: between nodes, over `transport`; `bytes` as nccl-tests
// counts.
std::string collective_error_class(std::string_view kind, bool across, std::string_view transport, std::int64_t bytes);

// The scale of the errors on such calls that a calibration of the cluster left out; nothing where none did, or its
// constants do not hold for them. Where they are extrapolated, no more than that of published calls: a calibration
// never knows less than none.
std::optional<HeldOutScale> held_out_scale(const ClusterSpec& spec, const CallShape& call);

// Returns the setting that a simulated case ran on and with.
IterationSetting setting_of(const Case& item, int gpus);

// Returns the parts of an iteration of `ms`: what its critical path runs over, by the class of its errors. Waiting is
// not on the path, but what is waited for is. The parts add up to `ms`; what of the path is no operation is spread over
// them. `path`: path_times() of the iteration of `timeline`. A path that is not known is one part, of class "kernel".
std::vector<IterationPart> parts_of(const Case& item, double ms, const Timeline& timeline,
                                    const std::vector<PathTime>& path, const GpuTable& gpus);

// The figures of a simulated iteration for whoever judges how sure it is.
struct JudgedIteration {
  double ms = 0;                      // of drawn batches the mean
  const Timeline& timeline;           // of drawn batches that of one of them
  const std::vector<PathTime>& path;  // of the same iteration (path_times)
  DrawnSpread spread{};
};

// Gives simulated cases their intervals, by the shipped table of errors, which is read once. A case whose iteration is
// published, or whose model is on its system, is judged by the errors of other systems, whoever asks, so that its
// interval is no witness in its own cause.
class IterationJudge {
 public:
  IterationJudge();

  Interval interval(const Case& item, const JudgedIteration& iteration) const;
  // Returns all that two cases are compared by, and what of the case was never measured: `basis` is empty, and so are
  // the words of the setting for the model and the plan. It is for those who ask thousands of times.
  Interval wordless_interval(const Case& item, const JudgedIteration& iteration) const;

  const ErrorModel& errors() const { return errors_; }

 private:
  std::vector<IterationPart> parts(const Case& item, const JudgedIteration& iteration) const;

  ErrorModel errors_;
  GpuTable gpus_;
};

}  // namespace shardsim
