#include "sim/engine/known_reductions.h"

#include <algorithm>
#include <utility>

namespace shardsim {
namespace {

bool same_reduction(const Op& a, const Op& b) {
  return a.op_class == b.op_class && a.bytes == b.bytes && a.bytes_by_set == b.bytes_by_set &&
         a.launch_ns == b.launch_ns && a.every == b.every;
}

bool of_sets(const OpWork& work, const std::vector<std::vector<int>>& sets) {
  return std::ranges::equal(work.calls, sets, {}, &OpWork::Call::ranks);
}

}  // namespace

void KnownReductions::keep(const Program& program, std::vector<OpWork> works) {
  for (std::size_t at = 0; at < works.size(); ++at) {
    const Op& op = program.ops[at];
    if (!op.is_collective() || !op.matrix.empty()) continue;
    const auto alike = [&](const Known& each) { return each.op.group == op.group && same_reduction(each.op, op); };
    if (std::ranges::any_of(known_, alike)) continue;
    known_.push_back({op, std::move(works[at])});
  }
}

std::optional<OpWork> KnownReductions::take(const Op& op, const Program& program) {
  if (!op.matrix.empty()) return std::nullopt;
  const std::vector<std::vector<int>>& sets = program.groups.at(op.group);
  const auto found = std::ranges::find_if(
      known_, [&](const Known& each) { return same_reduction(each.op, op) && of_sets(each.work, sets); });
  if (found == known_.end()) return std::nullopt;
  std::optional<OpWork> work = std::move(found->work);
  known_.erase(found);
  return work;
}

}  // namespace shardsim
