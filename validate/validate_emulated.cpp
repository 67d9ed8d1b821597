#include "validate/validate_emulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "validate/campaign_round.h"
#include "validate/observe_items.h"
#include "validate/predict_items.h"

namespace shardsim {
namespace {

constexpr int kStraggler = 2;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

ExecuteOptions alone_and_synchronised(int repeats) {
  ExecuteOptions options;
  options.device = "cpu";
  options.warmup = 1;
  options.iterations = repeats;
  options.apart = true;
  return options;
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

}  // namespace

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
  const ObserveItems observe = [&](const std::vector<CampaignItem>& items, int repeats) {
    return observe_items(cluster, items, alone_and_synchronised(repeats), {10, 2, interrupted});
  };
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
