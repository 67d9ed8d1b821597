#include "plan/column_shards/cost_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/compute/learned_model.h"
#include "models/learned/cost_model.h"
#include "models/learned/exchange_inputs.h"

namespace shardsim {
namespace {

// Returns what learned costs do not cover of the tables; "" where they cover all.
std::string uncovered_table(const Workload& workload, const LabelSetting& setting, const LearnedRange& range) {
  for (const Table& table : workload.tables) {
    const std::string name = "table '" + table.name + "' ";
    if (table.kind != TableKind::pooled) return name + "is a sequence";
    if (!table.access_stated) return name + "does not say how its rows are accessed";
    if (dtype_name(table.dtype) != setting.dtype) return name + "has rows of " + dtype_name(table.dtype);
    if (range.columns_to > 0 && (table.dim > range.columns_to || table.dim < range.columns_from))
      return fmt::format("{}has {} columns", name, table.dim);
  }
  return "";
}

std::string range_text(const LearnedRange& range) {
  return fmt::format("{} to {} samples and {} to {} columns", range.batch_from, range.batch_to, range.columns_from,
                     range.columns_to);
}

LearnedCosts read_costs(MapReader costs, std::string& file) {
  file = costs.text("file", kFileNameRule);
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
  auto_ = false;
  if (costs->kind == Tree::Kind::map) {
    std::string file;
    learned_ = read_costs(options.map("costs"), file);
    for (const ExchangeModel& exchange : read_cost_model(file).exchanges)
      topology_of_nets_[exchange.ranks] = exchange.topology;
  } else {
    auto_ = options.choice("costs", {"auto", "closed_form"}) == "auto";
  }
}

void CostSource::check(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  if (!context.host.answers(PlannerHost::Question::loads))
    throw std::logic_error("costs of shards without what a placement adds");
  if (learned_) check_setting(workload, cluster, context);
  std::string why;
  if (shipped_for(workload, cluster, context, &why) != nullptr) {
    context.host.learned_from(shipped_costs()->setting().judge());
  } else if (!why.empty()) {
    context.host.say(
        fmt::format("The costs that were learned on this GPU do not cover the case ({}; they hold for {}, {}): "
                    "the planner takes those in closed form.",
                    why, text_of(shipped_costs()->setting()), range_text(shipped_costs()->range())));
  }
}

const LearnedCosts* CostSource::shipped_for(const Workload& workload, const Cluster& cluster,
                                            const PlannerContext& context, std::string* why) const {
  if (!auto_ || context.host.kernels() != "fbgemm" || workload.embedding_kernels == "per_table") return nullptr;
  if (shipped_costs() == nullptr) return nullptr;  // data that somebody left out of an installation
  const LabelSetting& setting = shipped_costs()->setting();
  const LearnedRange& range = shipped_costs()->range();
  if (!is_same_device(setting.device, cluster.spec().gpu.model)) return nullptr;
  const std::int64_t batch = workload.batch_per_gpu * cluster.world_size();
  std::string lacking = uncovered_table(workload, setting, range);
  if (workload.optimizer != setting.optimizer) lacking = "updates by " + workload.optimizer;
  if (batch < range.batch_from || batch > range.batch_to) lacking = fmt::format("lookups of {} samples", batch);
  if (lacking.empty()) {
    const std::vector<std::string> beyond = beyond_labels(*shipped_costs(), workload, batch, cluster.spec().gpu);
    if (!beyond.empty()) lacking = beyond.front();
  }
  if (why != nullptr) *why = lacking;
  return lacking.empty() ? shipped_costs().get() : nullptr;
}

void CostSource::check_setting(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  const LabelSetting& setting = learned_->setting();
  const auto refuse = [&](const std::string& what) {
    throw input_error(place_, "the costs were learned from " + what,
                      "Label and train for this workload (shardsim cost-model), or take costs: closed_form");
  };
  const std::int64_t batch = workload.batch_per_gpu * cluster.world_size();
  const LearnedRange& range = learned_->range();
  if (setting.batch == 0 && (batch < range.batch_from || batch > range.batch_to))
    refuse(fmt::format("lookups of {} to {} samples, a rank of this case looks up {}", range.batch_from, range.batch_to,
                       batch));
  if (setting.batch != 0 && setting.batch != batch)
    refuse(fmt::format("lookups of {} samples, a rank of this case looks up {}", setting.batch, batch));
  if (setting.optimizer != workload.optimizer)
    refuse("updates by " + setting.optimizer + ", this workload has " + workload.optimizer);
  for (const Table& table : workload.tables) {
    if (dtype_name(table.dtype) != setting.dtype)
      refuse("rows of " + setting.dtype + ", table '" + table.name + "' has " + dtype_name(table.dtype));
    if (range.columns_to > 0 && table.dim > range.columns_to)
      refuse(fmt::format("tables of up to {} columns, table '{}' has {}", range.columns_to, table.name, table.dim));
  }
  say_without_nets(cluster, context);
  // Labels in closed form are the roofline's, unless somebody chose another compute model for them.
  context.host.learned_from(setting.judge());
  if (setting.device != cluster.spec().gpu.model) {
    context.host.say(fmt::format("The planner's costs were learned on {} (labels: {}), the cluster has {}.",
                                 setting.device, setting.provider, cluster.spec().gpu.model));
  }
}

// Exchanges are a part of what the planner compares: whoever gives nets for them may think that they are asked.
void CostSource::say_without_nets(const Cluster& cluster, const PlannerContext& context) const {
  if (topology_of_nets_.empty() || cluster.world_size() < 2 || nets_serve(cluster)) return;
  std::string of;
  for (const auto& [ranks, topology] : topology_of_nets_) of += (of.empty() ? "" : ", ") + std::to_string(ranks);
  const char* const where = topology_of_nets_.contains(cluster.world_size()) ? " on another network" : "";
  context.host.say(
      fmt::format("The nets for exchanges in the planner's costs are for {} GPUs, and this case has {}{}: its "
                  "exchanges are taken in closed form. Label exchanges of this cluster (shardsim cost-model label) and "
                  "train with them to have nets.",
                  of, cluster.world_size(), where));
}

// Over several nodes a number of ranks says little: then the labels must be of this very cluster.
bool CostSource::nets_serve(const Cluster& cluster) const {
  const auto found = topology_of_nets_.find(cluster.world_size());
  if (found == topology_of_nets_.end()) return false;
  return cluster.nodes() == 1 || found->second == exchange_topology(cluster);
}

std::unique_ptr<ShardCosts> CostSource::shard_costs(const Workload& workload, const Cluster& cluster,
                                                    const PlannerContext& context) const {
  if (learned_) return learned_shard_costs(*learned_, workload, cluster.world_size());
  if (const LearnedCosts* const shipped = shipped_for(workload, cluster, context))
    return learned_shard_costs(*shipped, workload, cluster.world_size());
  return closed_form_shard_costs(workload, cluster, context);
}

std::unique_ptr<PlanCosts> CostSource::plan_costs(const Cluster& cluster, const PlannerContext& context,
                                                  bool with_inputs) const {
  if (nets_serve(cluster)) return learned_plan_costs(*learned_, cluster.world_size());
  return closed_form_plan_costs(cluster, context, with_inputs);
}

}  // namespace shardsim
