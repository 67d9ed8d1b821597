#include "study/notes/memory_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/check.h"
#include "sim/memory/dense_activations.h"
#include "study/result/result_fields.h"

namespace shardsim {
namespace {

using Notes = std::vector<std::string>;

constexpr double kLittleRoom = 0.02;  // of what a plan may take: the peak is not known better

double gib(std::int64_t bytes) {
  return static_cast<double>(bytes) / kGiB;
}

// The plan fits by the memory model, but not what the iteration keeps at once.
std::string over_note(const CaseResult& result, const Cluster& cluster, std::int64_t over) {
  if (!result.buffers_counted)  // the same words for all cases, so that they are said once
    return "As the scenario asks, the memory model counts only the rows of tables, and no buffers. At its simulated "
           "peak a GPU would need more memory than it has, so the run would end with an out-of-memory error.";
  return fmt::format(
      "At its simulated peak, rank {} holds {:.2f} GiB, {:.2f} more than {}. The memory model does not count "
      "everything; report.html and result.json list what is held then.",
      result.memory_profile.fullest(), gib(result.memory_profile.highest().bytes()), gib(over), room_text(cluster));
}

void note_peak(Notes& notes, const CaseResult& result, const Cluster& cluster) {
  if (result.memory_profile.ranks.empty() || result.memory_capacity <= 0) return;
  const std::int64_t room = result.memory_capacity - result.memory_profile.highest().bytes();
  if (room < 0) notes.push_back(over_note(result, cluster, -room));
  if (room < 0 || static_cast<double>(room) > kLittleRoom * static_cast<double>(result.memory_capacity)) return;
  notes.push_back(fmt::format(
      "At its simulated peak, rank {} is left with {:.2f} GiB of {}. Fragments that the allocator cannot use may take "
      "more than that.",
      result.memory_profile.fullest(), gib(room), room_text(cluster)));
}

void note_activations(Notes& notes, const CaseResult& result, const Workload& workload) {
  if (result.memory_profile.ranks.empty() || tells_dense_activations(workload.dense)) return;
  notes.emplace_back(
      "The workload does not state the layers of its dense part. How much memory their activations take is unknown, "
      "and the simulated peak does not contain them.");
}

}  // namespace

std::string room_text(const Cluster& cluster) {
  const GpuSpec& gpu = cluster.spec().gpu;
  const std::string room = fmt::format("the {:.4g} GiB of a GPU", gib(cluster.memory_per_rank().count));
  if (gpu.reserved.count == 0) return room;
  return room + fmt::format(" (of its {:.4g}, {:.3g} are reserved)", gib(gpu.hbm.count), gib(gpu.reserved.count));
}

MemoryProfile simulated_memory(const PreparedCase& prepared) {
  const SimulationResult simulated = simulate_case(prepared, prepared.program(), prepared.item.network);
  return memory_profile(prepared.program(), simulated.timeline, prepared.plan, prepared.item.workload);
}

std::vector<std::string> host_memory_notes(const PreparedCase& prepared) {
  return prepared.cluster.spec().host.memory ? Notes() : host_rows_notes(prepared);
}

std::vector<std::string> host_rows_notes(const PreparedCase& prepared) {
  if (std::ranges::none_of(prepared.plan.placements, on_host)) return {};
  const auto model = make_memory_model(prepared.item.memory_model);
  const std::vector<double> nodes =
      host_memory_of_nodes(prepared.plan, prepared.item.workload, prepared.cluster, *model);
  const auto fullest = std::ranges::max_element(nodes);
  if (fullest == nodes.end() || *fullest <= 0) return {};
  const std::string taken =
      fmt::format("Rows take {:.1f} GiB of the host memory of node {}", *fullest / kGiB, fullest - nodes.begin());
  if (const auto& memory = prepared.cluster.spec().host.memory)
    return {fmt::format("{}, which has {:.4g} GiB.", taken, gib(memory->count))};
  return {taken +
          ", and the cluster does not state how much a node has (host.memory). Whether they fit there is unknown."};
}

std::vector<std::string> memory_notes(const CaseResult& result, const PreparedCase& prepared) {
  Notes notes = host_memory_notes(prepared);
  note_peak(notes, result, prepared.cluster);
  note_activations(notes, result, prepared.item.workload);
  return notes;
}

}  // namespace shardsim
