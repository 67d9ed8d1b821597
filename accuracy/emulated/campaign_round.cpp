#include "accuracy/emulated/campaign_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>

#include "accuracy/emulated/campaign.h"
#include "base/workers.h"
#include "validate/execute/meet/clock.h"

namespace shardsim {
namespace {

constexpr int kRepeats = 3, kMoreRepeats = 5;
constexpr int kGuardRepeats = 9;  // short ones: a busy moment must not hit them all

constexpr int kStraggler = 2;

constexpr double kLeastShare = 0.25;

// user nice system idle iowait irq softirq steal, as proc(5) has them; zeros where there is no such file.
using CpuTicks = std::array<double, 8>;

CpuTicks cpu_ticks() {
  std::ifstream file("/proc/stat");
  std::string label;
  CpuTicks ticks{};
  file >> label;
  for (double& count : ticks) file >> count;
  return file ? ticks : CpuTicks{};
}

CpuShares shares_since(const CpuTicks& start) {
  CpuTicks ticks = cpu_ticks();
  for (std::size_t i = 0; i < ticks.size(); ++i) ticks[i] -= start[i];
  const double total = std::accumulate(ticks.begin(), ticks.end(), 0.0);
  if (total <= 0) return {};
  return {1 - (ticks[3] + ticks[4]) / total, ticks[7] / total, ticks[6] / total};
}

std::vector<TierRate> rates_seen_once(const EmulatedShape& shape, const ObserveItems& observe) {
  const std::vector<CampaignItem> items = guard_items(shape.ranks);
  return tier_rates(items, observe(items, kGuardRepeats), shape);
}

// The rates of the first of several looks at which they do not hold; else of the last.
std::vector<TierRate> rates_seen_each_time(const EmulatedShape& shape, const ObserveItems& observe) {
  constexpr int kLooks = 3;
  std::vector<TierRate> rates;
  for (int look = 0; look < kLooks && std::ranges::all_of(rates, &TierRate::holds); ++look)
    rates = rates_seen_once(shape, observe);
  return rates;
}

}  // namespace

std::vector<TierRate> guarded_rates(const EmulatedShape& shape, const ObserveItems& observe) {
  const std::vector<TierRate> rates = rates_seen_once(shape, observe);
  return std::ranges::all_of(rates, &TierRate::holds) ? rates : rates_seen_once(shape, observe);
}

std::vector<CampaignRow> judged_rows(const std::vector<CampaignItem>& items, const std::vector<Timeline>& predicted,
                                     const ObserveItems& observe) {
  const std::vector<Timeline> observed = observe(items, kRepeats);
  std::vector<std::vector<CampaignRow>> rows;
  std::vector<CampaignItem> again;
  std::vector<std::size_t> missed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    rows.push_back(rows_of(items[i], predicted.at(i), observed.at(i)));
    if (all_hold(rows.back())) continue;
    missed.push_back(i);
    again.push_back(items[i]);
  }
  const std::vector<Timeline> more = missed.empty() ? std::vector<Timeline>{} : observe(again, kMoreRepeats);
  for (std::size_t i = 0; i < missed.size(); ++i) {
    const std::vector<CampaignRow> found = rows_of(again[i], predicted[missed[i]], more.at(i));
    for (std::size_t row = 0; row < found.size(); ++row) {
      std::vector<double>& repeats = rows[missed[i]][row].observed_ms;
      repeats.insert(repeats.end(), found[row].observed_ms.begin(), found[row].observed_ms.end());
    }
  }
  std::vector<CampaignRow> flat;
  for (const auto& of_item : rows) flat.insert(flat.end(), of_item.begin(), of_item.end());
  return flat;
}

CarriedRates carried_rates(const EmulatedShape& shape, const std::function<bool()>& interrupted) {
  WorkerOptions options;
  options.interrupted = interrupted;
  CarriedRates carried;
  for (const double share : {1.0, 0.5, kLeastShare}) {
    const auto wrong = [&] {
      EmulatedCluster cluster(at_share(shape, share));
      const ObserveItems observe = observer_of(cluster, interrupted);
      return unfit_text(share == kLeastShare ? guarded_rates(cluster.shape(), observe)
                                             : rates_seen_each_time(cluster.shape(), observe));
    };
    carried = {share, run_in_workers({{"the rates of the emulated cluster", wrong}}, options).front()};
    if (carried.unfit.empty()) break;
  }
  return carried;
}

CampaignReport validate_emulated(const EmulatedShape& asked, const std::function<bool()>& interrupted) {
  const double start = monotonic_seconds();
  CampaignReport report;
  report.straggler = kStraggler;
  const ClusterSpec stated = emulated_cluster_spec(asked.ranks);  // first: without its file all work is for nothing
  report.unfit = emulation_obstacle();
  if (!report.unfit.empty()) return report;
  const CarriedRates carried = carried_rates(asked, interrupted);
  report.unfit = carried.unfit;
  if (!report.unfit.empty()) return report;
  report.rate_share = carried.share;
  const EmulatedShape shape = report.shape = at_share(asked, carried.share);
  const ClusterSpec spec = with_rate_share(stated, carried.share);
  const std::vector<CampaignItem> plain = gated_items(shape.ranks), slowed = straggler_items(shape.ranks);
  // Before the cluster is built: afterwards this process lives in namespaces of its own.
  const std::vector<Timeline> of_plain = predict_items(plain, spec);
  const std::vector<Timeline> of_slowed = predict_items(slowed, with_straggler(spec, kStraggler));

  const double setup = monotonic_seconds();
  EmulatedCluster cluster(shape);
  report.setup_s = monotonic_seconds() - setup;
  const CpuTicks ticks = cpu_ticks();
  const ObserveItems observe = observer_of(cluster, interrupted);
  report.rates = guarded_rates(shape, observe);
  report.unfit = unfit_text(report.rates);
  if (!report.unfit.empty()) return report;
  report.plain = judged_rows(plain, of_plain, observe);
  cluster.set_nic_rate(kStraggler, 0.5 * shape.nic);
  report.slowed = judged_rows(slowed, of_slowed, observe);
  report.cpu = shares_since(ticks);
  report.wall_s = monotonic_seconds() - start;
  return report;
}

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
        "this machine is not suited: the {} tier reaches {} between two ranks instead of {} within {:.0f} %. Try again "
        "when the machine is less busy",
        rate.tier, to_text(rate.observed), to_text(rate.expected), 100 * rate.tolerance);
  }
  return "";
}

}  // namespace shardsim
