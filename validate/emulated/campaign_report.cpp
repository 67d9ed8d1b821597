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

TierRate rate_between(const std::string& tier, const CampaignItem& small, const Timeline& of_small,
                      const CampaignItem& large, const Timeline& of_large) {
  const double ms = least(makespans_ms(of_large)) - least(makespans_ms(of_small));
  return {tier, {}, {static_cast<double>(large.bytes - small.bytes) / ms * 1e3}, 0};
}

}  // namespace

double CampaignRow::least_ms() const {
  return least(observed_ms);
}

bool TierRate::holds() const {
  return std::abs(observed.bytes_per_second / expected.bytes_per_second - 1) <= tolerance;
}

bool CampaignReport::holds() const {
  const auto all_hold = [](const std::vector<CampaignRow>& rows) {
    return std::all_of(rows.begin(), rows.end(), [](const CampaignRow& row) { return row.holds(); });
  };
  return all_hold(plain) && all_hold(slowed);
}

std::vector<CampaignRow> rows_of(const CampaignItem& item, const Timeline& predicted, const Timeline& observed) {
  std::vector<CampaignRow> rows{{item.label(), item.judged, makespans_ms(predicted).at(0), makespans_ms(observed)}};
  const int streams = static_cast<int>(item.program.streams.size());
  for (int stream = 0; streams > 1 && stream < streams; ++stream) {
    rows.push_back({"  its " + item.program.streams[stream] + " stream", JudgedAs::reported,
                    stream_ends_ms(predicted, stream).at(0), stream_ends_ms(observed, stream)});
  }
  return rows;
}

std::vector<TierRate> tier_rates(const std::vector<CampaignItem>& items, const std::vector<Timeline>& observed,
                                 const EmulatedShape& shape) {
  TierRate fast = rate_between("fast", items.at(0), observed.at(0), items.at(1), observed.at(1));
  TierRate nic = rate_between("NIC", items.at(2), observed.at(2), items.at(3), observed.at(3));
  fast.expected = payload_rate(shape.fast, kFastMtu);
  fast.tolerance = 0.02;
  nic.expected = payload_rate(shape.nic, kNicMtu);
  nic.tolerance = 0.01;
  return {fast, nic};
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

std::string_view what_it_proves() {
  return "A pass validates the flow-and-port layer, the schedule code and the Timeline comparison, nothing else: not "
         "NCCL, kernel launches, GPU copy engines, RoCE congestion control, or anything below about 0.1 ms.";
}

}  // namespace shardsim
