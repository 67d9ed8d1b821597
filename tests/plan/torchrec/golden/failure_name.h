#pragma once

#include <string>

#include "plan/torchrec/spec/names.h"
#include "tests/case_file/fields.h"

namespace shardsim::golden {

// As the golden files write the type of a PlannerError.
constexpr const char* failure_name(torchrec::PlannerFailure failure) {
  switch (failure) {
    case torchrec::PlannerFailure::insufficient_storage:
      return "insufficient_storage";
    case torchrec::PlannerFailure::strict_constraints:
      return "strict_constraints";
    case torchrec::PlannerFailure::invalid_compute_kernel:
      return "invalid_compute_kernel";
    default:
      break;
  }
  return "other";
}

// The class of an error in version 2026-08.
constexpr const char* error_class(torchrec::PlannerFailure failure) {
  switch (failure) {
    case torchrec::PlannerFailure::value_error:
      return "ValueError";
    case torchrec::PlannerFailure::assertion_error:
      return "AssertionError";
    case torchrec::PlannerFailure::runtime_error:
      return "RuntimeError";
    default:
      break;
  }
  return "PlannerError";
}

// An error as the version raises it: {error, error_type}, the type null where it is no PlannerError.
inline Json error_json(torchrec::PlannerFailure failure, torchrec::PlannerVersion version) {
  const std::string name = version == torchrec::PlannerVersion::v2026_08 ? error_class(failure)
                                                                         : error_class(torchrec::PlannerFailure::other);
  return {{"error", name}, {"error_type", name == "PlannerError" ? Json(failure_name(failure)) : Json(nullptr)}};
}

constexpr const char* rule_name(torchrec::PartitionBy rule) {
  constexpr const char* kNames[] = {"device", "host", "uniform", "multi_host"};
  return kNames[static_cast<int>(rule)];
}

}  // namespace shardsim::golden
