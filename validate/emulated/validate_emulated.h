#pragma once

#include <functional>
#include <string>

#include "validate/emulated/campaign_report.h"

namespace shardsim {

struct EmulatedOutcome {
  std::string unfit;  // why it could not be judged here; then the report is empty but for the rates
  CampaignReport report;
};

// The whole round without a scenario: predicts the campaign, builds the emulated cluster in this process, checks its
// rates point to point, runs the campaign, again with the NIC of rank 2 at half rate, and lays both side by side.
// Errors: Failure::run when a rank fails; Interrupted.
EmulatedOutcome validate_emulated(const EmulatedShape& shape, const std::function<bool()>& interrupted);

}  // namespace shardsim
