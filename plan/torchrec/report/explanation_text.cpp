#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"

namespace shardsim::torchrec {
namespace {

constexpr std::size_t kRanksWidth = 14, kLongRanksWidth = 40;
constexpr std::size_t kFirstMinor = 5;  // of the columns of the overview: what follows the device memory
constexpr char kRanksHere = '\v';       // stands for ", on ranks 0-7" while tables are compared

std::string optimizer_note(const TableSpec& table) {
  const double m = optimizer_multiplier(table.optimizer, table.dim);
  if (m == 0) return fmt::format("{} keeps no state", name_of(table.optimizer));
  if (table.optimizer == Optimizer::rowwise_adagrad) return fmt::format("tensor / {} columns of the table", table.dim);
  return fmt::format("{} x tensor ({})", m, name_of(table.optimizer));
}

std::string ids_note(const TableStatistics& table, const BatchLoad& load, const Topology& topology) {
  const std::string ids = decimals_text(inputs_per_shard(load, table.option->type, topology), 3);
  if (table.option->type == ShardingType::data_parallel) return fmt::format("{} ids x 8 B", ids);
  return fmt::format("{} ids x {} ranks x 8 B", ids, topology.world_size);
}

std::string output_note(const TableStatistics& table, const BatchLoad& load, std::int64_t cols,
                        const Topology& topology) {
  const TableSpec& spec = *table.table;
  const double vectors = spec.pooled ? load.bags : inputs_per_shard(load, table.option->type, topology);
  const bool copies = table.option->type == ShardingType::data_parallel;
  const std::string ranks = copies ? "" : fmt::format(" x {} ranks", topology.world_size);
  return fmt::format("{} {}{} x {} columns x {} B", decimals_text(vectors, 3), spec.pooled ? "bags" : "items", ranks,
                     cols, spec.output_element_bytes.value_or(spec.element_bytes));
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

void add_step(std::string& text, const char* what, const Storage& bytes, const std::string& note) {
  text += fmt::format("    {:<10}{:>20} B  {}\n", what, with_thousands(bytes.hbm), note);
  if (bytes.ddr != 0)
    text += fmt::format("    {:<10}{:>20} B  in DDR, the host's memory\n", "", with_thousands(bytes.ddr));
  if (bytes.ssd != 0) text += fmt::format("    {:<10}{:>20} B  on the SSD\n", "", with_thousands(bytes.ssd));
}

void add_shard_text(std::string& text, const TableStatistics& table, const ShardExplanation& shard,
                    const RunSettings& settings) {
  const ShardStorage& storage = shard.storage;
  const TableSpec& spec = *table.table;
  const ComputeKernel kernel = table.option->kernel;
  const BatchLoad load = batch_load(spec, settings.estimate);
  text += fmt::format("  {} of {} x {}{}", counted(shard.ranks.size(), "shard"), with_thousands(shard.rows), shard.cols,
                      kRanksHere);
  if (storage.first_level_cache) {
    add_step(text, "cache", {*storage.first_level_cache, 0}, "first-level cache, sized for the whole table");
  } else {
    const TableStorage stored = table_storage(spec, kernel, settings.topology.device, settings.estimate.rules);
    add_step(text, "tensor", storage.tensor,
             fmt::format("{} B x {} / {} elements", with_thousands(stored.whole),
                         with_thousands(shard.rows * shard.cols), with_thousands(spec.rows * spec.dim)));
    add_step(text, "optimizer", storage.optimizer, optimizer_note(spec));
    add_step(text, "cache", {storage.cache_aux, 0},
             cached(kernel) ? fmt::format("rows x (4 + {} x 16) B", decimals_text(storage_load_factor(spec), 4))
                            : "no cache");
  }
  add_step(text, "input", {storage.input, 0}, ids_note(table, load, settings.topology));
  add_step(text, "output", {storage.output, 0}, output_note(table, load, shard.cols, settings.topology));
  add_step(text, "pipeline", storage.buffers, pipeline_note(settings, kernel));
  add_step(text, "in all", storage.total(), "tensor + optimizer + cache + pipeline");
}

std::string name_of_part(const TableStatistics& table) {
  const auto& tier = table.option->tier;
  return printable(table.table->fqn()) + (tier ? fmt::format(" rows {}-{}", tier->begin, tier->end) : "");
}

std::string ids_of_table(const TableStatistics& row) {
  const std::size_t features = row.table->pooling_factors.size();
  return fmt::format("{} id{} a sample for {} feature{}{}", decimals_text(row.indices, 3), row.indices == 1 ? "" : "s",
                     features, features == 1 ? "" : "s", row.table->weighted ? ", weighted" : "");
}

// Over all shards of the table.
std::string perf_line(const TableStatistics& row) {
  const auto ms = [](double value) { return fmt::format("{:.3g}", value); };
  return fmt::format("  {} ms: forward {} compute + {} comms, backward {} + {}, prefetch {}\n",
                     decimals_text(row.perf.total(), 3), ms(row.perf.fwd_compute), ms(row.perf.fwd_comms),
                     ms(row.perf.bwd_compute), ms(row.perf.bwd_comms), ms(row.perf.prefetch_compute));
}

// All but name and ranks. In a plan of ours flex is estimated as the nearest of TorchRec's types.
std::string body_text(const TableStatistics& table, const RunSettings& settings) {
  const TableSpec& spec = *table.table;
  std::string text = fmt::format(": {}, {}, {} rows x {} columns x {} B, {}\n", table.option->type_name(),
                                 name_of(table.option->kernel), with_thousands(spec.rows), spec.dim, spec.element_bytes,
                                 spec.pooled ? "pooled" : "sequence");
  if (table.option->flex) text += "  Estimated as table_row_wise on the ranks of each replica group.\n";
  text += fmt::format("  {}\n", ids_of_table(table)) + perf_line(table);
  for (const ShardExplanation& shard : table.shards) add_shard_text(text, table, shard, settings);
  return text;
}

// Tables that are equal in all but their names and ranks.
struct TableGroup {
  std::string body;
  std::vector<const TableStatistics*> tables;

  std::vector<int> ranks_of(std::size_t shard) const {  // of all tables, by kind of shard
    std::vector<int> ranks;
    for (const TableStatistics* table : tables) {
      const std::vector<int>& more = table->shards[shard].ranks;
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
    return ranks;
  }
};

std::vector<TableGroup> groups_of(const Statistics& statistics) {
  std::vector<TableGroup> groups;
  std::map<std::string, std::size_t> known;
  for (const TableStatistics& table : statistics.tables) {
    std::string body = body_text(table, *statistics.settings);
    const auto [entry, added] = known.try_emplace(table.table->module + body, groups.size());
    if (added) groups.push_back({std::move(body), {}});
    groups[entry->second].tables.push_back(&table);
  }
  return groups;
}

std::string group_name(const TableGroup& group) {
  const std::string name = name_of_part(*group.tables.front());
  const std::size_t others = group.tables.size() - 1;
  return others == 0 ? name : name + " and " + counted(others, "other");
}

std::vector<std::string> overview_row(const TableGroup& group, bool with_ssd) {
  const TableStatistics& table = *group.tables.front();
  const ShardingOption& option = *table.option;
  std::vector<int> ranks;
  for (const TableStatistics* one : group.tables) ranks.insert(ranks.end(), one->ranks.begin(), one->ranks.end());
  std::vector<std::string> cells = {group_name(group),
                                    std::string(option.type_label()),
                                    std::string(name_of(option.kernel)),
                                    decimals_text(table.perf.total(), 3),
                                    decimals_text(gigabytes(option.total.hbm), 3),
                                    decimals_text(gigabytes(option.total.ddr), 3)};
  if (with_ssd) cells.push_back(decimals_text(gigabytes(option.total.ssd), 3));
  cells.push_back(fmt::format("{}", table.table->rows));
  cells.push_back(table.column_width ? fmt::format("{} ({})", table.table->dim, *table.column_width)
                                     : fmt::format("{}", table.table->dim));
  cells.push_back(short_ranks(ranks, kRanksWidth));
  return cells;
}

// Without the ranks, which the steps below have, where it is too wide with them.
std::string overview_text(std::vector<std::vector<std::string>> rows) {
  const std::string text = table_text(rows);
  const std::size_t dashes = text.find('\n') + 1;
  if (text.find('\n', dashes) - dashes <= kTerminalColumns) return text;
  for (auto& row : rows) row.pop_back();
  return table_text(rows);
}

std::string with_ranks(const TableGroup& group) {
  const bool same = std::ranges::all_of(
      group.tables, [&](const TableStatistics* table) { return table->ranks == group.tables.front()->ranks; });
  std::string text;
  std::size_t shard = 0;
  for (const std::string& part : split(group.body, kRanksHere)) {
    if (!text.empty()) {
      text += fmt::format(", on ranks {}{}\n", short_ranks(group.ranks_of(shard++), kLongRanksWidth),
                          same ? "" : " between the tables");
    }
    text += part;
  }
  return text;
}

bool has_ssd(const Statistics& statistics) {
  return std::ranges::any_of(statistics.tables,
                             [](const TableStatistics& table) { return table.option->total.ssd > 0; });
}

std::vector<std::vector<std::string>> overview_head(bool with_ssd) {
  std::vector<std::vector<std::string>> rows = {
      {"Table", "Type", "Kernel", "Perf (ms)", "HBM (GiB)", "DDR (GiB)", "Rows", "Dim", "Ranks"}};
  if (with_ssd) rows.front().insert(rows.front().begin() + 6, "SSD (GiB)");
  return rows;
}

}  // namespace

std::string explanation_text(const Statistics& statistics) {
  const bool with_ssd = has_ssd(statistics);
  std::vector<std::vector<std::string>> rows = overview_head(with_ssd);
  std::string details;
  for (const TableGroup& group : groups_of(statistics)) {
    rows.push_back(overview_row(group, with_ssd));
    details += "\n" + group_name(group) + with_ranks(group);
  }
  return overview_text(std::move(rows)) + details;
}

Sheet slowest_tables(const Statistics& statistics, std::size_t most) {
  std::vector<TableGroup> groups = groups_of(statistics);
  std::ranges::stable_sort(groups, std::greater<>(),
                           [](const TableGroup& group) { return group.tables.front()->perf.total(); });
  const std::size_t shown = groups.size() > most ? std::max<std::size_t>(most, 2) - 1 : groups.size();
  const bool with_ssd = has_ssd(statistics);
  Sheet sheet;
  const auto head = overview_head(with_ssd);
  for (const std::string& header : head.front()) sheet.columns.push_back({header});
  sheet.columns.front() = {.header = sheet.columns.front().header, .number = false, .name = true};
  for (const std::size_t text : {std::size_t{1}, std::size_t{2}}) sheet.columns[text].number = false;
  // Where a line has no room for all, the figures that decide stay: type, time and device memory.
  for (std::size_t c = kFirstMinor; c < sheet.columns.size(); ++c) sheet.columns[c].minor = true;
  std::size_t tables = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    sheet.rows.push_back({overview_row(groups[i], with_ssd)});
    tables += groups[i].tables.size();
  }
  const std::size_t others = statistics.tables.size() - tables;
  if (others > 0) sheet.rows.push_back({{"and " + counted(others, "other") + " that take less time"}});
  return sheet;
}

}  // namespace shardsim::torchrec
