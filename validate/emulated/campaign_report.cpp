#include "validate/emulated/campaign_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validate/emulated/campaign.h"

namespace shardsim {
namespace {

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

}  // namespace

double CampaignRow::least_ms() const {
  return least(observed_ms);
}

bool TierRate::holds() const {
  return std::abs(observed.bytes_per_second / expected.bytes_per_second - 1) <= tolerance;
}

bool all_hold(const std::vector<CampaignRow>& rows) {
  return std::ranges::all_of(rows, &CampaignRow::holds);
}

bool CampaignReport::holds() const {
  return all_hold(plain) && all_hold(slowed);
}

std::vector<CampaignRow> rows_of(const CampaignItem& item, const Timeline& predicted, const Timeline& observed) {
  std::vector<CampaignRow> rows{{item.label(), item.judged, makespans_ms(predicted).at(0), makespans_ms(observed)}};
  const int streams = static_cast<int>(item.program.streams.size());
  for (int stream = 0; streams > 1 && stream < streams; ++stream) {
    rows.push_back({"  its " + item.program.streams[stream] + " stream", JudgedAs::reported,
                    makespans_ms(predicted, stream).at(0), makespans_ms(observed, stream)});
  }
  return rows;
}

std::vector<TierRate> tier_rates(const std::vector<CampaignItem>& items, const std::vector<Timeline>& observed,
                                 const EmulatedShape& shape) {
  std::vector<TierRate> rates{{"fast", payload_rate(shape.fast, kFastMtu), {}, 0.02},
                              {"NIC", payload_rate(shape.nic, kNicMtu), {}, 0.01}};
  for (std::size_t tier = 0; tier < rates.size(); ++tier) {
    const std::size_t small = 2 * tier, large = small + 1;
    const double ms = least(makespans_ms(observed.at(large))) - least(makespans_ms(observed.at(small)));
    rates[tier].observed = {static_cast<double>(items.at(large).bytes - items.at(small).bytes) / ms * 1e3};
  }
  return rates;
}

std::string unfit_text(const std::vector<TierRate>& rates) {
  for (const TierRate& rate : rates) {
    if (rate.holds()) continue;
    return fmt::format(
        "environment unfit: the {} tier carries {} point to point, not {} within {:.0f} %. Try again on a machine that "
        "is less busy",
        rate.tier, to_text(rate.observed), to_text(rate.expected), 100 * rate.tolerance);
  }
  return "";
}

}  // namespace shardsim
