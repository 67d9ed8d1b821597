#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/physics/random_plans.h"

// The bytes that a plan needs in each rank's memory, worked out from workload and plan by the rules of docs/lowering.md
// ("What device memory holds"), without a Program.
namespace shardsim::physics {

using Bytes64 = std::int64_t;

inline constexpr double kCached = 0.2;  // TorchRec's default load factor

inline Bytes64 up(double bytes) {
  return static_cast<Bytes64>(std::ceil(bytes));
}

// One table as a rank's batch asks for it: `ids` are rounded half up, `expected_ids` are what the estimate takes.
struct Asked {
  double expected_ids = 0;
  Bytes64 ids = 0, weighted = 0, lengths = 0, bags = 0;
};

inline Asked asked_of(const Table& table, Bytes64 batch) {
  double ids = 0, weighted = 0, bags = 0;
  for (const Feature& feature : table.features) {
    ids += feature.pooling_factor * feature.num_poolings;
    if (feature.weighted) weighted += feature.pooling_factor * feature.num_poolings;
    bags += feature.num_poolings;
  }
  if (table.kind == TableKind::sequence) ids = table.average_length;
  Asked asked;
  asked.expected_ids = static_cast<double>(batch) * ids;
  asked.ids = static_cast<Bytes64>(std::floor(asked.expected_ids + 0.5));
  asked.weighted = static_cast<Bytes64>(std::floor(static_cast<double>(asked.ids) * (weighted / ids) + 0.5));
  asked.lengths = static_cast<Bytes64>(table.features.size()) * batch;
  asked.bags = static_cast<Bytes64>(bags) * batch;
  return asked;
}

// Bytes on one rank, by the rules of docs/lowering.md.
struct RankNeeds {
  Bytes64 resident = 0;
  Bytes64 own_batch = 0;           // ids, lengths and weights as they come from the host
  Bytes64 own_ids = 0;             // those of data-parallel tables
  Bytes64 sent = 0, bucketed = 0;  // of them what is sent, and again for tables cut by rows
  Bytes64 splits = 0;
  Bytes64 ids = 0, beside_ids = 0;                                // received: ids; lengths and weights
  Bytes64 looked_up = 0, own_looked_up = 0, looked_up_again = 0;  // vectors; of data-parallel tables; permuted
  Bytes64 got = 0, ordered = 0;                                   // vectors of the own batch
  Bytes64 got_back = 0, got_back_again = 0;                       // gradients at the owner
  Bytes64 table_gradients = 0, dense_gradients = 0, activations = 0;
  std::map<std::string, Bytes64> of_group;  // of one module and type: vectors looked up
  std::map<std::string, Bytes64> back_of_group;
  // Beyond the estimate because ids and rows are whole, and by what stays: of either sign.
  double whole_ids = 0, whole_vectors = 0, resident_term = 0;

  Bytes64 gradients() const { return ordered + own_looked_up; }  // of the own batch
  Bytes64 forward() const { return looked_up + looked_up_again + got + ordered + activations; }
  Bytes64 backward() const {
    return ordered + own_looked_up + gradients() + ordered + got_back + got_back_again + table_gradients +
           dense_gradients + activations;
  }
  Bytes64 passes() const { return std::max(forward(), backward()); }
};

// Adds up what each placement needs.
class Needs {
 public:
  explicit Needs(const RandomPlan& made)
      : workload_(made.workload),
        world_(made.cluster->world_size()),
        nodes_(made.cluster->nodes()),
        ranks(static_cast<std::size_t>(world_)) {
    for (const Placement& placement : made.plan.placements) add(placement);
    for (RankNeeds& rank : ranks) {
      rank.splits =
          2 * 8 * world_ * (3 * static_cast<Bytes64>(groups_.size()) + static_cast<Bytes64>(weighted_.size()));
      const Bytes64 parameters = workload_.dense.parameters.count;
      rank.resident += parameters + parameters * states_per_element();
      rank.resident_term += static_cast<double>(parameters + parameters * states_per_element());
      rank.dense_gradients = parameters;
      rank.activations = activations();
    }
  }

 private:
  // Bytes of the inputs of plain layers, in fp32.
  Bytes64 activations() const {
    Bytes64 numbers = 0;
    for (const DenseLayer& layer : workload_.dense.layers) numbers += layer.repeat * layer.in * workload_.batch_per_gpu;
    return 4 * numbers;
  }
  Bytes64 states_per_element() const {
    if (workload_.optimizer == "sgd") return 0;
    return workload_.optimizer == "adam" || workload_.optimizer == "lamb" ? 2 : 1;
  }
  Bytes64 state_of_row(Bytes64 columns) const {
    return workload_.optimizer == "rowwise_adagrad" ? 4 : 4 * columns * states_per_element();
  }

  void add(const Placement& placement) {
    const Table& table = workload_.tables[static_cast<std::size_t>(placement.table)];
    const Asked asked = asked_of(table, workload_.batch_per_gpu);
    const Bytes64 row = placement.columns() * dtype_bytes(table.dtype);
    const Bytes64 own = (table.kind == TableKind::pooled ? asked.bags : asked.ids) * row;
    const bool copies = placement.strategy == Strategy::data_parallel;
    const std::string group =
        std::string(strategy_name(placement.strategy)) + (table.kind == TableKind::pooled ? " pooled" : "");
    if (!copies) groups_.insert(group);
    if (!copies && asked.weighted > 0) weighted_.insert(group);
    for (RankNeeds& rank : ranks) {
      if (placement.column_begin == 0) rank.own_batch += 8 * asked.ids + 4 * asked.weighted + 4 * asked.lengths;
      if (copies) {
        rank.own_ids += 8 * asked.ids;
        rank.whole_ids += 8 * (static_cast<double>(asked.ids) - asked.expected_ids);
        rank.own_looked_up += own;
        rank.looked_up += own;
      } else {
        rank.ordered += own;
        rank.got += own;
        add_sent(rank, placement, asked);
      }
    }
    const std::vector<int>& holders = placement.holders.front();
    for (std::size_t i = 0; i < holders.size(); ++i) {
      add_shard(ranks[static_cast<std::size_t>(holders[i])], placement, table, row, static_cast<Bytes64>(i));
      if (!copies)
        add_served(ranks[static_cast<std::size_t>(holders[i])], placement, asked, row, static_cast<Bytes64>(i), group);
    }
  }

  // Lengths go to every row shard.
  void add_sent(RankNeeds& rank, const Placement& placement, const Asked& asked) const {
    const auto shards = static_cast<Bytes64>(placement.holders.front().size());
    const Bytes64 sent = 8 * asked.ids + 4 * asked.weighted + 4 * asked.lengths * shards;
    rank.sent += sent;
    if (in_rows(placement.strategy)) rank.bucketed += sent;
  }

  void add_shard(RankNeeds& rank, const Placement& placement, const Table& table, Bytes64 row, Bytes64 position) const {
    const Bytes64 shards = in_rows(placement.strategy) ? static_cast<Bytes64>(placement.holders.front().size()) : 1;
    const auto all = static_cast<Bytes64>(table.rows);
    const Bytes64 rows = all / shards + (position < all % shards ? 1 : 0);
    const Bytes64 state = state_of_row(placement.columns());
    add_resident_term(rank, placement, table, rows, block_rows(all, shards, shards > 1 ? position : 0));
    if (placement.compute_kernel == "fused_uvm_caching") {
      rank.resident += up(kCached * static_cast<double>(rows) * static_cast<double>(row)) +
                       up(kCached * static_cast<double>(rows) * static_cast<double>(state)) +
                       up(static_cast<double>(rows) * (4 + 16 * kCached));
    } else if (placement.compute_kernel != "fused_uvm") {
      rank.resident += rows * row + rows * state;
    }
    if (placement.compute_kernel == "dense") rank.table_gradients += rows * row;
  }

  // Rows of a shard as TorchRec cuts them: blocks of ceil(rows / shards).
  static Bytes64 block_rows(Bytes64 rows, Bytes64 shards, Bytes64 position) {
    const Bytes64 block = (rows + shards - 1) / shards;
    return std::max<Bytes64>(0, std::min(block, rows - block * position));
  }

  // Even shards for blocks; states in fp32, of row-wise Adagrad 4 bytes for every slice of a row, of LAMB two, where
  // the estimate takes a multiple of the tensor.
  void add_resident_term(RankNeeds& rank, const Placement& placement, const Table& table, Bytes64 rows,
                         Bytes64 block) const {
    const std::string& optimizer = workload_.optimizer;
    const double share = placement.compute_kernel == "fused_uvm"           ? 0
                         : placement.compute_kernel == "fused_uvm_caching" ? kCached
                                                                           : 1;
    double multiple = optimizer == "adam" ? 2 : optimizer == "sgd" ? 0 : 1;
    if (optimizer == "rowwise_adagrad") multiple = 1 / static_cast<double>(table.dim);
    const auto row = static_cast<double>(placement.columns() * dtype_bytes(table.dtype));
    const auto held = static_cast<double>(rows), estimated = static_cast<double>(block);
    rank.resident_term += share * (held - estimated) * row;
    rank.resident_term +=
        share * (held * static_cast<double>(state_of_row(placement.columns())) - estimated * row * multiple);
    if (placement.compute_kernel == "fused_uvm_caching") rank.resident_term += (held - estimated) * (4 + 16 * kCached);
  }

  // Adds the ids that a shard gets from all ranks, and the vectors that it makes of them.
  void add_served(RankNeeds& rank, const Placement& placement, const Asked& asked, Bytes64 row, Bytes64 position,
                  const std::string& group) const {
    const bool pooled = workload_.tables[static_cast<std::size_t>(placement.table)].kind == TableKind::pooled;
    const bool rows = in_rows(placement.strategy);
    const bool everywhere = placement.strategy == Strategy::row_wise;
    const Bytes64 shards = rows ? static_cast<Bytes64>(placement.holders.front().size()) : 1;
    const auto part = [&](Bytes64 count) {  // from all sources, whole
      return everywhere ? count : world_ * (count / shards + (position < count % shards ? 1 : 0));
    };
    rank.ids += 8 * part(asked.ids);
    rank.beside_ids += 4 * part(asked.weighted) + 4 * world_ * asked.lengths;
    const double share = static_cast<double>(world_) * asked.expected_ids / static_cast<double>(shards);
    rank.whole_ids += 8 * (static_cast<double>(part(asked.ids)) - share);
    // Lookups are counted as the expected share, exchanges in whole ids.
    const Bytes64 expected = pooled ? world_ * asked.bags * row
                                    : up(static_cast<double>(world_ * asked.ids * row) / static_cast<double>(shards));
    const Bytes64 whole = pooled ? world_ * asked.bags * row : part(asked.ids) * row;
    rank.looked_up += expected;
    if (!pooled) rank.whole_vectors += static_cast<double>(expected) - share * static_cast<double>(row);
    rank.of_group[group] += expected;
    rank.got_back += whole;
    rank.back_of_group[group] += whole;
    if (!pooled) rank.looked_up_again += whole;
    if (!pooled || rows) rank.got_back_again += whole;
    if (!pooled || !rows || everywhere) return;
    // Two steps: the chunk of the node's sums that this rank passes on, and that of their gradients.
    rank.got += nodes_ * asked.bags * row;
    rank.got_back += nodes_ * asked.bags * row;
  }

  const Workload& workload_;
  Bytes64 world_, nodes_;
  std::set<std::string> groups_, weighted_;

 public:
  std::vector<RankNeeds> ranks;
};

}  // namespace shardsim::physics
