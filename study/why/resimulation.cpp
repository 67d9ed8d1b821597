#include <algorithm>
#include <memory>

#include "study/why/help.h"

namespace shardsim {
namespace {

// The seconds of one step that follow from the works: nothing of what is held, or left over.
double nominal_seconds(const PathStep& step, const Cluster& cluster, const std::vector<OpWork>& works) {
  if (step.op < 0) return 0;
  const OpWork& work = works[static_cast<std::size_t>(step.op)];
  if (step.kind == PathStep::Kind::work) return std::max(work.seconds[static_cast<std::size_t>(step.rank)], 0.0);
  const auto call = std::ranges::find_if(work.calls, [&](const OpWork::Call& each) {
    return std::ranges::find(each.ranks, step.rank) != each.ranks.end();
  });
  if (call == work.calls.end()) return 0;
  if (step.kind == PathStep::Kind::start) return call->loads.start.value;
  const auto load = std::ranges::find(call->loads.loads, step.link, &LinkLoad::link);
  if (load == call->loads.loads.end()) return 0;
  const double rate = cluster.links()[static_cast<std::size_t>(step.link)].rate.bytes_per_second;
  const double cap = load->cap.bytes_per_second;
  return load->occupancy / (cap > 0 ? std::min(cap, rate) : rate);
}

// One after the other, so that a step of one is a step of the other: they may differ in sizes.
bool has_same_operations(const Program& one, const Program& other) {
  return std::ranges::equal(one.ops, other.ops, [](const Op& a, const Op& b) {
    return a.name == b.name && a.op_class == b.op_class && a.group == b.group;
  });
}

// A case that was changed, and the work of its operations. The Program is the original's where only rates change.
struct Expanded {
  Expanded(const PreparedCase& original, const ChangedCase& changed)
      : prepared(original.with_case(changed.item)),
        program(changed.lowered_anew ? prepared.program() : original.program()),
        works(prepared.works(program)) {
    if (changed.edit) changed.edit(program, prepared.cluster, works);
  }

  const PreparedCase prepared;
  const Program& program;
  std::vector<OpWork> works;
};

// Simulates a case again and again with one plan.
class Resimulation {
 public:
  Resimulation(const PreparedCase& prepared, CriticalPath path) : original_(prepared), path_(std::move(path)) {}

  Resimulated of(const ChangedCase& changed) {
    const Expanded now(original_, changed);
    Resimulated result;
    result.iteration_ms = now.prepared.time(now.program, now.works, *now.prepared.network()).ms();
    if (!path_.steps.empty() && has_same_operations(now.program, original_.program()))
      result.path_ms = retraced_ms(now);
    return result;
  }

 private:
  // A step that shares a link or the GPU loses as large a part of its time as before.
  double retraced_ms(const Expanded& after) {
    if (before_.empty()) before_ = original_.works(original_.program());
    double seconds = 0;
    for (const PathStep& step : path_.steps) {
      const double old = nominal_seconds(step, original_.cluster, before_);
      const double now = nominal_seconds(step, after.prepared.cluster, after.works);
      seconds += old > 0 ? step.seconds * now / old : step.seconds + now;
    }
    return seconds * 1e3;
  }

  const PreparedCase& original_;
  const CriticalPath path_;
  std::vector<OpWork> before_;  // the original's
};

}  // namespace

Resimulate resimulation_of(const PreparedCase& prepared, CriticalPath path) {
  const auto kept = std::make_shared<Resimulation>(prepared, std::move(path));
  return [kept](const ChangedCase& changed) { return kept->of(changed); };
}

}  // namespace shardsim
