#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "plan/plan_entries.h"
#include "plan/plan_file.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

struct Shard {
  NumberPair offsets, sizes;  // row, column
  int rank = 0;
  const Tree* tree = nullptr;
};

// "rank:3/cuda:1" for rank 3, where GPU 1 of its node is rank 3's; "rank:3/cpu" where ranks are CPUs. A plan that is
// checked without its cluster lies on nodes of one GPU, and its devices may have any number.
bool is_placement_of(const std::string& text, int rank, int per_node, bool cpus) {
  const std::string head = fmt::format("rank:{}/", rank);
  if (cpus) return text == head + "cpu";
  if (per_node > 1) return text == fmt::format("{}cuda:{}", head, rank % per_node);
  const std::string device = head + "cuda:";
  return text.starts_with(device) && text.size() > device.size() && text.size() <= device.size() + 4 &&
         text.find_first_not_of("0123456789", device.size()) == std::string::npos;
}

// How the placement of this rank is written. Nodes of one GPU may stand for hosts that nobody knows yet; what is
// written is then that of the usual ones.
std::string due_placement(const PlanEntry& entry, int rank) {
  if (entry.cpus) return fmt::format("\"rank:{}/cpu\"", rank);
  if (entry.per_node > 1 || rank == 0) return fmt::format("\"rank:{}/cuda:{}\"", rank, rank % entry.per_node);
  return fmt::format("\"rank:{}/cuda:{}\", where hosts have {} GPUs", rank, rank % kUsualGpus, kUsualGpus);
}

// A table in the memory of the node's CPU, beside others on GPUs, is no kind of plan that is simulated; rows that a GPU
// looks up in host memory are.
Error wrong_device(const PlanEntry& entry, const Place& place, const std::string& text, const std::string& due) {
  const char* wrong = entry.cpus ? " where the ranks are CPUs" : ", but tables lie on GPUs here";
  const char* other = entry.cpus ? "" : "; for rows in host memory take compute kernel fused_uvm or fused_uvm_caching";
  return input_error(place, fmt::format("table '{}': placement {}{}", entry.table.name, excerpt(text), wrong),
                     fmt::format("Write {}{}", due, other));
}

void check_placement(const PlanEntry& entry, const Tree& placement, int rank) {
  const std::string& text = scalar_text(placement, "\"rank:R/cuda:L\"");
  if (is_placement_of(text, rank, entry.per_node, entry.cpus)) return;
  const std::string due = due_placement(entry, rank);
  const std::string device = fmt::format("rank:{}/{}", rank, entry.cpus ? "cpu" : "cuda:");
  const bool other_device = text.starts_with(fmt::format("rank:{}/", rank)) && !text.starts_with(device);
  if (other_device) throw wrong_device(entry, placement.place, text, due);
  throw input_error(
      placement.place,
      fmt::format("table '{}': placement {} beside rank {} in 'ranks'", entry.table.name, excerpt(text), rank),
      "In the order of 'ranks', write " + due);
}

Shard read_shard(const PlanEntry& entry, const Tree& tree, int rank) {
  required_map(tree, "a shard");
  check_placement(entry, required_field(tree, "placement"), rank);
  return {read_number_pair(required_field(tree, "shard_offsets"), "shard_offsets"),
          read_number_pair(required_field(tree, "shard_sizes"), "shard_sizes"), rank, &tree};
}

std::vector<Shard> read_shards(const PlanEntry& entry, const std::vector<int>& ranks) {
  const Tree& tree = required_field(entry.tree, "shards");
  const std::vector<Tree>& items = required_list(tree, "shards");
  if (items.size() != ranks.size() || items.empty()) {
    throw input_error(tree.place,
                      fmt::format("table '{}': {} shards for {} ranks", entry.table.name, items.size(), ranks.size()),
                      "Give one rank per shard");
  }
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < items.size(); ++i) shards.push_back(read_shard(entry, items[i], ranks[i]));
  return shards;
}

// The rows of a bucket, where blocks of these sizes are of whole buckets of as many rows, of which the first blocks
// have one more (torchrec/distributed/planner/enumerators.py, tables with total_num_buckets); 0 where they are not.
std::int64_t bucket_of(const std::vector<std::int64_t>& sizes) {
  const std::int64_t large = sizes.front(), small = sizes.back(), bucket = large - small;
  if (small < 1 || bucket < 1 || large % bucket != 0) return 0;
  const auto change = std::ranges::find(sizes, small);
  const auto is_large = [&](std::int64_t size) { return size == large; };
  const auto is_small = [&](std::int64_t size) { return size == small; };
  return std::all_of(sizes.begin(), change, is_large) && std::all_of(change, sizes.end(), is_small) ? bucket : 0;
}

// Blocks of rows that follow each other, all of the same columns: cut as we do (the first ones a row longer) or as
// TorchRec does (ceil(rows / shards) rows each until they are used up), which differ by less than a block and are read
// as even shares; or in whole buckets. Returns the rows of a bucket, 1 without.
std::uint64_t check_row_blocks(const PlanEntry& entry, const std::vector<Shard>& shards, std::int64_t column,
                               std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(entry.table.rows);
  const auto count = static_cast<std::int64_t>(shards.size());
  const std::int64_t block = rows / count + (rows % count > 0 ? 1 : 0);
  std::int64_t row = 0;
  bool ours = true, torchrec = true;
  const Shard* wrong = nullptr;  // the first that belongs to neither cut
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < count; ++i) {
    const Shard& shard = shards[static_cast<std::size_t>(i)];
    const std::int64_t size = shard.sizes.first;
    const bool empty = size == 0 && row == rows;
    const bool joins =
        empty || (shard.offsets.first == row && shard.offsets.second == column && shard.sizes.second == columns);
    ours = ours && joins && size == rows / count + (i < rows % count ? 1 : 0);
    torchrec = torchrec && joins && size == std::min(block, rows - row);
    if (!ours && !torchrec && wrong == nullptr) wrong = &shard;
    if (!joins) break;
    sizes.push_back(size);
    row += size;
  }
  if (wrong == nullptr) return 1;
  const bool whole = std::ssize(sizes) == count && row == rows && columns == entry.table.dim;
  if (const std::int64_t bucket = whole ? bucket_of(sizes) : 0; bucket > 0) return static_cast<std::uint64_t>(bucket);
  throw input_error(
      wrong->tree->place,
      fmt::format("table '{}': shard {} does not continue {} even blocks of rows, nor blocks of whole "
                  "buckets",
                  entry.table.name, wrong - shards.data(), count),
      fmt::format("Cut {} rows into blocks of {}, each with the same {} columns, or into buckets of which "
                  "the first blocks have one more",
                  rows, block, columns));
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

// A shard holds all rows, or is a block of them.
void check_columns(const PlanEntry& entry, const Shard& shard, bool blocks_of_rows) {
  const bool columns = shard.sizes.second > 0 && shard.offsets.second + shard.sizes.second <= entry.table.dim;
  const bool rows = shard.offsets.first == 0 && shard.sizes.first == static_cast<std::int64_t>(entry.table.rows);
  if (columns && (rows || blocks_of_rows)) return;
  throw input_error(
      shard.tree->place,
      fmt::format("table '{}': this shard is no {} of it", entry.table.name, blocks_of_rows ? "block" : "slice"),
      fmt::format("Write {}columns inside 0 to {}",
                  blocks_of_rows ? "" : fmt::format("all {} rows, and ", entry.table.rows), entry.table.dim));
}

// Shards by first column and width of their block, and, where no rows are shared, by place in the list.
using Blocks = std::map<std::array<std::int64_t, 3>, std::vector<Shard>>;

Blocks blocks_of(const PlanEntry& entry, Strategy strategy) {
  const bool all_columns = in_rows(strategy) && !in_columns(strategy);
  const std::vector<int> ranks =
      all_columns ? read_rank_set(required_field(entry.tree, "ranks"), entry.world_size) : ranks_of_shards(entry);
  Blocks blocks;
  if (all_columns) {
    blocks[{0, entry.table.dim, 0}] = read_shards(entry, ranks);
    return blocks;
  }
  std::int64_t place = 0;
  for (const Shard& shard : read_shards(entry, ranks)) {
    check_columns(entry, shard, in_rows(strategy));
    blocks[{shard.offsets.second, shard.sizes.second, in_rows(strategy) ? 0 : place++}].push_back(shard);
  }
  return blocks;
}

// Blocks of columns, each of one shard or of blocks of rows, which may stand anywhere in the list: row_wise and
// table_row_wise have one, of all columns; table_wise has one of one shard.
std::vector<Placement> read_blocks(const PlanEntry& entry, const Placement& whole) {
  const Blocks blocks = blocks_of(entry, whole.strategy);
  if (whole.strategy == Strategy::table_wise && blocks.size() != 1) {
    throw input_error(entry.tree.place, fmt::format("table '{}': {} shards", entry.table.name, blocks.size()),
                      "A table_wise table is one shard");
  }
  std::vector<Placement> placements;
  for (const auto& [key, shards] : blocks) {
    placements.push_back(whole);
    if (in_rows(whole.strategy)) placements.back().bucket_rows = check_row_blocks(entry, shards, key[0], key[1]);
    placements.back().column_begin = key[0];
    placements.back().column_end = key[0] + key[1];
    placements.back().holders = {{}};
    for (const Shard& shard : shards) placements.back().holders.front().push_back(shard.rank);
  }
  return placements;
}

// The load factor in "cache_params" as in TorchRec's ParameterSharding: null, or a map whose load_factor is null or a
// share. Its other keys are TorchRec's business, but no one's when TorchRec does not know them either
// (pytorch/torchrec torchrec/distributed/types.py, CacheParams).
const Tree* load_factor_of(const PlanEntry& entry) {
  note_key(entry.tree, "cache_params", Form{Form::Kind::map});
  const Tree* const cache = entry.tree.find("cache_params");
  if (cache == nullptr || cache->kind == Tree::Kind::null) return nullptr;
  const std::vector<std::string> known = {"algorithm",         "load_factor", "reserved_memory",          "precision",
                                          "prefetch_pipeline", "stats",       "multipass_prefetch_config"};
  for (const std::string& key : known) note_key(*cache, key);
  note_closed(*cache, known);
  for (const auto& [key, value] : required_map(*cache, "'cache_params'").fields)
    if (std::ranges::find(known, key) == known.end())
      throw input_error(value.place, fmt::format("cache_params has the unknown key {}", excerpt(key)),
                        known_names_hint(key, known));
  const Tree* const factor = cache->find("load_factor");
  if (factor != nullptr && factor->kind == Tree::Kind::null) note_form(*factor, {Form::Kind::anything});
  return factor == nullptr || factor->kind == Tree::Kind::null ? nullptr : factor;
}

void read_cache(const PlanEntry& entry, Placement& whole) {
  const Tree* const factor = load_factor_of(entry);
  if (factor == nullptr) return;
  const double share = parse_real(scalar_text(*factor, "a number above 0 and up to 1"), factor->place);
  if (!(share > 0 && share <= 1)) {
    throw input_error(factor->place,
                      fmt::format("table '{}': cache load factor {}", entry.table.name, excerpt(factor->scalar)),
                      "It is the share of the rows that the cache holds: above 0, and 1 at most");
  }
  if (has_cache(whole.compute_kernel)) whole.cache_load_factor = share;
}

// A size in units of so many bytes; none where TorchRec has null.
std::optional<Bytes> read_store_size(const Tree& params, const char* key, double unit) {
  note_key(params, key, Form{Form::Kind::anything});
  const Tree* const stated = params.find(key);
  if (stated == nullptr || stated->kind == Tree::Kind::null) return std::nullopt;
  const double units = parse_real(scalar_text(*stated, "a number of units"), stated->place);
  if (units >= 0 && units * unit <= kMostExactBytes) return Bytes{std::llround(units * unit)};
  throw input_error(stated->place, fmt::format("{} is {}", key, excerpt(stated->scalar)),
                    "Write 0 or more, of max_l1_cache_size in units of 2^20 bytes, of l2_cache_size of 2^30");
}

// The caches of a key-value store; whatever else TorchRec's KeyValueParams say, such as folders, has no part here.
void read_store(const PlanEntry& entry, Placement& whole) {
  note_key(entry.tree, "key_value_params", Form{Form::Kind::map});
  const Tree* const params = entry.tree.find("key_value_params");
  if (params == nullptr || params->kind == Tree::Kind::null || !in_key_value_store(whole.compute_kernel)) return;
  required_map(*params, "'key_value_params'");
  whole.most_l1 = read_store_size(*params, "max_l1_cache_size", 0x1p20);
  whole.l2 = read_store_size(*params, "l2_cache_size", 0x1p30).value_or(Bytes{});
  if (!whole.most_l1 || whole.most_l1->count > 0) return;
  throw input_error(params->find("max_l1_cache_size")->place,
                    fmt::format("table '{}': max_l1_cache_size is 0, and FBGEMM needs a cache", entry.table.name),
                    "State a size above 0, or leave it out: the load factor decides then");
}

}  // namespace

bool states_cache(const PlanEntry& entry) {
  return load_factor_of(entry) != nullptr;
}

std::vector<Placement> read_torchrec_entry(const PlanEntry& entry, Strategy strategy) {
  Placement whole = whole_table(entry.index, entry.table, strategy, {});
  note_key(entry.tree, "compute_kernel", Form{Form::Kind::text});
  if (const Tree* const kernel = entry.tree.find("compute_kernel")) {
    whole.compute_kernel = scalar_text(*kernel, "a compute kernel, such as \"fused\"");
    if (replicated(strategy) && whole.compute_kernel != "dense") {
      throw input_error(kernel->place,
                        fmt::format("table '{}': compute kernel {} for replicated rows", entry.table.name,
                                    excerpt(whole.compute_kernel)),
                        "Replicated rows are \"dense\"");
    }
  }
  read_cache(entry, whole);
  read_store(entry, whole);
  if (strategy != Strategy::data_parallel) return read_blocks(entry, whole);
  whole.holders = {read_rank_set(required_field(entry.tree, "ranks"), entry.world_size)};
  return {whole};
}

}  // namespace shardsim
