#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "plan/plan_entries.h"
#include "plan/torchrec/names.h"
#include "topology/rank_set.h"

namespace shardsim {
namespace {

struct Shard {
  NumberPair offsets, sizes;  // row, column
  int rank = 0;
  const Tree* tree = nullptr;
};

// "rank:3/cuda:1" for rank 3, where GPU 1 of its node is rank 3's, or "rank:3/cpu". A plan that is checked without its
// cluster lies on nodes of one GPU, and its devices may have any number.
bool is_placement_of(const std::string& text, int rank, int per_node) {
  const std::string head = fmt::format("rank:{}/", rank);
  if (text == head + "cpu") return true;
  if (per_node > 1) return text == fmt::format("{}cuda:{}", head, rank % per_node);
  const std::string device = head + "cuda:";
  return text.starts_with(device) && text.size() > device.size() && text.size() <= device.size() + 4 &&
         text.find_first_not_of("0123456789", device.size()) == std::string::npos;
}

Shard read_shard(const PlanEntry& entry, const Tree& tree, int rank) {
  required_map(tree, "a shard");
  const Tree& placement = required_field(tree, "placement");
  const std::string& text = scalar_text(placement, "\"rank:R/cuda:L\"");
  if (!is_placement_of(text, rank, entry.per_node)) {
    throw input_error(placement.place, fmt::format("placement {} beside rank {} in 'ranks'", excerpt(text), rank),
                      fmt::format("In the order of 'ranks', write \"rank:{}/cuda:{}\" or \"rank:{}/cpu\"", rank,
                                  rank % entry.per_node, rank));
  }
  return {read_number_pair(required_field(tree, "shard_offsets"), "shard_offsets"),
          read_number_pair(required_field(tree, "shard_sizes"), "shard_sizes"), rank, &tree};
}

std::vector<Shard> read_shards(const PlanEntry& entry, const std::vector<int>& ranks) {
  const Tree& tree = required_field(entry.tree, "shards");
  const std::vector<Tree>& items = required_list(tree, "shards");
  if (items.size() != ranks.size() || items.empty()) {
    throw input_error(tree.place, fmt::format("{} shards for {} ranks", items.size(), ranks.size()),
                      "Give one rank per shard");
  }
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < items.size(); ++i) shards.push_back(read_shard(entry, items[i], ranks[i]));
  return shards;
}

// Blocks that follow each other, cut as we do (the first ones a row longer) or as TorchRec does (ceil(rows / shards)
// rows each until they are used up). Both are read as even shares: they differ by less than a block.
void check_row_blocks(const PlanEntry& entry, std::span<const Shard> shards, std::int64_t column,
                      std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(entry.table.rows);
  const auto count = static_cast<std::int64_t>(shards.size());
  const std::int64_t block = rows / count + (rows % count > 0 ? 1 : 0);
  std::int64_t row = 0;
  bool ours = true;
  bool torchrec = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const Shard& shard = shards[static_cast<std::size_t>(i)];
    const std::int64_t size = shard.sizes.first;
    const bool empty = size == 0 && row == rows;
    const bool joins =
        empty || (shard.offsets.first == row && shard.offsets.second == column && shard.sizes.second == columns);
    ours = ours && joins && size == rows / count + (i < rows % count ? 1 : 0);
    torchrec = torchrec && joins && size == std::min(block, rows - row);
    if (!ours && !torchrec) {
      throw input_error(
          shard.tree->place,
          fmt::format("table '{}': shard {} does not continue {} even blocks of rows", entry.table.name, i, count),
          fmt::format("Cut {} rows into blocks of {}, with {} columns each", rows, block, columns));
    }
    row += size;
  }
}

std::vector<int> ranks_of_shards(const PlanEntry& entry) {
  std::vector<int> ranks;
  const Tree& list = required_field(entry.tree, "ranks");
  for (const Tree& tree : required_list(list, "ranks")) {
    const std::int64_t rank = read_whole_number(tree);
    if (rank >= entry.world_size) {
      throw input_error(tree.place, fmt::format("rank {} is outside the world", rank),
                        fmt::format("Ranks go from 0 to {}", entry.world_size - 1));
    }
    ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

// table_wise: one shard, the table; column_wise, table_column_wise: slices of all rows.
std::vector<Placement> read_slices(const PlanEntry& entry, const Placement& whole) {
  const std::vector<Shard> shards = read_shards(entry, ranks_of_shards(entry));
  if (whole.strategy == Strategy::table_wise && shards.size() != 1) {
    throw input_error(entry.tree.place, fmt::format("table '{}': {} shards", entry.table.name, shards.size()),
                      "A table_wise table is one shard");
  }
  std::vector<Placement> placements;
  for (const Shard& shard : shards) {
    const bool slice = shard.offsets.first == 0 && shard.sizes.first == static_cast<std::int64_t>(entry.table.rows);
    if (!slice || shard.sizes.second == 0 || shard.offsets.second + shard.sizes.second > entry.table.dim) {
      throw input_error(
          shard.tree->place, fmt::format("table '{}': this shard is no slice of it", entry.table.name),
          fmt::format("Write all {} rows, and columns inside 0 to {}", entry.table.rows, entry.table.dim));
    }
    Placement placement = whole;
    placement.column_begin = shard.offsets.second;
    placement.column_end = shard.offsets.second + shard.sizes.second;
    placement.holders = {{shard.rank}};
    placements.push_back(std::move(placement));
  }
  return placements;
}

// grid_shard: column blocks after each other, each cut into blocks of rows.
std::vector<Placement> read_grid(const PlanEntry& entry, const Placement& whole) {
  const std::vector<Shard> shards = read_shards(entry, ranks_of_shards(entry));
  std::vector<Placement> placements;
  for (std::size_t first = 0; first < shards.size();) {
    const NumberPair columns{shards[first].offsets.second, shards[first].sizes.second};
    std::size_t end = first;
    Placement block = whole;
    block.holders = {{}};
    while (end < shards.size() && shards[end].offsets.second == columns.first) {
      block.holders.front().push_back(shards[end++].rank);
    }
    if (columns.second == 0 || columns.first + columns.second > entry.table.dim) {
      throw input_error(shards[first].tree->place,
                        fmt::format("table '{}': this shard has no columns of it", entry.table.name),
                        fmt::format("Write columns inside 0 to {}", entry.table.dim));
    }
    check_row_blocks(entry, std::span(shards).subspan(first, end - first), columns.first, columns.second);
    block.column_begin = columns.first;
    block.column_end = columns.first + columns.second;
    placements.push_back(std::move(block));
    first = end;
  }
  return placements;
}

void check_one_node(const PlanEntry& entry, const std::vector<Placement>& slices) {
  for (const Placement& slice : slices) {
    const int rank = slice.holders.front().front();
    const int first = slices.front().holders.front().front();
    if (entry.per_node == 1 || rank / entry.per_node == first / entry.per_node) continue;
    throw input_error(
        entry.tree.place,
        fmt::format("table '{}': its slices lie on ranks {} and {}, of two nodes", entry.table.name, first, rank),
        "Keep the slices of a table_column_wise table on one node, or write column_wise");
  }
}

}  // namespace

std::vector<Placement> read_torchrec_entry(const PlanEntry& entry, Strategy strategy) {
  Placement whole = blank_placement(entry, strategy);
  if (const Tree* kernel = entry.tree.find("compute_kernel")) {
    whole.compute_kernel = scalar_text(*kernel, "a compute kernel, such as \"fused\"");
    torchrec::parse_compute_kernel(whole.compute_kernel, kernel->place);
  }
  if (strategy == Strategy::grid_shard) return read_grid(entry, whole);
  if (!in_rows(strategy) && strategy != Strategy::data_parallel) {
    std::vector<Placement> slices = read_slices(entry, whole);
    if (strategy == Strategy::table_column_wise) check_one_node(entry, slices);
    return slices;
  }
  whole.holders = {read_rank_set(required_field(entry.tree, "ranks"), entry.world_size)};
  if (in_rows(strategy)) check_row_blocks(entry, read_shards(entry, whole.holders.front()), 0, entry.table.dim);
  return {whole};
}

}  // namespace shardsim
