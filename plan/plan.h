#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace shardsim {

struct Table;

// TorchRec's sharding types, in its order, and flex.
enum class Strategy {
  data_parallel,
  table_wise,
  column_wise,
  table_column_wise,
  row_wise,
  table_row_wise,
  grid_shard,
  flex
};

// In the order of Strategy.
inline constexpr std::array<std::string_view, 8> kStrategies = {"data_parallel",     "table_wise", "column_wise",
                                                                "table_column_wise", "row_wise",   "table_row_wise",
                                                                "grid_shard",        "flex"};

std::string_view strategy_name(Strategy strategy);
// Errors: Failure::input for an unknown name, at `place` or `source`; lists the known ones.
Strategy parse_strategy(std::string_view name, const Place& place);
Strategy parse_strategy(std::string_view name, const std::string& source);
std::vector<std::string> strategy_names();  // alphabetical
bool replicated(Strategy strategy);         // data_parallel and flex hold copies of a row on several ranks
bool in_rows(Strategy strategy);            // row_wise, table_row_wise, grid_shard and flex: the holders share the rows
bool in_columns(Strategy strategy);         // column_wise, table_column_wise and grid_shard: one placement per block
bool within_node(Strategy strategy);        // table_row_wise and grid_shard (each block), table_column_wise (the table)
std::string default_kernel(Strategy strategy);  // "dense" where replicated, else "fused"

// TorchRec's compute kernels, of which some cannot be lowered (sim/lower/lower.h, lowered_kernels), in its order
// (github.com/pytorch/torchrec, torchrec/distributed/embedding_types.py, EmbeddingComputeKernel).
inline constexpr std::array<std::string_view, 14> kComputeKernels = {"dense",
                                                                     "fused",
                                                                     "fused_uvm",
                                                                     "fused_uvm_caching",
                                                                     "key_value",
                                                                     "ssd_virtual_table",
                                                                     "dram_virtual_table",
                                                                     "quant",
                                                                     "quant_uvm",
                                                                     "quant_uvm_caching",
                                                                     "customized_kernel",
                                                                     "dram_ssd_virtual_table",
                                                                     "fused_triton",
                                                                     "unfused_tpu"};
std::vector<std::string> compute_kernels();  // alphabetical

// TorchRec's default cache_load_factor (pytorch/torchrec torchrec/distributed/planner/constants.py).
inline constexpr double kCacheLoadFactor = 0.2;
bool has_cache(std::string_view kernel);  // of rows that lie elsewhere, in HBM
// Rows are in a key-value store of the host: key_value, and the virtual tables.
bool in_key_value_store(std::string_view kernel);

// Tiers of rows of one table at most: the strategies data_parallel, flex and row_wise.
inline constexpr int kMostTiers = 3;

// Rows [row_begin, row_end) in popularity order and columns [column_begin, column_end) of one table, and who holds
// them.
struct Placement {
  int table = 0;  // index into the workload's tables
  std::uint64_t row_begin = 0, row_end = 0;
  std::int64_t column_begin = 0, column_end = 0;
  Strategy strategy = Strategy::row_wise;
  // One list of ranks, in shard order; flex: one list per replica group, all of equal length: position j of every group
  // holds shard j. data_parallel: every rank of the list holds all rows. table_wise, column_wise, table_column_wise:
  // one rank. table_row_wise, grid_shard: ranks of one node.
  std::vector<std::vector<int>> holders;
  std::string compute_kernel = "fused";         // dense for data_parallel and flex
  double cache_load_factor = kCacheLoadFactor;  // of a kernel with a cache: share of the rows that HBM holds
  // Caches of key-value stores, for all tables of a rank that are looked up together: the limit of the one in HBM
  // (max_l1_cache_size of TorchRec's KeyValueParams; absent: no limit), and the size of the one in host memory
  // (l2_cache_size).
  std::optional<Bytes> most_l1 = {};
  Bytes l2{};
  std::uint64_t bucket_rows = 1;  // row_wise: rows are cut in whole buckets of so many, as TorchRec's total_num_buckets

  std::uint64_t rows() const { return row_end - row_begin; }
  std::int64_t columns() const { return column_end - column_begin; }
  int shards() const;  // row shards: 1 where not in_rows; never 0
  // The first shards hold one row, or one bucket, more than the others; the last bucket may be short.
  std::uint64_t shard_rows(int shard) const;
  bool operator==(const Placement&) const = default;
};

// Share of the placement's rows that is kept in HBM.
double hbm_share(const Placement& placement);
// True when the rows are in the memory of the node, as with the kernels fused_uvm, fused_uvm_caching and
// dram_virtual_table; caches in HBM only hold copies.
bool on_host(const Placement& placement);

// Says which ranks hold which rows and columns of every table. Placements are sorted by table, then row_begin, then
// column_begin.
struct Plan {
  std::vector<Placement> placements;
  std::uint64_t hash_seed = 1;  // of the hash that spreads popularity positions over shards
  // By table: the path of its module in the plan file, if it differs from module_paths (plan/plan_file.h).
  std::map<int, std::string> modules = {};
  // Tables whose entry in the plan file states a cache although their kernel has none; TorchRec's own plans may do so.
  std::vector<int> idle_caches = {};

  bool operator==(const Plan&) const = default;
};

// All rows and columns of table number `index` as one placement, with the usual kernel of the strategy.
Placement whole_table(int index, const Table& table, Strategy strategy, std::vector<std::vector<int>> holders);

// Which of the row tiers of its table the placement is, 0 the hottest; 0 in a table without tiers.
int tier_of(const Plan& plan, std::size_t placement);

std::vector<int> all_ranks(int world_size);

}  // namespace shardsim
