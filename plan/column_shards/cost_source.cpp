#include "plan/column_shards/cost_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace shardsim {
namespace {

LearnedCosts read_costs(MapReader costs) {
  const std::string file = costs.text("file", kFileNameRule);
  ExpectedSetting expected;
  expected.provider = costs.text("provider", "");
  expected.device = costs.text("device", "");
  costs.finish();
  return LearnedCosts::read(file, expected);
}

}  // namespace

CostSource::CostSource(MapReader& options) : place_(options.place_of("costs")) {
  const Tree* const costs = options.value("costs");
  if (!costs) return;
  if (costs->kind == Tree::Kind::map) {
    learned_ = read_costs(options.map("costs"));
  } else {
    options.choice("costs", {"closed_form"});
  }
}

void CostSource::check(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  if (!context.host.answers(PlannerHost::Question::loads))
    throw std::logic_error("costs of shards without what a placement adds");
  if (learned_) check_setting(workload, cluster, context);
}

void CostSource::check_setting(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  const LabelSetting& setting = learned_->setting();
  const auto refuse = [&](const std::string& what) {
    throw input_error(place_, "the costs were learned from " + what,
                      "Label and train for this workload (shardsim cost-model), or take costs: closed_form");
  };
  const std::int64_t batch = workload.batch_per_gpu * cluster.world_size();
  if (setting.batch != batch)
    refuse(fmt::format("lookups of {} samples, a rank of this case looks up {}", setting.batch, batch));
  if (setting.optimizer != workload.optimizer)
    refuse("updates by " + setting.optimizer + ", this workload has " + workload.optimizer);
  for (const Table& table : workload.tables) {
    if (dtype_name(table.dtype) != setting.dtype)
      refuse("rows of " + setting.dtype + ", table '" + table.name + "' has " + dtype_name(table.dtype));
  }
  // Labels in closed form are the roofline's, unless somebody chose another compute model for them.
  context.host.learned_from(setting.judge());
  if (setting.device != cluster.spec().gpu.model) {
    context.host.say(fmt::format("The planner's costs were learned on {} (labels: {}), the cluster has {}.",
                                 setting.device, setting.provider, cluster.spec().gpu.model));
  }
}

bool CostSource::nets_serve(const Cluster& cluster) const {
  if (!learned_ || cluster.nodes() > 1) return false;
  const std::vector<int> ranks = learned_->exchange_ranks();
  return std::ranges::find(ranks, cluster.world_size()) != ranks.end();
}

std::unique_ptr<ShardCosts> CostSource::shard_costs(const Workload& workload, const Cluster& cluster,
                                                    const PlannerContext& context) const {
  if (learned_) return learned_shard_costs(*learned_, workload, cluster.world_size());
  return closed_form_shard_costs(workload, cluster, context);
}

std::unique_ptr<PlanCosts> CostSource::plan_costs(const Cluster& cluster, const PlannerContext& context,
                                                  bool with_inputs) const {
  if (nets_serve(cluster)) return learned_plan_costs(*learned_, cluster.world_size());
  return closed_form_plan_costs(cluster, context, with_inputs);
}

}  // namespace shardsim
