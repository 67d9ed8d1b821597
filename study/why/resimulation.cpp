#include <algorithm>
#include <memory>

#include "sim/lower/known_shares.h"
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

// A machine, and what the operations take on it.
struct Expanded {
  Cluster cluster;
  std::shared_ptr<const Program> program;
  std::vector<OpWork> works;
};

// Simulates a case again and again with one plan. The parts that a change cannot touch are made once: the Program where
// only rates change, and what is known of the tables' rows where it is lowered anew with the same tables.
class Resimulation {
 public:
  Resimulation(const PreparedCase& prepared, CriticalPath path) : prepared_(prepared), path_(std::move(path)) {
    original_ = std::make_shared<Program>(prepared.program());
    known_ = std::make_shared<KnownShares>();
  }

  Resimulated of(const ChangedCase& changed) {
    Expanded expanded = expand(changed);
    const auto network = make_network(changed.item.network);
    Resimulated result;
    result.iteration_ms =
        iteration_time(*expanded.program, expanded.cluster, expanded.works, *network, engine_options(changed.item))
            .ms();
    if (!path_.steps.empty() && has_same_operations(*expanded.program, *original_))
      result.path_ms = retraced_ms(expanded);
    return result;
  }

 private:
  Expanded expand(const ChangedCase& changed) {
    Cluster cluster = cluster_of(changed.item);
    std::shared_ptr<const Program> program = original_;
    if (changed.lowered_anew) {
      const bool same_tables = changed.item.workload.tables == prepared_.item.workload.tables;
      program = std::make_shared<Program>(make_program(changed.item, cluster, prepared_.plan, prepared_.scenario, false,
                                                       same_tables ? known_ : nullptr));
    }
    const auto compute = make_compute_model(changed.item.compute_model);
    std::vector<OpWork> works = expand_ops(*program, cluster, *compute, changed.item.algorithms);
    if (changed.edit) changed.edit(*program, cluster, works);
    return {std::move(cluster), std::move(program), std::move(works)};
  }

  // A step that shares a link or the GPU loses as large a part of its time as before.
  double retraced_ms(const Expanded& after) {
    if (!before_) before_ = expand({prepared_.item, {}, false, 1});
    double seconds = 0;
    for (const PathStep& step : path_.steps) {
      const double old = nominal_seconds(step, before_->cluster, before_->works);
      const double now = nominal_seconds(step, after.cluster, after.works);
      seconds += old > 0 ? step.seconds * now / old : step.seconds + now;
    }
    return seconds * 1e3;
  }

  const PreparedCase& prepared_;
  const CriticalPath path_;
  std::shared_ptr<const Program> original_;
  std::shared_ptr<KnownShares> known_;
  std::optional<Expanded> before_;
};

}  // namespace

Resimulate resimulation_of(const PreparedCase& prepared, CriticalPath path) {
  const auto kept = std::make_shared<Resimulation>(prepared, std::move(path));
  return [kept](const ChangedCase& changed) { return kept->of(changed); };
}

}  // namespace shardsim
