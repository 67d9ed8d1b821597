#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "program/program.h"
#include "sim/lower/lookup_part.h"
#include "sim/lower/lower.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The purpose of an operation: its role, from which its class follows, and the fusion group that it works for (-1: all
// of them, or none).
struct Purpose {
  OpRole role = OpRole::none;
  int fusion = -1;
};

// The amounts that the batches of the ranks bring to a step: one number where it is the same on all ranks, else one
// each. Whether the step exists must not depend on what was drawn: so an amount of drawn batches says, too, whether it
// can be above 0.
struct OwnAmount {
  PerRank of;
  bool any = false;  // above 0 on some rank, or in some other drawn batch

  static OwnAmount expected(double value) { return {{{value}}, value > 0}; }
  static OwnAmount drawn(std::vector<double> values) { return {{std::move(values)}, true}; }

  OwnAmount& operator+=(const OwnAmount& more) {
    const std::size_t ranks = std::max(of.values.size(), more.of.values.size());
    if (of.values.size() < ranks) of.values.assign(ranks, of.values.front());
    for (std::size_t rank = 0; rank < ranks; ++rank) of.values[rank] += more.of.at(rank);
    any = any || more.any;
    return *this;
  }
  OwnAmount& operator*=(double factor) {
    for (double& value : of.values) value *= factor;
    return *this;
  }
};

inline OwnAmount operator+(OwnAmount a, const OwnAmount& b) {
  return a += b;
}
inline OwnAmount operator*(double factor, OwnAmount amount) {
  return amount *= factor;
}

// All placements of one strategy in one module (the pooled tables or the sequences, or those of one path where the
// workload has its modules apart), but those of tables that state
// types of their own for the wire, which are grouped by these: they share one exchange of ids, one output exchange and
// one of gradients (pytorch/torchrec distributed/embedding.py and embeddingbag.py build one sharding object per module
// and type).
struct FusionGroup {
  int index = 0;   // in Program::fusions
  int module = 0;  // in the order of the forward pass
  Strategy strategy = Strategy::row_wise;
  TableKind kind = TableKind::sequence;
  std::string group;        // of its exchange of ids, as in Program::groups; "" when nothing is exchanged
  std::vector<int> shards;  // indices into Program::shards
  bool weighted = false;    // ids have weights
  bool sharded = true;      // false: data_parallel by DDP, as the dense part, each table for itself
  Dtype forward_type = Dtype::fp32, backward_type = Dtype::fp32;              // of vectors and gradients on the wire
  Dtype cross_forward_type = Dtype::fp32, cross_backward_type = Dtype::fp32;  // from node to node, where it crosses()
  // The way in which partial sums of pooled row_wise tables travel (Workload::output_exchange).
  enum class PartialSums { reduce_scatter, uniform, hierarchical } partial_sums = PartialSums::reduce_scatter;

  Purpose as(OpRole role) const { return {role, index}; }
  bool exchanges() const { return !group.empty(); }
  bool pooled() const { return kind == TableKind::pooled; }
  bool removes_duplicates() const { return own_duplicated_bytes.any; }  // of some table
  // Partial sums are added up on their way. Where every owner sends its own, they are added up by who gets them.
  bool reduces() const { return pooled() && in_rows(strategy) && exchanges() && partial_sums != PartialSums::uniform; }
  // table_row_wise, grid_shard and the hierarchical row_wise: what a node's ranks bring to, and get back from, those of
  // another, rail by rail.
  bool crosses() const {
    const bool whole_world = strategy == Strategy::row_wise && partial_sums != PartialSums::hierarchical;
    return reduces() && strategy != Strategy::flex && !whole_world;
  }
  // Who gets partial sums, of several owners or nodes, adds them up.
  bool sums_received() const { return exchanges() && partial_sums != PartialSums::reduce_scatter; }
  // The ranks among which its output is exchanged, or its partial sums are added up: as a group, and in names.
  bool within_nodes() const { return strategy == Strategy::flex || crosses(); }
  std::string reducing_group() const { return within_nodes() ? "node" : "world"; }
  std::string reach() const { return within_nodes() ? "intra_node_" : "global_"; }
  // The pass that puts its vectors in the order of the batch.
  std::string order_pass() const { return !pooled() && in_rows(strategy) ? "unbucketize" : "concat_permute"; }

  // The matrices that its exchanges move, source -> owner by position in the group. Lengths and weights, which go
  // before and after the ids, where the exchange of input is full. The matrix of what comes back after a lookup is a
  // transpose.
  MatrixUse ids, lengths, strides, weights, rows, gradients, cross_rows, cross_gradients;

  // Where it reduces, the bytes of the reduce_scatter of partial sums forward and of the all_gather of gradients
  // backward, one size per rank set of `group` (row_wise, flex) or of the node group (table_row_wise, grid_shard).
  std::vector<std::int64_t> scattered_bytes, gathered_bytes;

  std::vector<LookupPart> parts;
  std::vector<std::int64_t>
      replicated_bytes;  // data_parallel: of each table; flex: of the largest shards, in one number

  std::int64_t replicated_elements = 0;  // of all these rows

  // For the shuffles. Bytes in the tables' types.
  OwnAmount own_bytes;       // vectors that the own batch gets, of tables that are not cut in tiers
  OwnAmount own_tier_bytes;  // of those that are
  OwnAmount own_wire_bytes;  // vectors that the own batch gets, and their gradients, as on the wire
  OwnAmount own_ids;         // ids of the own batch
  OwnAmount own_tier_ids;    // of tables that are cut in tiers, as they are sent
  // index_dedup: ids of the own batch, and those of them that are sent; bytes of a vector for each of them. The bytes
  // also of bags whose features have batches of their own: of the whole batch, and those that are sent.
  OwnAmount own_duplicated_ids, own_kept_ids, own_duplicated_bytes, own_kept_bytes;
  OwnAmount own_input_bytes;  // ids, lengths and weights of the own batch, each feature once
  // [rank] bytes that the passes read and write which convert what is exchanged; empty: none do. `recode` is between
  // the two exchanges of what crosses nodes.
  struct Conversions {
    std::vector<double> encode, recode, decode;
  };
  Conversions converted_output, converted_gradient;
  std::vector<double> owner_bytes;  // [rank] vectors that it looks up for all whom it serves
  // [rank] gradients that it gets, as they came, or behind a codec in the types of the tables.
  std::vector<double> gradient_bytes;
  std::vector<double> owner_inputs;   // [rank] lengths, ids and weights that it receives
  OwnAmount sent_inputs;              // that each rank sends
  double partial_bytes = 0;           // partial sums that the own batch gets, and their sums, on the wire
  double partial_gradient_bytes = 0;  // the same of gradients, as they are sent to every owner or node
};

// Parts of what a table gets that the input holds for it alone: a feature that several tables look up is there once,
// as in TorchRec's KeyedJaggedTensor, whose keys are features. The first of these tables has it.
struct OwnInput {
  double ids = 1, features = 1;
};
// [table]
std::vector<OwnInput> own_inputs_of(const Workload& workload);

// Fills a group, whose members and types are known, with its parts, matrices and bytes (fusion_group.cpp). Its matrices
// are added to the Program, of whose groups it is the last one.
void fill(FusionGroup& group, Program& program, const std::vector<GroupMember>& members, const Workload& workload,
          const std::vector<OwnInput>& inputs, const Cluster& cluster, const LoweringOptions& options);

// Adds what the passes move that convert vectors and gradients for the wire, of a group whose exchanges are known and
// whose batches are the expected ones (conversions.cpp).
void add_conversions(FusionGroup& group, const std::vector<GroupMember>& members, int world, int ranks_per_node);

// The groups of a plan in the order of the forward pass, tables that are not sharded apart: the module that the
// workload has first, or those of the kind that it has first in the order of their first tables; in each data_parallel,
// flex, row_wise, column_wise, table_column_wise, table_wise, table_row_wise, grid_shard; empty ones left out. Adds
// them and their matrices to the Program (fuse.cpp). The plan has passed check_plan.
std::vector<FusionGroup> fuse(Program& program, const Plan& plan, const Workload& workload, const Cluster& cluster,
                              const LoweringOptions& options);

}  // namespace shardsim
