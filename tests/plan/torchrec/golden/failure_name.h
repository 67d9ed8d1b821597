#pragma once

#include "plan/torchrec/spec/names.h"

namespace shardsim::golden {

// As golden.json writes the type of a PlannerError.
constexpr const char* failure_name(torchrec::PlannerFailure failure) {
  switch (failure) {
    case torchrec::PlannerFailure::insufficient_storage:
      return "insufficient_storage";
    case torchrec::PlannerFailure::strict_constraints:
      return "strict_constraints";
    case torchrec::PlannerFailure::other:
      break;
  }
  return "other";
}

constexpr const char* rule_name(torchrec::PartitionBy rule) {
  constexpr const char* kNames[] = {"device", "host", "uniform", "multi_host"};
  return kNames[static_cast<int>(rule)];
}

}  // namespace shardsim::golden
