#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "plan/constraints.h"
#include "plan/planners/plan_parts.h"
#include "plan/planners/tier_cut.h"

namespace shardsim {
namespace {

// Who plans the pooled tables beside the sequences where the scenario does not say it: the planner that models of
// pooled tables are trained with, and it keeps to the memory that is left.
constexpr const char* kPooledPlanner = "torchrec";

bool plans_pooled(std::string_view planner) {
  return !planner.starts_with("flexshard") && planner != "per_table";
}

std::vector<std::string> pooled_planners() {
  std::vector<std::string> names = planner_names();
  std::erase_if(names, [](const std::string& name) { return !plans_pooled(name); });
  return names;
}

// The numbers of the tables of one kind.
std::vector<int> tables_of(const Workload& workload, TableKind kind) {
  std::vector<int> tables;
  for (std::size_t i = 0; i < workload.tables.size(); ++i) {
    if (workload.tables[i].kind == kind) tables.push_back(static_cast<int>(i));
  }
  return tables;
}

// The numbers of the tables that are not in this rising list.
std::vector<int> all_but(const std::vector<int>& some, const Workload& workload) {
  std::vector<int> rest;
  for (std::size_t i = 0; i < workload.tables.size(); ++i) {
    if (!std::ranges::binary_search(some, static_cast<int>(i))) rest.push_back(static_cast<int>(i));
  }
  return rest;
}

void refuse_without_sequences(const Workload& workload) {
  if (workload.tables.empty() || !tables_of(workload, TableKind::sequence).empty()) return;
  const Table& table = workload.tables.front();
  throw input_error(
      table.place,
      "table '" + table.name + "' is pooled, like all others, but FlexShard's equations hold only for sequence tables",
      "Use another planner, such as row_wise or table_wise, or make the table a sequence");
}

// Bytes per GPU of everything row-wise: E D s / U + c_mp B L D s (FlexShard paper, cost table), summed over tables.
double row_wise_bytes(const CostParameters& cost, const MergedRows& rows) {
  return rows.bytes(rows.all()) / cost.world + cost.mp_copies * cost.batch * rows.accesses(rows.all());
}

CutRule read_rule(MapReader& options) {
  const std::string cut = options.choice("cut", {"paper", "crossover", "optimal"}, "paper");
  if (cut == "crossover") return CutRule::crossover;
  return cut == "optimal" ? CutRule::optimal : CutRule::paper;
}

// Both FlexShard planners: every sequence table cut by the equations of the paper into two tiers, or three. Pooled
// tables beside them, and sequences that may not be cut, go to another planner afterwards, with the memory that is
// left. Errors: no sequence table that may be cut (Failure::input); a budget that no plan meets (Failure::infeasible,
// with the shortfall and the smallest budget that works); those of the other planner.
class Flexshard : public Planner {
 public:
  // `cut`, `flex_stop` and the bandwidths of the node are options of three tiers, `cap_at_comm_neutral` of two.
  Flexshard(MapReader& options, int tiers);

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override;

 private:
  Plan plan_sequences(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const;
  std::vector<int> others_of(const Workload& workload, const Constraints* constraints) const;
  void read_pooled(MapReader& options);
  void read_budget(MapReader& options);
  void read_stop(MapReader& options);
  void read_bandwidths(MapReader& options, int tiers);
  CostParameters cost(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const;
  double budget(const CostParameters& cost, const MergedRows& rows) const;
  double flex_stop(const CostParameters& cost) const;
  void check_budget(double extra, double smallest, double base) const;

  // The same planner for a workload of sequences alone.
  class Sequences;

  Place place_;
  std::string name_;
  std::string pooled_name_ = kPooledPlanner;
  std::unique_ptr<Planner> pooled_;  // null: kPooledPlanner with its defaults
  TierRequest request_;              // as far as the options say it
  std::int64_t budget_bytes_ = 0;
  std::optional<std::int64_t> limit_bytes_;
  std::optional<double> stop_;            // a probability, 0 for off; absent: from the bandwidths
  std::optional<std::int64_t> rounding_;  // absent: the world size
  bool simulated_rates_ = false;
  Place rates_place_;
  PlannerBandwidths bandwidths_;
  std::int64_t passes_ = 2;
};

class Flexshard::Sequences : public Planner {
 public:
  explicit Sequences(const Flexshard& all) : all_(all) {}
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return all_.plan_sequences(workload, cluster, context);
  }

 private:
  const Flexshard& all_;
};

Flexshard::Flexshard(MapReader& options, int tiers)
    : place_(options.tree().place), name_(fmt::format("flexshard_{}tier", tiers)) {
  read_pooled(options);
  read_budget(options);
  request_.rule = tiers == 3 ? read_rule(options) : CutRule::two_tiers;
  if (tiers == 3) read_stop(options);
  read_bandwidths(options, tiers);
  if (tiers == 2) request_.cap_at_comm_neutral = options.flag("cap_at_comm_neutral", true);
  if (options.has("rounding")) rounding_ = options.count("rounding");
  passes_ = options.count("all_to_all_passes", 2);
}

void Flexshard::read_pooled(MapReader& options) {
  const Tree* const stated = options.value("pooled");
  if (stated == nullptr) return;
  const Tree map = named_map(*stated, pooled_planners());
  const Tree* const name = map.kind == Tree::Kind::map ? map.find("name") : nullptr;
  if (name != nullptr) pooled_name_ = name->scalar;
  if (name == nullptr || !plans_pooled(pooled_name_)) {
    throw input_error(stated->place, "'pooled' is no planner of pooled tables",
                      "Write the name of one, such as torchrec, or a map of its name and options");
  }
  pooled_ = make_planner(map);
}

void Flexshard::read_budget(MapReader& options) {
  if (const Tree* budget = options.value("memory_budget")) {
    budget_bytes_ = signed_bytes_leaf()(*budget).count;
  }
  if (!options.has("memory_limit")) return;
  if (options.has("memory_budget")) {
    throw input_error(
        options.place_of("memory_limit"), "memory_limit and memory_budget cannot be used together",
        "Give either the absolute limit (memory_limit) or the difference from row-wise sharding (memory_budget)");
  }
  limit_bytes_ = options.bytes("memory_limit").count;
}

void Flexshard::read_stop(MapReader& options) {
  const Tree* stop = options.value("flex_stop");
  if (stop == nullptr) return;
  const LeafReader<std::string> word = word_leaf({"off", "from_bandwidths"}, "flex_stop");
  const LeafReader<double> probability = real_leaf(Bounds::above(0));
  note_form(*stop, word.form);
  note_form(*stop, probability.form);
  const std::string& text = scalar_text(*stop, "off, from_bandwidths or a probability");
  const bool number = !text.empty() && std::string_view("0123456789.+-").find(text.front()) != std::string_view::npos;
  if (number) {
    stop_ = probability(*stop);
  } else if (word(*stop) == "off") {
    stop_ = 0;
  }
}

void Flexshard::read_bandwidths(MapReader& options, int tiers) {
  const Tree* rates = options.value("bandwidths");
  rates_place_ = options.place_of("bandwidths");
  if (rates == nullptr) return;
  if (rates->kind != Tree::Kind::map) {
    note_form(*rates, stated_map());
    simulated_rates_ = options.choice("bandwidths", {"constants", "simulated"}) == "simulated";
    return;
  }
  MapReader map = options.map("bandwidths");
  const auto read = [&](std::string_view key, double& rate) {
    if (map.has(key)) rate = map.rate(key).bytes_per_second;
  };
  read("all_to_all_global", bandwidths_.all_to_all_global);
  read("all_reduce_global", bandwidths_.all_reduce_global);
  if (tiers == 3) {
    read("all_to_all_intra", bandwidths_.all_to_all_intra);
    read("all_reduce_cross", bandwidths_.all_reduce_cross);
  }
  map.finish();
}

CostParameters Flexshard::cost(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  CostParameters cost = context.memory.cost_parameters(workload, cluster);
  cost.passes = static_cast<double>(passes_);
  cost.bandwidths = bandwidths_;
  if (!simulated_rates_) return cost;
  if (!context.host.answers(PlannerHost::Question::bandwidths)) {
    throw input_error(rates_place_, "bandwidths: simulated needs a simulator, which this command does not have",
                      "Write constants, or a map of four rates");
  }
  cost.bandwidths = context.host.bandwidths();
  return cost;
}

// Allowed bytes per GPU over all row-wise.
double Flexshard::budget(const CostParameters& cost, const MergedRows& rows) const {
  if (!limit_bytes_) return static_cast<double>(budget_bytes_);
  return static_cast<double>(*limit_bytes_) - row_wise_bytes(cost, rows);
}

double Flexshard::flex_stop(const CostParameters& cost) const {
  return stop_ ? *stop_ : cost.p_flex_stop().value_or(std::numeric_limits<double>::infinity());
}

void Flexshard::check_budget(double extra, double smallest, double base) const {
  if (extra >= smallest) return;
  const bool absolute = limit_bytes_.has_value();
  const double least = std::ceil(smallest + (absolute ? base : 0));
  throw Error(
      Failure::infeasible, place_,
      fmt::format("no FlexShard plan meets the memory budget: {:.0f} bytes per GPU short", std::ceil(smallest - extra)),
      fmt::format("The smallest {} that works is \"{:.0f} B\"", absolute ? "memory_limit" : "memory_budget", least));
}

// The tables that the other planner places: pooled ones, and sequences that may not be cut into tiers.
std::vector<int> Flexshard::others_of(const Workload& workload, const Constraints* constraints) const {
  std::vector<int> others;
  for (std::size_t i = 0; i < workload.tables.size(); ++i) {
    const Table& table = workload.tables[i];
    const TableConstraint* const constraint = constraints == nullptr ? nullptr : constraints->of(table.name);
    const bool tiers = constraint == nullptr || constraint->allows_tiers();
    if (table.kind == TableKind::pooled || !tiers) others.push_back(static_cast<int>(i));
  }
  if (others.size() < workload.tables.size() || workload.tables.empty()) return others;
  throw input_error(
      place_, fmt::format("{} cuts tables into tiers of rows, and the constraints allow that for no sequence", name_),
      "Take another planner, such as torchrec or search, or write row_tiers: true");
}

Plan Flexshard::plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  refuse_without_sequences(workload);
  const std::vector<int> pooled = others_of(workload, context.constraints);
  if (pooled.empty()) return plan_sequences(workload, cluster, context);
  const Sequences sequences(*this);
  const std::unique_ptr<Planner> usual = pooled_ ? nullptr : make_planner(named_map(kPooledPlanner));
  const std::vector<PlanPart> parts = {
      {"sequence tables (" + name_ + ")", name_, &sequences, all_but(pooled, workload)},
      {"pooled tables (" + pooled_name_ + ")", pooled_name_, pooled_ ? pooled_.get() : usual.get(), pooled}};
  return plan_in_parts(parts, workload, cluster, context);
}

Plan Flexshard::plan_sequences(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  const CostParameters parameters = cost(workload, cluster, context);
  const MergedRows rows = merged_rows(workload);
  TierRequest request = request_;
  request.extra_bytes = budget(parameters, rows);
  request.rounding = static_cast<std::uint64_t>(rounding_.value_or(cluster.world_size()));
  request.flex_stop = flex_stop(parameters);
  check_budget(request.extra_bytes, smallest_extra_bytes(parameters, rows, request.rounding),
               row_wise_bytes(parameters, rows));
  return tiered_plan(tier_cut(parameters, rows, request), workload, cluster, context.seed);
}

}  // namespace

std::unique_ptr<Planner> make_flexshard(int tiers, MapReader& options) {
  return std::make_unique<Flexshard>(options, tiers);
}

}  // namespace shardsim
