#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/torchrec/bridge/given_plan.h"
#include "plan/torchrec/bridge/planner_request.h"
#include "plan/torchrec/estimate/shard_estimate.h"
#include "tests/physics/random_plans.h"

// The shards of a plan with TorchRec's storage estimate of each (plan/torchrec/estimate/shard_estimate.h), for whole
// ids.
namespace shardsim::physics {

// A shard of the plan as the estimate sees it.
struct EstimatedShard {
  const Table* table = nullptr;
  torchrec::ShardingType type = torchrec::ShardingType::table_wise;
  int rank = 0, position = 0, row_shards = 1;
  std::int64_t cols = 0, ids = 0, bags = 0;  // ids: K
  torchrec::ShardStorage storage;            // of K ids
  bool pooled() const { return table->kind == TableKind::pooled; }
};

inline const Table& named_table(const Workload& workload, const std::string& name) {
  return *std::find_if(workload.tables.begin(), workload.tables.end(), [&](const Table& t) { return t.name == name; });
}

inline int row_shards_of(torchrec::ShardingType type, const torchrec::Topology& topology) {
  using torchrec::ShardingType;
  if (type == ShardingType::row_wise) return topology.world_size;
  const bool node = type == ShardingType::table_row_wise || type == ShardingType::grid_shard;
  return node ? topology.local_world_size : 1;
}

// Whole ids instead of fractions move an estimate by no more than half an id per source, and its rounding to bytes.
inline void check_rounding(std::int64_t whole, std::int64_t fraction, double bytes_of_half_an_id) {
  CHECK(std::abs(static_cast<double>(whole - fraction)) <= bytes_of_half_an_id + 1);
}

inline void add_shards(std::vector<EstimatedShard>& shards, const torchrec::GivenTable& given, const RandomPlan& made,
                       const torchrec::RunSettings& settings) {
  const torchrec::BatchLoad load = torchrec::batch_load(given.table, settings.estimate);
  const torchrec::BatchLoad whole{std::floor(load.inputs + 0.5), load.bags};
  const auto stored = torchrec::table_storage(given.table, given.option.kernel, settings.topology.device, {});
  EstimatedShard shard;
  shard.table = &named_table(made.workload, given.table.name);
  shard.type = given.option.type;
  shard.row_shards = row_shards_of(shard.type, settings.topology);
  shard.ids = static_cast<std::int64_t>(whole.inputs);
  shard.bags = static_cast<std::int64_t>(whole.bags);
  int number = 0;
  for (const torchrec::ShardRun& run : given.option.runs) {
    const auto storage_for = [&](const torchrec::BatchLoad& of) {
      return torchrec::shard_storage(given.table, stored, shard.type, given.option.kernel, settings.topology,
                                     settings.estimate, run.rows, run.cols, of);
    };
    shard.cols = run.cols;
    shard.storage = storage_for(whole);
    const bool copies = shard.type == torchrec::ShardingType::data_parallel;
    const double sources = copies ? 1 : settings.topology.world_size;
    check_rounding(shard.storage.input, storage_for(load).input, 4 * sources / shard.row_shards);
    for (int i = 0; i < run.count; ++i, ++number) {
      shard.position = number % shard.row_shards;
      shard.rank = given.ranks[static_cast<std::size_t>(number)];
      shards.push_back(shard);
    }
  }
}

inline std::vector<EstimatedShard> estimated_shards(const RandomPlan& made) {
  torchrec::PlannerRequest request = torchrec::request_of(made.workload);
  request.settings.topology = torchrec::topology_of(*made.cluster);
  request.settings.estimate = torchrec::settings_for(made.workload);
  std::vector<EstimatedShard> shards;
  for (const torchrec::GivenTable& given : torchrec::given_tables(made.plan, made.workload, request)) {
    add_shards(shards, given, made, request.settings);
  }
  return shards;
}

}  // namespace shardsim::physics
