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
    case torchrec::PlannerFailure::partition:
      return "partition";
    case torchrec::PlannerFailure::planner_input_context_mismatch:
      return "planner_input_context_mismatch";
    case torchrec::PlannerFailure::plan_loading_failed:
      return "plan_loading_failed";
    case torchrec::PlannerFailure::other:
      break;
  }
  return "other";
}

}  // namespace shardsim::golden
