#include <fmt/format.h>

#include <algorithm>

#include "plan/planner.h"
#include "plan/torchrec/bridge/choice.h"
#include "plan/torchrec/bridge/given_plan.h"
#include "plan/torchrec/search/partitioner.h"

namespace shardsim {
namespace {

using torchrec::ComputeKernel;
using torchrec::ShardingType;

std::vector<ShardingType> every_type() {
  using enum Strategy;
  return {data_parallel, table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard};
}

// Plans drawn at random among those that TorchRec's enumerator and partitioners allow.
class Random : public Planner {
 public:
  explicit Random(MapReader& reader) {
    torchrec::ConstraintOptions all;
    all.allowed.place = reader.tree().place;
    all.allowed.sharding_types = torchrec::read_sharding_types(reader);
    all.allowed.compute_kernels = torchrec::read_compute_kernels(reader);
    // Data-parallel tables have the kernel dense, whatever the others have.
    if (!all.allowed.compute_kernels.empty()) all.allowed.compute_kernels.push_back(ComputeKernel::dense);
    if (reader.has("min_partition")) all.min_partition = reader.count("min_partition");
    options_.constraints["*"] = all;
    if (reader.has("seed")) seed_ = static_cast<std::uint64_t>(reader.count("seed", Bounds::from(0), 1));
    if (reader.has("max_replicated")) max_replicated_ = reader.bytes("max_replicated").count;
    tries_ = reader.count("tries", Bounds::from(1).to(100'000), 100);
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    torchrec::PlannerOptions options = torchrec::with_constraints(options_, context.constraints, workload);
    for (auto& [table, constraint] : options.constraints) take_defaults(constraint.allowed);
    torchrec::PlannerRequest request = torchrec::planner_request(options, workload, cluster);
    if (max_replicated_) keep_large_tables_single(request);
    const torchrec::SearchSpace space = space_of(request);
    const torchrec::Topology left = torchrec::reservation_of(request).topology;
    torchrec::RandomDraw draws(space, left);
    Rng rng(seed_.value_or(context.seed));
    bool placed = false;
    for (std::int64_t attempt = 0; attempt < tries_; ++attempt) {
      const auto draw = draws.next(rng);
      if (!draw) continue;
      placed = true;
      Plan plan = torchrec::plan_of(draw->plan, draw->assignment, space, request.order, context.seed);
      if (fits(plan, workload, cluster, context.memory)) return plan;
    }
    throw no_plan(placed, draws.failed_table());
  }

 private:
  // Where neither the planner nor the scenario says what is allowed.
  static void take_defaults(torchrec::TableConstraints& allowed) {
    if (allowed.sharding_types.empty()) allowed.sharding_types = every_type();
    if (allowed.compute_kernels.empty()) allowed.compute_kernels = {ComputeKernel::fused, ComputeKernel::dense};
  }

  void keep_large_tables_single(torchrec::PlannerRequest& request) const {
    for (torchrec::ConstrainedTable& item : request.tables) {
      const double elements = static_cast<double>(item.table.rows) * static_cast<double>(item.table.dim);
      if (elements * item.table.element_bytes <= static_cast<double>(*max_replicated_)) continue;
      std::erase(item.constraints.sharding_types, ShardingType::data_parallel);
      if (item.constraints.sharding_types.empty()) {
        throw input_error(
            {"planner random"},
            fmt::format("table '{}' is larger than max_replicated, and no type but data_parallel is allowed",
                        item.table.name),
            "Allow more sharding_types, or a larger max_replicated");
      }
    }
  }

  static torchrec::SearchSpace space_of(const torchrec::PlannerRequest& request) {
    try {
      return torchrec::enumerate_options(request.tables, request.settings.sharders, request.settings.topology,
                                         request.settings.estimate);
    } catch (const torchrec::PlannerError& error) {
      throw input_error({}, std::string("planner random: ") + error.what(),
                        "Allow more sharding_types or compute_kernels");
    }
  }

  static bool fits(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& memory) {
    const std::vector<std::int64_t> bytes = memory_per_rank(plan, workload, cluster, memory);
    return *std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_per_rank().count;
  }

  Error no_plan(bool placed, const std::string& table) const {
    const std::string wrong =
        placed
            ? fmt::format("none of {} random plans fits by the case's memory model, though TorchRec's finds room",
                          tries_)
            : fmt::format("no random plan fits in {} tries: table '{}' finds no rank or node with room", tries_, table);
    return Error(Failure::infeasible, Place{}, wrong,
                 "Allow sharding types that spread a table (row_wise) or host memory (compute_kernels: "
                 "[fused_uvm]), take more memory or a smaller batch");
  }

  torchrec::PlannerOptions options_;
  std::optional<std::uint64_t> seed_;
  std::int64_t tries_ = 100;
  std::optional<std::int64_t> max_replicated_;  // bytes of a table's rows
};

}  // namespace

std::unique_ptr<Planner> make_random(MapReader& options) {
  return std::make_unique<Random>(options);
}

}  // namespace shardsim
