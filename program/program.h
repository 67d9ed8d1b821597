#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/access/row_reuse.h"
#include "models/collective/byte_matrix.h"
#include "models/compute/dense_kernel.h"
#include "models/load/row_owners.h"
#include "models/workload/workload.h"
#include "plan/plan.h"
#include "program/op_role.h"

namespace shardsim {

inline constexpr std::int64_t kMostProgramRanks = 1 << 20;

// A number that is the same on all ranks of an operation, or one per rank (over Op::ranks, in order).
struct PerRank {
  std::vector<double> values{0};
  double at(std::size_t position) const { return values.size() == 1 ? values[0] : values[position]; }
  bool operator==(const PerRank&) const = default;
};

// The matrix of a Program that an all_to_all moves, and the direction in which it does.
struct MatrixUse {
  int index = -1;           // of Program::matrices; -1: none
  bool transposed = false;  // what a source sends to a destination there, this one sends back
  bool per_set = false;     // `index` is that of the group's first rank set; those of the others follow it
  int of_set(std::size_t set) const { return index + (per_set ? static_cast<int>(set) : 0); }
  bool empty() const { return index < 0; }
  bool operator==(const MatrixUse&) const = default;
};

// Equal matrix products (m x k) (k x n) of an operation.
struct OpProduct {
  PerRank m, n, k;
  int count = 1;
  double share = 0;  // of the peak rate, whatever their shape; 0: their shape decides
  bool operator==(const OpProduct&) const = default;
};

// Holds what a fused lookup, and the update of the same shards, do for one of them.
struct OpTable {
  double bags = 0;  // of ids, of all ranks that a holder serves
  PerRank lookups;  // of each rank
  RowReuse reuse;   // of the lookups of all holders of one copy of its rows
  bool operator==(const OpTable&) const = default;
};

// One operation on all its ranks. A symmetric plan is written only once, so 1,024 ranks need no more operations than 8.
struct Op {
  int id = 0;  // equal to its index
  std::string name;
  OpClass op_class = OpClass::dense;
  OpRole role = OpRole::none;
  int fusion = -1;         // of Program::fusions: the one that it works for; -1: all of them, or none
  int batches_ahead = 0;   // of the batch that is trained in the same iteration, where a pipeline prepares a later one
  std::vector<int> ranks;  // empty: all ranks of the world
  int stream = 0;
  std::vector<int> after;           // must have ended on the same rank in this iteration; smaller ids only
  std::vector<int> after_previous;  // the same of the previous iteration; any id
  // all_reduce, update, host: it runs in one of so many iterations, and each is charged with that part of it.
  int every = 1;

  // Collectives.
  std::string group;       // of Program::groups
  MatrixUse matrix;        // all_to_all
  std::int64_t bytes = 0;  // the other kinds: as CollectiveCall::bytes
  std::vector<std::int64_t>
      bytes_by_set;  // the same where the rank sets of the group differ: one number each; else empty
  std::string dtype;
  // all_to_all: the part of its measured start that a host's launch took, and that is taken off.
  std::int64_t launch_ns = 0;

  // Compute.
  std::vector<int> shards;
  PerRank lookups;
  bool pooled = false;  // lookup: the rows of each bag are summed into one vector, `bags` of them
  PerRank bags;         // lookup, pooled: vectors written; 0 otherwise
  PerRank hbm_bytes;
  PerRank host_bytes;  // between host memory and the device
  // fetch_rows, write_rows: read from or written to the SSDs, in so many reads; copied in host memory.
  PerRank ssd_bytes, ssd_reads, memory_bytes;
  PerRank flops;                    // of its products
  std::string precision;            // dense: of its products; "" means fp32
  std::vector<OpProduct> products;  // dense, one by one where software is stated
  int kernels = 0;                  // beside products and sorts, where it is known; 0: it is not
  // dense, where the software is PyTorch: all of its kernels, those of `products` and the passes among them, as they
  // are on the first rank.
  std::vector<DenseKernel> by_kernel;
  std::string optimizer;    // update
  PerRank distinct_rows;    // update: expected
  PerRank distinct_growth;  // lookup: d ln of the distinct rows / d ln of the lookups, expected; 0: nobody said
  // Bytes of a row that is read, and of a vector that a lookup writes and an update reads a gradient of; means over the
  // tables. 0: both are as wide, and hbm_bytes say how wide.
  PerRank row_bytes, vector_bytes;
  // lookup: of its shards one by one, in their order; none: nobody asked (LoweringOptions::row_tables).
  std::vector<OpTable> tables;
  // HugeCTR's: a lookup goes by pointers that a kernel of its own writes, an update finds its keys sorted by an
  // operation index_rows.
  bool indexed = false;
  bool in_place = false;      // update: every lookup adds its gradient to the row, or to the row's sum, by atomics
  int sort_bits = 0;          // its lookups are sorted by keys of so many bits, beside its hbm_bytes; 0: none
  std::int64_t fixed_ns = 0;  // measured duration from the workload; 0: none

  std::int64_t bytes_of_set(std::size_t set) const { return bytes_by_set.empty() ? bytes : bytes_by_set.at(set); }
  bool is_collective() const { return collective_kind(op_class).has_value(); }
  bool operator==(const Op&) const = default;
};

// Beside each id split_tiers writes where in the batch it stood.
inline constexpr double kPositionBytes = 4;

// Ids are made unique as numbers of 8 bytes, and so are their places among the unique ones.
inline constexpr int kUniqueIdBytes = 8;
// Bytes that deduplicate_ids reads and writes beside its sort, of each id and of each that is kept (FBGEMM,
// jagged_unique_indices: numbered over all tables, compared with the one before, counted, written where they stood,
// numbered as before, measured; at::_unique in between).
inline constexpr double kUniquePassBytes = 112, kKeptIdBytes = 8;

constexpr std::string_view kLaunchStream = "launch";  // the host's, in Program::streams

// One training iteration: for each rank, streams of operations with their bytes and dependencies, but without times.
// Operations of one rank on one stream run in the order of the list. The simulator and the validator execute the same
// Program.
struct Program {
  std::string scenario;
  std::string case_name;
  std::uint64_t seed = 1;
  int world_size = 0;
  int ranks_per_node = 0;
  std::int64_t batch_per_rank = 0;
  int index_batches = 8;
  int id_bytes = 8;             // of the workload
  std::uint64_t hash_seed = 1;  // of the plan: spreads popularity positions over shards
  std::vector<std::string> streams;
  std::map<std::string, std::vector<std::vector<int>>> groups;  // rank sets of equal length that run side by side
  struct Matrix {
    std::string name;
    ByteMatrix bytes;
    bool operator==(const Matrix&) const = default;
  };
  std::vector<Matrix> matrices;
  std::vector<Table> tables;
  // Rows, columns and holders of a placement. The Program does not say where in its memory a holder keeps them.
  struct Shard : Placement {
    int tier = -1;
    std::string order = "popularity";  // what is cut: positions in the order of popularity, or row_id
    RowCut cut = RowCut::hashed;
    // Lookups of an iteration of each holder of a set, by position, where they differ as their rows do; empty: as many
    // for each that has rows.
    std::vector<std::int64_t> lookups = {};
    bool operator==(const Shard&) const = default;
  };
  std::vector<Shard> shards;
  // Shards that share one exchange of ids, one of vectors and one of gradients. The operations of a fusion group name
  // it, and their roles say what they do for it; its lookups and updates name the shards that each of them serves.
  struct Fusion {
    std::string name;
    TableKind kind = TableKind::sequence;  // of all its tables
    std::vector<int> shards;
    bool operator==(const Fusion&) const = default;
  };
  std::vector<Fusion> fusions;
  std::vector<Op> ops;

  const Op& op(int id) const { return ops[static_cast<std::size_t>(id)]; }
  const Shard& shard(int index) const { return shards[static_cast<std::size_t>(index)]; }
  const Table& table_of(int shard_index) const { return tables[static_cast<std::size_t>(shard(shard_index).table)]; }
  std::vector<int> ranks_of(const Op& op) const;  // Op::ranks, or the whole world
  bool operator==(const Program&) const = default;
};

// The matrix that an all_to_all moves in a rank set of its group, transposed if the operation moves it in the other
// direction.
ByteMatrix resolve_matrix(const Program& program, const MatrixUse& use, std::size_t set = 0);

// The index of the item with that name in a list (of matrices, for example); -1 if there is none.
template <typename Named>
int index_named(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

// The ids of the operations of the fusion group that have this role, in the order of the list.
std::vector<int> ops_in_role(const Program& program, int fusion, OpRole role);

// The places where the parts of a Program were read, for messages; an index or name without a place stands at
// `program`.
struct ProgramPlaces {
  Place program;
  std::vector<Place> matrices, tables, shards, fusions, ops;
  std::map<std::string, Place> groups;
};

// Refuses a cycle, an unknown name, a rank that misses a collective of its group, ids out of order, a role that does
// not fit its operation, sizes that do not fit each other, numbers that are negative or not finite. Errors:
// Failure::input.
void check_program(const Program& program, const ProgramPlaces& places);
void check_program(const Program& program, const Place& place);

// The result of resolve_matrix(), for a Program that outlives it. A matrix is copied only where an operation moves it
// in the other direction: it may have a number for each pair of ranks.
class ResolvedMatrix {
 public:
  ResolvedMatrix(const Program& program, const MatrixUse& use, std::size_t set = 0)
      : stored_(program.matrices[static_cast<std::size_t>(use.of_set(set))].bytes) {
    if (use.transposed) turned_ = resolve_matrix(program, use, set);
  }

  const ByteMatrix& operator*() const { return turned_ ? *turned_ : stored_; }

 private:
  const ByteMatrix& stored_;
  std::optional<ByteMatrix> turned_;
};

// In which order a Program brings the input of its fusion groups. TorchRec's collections do it one after the other
// where no pipeline works ahead: each permutes, exchanges and orders its ids, which ends with a recat, and has its
// lookups before the next one begins. All other Programs have one turn.
class InputTurns {
 public:
  explicit InputTurns(const Program& program);

  int count() const { return static_cast<int>(ends_.size()); }
  // The turn of `op`. An operation on input has the turn of the recat that it serves or is; lookups and all behind them
  // have the turn of their fusion group, which is the first turn if the group exchanges no ids.
  int of(const Op& op) const;
  int of_fusion(int fusion) const;

 private:
  std::vector<int> ends_;       // the last operation in front of the lookups, by turn
  std::vector<int> of_fusion_;  // [fusion]
};

// The table that the shard is a part of.
const Table& table_of(const Program& program, const Program::Shard& shard);

// Who holds which row of a shard that is cut by rows.
RowOwners row_owners(const Program& program, const Program::Shard& shard);

// Rows of the piece at a position of the holders, by the way in which they are cut: blocks, as TorchRec cuts them,
// leave the last ones fewer; else the first ones have one more.
std::int64_t rows_of_piece(const Program::Shard& shard, int position);

// The hash by which the rows of the shard are permuted.
RowHash row_hash(const Program& program, const Program::Shard& shard);

// Rows of one rank's batch in the shard, expected, as lowering counts them.
double items_of(const Program& program, const Program::Shard& shard);

// Ranks whose ids one set of holders serves together.
std::size_t sources_of(const Program& program, const Program::Shard& shard);

// Lookups of an iteration of one set of holders together.
double lookups_of_set(const Program& program, const Program::Shard& shard);

// [position] of each holder of one set of holders.
std::vector<double> lookups_of(const Program& program, const Program::Shard& shard);

}  // namespace shardsim
