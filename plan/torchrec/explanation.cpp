#include "plan/torchrec/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/torchrec/number_text.h"

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

std::string number(std::int64_t value) {
  return with_thousands(value);
}

std::string optimizer_note(const TableSpec& table) {
  const double m = optimizer_multiplier(table.optimizer, table.dim);
  if (m == 0) return fmt::format("{} keeps no state", name_of(table.optimizer));
  if (table.optimizer == Optimizer::rowwise_adagrad) return fmt::format("tensor / {} columns of the table", table.dim);
  return fmt::format("{} x tensor ({})", m, name_of(table.optimizer));
}

std::string ids_note(const TableExplanation& table, const RunSettings& settings) {
  const std::string ids = decimals_text(table.inputs_per_shard, 3);
  if (table.option->type == ShardingType::data_parallel) return fmt::format("{} ids x 8 B", ids);
  return fmt::format("{} ids x {} ranks x 8 B", ids, settings.topology.world_size);
}

std::string output_note(const TableExplanation& table, const ShardExplanation& shard, const RunSettings& settings) {
  const double vectors = table.table->pooled ? table.load.bags : table.inputs_per_shard;
  const double element = table.table->output_element_bytes.value_or(table.table->element_bytes);
  const bool copies = table.option->type == ShardingType::data_parallel;
  const std::string ranks = copies ? "" : fmt::format(" x {} ranks", settings.topology.world_size);
  return fmt::format("{} {}{} x {} columns x {} B", decimals_text(vectors, 3), table.table->pooled ? "bags" : "items",
                     ranks, shard.cols, element);
}

std::string pipeline_note(const RunSettings& settings, ComputeKernel kernel) {
  const std::string at_peak = settings.estimate.run_embedding_at_peak_memory ? " + output" : "";
  switch (settings.estimate.pipeline) {
    case Pipeline::train_sparse_dist:
      return "train_sparse_dist: 2 x input" + at_peak;
    case Pipeline::train_prefetch_sparse_dist:
      return "train_prefetch_sparse_dist: 3 x input" +
             std::string(cached(kernel) ? " + (1 + 6 / passes) x input of the cache" : "") + at_peak;
    default:
      return fmt::format("{}: input + output", name_of(settings.estimate.pipeline));
  }
}

void add_step(std::string& text, const char* what, std::int64_t hbm, std::int64_t ddr, const std::string& note) {
  const std::string host = ddr == 0 ? "" : fmt::format(" and {} B in DDR", number(ddr));
  text += fmt::format("    {:<10}{:>20} B{}  {}\n", what, number(hbm), host, note);
}

void add_shard_text(std::string& text, const TableExplanation& table, const ShardExplanation& shard,
                    const RunSettings& settings) {
  const ShardStorage& storage = shard.storage;
  const TableSpec& spec = *table.table;
  text += fmt::format("  {} shard{} of {} x {} on ranks {}\n", shard.count, shard.count == 1 ? "" : "s",
                      number(shard.rows), shard.cols, rank_text(shard.ranks));
  if (storage.first_level_cache) {
    add_step(text, "cache", *storage.first_level_cache, 0, "first-level cache, sized for the whole table");
  } else {
    add_step(text, "tensor", storage.tensor.hbm, storage.tensor.ddr,
             fmt::format("{} B of the table x {} of {} elements", number(table.stored.whole),
                         number(shard.rows * shard.cols), number(spec.rows * spec.dim)));
    add_step(text, "optimizer", storage.optimizer.hbm, storage.optimizer.ddr, optimizer_note(spec));
    add_step(text, "cache", storage.cache_aux, 0,
             cached(table.option->kernel)
                 ? fmt::format("rows x (4 + {} x 16) B", decimals_text(storage_load_factor(spec), 4))
                 : "no cache");
  }
  add_step(text, "input", storage.input, 0, ids_note(table, settings));
  add_step(text, "output", storage.output, 0, output_note(table, shard, settings));
  add_step(text, "pipeline", storage.buffers.hbm, storage.buffers.ddr, pipeline_note(settings, table.option->kernel));
  add_step(text, "in all", storage.total().hbm, storage.total().ddr, "tensor + optimizer + cache + pipeline");
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

std::string explanation_text(const std::vector<TableExplanation>& tables, const RunSettings& settings) {
  std::string text;
  for (const TableExplanation& table : tables) {
    text += fmt::format("{}: {}, {}, {} rows x {} columns x {} B\n", table.table->fqn(), name_of(table.option->type),
                        name_of(table.option->kernel), number(table.table->rows), table.table->dim,
                        table.table->element_bytes);
    for (const ShardExplanation& shard : table.shards) add_shard_text(text, table, shard, settings);
  }
  return text;
}

std::string explanation_json(const std::vector<TableExplanation>& tables) {
  Json list = Json::array();
  for (const TableExplanation& table : tables) {
    Json shards = Json::array();
    for (const ShardExplanation& shard : table.shards) shards.push_back(shard_json(shard));
    list.push_back({{"fqn", table.table->fqn()},
                    {"sharding_type", name_of(table.option->type)},
                    {"compute_kernel", name_of(table.option->kernel)},
                    {"shards", shards}});
  }
  return list.dump();
}

}  // namespace shardsim::torchrec
