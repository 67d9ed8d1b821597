#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "program/program_checker.h"

namespace shardsim {
namespace {

constexpr int kMostBatchesAhead = 16;
constexpr int kMostEvery = 1'000'000;
constexpr int kMostSortBits = 64;
constexpr int kMostKernels = 1'000'000;
constexpr double kMostGrowth = 16;  // 1 where no row comes twice; estimates may lie a little above

}  // namespace

void ProgramChecker::fail_op(const Op& op, const std::string& wrong, const std::string& remedy) const {
  throw input_error(place_in(places_.ops, static_cast<std::size_t>(op.id)),
                    fmt::format("operation {} {}: {}", op.id, excerpt(op.name), wrong), remedy);
}

void ProgramChecker::check_op(std::size_t index) const {
  const Op& op = program_.ops[index];
  if (op.id < 0 || static_cast<std::size_t>(op.id) != index) {
    throw input_error(place_in(places_.ops, index), fmt::format("operation {} has id {}", index, op.id),
                      "Ids count 0, 1, 2 ... in the order of the list.");
  }
  if (op.name.empty()) fail_op(op, "it has no name", "Give it one.");
  if (op.stream < 0 || static_cast<std::size_t>(op.stream) >= program_.streams.size()) {
    fail_op(op, fmt::format("there is no stream {}", op.stream),
            fmt::format("There are {}, counted from 0.", program_.streams.size()));
  }
  sorted_ranks(op.ranks, place_in(places_.ops, index), fmt::format("operation {} {}", op.id, excerpt(op.name)));
  check_order(op);
  check_role(op);
  check_every(op);
  if (op.is_collective()) {
    check_collective(op);
  } else if (op.op_class == OpClass::host) {
    check_host(op);
  } else {
    check_compute(op);
  }
}

void ProgramChecker::check_every(const Op& op) const {
  const bool may_be_rare =
      op.op_class == OpClass::all_reduce || op.op_class == OpClass::update || op.op_class == OpClass::host;
  if (op.every >= 1 && op.every <= kMostEvery && (op.every == 1 || may_be_rare)) return;
  fail_op(op, fmt::format("it runs in one of {} iterations", op.every),
          fmt::format("Write 1 to {} in 'every', above 1 of an all_reduce, an update and work of the host alone.",
                      kMostEvery));
}

// Work of the host takes time and moves nothing.
void ProgramChecker::check_host(const Op& op) const {
  if (op.fixed_ns <= 0) fail_op(op, "its fixed_ns is not above 0", "Write the nanoseconds that the host takes.");
  if (op.fixed_ns > kMostNanoseconds)
    fail_op(op, fmt::format("fixed_ns is {}", op.fixed_ns), "Write at most 10^15 nanoseconds, 10^6 s.");
  Op plain;
  plain.id = op.id;
  plain.name = op.name;
  plain.op_class = op.op_class;
  plain.role = op.role;
  plain.ranks = op.ranks;
  plain.stream = op.stream;
  plain.after = op.after;
  plain.after_previous = op.after_previous;
  plain.fixed_ns = op.fixed_ns;
  plain.every = op.every;
  if (op != plain) fail_op(op, "an operation of the host moves and computes nothing", "Leave all but 'fixed_ns' out.");
}

void ProgramChecker::check_order(const Op& op) const {
  for (const int id : op.after) {
    if (id < 0 || id >= op.id) {
      fail_op(op, fmt::format("it waits for operation {}", id),
              "'after' names smaller ids only: anything else would wait for ever.");
    }
  }
  for (const int id : op.after_previous) {
    if (id < 0 || static_cast<std::size_t>(id) >= program_.ops.size()) {
      fail_op(op, fmt::format("it waits for operation {} of the previous iteration, which does not exist", id),
              fmt::format("There are {} operations, counted from 0.", program_.ops.size()));
    }
  }
}

void ProgramChecker::check_collective(const Op& op) const {
  const auto group = program_.groups.find(op.group);
  if (group == program_.groups.end()) {
    fail_op(op, fmt::format("unknown group {}", excerpt(op.group)),
            known_names_hint(excerpt(op.group), some_keys(program_.groups)));
  }
  check_members(op);
  const std::vector<std::string> dtypes{"fp32", "fp16", "bf16", "int8", "fp8", "mx4", "int32", "int64"};
  if (!op.dtype.empty() && std::ranges::find(dtypes, op.dtype) == dtypes.end()) {
    fail_op(op, fmt::format("unknown dtype {}", excerpt(op.dtype)), known_names_hint(op.dtype, dtypes));
  }
  if (op.launch_ns < 0 || op.launch_ns > kMostNanoseconds || (op.launch_ns > 0 && op.op_class != OpClass::all_to_all)) {
    fail_op(op, fmt::format("launch_ns is {}", op.launch_ns), "Write 0 to 10^15 nanoseconds, of an all_to_all alone.");
  }
  if (op.op_class == OpClass::all_to_all) {
    if (op.bytes != 0 || !op.bytes_by_set.empty()) {
      fail_op(op, "an all_to_all has a matrix, not bytes", "Leave 'bytes' out.");
    }
    check_matrix_fits(op, group->second);
  } else if (op.matrix != MatrixUse{} || !is_amount(static_cast<double>(op.bytes)) ||
             static_cast<double>(op.bytes) >= kWholeNumberLimit) {
    fail_op(op, "it needs 'bytes', 0 or more and below 2^53, and no matrix", "Only an all_to_all has a matrix.");
  }
  check_bytes_by_set(op, group->second.size());
}

void ProgramChecker::check_bytes_by_set(const Op& op, std::size_t sets) const {
  if (op.bytes_by_set.empty()) return;
  const auto most = std::ranges::minmax(op.bytes_by_set);
  if (op.bytes_by_set.size() != sets || most.min < 0 || most.max != op.bytes) {
    fail_op(op, fmt::format("its {} sizes are not one for each of the {} rank sets", op.bytes_by_set.size(), sets),
            "Write one number, 0 or more, per rank set of its group.");
  }
}

void ProgramChecker::check_role(const Op& op) const {
  const std::string_view role = op_role_name(op.role);
  if (const auto due = class_of(op.role); due && *due != op.op_class) {
    fail_op(op, fmt::format("its role {} does not fit its class {}", role, op_class_name(op.op_class)),
            fmt::format("An operation in that role is of class {}.", op_class_name(*due)));
  }
  if (op.fusion < -1 || op.fusion >= static_cast<int>(program_.fusions.size())) {
    fail_op(op, fmt::format("there is no fusion group {}", op.fusion),
            fmt::format("There are {}, counted from 0.", program_.fusions.size()));
  }
  const Belonging belonging = belongs_to_fusion(op.role);
  if (op.fusion < 0 && belonging == Belonging::must) {
    fail_op(op, fmt::format("its role {} needs a fusion group", role),
            "Name the fusion group that it works for in 'fusion'.");
  }
  if (op.fusion >= 0 && belonging == Belonging::none) {
    fail_op(op, fmt::format("it names a fusion group, but an operation in its role {} works for all of them", role),
            "Leave 'fusion' out.");
  }
  if (op.batches_ahead < 0 || op.batches_ahead > kMostBatchesAhead) {
    fail_op(op, fmt::format("it works {} batches ahead", op.batches_ahead),
            fmt::format("A pipeline prepares 0 to {} batches.", kMostBatchesAhead));
  }
}

void ProgramChecker::check_shards(const Op& op) const {
  for (const int shard : op.shards) {
    if (shard < 0 || static_cast<std::size_t>(shard) >= program_.shards.size()) {
      fail_op(op, fmt::format("there is no shard {}", shard),
              fmt::format("There are {}, counted from 0.", program_.shards.size()));
    }
  }
  if (op.fusion < 0) return;
  const Program::Fusion& fusion = program_.fusions[static_cast<std::size_t>(op.fusion)];
  for (const int shard : op.shards) {
    const auto found = fusions_.find(shard);
    if (found != fusions_.end() && found->second == op.fusion) continue;
    fail_op(op, fmt::format("shard {} is not of its fusion group {}", shard, excerpt(fusion.name)),
            "List shards of its own fusion group only.");
  }
  if (op.op_class == OpClass::lookup && op.pooled != (fusion.kind == TableKind::pooled)) {
    fail_op(
        op,
        fmt::format("its tables are of another kind (pooled or sequence) than fusion group {}", excerpt(fusion.name)),
        "A lookup is pooled where the tables of its fusion group are.");
  }
}

// A rank of the group that misses the call would leave the others waiting.
void ProgramChecker::check_members(const Op& op) const {
  const std::vector<int>& members = members_.at(op.group);
  const std::size_t ranks = op.ranks.empty() ? static_cast<std::size_t>(program_.world_size) : op.ranks.size();
  bool same = members.size() == ranks;
  if (same && !op.ranks.empty()) {
    std::vector<int> sorted = op.ranks;
    std::ranges::sort(sorted);
    same = sorted == members;
  }
  if (!same) {
    fail_op(op, fmt::format("its ranks are not those of group {}", excerpt(op.group)),
            "Every rank of a group takes part in its collectives, and no other rank.");
  }
}

void ProgramChecker::check_matrix_fits(const Op& op, const std::vector<std::vector<int>>& sets) const {
  for (std::size_t set = 0; set < (op.matrix.per_set ? sets.size() : 1); ++set) {
    check_matrix_fits(op, op.matrix.of_set(set), sets[set].size());
  }
}

void ProgramChecker::check_matrix_fits(const Op& op, int index, std::size_t members) const {
  if (index < 0 || static_cast<std::size_t>(index) >= program_.matrices.size()) {
    fail_op(op, fmt::format("there is no matrix {}", index),
            fmt::format("There are {}, counted from 0.", program_.matrices.size()));
  }
  const auto& [name, matrix] = program_.matrices[static_cast<std::size_t>(index)];
  const std::size_t size = matrix.kind == ByteMatrix::Kind::dense ? matrix.dense.size() : matrix.units.size();
  if (matrix.kind != ByteMatrix::Kind::even && size != members) {
    fail_op(
        op,
        fmt::format("matrix {} is for {} members, group {} has {}", excerpt(name), size, excerpt(op.group), members),
        "Write one number per member of the group.");
  }
}

void ProgramChecker::check_compute(const Op& op) const {
  if (!op.group.empty() || op.matrix != MatrixUse{} || !op.dtype.empty() || op.bytes != 0 || !op.bytes_by_set.empty()) {
    fail_op(op, "a compute operation has no group, matrix, bytes or dtype", "Leave them out.");
  }
  const std::vector<std::string> precisions{"", "fp32", "tf32", "fp16", "bf16"};
  if (std::ranges::find(precisions, op.precision) == precisions.end()) {
    fail_op(op, fmt::format("unknown precision {}", excerpt(op.precision)),
            known_names_hint(op.precision, {"fp32", "tf32", "fp16", "bf16"}));
  }
  // "none": the gradients of several places are added up, and another operation applies the sum.
  const std::vector<std::string> optimizers{"", "none", "sgd", "rowwise_adagrad", "adagrad", "adam", "lamb"};
  if (std::ranges::find(optimizers, op.optimizer) == optimizers.end()) {
    fail_op(op, fmt::format("unknown optimizer {}", excerpt(op.optimizer)),
            known_names_hint(op.optimizer, {"sgd", "rowwise_adagrad", "adagrad", "adam", "lamb", "none"}));
  }
  check_shards(op);
  if (op.fixed_ns < 0 || op.fixed_ns > kMostNanoseconds) {
    fail_op(op, fmt::format("fixed_ns is {}", op.fixed_ns), "Write 0 to 10^15 nanoseconds, 10^6 s.");
  }
  check_per_rank(op, op.lookups, "lookups", kMostRowsOfOp);
  check_per_rank(op, op.bags, "bags", kMostRowsOfOp);
  if (!op.pooled && op.bags != PerRank{}) fail_op(op, "it has bags and is not pooled", "Leave 'bags' out.");
  check_per_rank(op, op.hbm_bytes, "hbm_bytes", kMostBytesOfOp);
  check_per_rank(op, op.host_bytes, "host_bytes", kMostBytesOfOp);
  check_stored_rows(op);
  check_per_rank(op, op.flops, "flops", kMostFlops);
  check_per_rank(op, op.distinct_rows, "distinct_rows", kMostRowsOfOp);
  check_row_facts(op);
  check_kernels(op);
}

void ProgramChecker::check_stored_rows(const Op& op) const {
  check_per_rank(op, op.ssd_bytes, "ssd_bytes", kMostBytesOfOp);
  check_per_rank(op, op.ssd_reads, "ssd_reads", kMostRowsOfOp);
  check_per_rank(op, op.memory_bytes, "memory_bytes", kMostBytesOfOp);
  const PerRank none;
  const bool says = op.ssd_bytes != none || op.ssd_reads != none || op.memory_bytes != none;
  if (says && !moves_stored_rows(op.role))
    fail_op(op, "it moves no rows of a key-value store",
            "Leave 'ssd_bytes', 'ssd_reads' and 'memory_bytes' out, or give it the role fetch_rows or write_rows.");
}

void ProgramChecker::check_row_facts(const Op& op) const {
  check_per_rank(op, op.distinct_growth, "distinct_growth", kMostGrowth);
  check_tables(op);
  check_per_rank(op, op.row_bytes, "row_bytes", kMostBytesOfOp);
  check_per_rank(op, op.vector_bytes, "vector_bytes", kMostBytesOfOp);
  if (op.indexed && op.op_class == OpClass::dense) {
    fail_op(op, "it is indexed, and neither a lookup nor an update", "Leave 'indexed' out.");
  }
  if (op.in_place && (op.op_class != OpClass::update || op.indexed)) {
    fail_op(op, "it is in place, and no update without an index", "Leave 'in_place' out.");
  }
  if (op.sort_bits < 0 || op.sort_bits > kMostSortBits) {
    fail_op(op, fmt::format("it sorts by {} bits", op.sort_bits), "Keys have 1 to 64 bits; 0: nothing is sorted.");
  }
}

void ProgramChecker::check_kernels(const Op& op) const {
  if (op.kernels < 0 || op.kernels > kMostKernels) {
    fail_op(op, fmt::format("it is made of {} kernels", op.kernels), fmt::format("Write 0 to {}.", kMostKernels));
  }
  if (!op.products.empty() && op.op_class != OpClass::dense) {
    fail_op(op, "it has products and is not dense", "Leave 'products' out.");
  }
  for (const OpProduct& product : op.products) {
    check_per_rank(op, product.m, "products.m", kMostMatrix);
    check_per_rank(op, product.n, "products.n", kMostMatrix);
    check_per_rank(op, product.k, "products.k", kMostMatrix);
    const auto most = [](const PerRank& side) { return std::ranges::max(side.values); };
    const double m = most(product.m), n = most(product.n), k = most(product.k);
    if (std::max({m * k, k * n, m * n}) > kMostMatrix)
      fail_op(op, fmt::format("a product has a matrix of more than {:g} elements", kMostMatrix), "Check m, n and k.");
    if (!(product.share >= 0 && product.share <= 1))
      fail_op(op, "a product has a share outside 0 to 1", "Write 0 to 1.");
    if (product.count >= 1 && product.count <= kMostKernels) continue;
    fail_op(op, fmt::format("it has a product {} times", product.count), fmt::format("Write 1 to {}.", kMostKernels));
  }
}

void ProgramChecker::check_tables(const Op& op) const {
  if (op.tables.empty()) return;
  if (op.op_class != OpClass::lookup) fail_op(op, "it has by_shard and is no lookup", "Leave 'by_shard' out.");
  if (op.tables.size() != op.shards.size())
    fail_op(op, fmt::format("by_shard has {} entries for {} shards", op.tables.size(), op.shards.size()),
            "Write one for each shard, in their order.");
  for (const OpTable& table : op.tables) {
    const RowReuse& reuse = table.reuse;
    check_per_rank(op, table.lookups, "by_shard.lookups", kMostRowsOfOp);
    PerRank figures{{table.bags, reuse.lookups, reuse.distinct, reuse.long_lookups, reuse.long_rows, reuse.long_pieces,
                     reuse.largest}};
    figures.values.insert(figures.values.end(), reuse.missed.begin(), reuse.missed.end());
    for (const double figure : figures.values) check_per_rank(op, PerRank{{figure}}, "by_shard", kMostRowsOfOp);
  }
}

void ProgramChecker::check_per_rank(const Op& op, const PerRank& numbers, std::string_view key, double most) const {
  const std::size_t ranks = op.ranks.empty() ? static_cast<std::size_t>(program_.world_size) : op.ranks.size();
  if (numbers.values.size() != 1 && numbers.values.size() != ranks) {
    fail_op(op, fmt::format("{} has {} numbers for {} ranks", key, numbers.values.size(), ranks),
            "Write one number for all ranks, or one per rank.");
  }
  if (!std::ranges::all_of(numbers.values, is_amount)) {
    fail_op(op, fmt::format("{} is negative or not finite", key), "Write 0 or more.");
  }
  if (const double largest = std::ranges::max(numbers.values); largest > most) {
    fail_op(op, fmt::format("{} is {:.4g}, more than a rank has in one iteration", key, largest),
            fmt::format("Write at most {:.4g}.", most));
  }
}

}  // namespace shardsim
