#include "validate/emulated/campaign_round.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr int kRepeats = 3, kMoreRepeats = 5;
constexpr int kGuardRepeats = 9;  // short ones: a busy moment must not hit them all

bool all_hold(const std::vector<TierRate>& rates) {
  return std::all_of(rates.begin(), rates.end(), [](const TierRate& rate) { return rate.holds(); });
}

bool all_hold(const std::vector<CampaignRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const CampaignRow& row) { return row.holds(); });
}

void add_repeats(std::vector<CampaignRow>& rows, const std::vector<CampaignRow>& more) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].observed_ms.insert(rows[i].observed_ms.end(), more[i].observed_ms.begin(), more[i].observed_ms.end());
  }
}

// Of the items in `missed`, the rest is left alone.
void repeat_missed(const std::vector<CampaignItem>& items, const std::vector<Timeline>& predicted,
                   const std::vector<std::size_t>& missed, const ObserveItems& observe,
                   std::vector<std::vector<CampaignRow>>& rows) {
  std::vector<CampaignItem> again;
  for (const std::size_t i : missed) again.push_back(items[i]);
  const std::vector<Timeline> observed = observe(again, kMoreRepeats);
  for (std::size_t i = 0; i < missed.size(); ++i) {
    add_repeats(rows[missed[i]], rows_of(again[i], predicted[missed[i]], observed.at(i)));
  }
}

}  // namespace

std::vector<TierRate> guarded_rates(const EmulatedShape& shape, const ObserveItems& observe) {
  const std::vector<CampaignItem> items = guard_items(shape.ranks);
  std::vector<TierRate> rates = tier_rates(items, observe(items, kGuardRepeats), shape);
  if (!all_hold(rates)) rates = tier_rates(items, observe(items, kGuardRepeats), shape);
  return rates;
}

std::vector<CampaignRow> judged_rows(const std::vector<CampaignItem>& items, const std::vector<Timeline>& predicted,
                                     const ObserveItems& observe) {
  const std::vector<Timeline> observed = observe(items, kRepeats);
  std::vector<std::vector<CampaignRow>> rows;
  std::vector<std::size_t> missed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    rows.push_back(rows_of(items[i], predicted.at(i), observed.at(i)));
    if (!all_hold(rows.back())) missed.push_back(i);
  }
  if (!missed.empty()) repeat_missed(items, predicted, missed, observe, rows);
  std::vector<CampaignRow> flat;
  for (const auto& of_item : rows) flat.insert(flat.end(), of_item.begin(), of_item.end());
  return flat;
}

}  // namespace shardsim
