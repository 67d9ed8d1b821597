#include "plan/torchrec/report/explanation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardsim::torchrec {
namespace {

using Json = nlohmann::ordered_json;

// Shards of one size together, however they alternate (grid_shard).
void add_shards(TableExplanation& table, const ShardRun& run, std::span<const int> ranks, int first) {
  auto same = std::find_if(table.shards.begin(), table.shards.end(), [&](const ShardExplanation& other) {
    return other.rows == run.rows && other.cols == run.cols;
  });
  if (same == table.shards.end()) {
    table.shards.push_back({first, 0, {}, run.rows, run.cols, {}});
    same = table.shards.end() - 1;
  }
  same->count += run.count;
  same->ranks.insert(same->ranks.end(), ranks.begin() + first, ranks.begin() + first + run.count);
}

TableExplanation explain_table(const RunResult& run, std::size_t position, const RunSettings& settings) {
  const ShardingOption& option = run.plan[position];
  TableExplanation table;
  table.table = &run.space.table_of(option);
  table.option = &option;
  table.load = batch_load(*table.table, settings.estimate.batch_size);
  table.stored = table_storage(*table.table, option.kernel, settings.topology.device, settings.estimate.rules);
  table.inputs_per_shard = inputs_per_shard(table.load, option.type, settings.topology);
  int first = 0;
  for (const ShardRun& shards : option.runs) {
    add_shards(table, shards, run.assignment.of(position), first);
    first += shards.count;
  }
  for (ShardExplanation& shard : table.shards) {
    shard.storage = shard_storage(*table.table, table.stored, option.type, option.kernel, settings.topology,
                                  settings.estimate, shard.rows, shard.cols, table.load);
  }
  return table;
}

Json shard_json(const ShardExplanation& shard) {
  const ShardStorage& storage = shard.storage;
  const Storage total = storage.total();
  return {{"shards", shard.count},
          {"ranks", shard.ranks},
          {"rows", shard.rows},
          {"cols", shard.cols},
          {"tensor_bytes", {{"hbm", storage.tensor.hbm}, {"ddr", storage.tensor.ddr}}},
          {"optimizer_bytes", {{"hbm", storage.optimizer.hbm}, {"ddr", storage.optimizer.ddr}}},
          {"cache_bytes", storage.first_level_cache.value_or(storage.cache_aux)},
          {"input_bytes", storage.input},
          {"output_bytes", storage.output},
          {"pipeline_bytes", {{"hbm", storage.buffers.hbm}, {"ddr", storage.buffers.ddr}}},
          {"total_bytes", {{"hbm", total.hbm}, {"ddr", total.ddr}}}};
}

}  // namespace

std::vector<TableExplanation> explain(const RunResult& run, const RunSettings& settings) {
  std::vector<TableExplanation> tables;
  for (std::size_t i = 0; i < run.plan.size(); ++i) tables.push_back(explain_table(run, i, settings));
  return tables;
}

std::string explanation_json(const std::vector<TableExplanation>& tables) {
  Json list = Json::array();
  for (const TableExplanation& table : tables) {
    Json shards = Json::array();
    for (const ShardExplanation& shard : table.shards) shards.push_back(shard_json(shard));
    list.push_back({{"fqn", table.table->fqn()},
                    {"sharding_type", table.option->type_name()},
                    {"compute_kernel", name_of(table.option->kernel)},
                    {"shards", shards}});
    if (const auto& tier = table.option->tier) list.back()["tier_rows"] = {tier->begin, tier->end};
  }
  return list.dump();
}

}  // namespace shardsim::torchrec
