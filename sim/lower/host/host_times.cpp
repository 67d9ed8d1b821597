#include "sim/lower/host/host_times.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "program/program.h"

namespace shardsim {
namespace {

// Kernels of one operation in a role; one in all others. TorchRec's, as counted in its traces: a permutation of ids has
// one for the lengths, their sums and the ids; an exact update those of its sort, of runs and of the rows.
struct RoleKernels {
  OpRole role;
  int kernels;
};
constexpr RoleKernels kKernels[] = {
    {OpRole::copy_inputs, 3}, {OpRole::permute_inputs, 3}, {OpRole::bucketize, 3},     {OpRole::recat, 3},
    {OpRole::lookup, 2},      {OpRole::sum_duplicates, 2}, {OpRole::sum_gradient, 14}, {OpRole::update, 18},
};

bool is_input(OpRole role) {
  return (role >= OpRole::copy_inputs && role <= OpRole::prefetch_rows) && role != OpRole::wait_for_splits;
}
bool is_call(OpRole role) {
  return role == OpRole::lookup || role == OpRole::order_lookups;
}
// Steps that only some models have, and that the modules which were timed did not.
bool is_added(OpRole role) {
  return role == OpRole::transform_inputs || role == OpRole::deduplicate_ids || role == OpRole::restore_duplicates ||
         role == OpRole::sum_duplicates || role == OpRole::decode_output || role == OpRole::encode_gradient ||
         role == OpRole::decode_gradient;
}
bool is_output(OpRole role) {
  return role >= OpRole::sum_output && role <= OpRole::restore_duplicates;
}
bool is_forward(OpRole role) {
  return role == OpRole::bottom_forward || role == OpRole::dense_forward;
}
bool is_backward(OpRole role) {
  return role == OpRole::bottom_backward || role == OpRole::dense_backward;
}
bool is_gradient(OpRole role) {
  return role >= OpRole::sum_duplicates && role <= OpRole::apply;
}

// Tables of the operation on the rank that has most of them.
double most_tables(const Op& op, const Program& program) {
  std::map<int, std::set<int>> tables;  // [rank]
  for (const int index : op.shards)
    for (const std::vector<int>& holders : program.shard(index).holders)
      for (const int rank : holders) tables[rank].insert(program.shard(index).table);
  std::size_t most = 0;
  for (const auto& [rank, of_rank] : tables) most = std::max(most, of_rank.size());
  return static_cast<double>(most);
}

// Sends and receives of one rank in a collective: an all_to_all has one of both for each peer.
double sends_and_receives(const Op& op, const Program& program) {
  if (op.op_class != OpClass::all_to_all) return 0;
  return 2.0 * static_cast<double>(program.groups.at(op.group).front().size());
}

class HostTimeList {
 public:
  HostTimeList(const Program& program, const HostWork& work)
      : program_(program), work_(work), software_(*work.software), times_(program.ops.size()) {}

  std::vector<HostTime> take() {
    for (const Op& op : program_.ops) add(op);
    add_modules();
    return std::move(times_);
  }

 private:
  void add(const Op& op) {
    HostTime& time = times_[static_cast<std::size_t>(op.id)];
    if (op.role == OpRole::wait_for_splits) return;
    if (!op.by_kernel.empty() && software_.pytorch) {
      time = spread(by_operator(op), kernels_of(op));
    } else if (is_forward(op.role) && software_.operator_forward.value > 0) {
      time = spread(operators(op) * software_.operator_forward, kernels_of(op));
    } else if (is_backward(op.role) && software_.operator_backward.value > 0) {
      time = spread(operators(op) * software_.operator_backward, kernels_of(op));
    } else if (const Seconds tensor = software_.optimizer_tensor(op.optimizer);
               op.role == OpRole::dense_update && tensor.value > 0) {
      time = spread(work_.parameter_tensors * tensor, work_.parameter_tensors);
    } else if (!holds_launches(op.role)) {
      time = spread(kernels_of(op) * software_.launch, kernels_of(op));
      time.before = time.before + sends_and_receives(op, program_) * software_.send_receive;
    }
    if (software_.per_table.value > 0 && (op.role == OpRole::lookup || op.role == OpRole::update))
      time.before = time.before + 0.5 * most_tables(op, program_) * software_.per_table;
  }

  // The host's time of PyTorch's operators, each with its own.
  Seconds by_operator(const Op& op) const {
    Seconds sum{0};
    for (const DenseKernel& kernel : op.by_kernel) {
      const auto found = software_.operator_times.find(kernel.op);
      if (found != software_.operator_times.end()) sum = sum + kernel.calls * found->second;
    }
    if (op.role == OpRole::dense_update) sum = sum + work_.parameter_tensors * software_.optimizer_per_tensor;
    return sum;
  }

  // True when the time of a module or a table holds the launches of operations in this role.
  bool holds_launches(OpRole role) const {
    if (is_added(role)) return false;
    if (is_input(role)) return software_.module_dist.value > 0;
    const bool by_table = software_.per_table.value > 0;
    if (is_call(role)) return software_.module_call.value > 0 || by_table;
    if (is_output(role)) return software_.module_output.value > 0;
    return is_gradient(role) &&
           (software_.module_backward.value > 0 || (by_table && (role == OpRole::update || role == OpRole::apply)));
  }

  // The first kernel can start once its own part is over.
  static HostTime spread(Seconds all, double parts) {
    const Seconds first = (1 / std::max(parts, 1.0)) * all;
    return {first, all - first};
  }

  double operators(const Op& op) const {
    const auto found = work_.operators.find(op.id);
    return found == work_.operators.end() ? 1 : found->second;
  }

  // The time that is paid once per sharded module and strategy stands before the first of its operations of that kind.
  void add_modules() {
    const InputTurns turns(program_);
    for (int turn = 0; turn < turns.count(); ++turn) add_input(turns, turn);
    for (int fusion = 0; fusion < static_cast<int>(program_.fusions.size()); ++fusion) {
      const Op* const call = first_where(is_call, fusion);
      const Op* const output = first_where(is_output, fusion);
      add_before(call, software_.module_call);
      add_before(output != nullptr ? output : call, software_.module_output);
      add_before(first_where(is_gradient, fusion), software_.module_backward);
    }
  }

  // Adds what brings the input of collections of one turn; features of tables that exchange nothing are in the first
  // one.
  void add_input(const InputTurns& turns, int turn) {
    double groups = 0, features = turn == 0 ? work_.features : 0;
    for (int fusion = 0; fusion < static_cast<int>(program_.fusions.size()); ++fusion) {
      const int of = turns.of_fusion(fusion);
      groups += of == turn ? 1 : 0;
      if (of == 0) continue;
      if (turn == 0) features -= features_of(fusion);
      if (turn == of) features += features_of(fusion);
    }
    const auto begins = [&](const Op& op) { return is_input(op.role) && turns.of(op) == turn; };
    const auto found = std::ranges::find_if(program_.ops, begins);
    add_before(found != program_.ops.end() ? &*found : first_where(is_call, -1),
               groups * software_.module_dist + features * software_.per_feature);
  }

  double features_of(int fusion) const {
    std::set<int> tables;
    for (const int shard : program_.fusions[static_cast<std::size_t>(fusion)].shards)
      tables.insert(program_.shard(shard).table);
    double features = 0;
    for (const int table : tables)
      features += static_cast<double>(program_.tables[static_cast<std::size_t>(table)].features.size());
    return features;
  }

  void add_before(const Op* op, Seconds time) {
    if (op == nullptr) return;
    Seconds& before = times_[static_cast<std::size_t>(op->id)].before;
    before = before + time;
  }

  // `fusion` below 0: whatever it works for.
  const Op* first_where(bool (*is_wanted)(OpRole), int fusion) const {
    const auto found = std::ranges::find_if(
        program_.ops, [&](const Op& op) { return is_wanted(op.role) && (fusion < 0 || op.fusion == fusion); });
    return found == program_.ops.end() ? nullptr : &*found;
  }

  const Program& program_;
  const HostWork& work_;
  const Software& software_;
  std::vector<HostTime> times_;
};

}  // namespace

double kernels_of(const Op& op) {
  if (op.is_collective()) return 1;
  double kernels = op.kernels;
  for (const OpProduct& product : op.products) kernels += product.count;
  return kernels;
}

void count_kernels(Program& program) {
  for (Op& op : program.ops) {
    const bool waits = op.role == OpRole::wait_for_splits;
    if (op.is_collective() || waits || op.kernels > 0 || !op.products.empty()) continue;
    const auto* const found = std::ranges::find(kKernels, op.role, &RoleKernels::role);
    op.kernels = found == std::end(kKernels) ? 1 : found->kernels;
  }
}

std::vector<HostTime> host_times(const Program& program, const HostWork& work) {
  return HostTimeList(program, work).take();
}

}  // namespace shardsim
