#include "validate/emulated/campaign_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>

#include "validate/emulated/campaign.h"

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

constexpr int kStraggler = 2;

// A look at /proc/stat; all 0 where there is none.
class CpuWatch {
 public:
  CpuWatch() : start_(read()) {}
  CpuShares since_start() const;

 private:
  struct Ticks {
    double total = 0, idle = 0, stolen = 0, softirq = 0;
  };
  static Ticks read();
  Ticks start_;
};

// proc(5): user nice system idle iowait irq softirq steal.
CpuWatch::Ticks CpuWatch::read() {
  std::ifstream file("/proc/stat");
  std::string label;
  std::array<double, 8> ticks{};
  file >> label;
  for (double& count : ticks) file >> count;
  if (!file) return {};
  Ticks sums{0, ticks[3] + ticks[4], ticks[7], ticks[6]};
  for (const double count : ticks) sums.total += count;
  return sums;
}

CpuShares CpuWatch::since_start() const {
  const Ticks now = read();
  const double total = now.total - start_.total;
  if (total <= 0) return {};
  return {1 - (now.idle - start_.idle) / total, (now.stolen - start_.stolen) / total,
          (now.softirq - start_.softirq) / total};
}

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

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

EmulatedOutcome validate_emulated(const EmulatedShape& shape, const std::function<bool()>& interrupted) {
  const Stopwatch all;
  EmulatedOutcome outcome;
  const ClusterSpec spec = emulated_cluster_spec(shape.ranks);
  const std::vector<CampaignItem> plain = gated_items(shape.ranks), slowed = straggler_items(shape.ranks);
  // Before the cluster is built: afterwards this process lives in name spaces of its own.
  const std::vector<Timeline> of_plain = predict_items(plain, spec);
  const std::vector<Timeline> of_slowed = predict_items(slowed, with_straggler(spec, kStraggler));
  outcome.unfit = emulation_obstacle();
  if (!outcome.unfit.empty()) return outcome;

  const Stopwatch setup;
  EmulatedCluster cluster(shape);
  CampaignReport& report = outcome.report;
  report.shape = shape;
  report.straggler = kStraggler;
  report.setup_s = setup.seconds();
  const CpuWatch cpu;
  EmulatedCluster::Limits limits;
  limits.interrupted = interrupted;
  const ObserveItems observe = observer_of(cluster, limits);
  report.rates = guarded_rates(shape, observe);
  outcome.unfit = unfit_text(report.rates);
  if (!outcome.unfit.empty()) return outcome;
  report.plain = judged_rows(plain, of_plain, observe);
  cluster.set_nic_rate(kStraggler, 0.5 * shape.nic);
  report.slowed = judged_rows(slowed, of_slowed, observe);
  report.cpu = cpu.since_start();
  report.wall_s = all.seconds();
  return outcome;
}

}  // namespace shardsim
