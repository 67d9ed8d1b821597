#include "models/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "models/workload/workload_limits.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr double kMostTableBytes = 0x1p56;  // all tables together; above any cluster, and far from overflow
constexpr double kMostBatchBytes = 0x1p50;  // embeddings that one rank asks for in one iteration

struct DtypeEntry {
  Dtype dtype;
  std::string_view name;
  int bytes;
};
constexpr std::array<DtypeEntry, 6> kDtypes{{{Dtype::fp32, "fp32", 4},
                                             {Dtype::fp16, "fp16", 2},
                                             {Dtype::bf16, "bf16", 2},
                                             {Dtype::int8, "int8", 1},
                                             {Dtype::fp8, "fp8", 1},
                                             {Dtype::mx4, "mx4", 1}}};

const DtypeEntry& entry_of(Dtype dtype) {
  return *std::find_if(kDtypes.begin(), kDtypes.end(), [dtype](const DtypeEntry& e) { return e.dtype == dtype; });
}

// The factor of a sample, which is 1 on average, stretches the bags of common lengths.
double factor_variance(const Workload& workload) {
  return workload.sample_factor ? std::expm1(workload.sample_factor->sigma * workload.sample_factor->sigma) : 0;
}

// The items that a sample has of one table. The variance of a bag beyond that of a Poisson law grows with the square of
// its mean, so a factor stretches it once more.
Cumulants items_of_sample(const Table& table, double of_factor) {
  Cumulants sum;
  for (const Feature& feature : table.features) {
    const Cumulants bag = table.length_law(feature).cumulants();
    const double over = std::max(0.0, bag.variance - bag.mean);
    sum.mean += bag.mean;
    sum.variance += bag.variance + (table.lengths.common ? of_factor * over : 0);
    sum.third += bag.third;
  }
  return sum;
}

bool may_vary(const Table& table) {
  return table.lengths.family != "file" && (table.lengths.common || table.lengths.family != "fixed");
}

void vary(Attention& attention, const Workload& workload) {
  const double of_factor = factor_variance(workload);
  double common = 0;  // items of common lengths
  for (const int index : attention.tables) {
    const Table& table = workload.tables[static_cast<std::size_t>(index)];
    if (!may_vary(table)) continue;
    const Cumulants items = items_of_sample(table, of_factor);
    attention.variance += items.variance;
    common += table.lengths.common ? items.mean : 0;
    attention.varying.push_back({index, items.mean, items.variance > 0 ? items.third / items.variance : 0});
  }
  attention.variance += of_factor * common * common;
  for (Attention::Varying& each : attention.varying) {
    if (workload.tables[static_cast<std::size_t>(each.table)].lengths.common)
      each.skew += common * of_factor * (of_factor + 3);  // that of the log-normal factor
  }
}

}  // namespace

void check_sizes(const Workload& workload) {
  double stored = 0, moved = 0;
  for (const Table& table : workload.tables) {
    const auto row_bytes = static_cast<double>(table.row_bytes());
    stored += static_cast<double>(table.rows) * row_bytes;
    const double longest = std::max(table.average_length, table.runtime ? table.runtime->average_length : 0);
    moved += static_cast<double>(workload.batch_per_gpu) * longest * row_bytes;
    if (stored > kMostTableBytes)
      throw input_error(table.place, fmt::format("with table '{}' the tables take {:.3g} bytes", table.name, stored),
                        fmt::format("Check rows and dim: at most {:.3g} bytes are simulated", kMostTableBytes));
    if (moved > kMostBatchBytes)
      throw input_error(table.place,
                        fmt::format("with table '{}' one rank reads {:.3g} bytes per iteration", table.name, moved),
                        fmt::format("Check batch, length and dim: at most {:.3g} bytes", kMostBatchBytes));
    if (workload.id_bytes == 4 && table.rows > (std::uint64_t{1} << 31))
      throw input_error(table.place, fmt::format("ids of 4 bytes cannot number {} rows", table.rows),
                        "Set id_bytes: 8");
  }
}

int dtype_bytes(Dtype dtype) {
  return entry_of(dtype).bytes;
}

double least_wire_bytes(Dtype dtype) {
  return dtype == Dtype::mx4 ? 0.5 : dtype_bytes(dtype);
}

bool Workload::fetches_ahead() const {
  return pipeline == "prefetch_sparse_dist" || (staged() && !stages.empty() && stages.back().does == "prefetch");
}

std::string dtype_name(Dtype dtype) {
  return std::string(entry_of(dtype).name);
}

Dtype wire_dtype(const std::optional<WireDtype>& stated, const Table& table) {
  return stated ? stated->dtype.value_or(table.dtype) : Dtype::fp32;
}

Dtype forward_wire(const Workload& workload, const Table& table) {
  return wire_dtype(table.wire_forward ? table.wire_forward : workload.wire_forward, table);
}

Dtype backward_wire(const Workload& workload, const Table& table) {
  return wire_dtype(table.wire_backward ? table.wire_backward : workload.wire_backward, table);
}

Dtype gradient_dtype(const Table& table) {
  return table.dtype == Dtype::int8 ? Dtype::fp32 : table.dtype;
}

bool Table::vector_per_feature() const {
  const auto count = static_cast<double>(features.size());
  return kind == TableKind::pooled || std::abs(average_length - count) <= 1e-6 * count;
}

std::int64_t batch_of(const Feature& feature, std::int64_t batch_per_rank) {
  return feature.batch.value_or(batch_per_rank);
}

double batch_of(const Table& table, std::int64_t batch_per_rank) {
  if (!varies_batch(table, batch_per_rank)) return static_cast<double>(batch_per_rank);
  double ids = 0, of_sample = 0;
  for (const Feature& feature : table.features) {
    const double each = feature.ids();
    ids += static_cast<double>(batch_of(feature, batch_per_rank)) * each;
    of_sample += each;
  }
  return ids / of_sample;
}

bool varies_batch(const Table& table, std::int64_t batch_per_rank) {
  return std::ranges::any_of(
      table.features, [&](const Feature& feature) { return batch_of(feature, batch_per_rank) != batch_per_rank; });
}

std::int64_t optimizer_row_bytes(const std::string& optimizer, std::int64_t dim) {
  if (optimizer == "sgd") return 0;
  if (optimizer == "rowwise_adagrad") return 4;  // one number per row
  if (optimizer == "adagrad") return 4 * dim;
  if (optimizer == "adam" || optimizer == "lamb") return 8 * dim;  // two moments
  throw input_error({}, "unknown optimizer '" + optimizer + "'", "Known: adagrad, adam, lamb, rowwise_adagrad, sgd");
}

bool Table::operator==(const Table& other) const {
  const auto tied = [](const Table& t) {
    return std::tie(t.name, t.rows, t.dim, t.dtype, t.kind, t.pooling, t.features, t.average_length, t.lengths,
                    t.access, t.row_order, t.bag_ids, t.sharded, t.index_dedup, t.runtime, t.module, t.wire_forward,
                    t.wire_backward);
  };
  return tied(*this) == tied(other);
}

std::uint64_t joined_rows(const Table& table, std::uint64_t row_end) {
  return row_end == table.rows ? table.joined_rows : 0;
}

const std::string& row_key(const Table& table) {
  return table.row_key.empty() ? table.name : table.row_key;
}

bool Workload::full_input_exchange() const {
  if (input_exchange != "auto") return input_exchange != "ids";
  if (dense.measured) return false;
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  return pipeline != "none" || !std::all_of(tables.begin(), tables.end(), sequence);
}

bool Workload::has_both_kinds() const {
  return std::ranges::any_of(tables, [&](const Table& table) { return table.kind != first_kind(); });
}

bool Workload::has_runtime() const {
  return std::any_of(tables.begin(), tables.end(), [](const Table& table) { return table.runtime.has_value(); });
}

std::size_t weight_of_features(std::size_t features) {
  constexpr std::size_t kTable = 10;
  return kTable + features;
}

std::size_t weight_of(const Table& table) {
  return weight_of_features(table.features.size()) + table.access.knots.size() + table.access.steps.size() +
         (table.runtime ? table.runtime->shares.size() : 0);
}

// The totals are known, the samples' parts of them are not: sums of squares follow from the best linear estimate, in
// which an item more than expected brings cov(L^2, l) / var(l) = 2 E L + E (l - E l)^3 / var(l). Even parts have the
// fewest pairs.
double Attention::pairs_of(double samples, const std::vector<double>& items_by_table) const {
  double more = 0, weighted = 0;
  for (const Varying& each : varying) {
    const double items = items_by_table[static_cast<std::size_t>(each.table)] - samples * each.mean;
    more += items;
    weighted += items * (2 * length + each.skew);
  }
  const double estimate = samples * pairs() + (causal ? (weighted + more) / 2 : weighted);
  return std::max(estimate, samples * pairs_of(std::max(0.0, length + more / samples)));
}

void vary_attention(Workload& workload) {
  for (DenseLayer& layer : workload.dense.layers) {
    if (layer.attention) vary(*layer.attention, workload);
  }
}

}  // namespace shardsim
