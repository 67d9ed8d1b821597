#include "program/input_turns.h"

#include <algorithm>

namespace shardsim {

InputTurns::InputTurns(const Program& program) : of_fusion_(program.fusions.size(), 0) {
  for (const Op& op : program.ops) {
    if (op.role == OpRole::recat) ends_.push_back(op.id);
    if (op.role == OpRole::prefetch_rows && ends_.size() > 1) ends_.back() = op.id;
  }
  if (ends_.size() < 2) {
    ends_ = {static_cast<int>(program.ops.size())};
    return;
  }
  for (const Op& op : program.ops)
    if (op.role == OpRole::exchange_ids) of_fusion_[static_cast<std::size_t>(op.fusion)] = of(op);
}

int InputTurns::of(const Op& op) const {
  const bool on_input = op.role != OpRole::none && op.role <= OpRole::prefetch_rows;
  if (!on_input) return of_fusion(op.fusion);
  const auto end = std::ranges::lower_bound(ends_, op.id);
  return std::min(static_cast<int>(end - ends_.begin()), count() - 1);
}

int InputTurns::of_fusion(int fusion) const {
  return fusion < 0 ? 0 : of_fusion_[static_cast<std::size_t>(fusion)];
}

}  // namespace shardsim
