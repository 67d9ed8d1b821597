#include "tests/plan/torchrec/golden/printed_width.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/torchrec/report/text.h"
#include "tests/plan/torchrec/golden/batches.h"
#include "tests/plan/torchrec/golden/perf_cell.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

constexpr std::size_t kGap = 3;

// The cells of a table, header first, a row of dashes below it. Every column is as wide as its longest cell and 3 more.
struct StatisticsTable {
  std::vector<std::vector<std::string>> rows;

  std::size_t width() const;
};

std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (std::size_t& width : widths) width += kGap;
  return widths;
}

std::size_t StatisticsTable::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : column_widths(rows)) sum += width;
  return sum;
}

void add_header(StatisticsTable& table, const std::vector<std::string>& header) {
  table.rows.push_back(header);
  std::vector<std::string> dashes;
  for (const std::string& cell : header) dashes.emplace_back(cell.size() + 2, '-');
  table.rows.push_back(dashes);
}

std::string shards_cell(const Statistics& statistics, const RankStatistics& rank) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < statistics.types.size(); ++i) {
    parts.push_back(fmt::format("{}: {}", statistics.types[i], rank.shards[i]));
  }
  return join(parts, " ");
}

std::string sum_cell(double value, bool whole) {
  return whole ? fmt::format("{:.0f}", value) : decimals_text(value, 3);
}

// As Python prints the number: "3", "3.0", "0.30000000000000004".
std::string plain_cell(double value, bool whole) {
  const std::string text = shortest(value);
  const bool bare = text.find_first_not_of("-0123456789") == std::string::npos;
  return bare && !whole ? text + ".0" : text;
}

std::string load_factor_cell(const TableStatistics& row) {
  if (row.option->kernel != ComputeKernel::fused_uvm_caching) return "None";
  const auto factor = row.option->load_factor ? row.option->load_factor : row.table->sharder_cache_load_factor;
  return factor ? plain_cell(*factor, false) : "None";
}

std::string dimension_cell(const TableStatistics& row) {
  return row.column_width ? fmt::format("{} ({})", row.table->dim, *row.column_width)
                          : fmt::format("{}", row.table->dim);
}

std::string storage_cell(const Storage& storage, bool with_ssd) {
  const auto text = [](std::int64_t bytes) { return decimals_text(gigabytes(bytes), 3) + " GB"; };
  return fmt::format("({}, {}{})", text(storage.hbm), text(storage.ddr), with_ssd ? ", " + text(storage.ssd) : "");
}

std::vector<std::string> parameter_row(const TableStatistics& row, bool batches, bool with_ssd) {
  const TableSpec& table = *row.table;
  std::vector<std::string> cells = {table.fqn(),
                                    std::string(row.option->type_label()),
                                    std::string(name_of(row.option->kernel)),
                                    perf_cell(row.perf),
                                    storage_cell(row.option->total, with_ssd),
                                    load_factor_cell(row),
                                    sum_cell(row.pooling, table.whole_pooling_factors),
                                    plain_cell(row.poolings, table.whole_num_poolings),
                                    sum_cell(row.indices, table.whole_pooling_factors && table.whole_num_poolings),
                                    table.pooled ? "pooled" : "sequence",
                                    table.weighted ? "weighted" : "unweighted",
                                    table.pooled ? "EmbeddingBagCollectionSharder" : "EmbeddingCollectionSharder",
                                    fmt::format("{}", table.pooling_factors.size()),
                                    dimension_cell(row),
                                    fmt::format("{}", table.rows),
                                    row.ranks.empty() ? "None" : rank_text(row.ranks)};
  if (batches) cells.push_back(batches_cell(table));
  return cells;
}

StatisticsTable rank_table(const Statistics& statistics) {
  StatisticsTable table;
  if (statistics.ranks.empty()) return table;
  add_header(table, {"Rank", "HBM (GB)", "DDR (GB)", "Perf (ms)", "Input (MB)", "Output (MB)", "Shards"});
  for (std::size_t i = 0; i < statistics.ranks.size(); ++i) {
    const RankStatistics& rank = statistics.ranks[i];
    const auto cell = [](std::int64_t bytes, double share) {
      return fmt::format("{} ({})", decimals_text(gigabytes(bytes), 3), percent_text(share));
    };
    table.rows.push_back({fmt::format("{}", i), cell(rank.used.hbm, statistics.hbm_share(i)),
                          cell(rank.used.ddr, statistics.ddr_share(i)), perf_cell(rank.perf),
                          decimals_text(rank.input_mb, 2), decimals_text(rank.output_mb, 2),
                          shards_cell(statistics, rank)});
  }
  return table;
}

StatisticsTable parameter_table(const Statistics& statistics) {
  const bool batches = shows_batches(statistics);
  std::vector<std::string> header = {"FQN",
                                     "Sharding",
                                     "Compute Kernel",
                                     "Perf (ms)",
                                     statistics.newest() ? "Storage (HBM, DDR, SSD)" : "Storage (HBM, DDR)",
                                     "Cache Load Factor",
                                     "Sum Pooling Factor",
                                     "Sum Num Poolings",
                                     "Num Indices",
                                     "Output",
                                     "Weighted",
                                     "Sharder",
                                     "Features",
                                     "Emb Dim (CW Dim)",
                                     "Hash Size",
                                     "Ranks"};
  if (batches) header.emplace_back("Batch Sizes");
  StatisticsTable table;
  add_header(table, header);
  for (const TableStatistics& row : statistics.tables) {
    table.rows.push_back(parameter_row(row, batches, statistics.newest()));
  }
  return table;
}

}  // namespace

std::size_t line_width(const Statistics& statistics) {
  constexpr std::size_t kLeast = 90, kRankMargin = 8, kParameterMargin = 6;
  const StatisticsTable ranks = rank_table(statistics);
  const std::size_t rank_width = ranks.rows.empty() ? 0 : ranks.width() + kRankMargin;
  return std::max({kLeast, rank_width, parameter_table(statistics).width() + kParameterMargin});
}

}  // namespace shardsim::golden
