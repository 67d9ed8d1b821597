// Slower hardware that makes an iteration shorter, so that nobody takes the slower cluster for the better one.

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "models/collective/slower_links.h"
#include "study/notes/notes.h"
#include "study/result/hardware.h"
#include "topology/spec/unusual_values.h"

namespace shardsim {
namespace {

constexpr int kMostSecondRanks = 256;   // of a world that is simulated or expanded once more
constexpr double kTellingOrder = 1e-3;  // of an iteration

// A second simulation of the Program, on a sound cluster, with what the sentence about it needs.
CaseResult simulated_on(const Cluster& cluster, const PreparedCase& prepared) {
  const Program& program = prepared.program();
  const ResolvedCase sound(prepared.item, std::make_shared<const Cluster>(cluster));
  SimulationResult simulated = sound.simulated(program, *sound.network());
  CaseResult result;
  result.timeline = std::move(simulated.timeline);
  result.iteration_ms = result.timeline.iteration_ms;
  if (!simulated.path.steps.empty())
    result.why = why_of(program, cluster, simulated.path, named_times(result.timeline));
  return result;
}

bool is_small(const PreparedCase& prepared) {
  return prepared.cluster.world_size() <= kMostSecondRanks && !prepared.item.job;
}

// The case's cluster without its faults, and without the oversubscription of its fabric.
struct Sounder {
  std::string without;
  ClusterSpec spec;
};

std::vector<Sounder> sounder_clusters(const ClusterSpec& own) {
  std::vector<Sounder> sounder;
  if (!own.faults.empty()) sounder.emplace_back(Sounder{"its faults", own}).spec.faults.clear();
  if (own.fabric.oversubscription > 1)
    sounder.emplace_back(Sounder{"the oversubscription of its fabric", own}).spec.fabric.oversubscription = 1;
  return sounder;
}

}  // namespace

// Says of a case on a cluster with faults or an oversubscribed fabric that its Program would take longer without them.
// None where it would not, and for worlds so large that a second simulation is felt.
Notes unusual_values_note(const Known& known) {
  return unusual_values(known.item.cluster);
}

Notes sound_cluster_note(const Known& known) {
  const PreparedCase& prepared = *known.prepared;
  const CaseResult& result = *known.result;
  Notes notes;
  if (!is_small(prepared) || result.drawn) return notes;
  for (const Sounder& sounder : sounder_clusters(prepared.cluster.spec())) {
    const CaseResult without = simulated_on(Cluster(sounder.spec), prepared);
    const double longer = without.iteration_ms / result.iteration_ms - 1;
    if (longer < kTellingOrder) continue;
    notes.push_back(fmt::format(
        "With the same plan and without {}, an iteration would take {:.4g} ms, {:.2g} % longer. {} That follows from "
        "what happens to run at once, or from what NCCL chooses, and is no advantage of the slower hardware.",
        sounder.without, without.iteration_ms, 100 * longer, overlap_sentence(without, result)));
  }
  return notes;
}

// Says what NCCL's search finds for the first collective of the case that would be faster with slower links. None where
// there is no such collective.
Notes slower_links_note(const Known& known) {
  const PreparedCase& prepared = *known.prepared;
  if (!is_small(prepared) || prepared.item.load.drawn()) return {};
  const Program& program = prepared.program();
  const SlowerLinks slower(prepared.cluster);
  std::set<std::tuple<OpClass, std::string, std::int64_t>> seen;
  for (const Op& op : program.ops) {
    if (!op.is_collective() || !seen.emplace(op.op_class, op.group, op.bytes_of_set(0)).second) continue;
    const auto chosen = prepared.item.algorithms.find(std::string(op_class_name(op.op_class)));
    const CollectiveCall call{*collective_kind(op.op_class), program.groups.at(op.group).front(), nullptr,
                              op.bytes_of_set(0)};
    const std::string note =
        slower.better_for(call, op.name, chosen == prepared.item.algorithms.end() ? "auto" : chosen->second);
    if (!note.empty()) return {note};
  }
  return {};
}

}  // namespace shardsim
