#include "sim/program/op_role.h"

#include <array>

namespace shardsim {
namespace {

struct Named {
  std::string_view name;
  OpRole role;
};

constexpr std::array<Named, 19> kByName = {{{"bucketize", OpRole::bucketize},
                                            {"cache_prefetch", OpRole::fetch},
                                            {"concat_permute", OpRole::pass},
                                            {"concat_permute_gradient", OpRole::order_gradient},
                                            {"dense_all_reduce", OpRole::other},
                                            {"dense_backward", OpRole::dense_backward},
                                            {"dense_forward", OpRole::dense_forward},
                                            {"feature_permute", OpRole::permute},
                                            {"grad_divide", OpRole::in_place},
                                            {"h2d_copy", OpRole::copy},
                                            {"host_wait", OpRole::wait},
                                            {"recat", OpRole::recat},
                                            {"recat_gradient", OpRole::pass},
                                            {"seq_permute", OpRole::pass},
                                            {"tier_merge", OpRole::pass},
                                            {"tier_split", OpRole::tier_split},
                                            {"tier_split_gradient", OpRole::split_gradient},
                                            {"unbucketize", OpRole::pass},
                                            {"unbucketize_gradient", OpRole::order_gradient}}};

OpRole role_of_collective(const Op& op) {
  if (op.name == "input_splits_all_to_all") return OpRole::splits;
  if (op.name.starts_with("input_")) return OpRole::inputs;
  return op.op_class == OpClass::all_reduce ? OpRole::in_place : OpRole::exchange;
}

OpRole role_of_update(const Op& op) {
  if (op.name.starts_with("gradient_")) return OpRole::gradient;
  if (op.name.starts_with("update_")) return OpRole::update;
  return op.name.starts_with("apply_") ? OpRole::apply : OpRole::other;
}

}  // namespace

OpRole role_of(const Op& op) {
  for (const Named& known : kByName) {
    if (op.name == known.name) return known.role;
  }
  if (op.op_class == OpClass::lookup) return OpRole::lookup;
  if (op.op_class == OpClass::update) return role_of_update(op);
  return op.is_collective() ? role_of_collective(op) : OpRole::other;
}

int batches_ahead(OpRole role, const Workload& workload) {
  if (workload.pipeline == "none") return 0;
  if (!workload.full_input_exchange()) return role == OpRole::inputs ? 1 : 0;
  const bool prefetch = workload.pipeline == "prefetch_sparse_dist";
  switch (role) {
    case OpRole::copy:
      return 2;
    case OpRole::tier_split:
    case OpRole::permute:
    case OpRole::bucketize:
    case OpRole::splits:
      return prefetch ? 2 : 1;
    case OpRole::wait:
    case OpRole::inputs:
      return 1;
    case OpRole::recat:
    case OpRole::fetch:
      return prefetch ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace shardsim
