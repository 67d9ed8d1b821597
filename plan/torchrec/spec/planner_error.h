#pragma once

#include <stdexcept>
#include <string>

namespace shardsim::torchrec {

// What TorchRec calls a PlannerError, by its type. Whoever asks for a plan turns it into an Error of the project.
enum class PlannerFailure {
  insufficient_storage,
  strict_constraints,
  partition,
  other,
  planner_input_context_mismatch,
  plan_loading_failed
};

constexpr const char* name_of(PlannerFailure failure) {
  switch (failure) {
    case PlannerFailure::insufficient_storage:
      return "insufficient_storage";
    case PlannerFailure::strict_constraints:
      return "strict_constraints";
    case PlannerFailure::partition:
      return "partition";
    case PlannerFailure::planner_input_context_mismatch:
      return "planner_input_context_mismatch";
    case PlannerFailure::plan_loading_failed:
      return "plan_loading_failed";
    case PlannerFailure::other:
      break;
  }
  return "other";
}

class PlannerError : public std::runtime_error {
 public:
  PlannerError(PlannerFailure failure, const std::string& what) : std::runtime_error(what), failure_(failure) {}
  PlannerFailure failure() const { return failure_; }

 private:
  PlannerFailure failure_;
};

}  // namespace shardsim::torchrec
