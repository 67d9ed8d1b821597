#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"
#include "base/units.h"
#include "models/access/row_hash.h"
#include "models/learned/label_sets.h"

namespace shardsim {
namespace {

constexpr std::int64_t kLeastDim = 4, kMostDim = 4096;
constexpr int kMostRedraws = 100'000;
constexpr std::uint64_t kMostStart = 19;  // ms; comm_bench.py: starts below a bound uniform in 1 ... 19

// max_dim, max_dim / 2, ... 4.
std::vector<std::int64_t> dims_down_from(std::int64_t max_dim) {
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = max_dim; dim >= kLeastDim && dim % 2 == 0; dim /= 2) dims.push_back(dim);
  if (dims.empty() || dims.back() != kLeastDim || max_dim > kMostDim)
    throw input_error({"argument --max-dim"},
                      fmt::format("{} columns are not one of 4, 8, 16 ... {}", max_dim, kMostDim),
                      "Give 4 times a power of two, as 128");
  return dims;
}

void check_pool(const Workload& workload) {
  for (const Table& table : workload.tables) {
    table_statistics(table, 1);
    if (table.dtype != workload.tables.front().dtype)
      throw input_error(table.place,
                        fmt::format("table '{}' is of {}, the first one of {}", table.name, dtype_name(table.dtype),
                                    dtype_name(workload.tables.front().dtype)),
                        "Give tables of one data type: it is not a feature of learned costs");
  }
}

// The pool with each table once in every width: entry e is table e mod T with dims[e / T] columns.
class ShardDraw {
 public:
  ShardDraw(const Workload& workload, const ShardLaw& law)
      : workload_(workload), law_(law), dims_(dims_down_from(law.max_dim)), rng_(law.seed) {}

  Shard next() {
    const auto pieces = 1 + rng_.below(static_cast<std::uint64_t>(law_.max_tables));
    for (int redraw = 0; redraw < kMostRedraws; ++redraw)
      if (Shard shard = draw(pieces); !shard.empty()) return shard;
    throw input_error(
        {"argument --max-bytes"},
        fmt::format("none of {} draws of {} tables fits in {}", kMostRedraws, pieces, to_text(Bytes{law_.max_bytes})),
        "Allow more bytes, fewer tables or fewer columns");
  }

 private:
  // Empty where its rows do not fit.
  Shard draw(std::uint64_t pieces) {
    Shard shard;
    double bytes = 0;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const std::uint64_t tables = workload_.tables.size(), entry = rng_.below(tables * dims_.size());
      shard.push_back({static_cast<int>(entry % tables), dims_[entry / tables]});
      const Table& table = workload_.tables[entry % tables];
      bytes += static_cast<double>(table.rows) * static_cast<double>(shard.back().columns) * dtype_bytes(table.dtype);
    }
    if (bytes > static_cast<double>(law_.max_bytes)) shard.clear();
    return shard;
  }

  const Workload& workload_;
  const ShardLaw& law_;
  std::vector<std::int64_t> dims_;
  Rng rng_;
};

// The widest first, each to a rank drawn with a probability that is drawn itself, else to the one with fewest columns.
std::vector<double> drawn_columns(const ExchangeLaw& law, const std::vector<std::int64_t>& dims, Rng& rng) {
  const auto ranks = static_cast<std::uint64_t>(law.ranks);
  const std::uint64_t least = (5 * ranks + 1) / 2, end = 15 * ranks;  // theirs of 4 and 8 ranks, and so for others
  std::vector<std::int64_t> tables(least + rng.below(end - least));
  for (std::int64_t& dim : tables) dim = dims[rng.below(dims.size())];
  std::ranges::sort(tables, std::greater<>());
  const double at_random = rng.uniform();
  std::vector<double> columns(static_cast<std::size_t>(law.ranks));
  for (const std::int64_t dim : tables) {
    const auto to = rng.uniform() < at_random ? columns.begin() + static_cast<std::ptrdiff_t>(rng.below(columns.size()))
                                              : std::ranges::min_element(columns);
    *to += static_cast<double>(dim);
  }
  return columns;
}

std::vector<double> drawn_starts(int ranks, Rng& rng) {
  const std::uint64_t bound = 1 + rng.below(kMostStart);
  std::vector<double> starts(static_cast<std::size_t>(ranks));
  for (double& start : starts) start = static_cast<double>(rng.below(bound));
  const double least = std::ranges::min(starts);
  for (double& start : starts) start -= least;
  return starts;
}

}  // namespace

LabelSetting ShardSet::setting() const {
  return {provider, device, batch, workload.optimizer, dtype_name(workload.tables.front().dtype)};
}

ShardSet draw_shards(const Workload& workload, std::int64_t batch, const ShardLaw& law) {
  check_pool(workload);
  ShardSet set{workload, batch, law, {}, "", ""};
  ShardDraw draw(set.workload, law);
  for (std::int64_t i = 0; i < law.count; ++i) set.shards.push_back(draw.next());
  set.labels.resize(set.shards.size());
  return set;
}

ExchangeSet draw_exchanges(std::int64_t batch, const ExchangeLaw& law) {
  if (law.ranks < kLeastExchangeRanks || law.ranks > kMostExchangeRanks)
    throw input_error({"ranks"},
                      fmt::format("exchanges are learned of {} to {} ranks, not of {}", kLeastExchangeRanks,
                                  kMostExchangeRanks, law.ranks),
                      "Take a number of ranks within these, or costs: closed_form");
  const std::vector<std::int64_t> dims = dims_down_from(law.max_dim);
  ExchangeSet set{batch, law, {}, "", "", ""};
  Rng rng(law.seed);
  for (std::int64_t i = 0; i < law.count; ++i) {
    std::vector<double> columns = drawn_columns(law, dims, rng);
    set.exchanges.push_back({std::move(columns), drawn_starts(law.ranks, rng)});
  }
  set.labels.resize(set.exchanges.size());
  return set;
}

std::vector<CallPiece> pieces_of(const Shard& shard, const std::vector<TableStatistics>& tables,
                                 const Workload& workload, int row_alignment) {
  std::vector<CallPiece> result;
  std::vector<double> rows;
  for (const ShardPiece& piece : shard) {
    const auto index = static_cast<std::size_t>(piece.table);
    result.push_back({tables.at(index), piece.columns});
    rows.push_back(static_cast<double>(workload.tables[index].rows));
  }
  lay_out(result, rows, row_alignment);
  return result;
}

std::string shape_of(const Shard& shard) {
  Shard sorted = shard;
  std::ranges::sort(sorted);
  std::string text;
  for (const ShardPiece& piece : sorted) text += fmt::format("{}:{} ", piece.table, piece.columns);
  return text;
}

std::string shape_of(const Exchange& exchange) {
  std::string text;
  for (const double columns : exchange.columns) text += fmt::format("{:g} ", columns);
  for (const double start : exchange.starts_ms) text += fmt::format("{:g} ", start);
  return text;
}

bool held_back(const std::string& shape) {
  return fnv1a(shape) % 3 == 0;
}

}  // namespace shardsim
