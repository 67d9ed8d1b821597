#include "validate/emulated/validate_emulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "validate/emulated/campaign_round.h"
#include "validate/emulated/observe_programs.h"
#include "validate/emulated/predict_items.h"

namespace shardsim {
namespace {

constexpr int kStraggler = 2;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

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
