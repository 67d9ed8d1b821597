#pragma once

#include <string>
#include <vector>

#include "study/confidence/interval.h"
#include "study/confidence/iteration_parts.h"

namespace shardsim {

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
