#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validate/emulated/campaign_report.h"

namespace shardsim {

// Items as the ranks ran them, each `repeats` times: one Timeline per item, its iterations are the repeats.
using ObserveItems = std::function<std::vector<Timeline>(const std::vector<CampaignItem>& items, int repeats)>;

// Checks what the links really carry; a second time when that is not what the shapers say. Returns the last rates.
std::vector<TierRate> guarded_rates(const EmulatedShape& shape, const ObserveItems& observe);

// Three repeats of every item, five more of those outside their band; `predicted` in the order of the items.
std::vector<CampaignRow> judged_rows(const std::vector<CampaignItem>& items, const std::vector<Timeline>& predicted,
                                     const ObserveItems& observe);

}  // namespace shardsim
