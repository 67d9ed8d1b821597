#pragma once

#include <set>
#include <string>

#include "validate/measurements/measurements.h"

namespace shardsim {

// What one nccl-tests program says of itself before its results.
struct RunSetting {
  std::string system;
  std::optional<CollectiveKind> kind;   // by the output, else by the file's name
  std::optional<CollectiveKind> asked;  // by the user: the last resort
  std::set<std::string> hosts;
  int ranks = 0;  // 0: not said

  // A row of the run; `place` names the line. Errors (Failure::input): no collective, another one than the user says,
  // or ranks that do not spread evenly over the hosts.
  MeasuredRow row(const Place& place) const;
};

// The setting that the user and the file's name give.
RunSetting setting_of(const std::string& source, const RunHints& hints);

}  // namespace shardsim
