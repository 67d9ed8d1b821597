#include "validate/comparison/comparison_report.h"

#include "validate/comparison/comparison_verdict.h"

namespace shardsim {

std::vector<std::string> ComparisonReport::outside() const {
  std::vector<std::string> all;
  if (!tolerance_pct) return all;
  for (const ComparedCase& item : cases)
    for (const std::string& phrase : outside_tolerance(item.comparison, *tolerance_pct))
      all.push_back(item.comparison.case_name + ": " + phrase);
  return all;
}

}  // namespace shardsim
