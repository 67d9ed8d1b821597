#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/learned/learned_costs.h"

namespace shardsim {

class Rng;

// Some columns of a table, as a part of a shard.
struct ShardPiece {
  int table = 0;  // of the workload
  std::int64_t columns = 0;
  auto operator<=>(const ShardPiece&) const = default;
};
using Shard = std::vector<ShardPiece>;

// The law by which shards are drawn from a pool of tables (NeuroShard section 3.1, gen_tasks.py and compute_bench.py at
// ec7ca74): a number of pieces uniform in 1 ... max_tables, each a table with 4, 8, ... max_dim columns, with
// replacement; pieces are drawn anew, their number kept, until their rows fit in max_bytes.
struct ShardLaw {
  std::int64_t count = 0;
  int max_tables = 15;
  std::int64_t max_dim = 128;  // 4 times a power of two
  std::int64_t max_bytes = std::int64_t{4} << 30;
  std::uint64_t seed = 1;
  bool operator==(const ShardLaw&) const = default;
};

// Shards with the seconds that somebody gave for them; none yet: no entry.
struct ShardSet {
  Workload workload;       // its tables, its optimizer
  std::int64_t batch = 0;  // samples of one lookup
  ShardLaw law;
  std::vector<Shard> shards;
  std::string provider, device;                          // of the labels; "" without
  std::vector<std::optional<ShardSeconds>> labels = {};  // [shards]
  std::string file = {};                                 // that it was read from; "" drawn here
  std::string name = {};                                 // of the set in a file of several; "" where it is the only one
  int row_alignment = 0;  // bytes at whose multiples the tables of a call began; 0: how they lay is not known

  LabelSetting setting() const;
};

// Errors (Failure::input): tables that are sequences or of several types, a max_dim that is not 4, 8, 16 ...; a number
// of pieces of which no draw fits in max_bytes.
ShardSet draw_shards(const Workload& workload, std::int64_t batch, const ShardLaw& law);

// The pieces of a shard as nets see them, in the order of the call. `tables`: of the set's workload. `row_alignment`:
// as above.
std::vector<CallPiece> pieces_of(const Shard& shard, const std::vector<TableStatistics>& tables,
                                 const Workload& workload, int row_alignment);

// A text that says of which pieces a shard consists, whatever their order. Shards with equal texts are either all
// fitted or all held back.
std::string shape_of(const Shard& shard);
bool held_back(const std::string& shape);  // of the third that no fit looks at: hash mod 3 = 0

// The exchanges of all ranks (gen_comm_data of NeuroShard at ec7ca74, learned_costs.h says what is labelled).
struct Exchange {
  std::vector<double> columns;    // [ranks] that the rank holds, of all its tables
  std::vector<double> starts_ms;  // [ranks] when the forward exchange begins there; the least is 0
  bool operator==(const Exchange&) const = default;
};

struct ExchangeSeconds {
  std::vector<double> forward, backward;  // [ranks]
};

// Exchanges are learned for these numbers of ranks.
inline constexpr int kLeastExchangeRanks = 2, kMostExchangeRanks = 128;

struct ExchangeLaw {
  std::int64_t count = 0;
  int ranks = 4;  // 2 to 128; 4: 10 to 59 tables on them; 8: 20 to 119; others likewise, 5/2 to 15 times their number
  std::int64_t max_dim = 128;
  std::uint64_t seed = 1;
  bool operator==(const ExchangeLaw&) const = default;
};

// Samples of an exchange: the bytes between ranks are counted in integers.
inline constexpr std::int64_t kMostExchangeBatch = 100'000'000;

struct ExchangeSet {
  std::int64_t batch = 0;  // samples of all ranks together
  ExchangeLaw law;
  std::vector<Exchange> exchanges;
  std::string provider, device, topology;  // of the labels; the cluster (exchange_topology())
  std::vector<std::optional<ExchangeSeconds>> labels = {};
  std::string file = {};  // as above
};

// Errors (Failure::input): ranks below 2 or above 128, a max_dim as above.
ExchangeSet draw_exchanges(std::int64_t batch, const ExchangeLaw& law);
std::string shape_of(const Exchange& exchange);

}  // namespace shardsim
