#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/timeline/timeline.h"
#include "validate/comparison/timeline_comparison.h"

namespace shardsim {

struct ComparedCase {
  TimelineComparison comparison;
  Timeline predicted, observed;
};

// All that `shardsim compare` has to say.
struct ComparisonReport {
  std::string predicted, observed;  // paths as given
  std::optional<double> tolerance_pct;
  std::vector<ComparedCase> cases;
  std::vector<std::string> only_predicted, only_observed;  // cases without a partner

  // What is outside the tolerance, "CASE: iteration +12.3 %"; empty without a tolerance.
  std::vector<std::string> outside() const;
};

}  // namespace shardsim
