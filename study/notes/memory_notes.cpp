#include "study/notes/memory_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/check.h"
#include "plan/memory_need.h"
#include "plan/row_stores.h"
#include "sim/memory/buffer_sizes.h"
#include "sim/memory/memory_profile.h"
#include "study/notes/notes.h"

namespace shardsim {
namespace {

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

// That what is left beside a peak is less than what may come on top of it; "" where there is more.
std::string tight_text(std::int64_t room, const MemoryAllowance& allowance, std::int64_t capacity) {
  const bool little = static_cast<double>(room) <= kLittleRoom * static_cast<double>(capacity);
  if (room > allowance.bytes() && !little) return "";
  if (allowance.bytes() <= room) return "Fragments that the allocator cannot use may take more than that.";
  const std::string start_up =
      allowance.start_up > 0
          ? fmt::format(", and initialisation and the optimizer's first step {:.2f}", gib(allowance.start_up))
          : "";
  return fmt::format("Fragments that the allocator cannot use may take {:.2f} GiB more{}: it may run out of memory.",
                     gib(allowance.fragments), start_up);
}

// Returns the memory that the GPUs of a plan hold in a simulated iteration, as `shardsim run` simulates it.
MemoryProfile simulated_memory(const PreparedCase& prepared) {
  const SimulationResult simulated = simulate_case(prepared, *prepared.network());
  return memory_profile(prepared.program(), simulated.timeline, prepared.plan, prepared.item.workload);
}

// The peak of a simulated iteration, as `run` judges it; nothing where the plan cannot be simulated.
std::string peak_text(const PreparedCase& prepared, MemoryNeed need) {
  try {
    const MemoryProfile profile = simulated_memory(prepared);
    need.peak = profile.highest().bytes();
    const std::int64_t capacity = prepared.cluster.memory_per_rank().count;
    const std::int64_t over = bytes_over(need, capacity);
    std::string text = fmt::format("{:.4g} GiB at its simulated peak", gib(*need.peak));
    if (over <= 0) {
      const MemoryAllowance allowance = memory_allowance(profile.highest(), prepared.item.workload);
      const std::string tight = tight_text(capacity - *need.peak, allowance, capacity);
      return text + (tight.empty() ? "" : ". " + tight.substr(0, tight.size() - 1));
    }
    return text + fmt::format(", {:.2f} GiB too much: the run would end with an out-of-memory error", gib(over));
  } catch (const Error&) {
    return "a simulated peak that is not known";
  }
}

}  // namespace

std::string room_text(const Cluster& cluster) {
  const GpuSpec& gpu = cluster.spec().gpu;
  const std::string room = fmt::format("the {:.4g} GiB of a GPU", gib(cluster.memory_per_rank().count));
  if (gpu.reserved.count == 0) return room;
  return room + fmt::format(" (of its {:.4g}, {:.3g} are reserved)", gib(gpu.hbm.count), gib(gpu.reserved.count));
}

// A plan that fits by the memory model may still run out of memory.
Notes memory_need_note(const Known& known) {
  const PreparedCase& prepared = *known.prepared;
  const MemoryModel& model = prepared.memory();
  const std::vector<std::int64_t> bytes =
      memory_per_rank(prepared.plan, prepared.item.workload, prepared.cluster, model);
  const MemoryNeed need{std::ranges::max(bytes), std::nullopt, model.counts_buffers()};
  return {fmt::format("Of {}, the fullest holds {:.4g} GiB by the memory model, and {}.", room_text(prepared.cluster),
                      gib(need.by_model), peak_text(prepared, need))};
}

constexpr std::size_t kTablesNamed = 4;

// True for rows that lie there, and for a cache of rows.
bool takes_host_memory(const Placement& placement) {
  return on_host(placement) || (row_store_of(placement) == RowStore::ssd && placement.l2.count > 0);
}

// States the rows that a plan keeps in host memory, and the size of that memory where it is known.
Notes host_rows_note(const Known& known) {
  const PreparedCase& prepared = *known.prepared;
  if (std::ranges::none_of(prepared.plan.placements, takes_host_memory)) return {};
  const std::vector<double> nodes =
      host_memory_of_nodes(prepared.plan, prepared.item.workload, prepared.cluster, prepared.memory());
  const auto fullest = std::ranges::max_element(nodes);
  if (fullest == nodes.end() || *fullest <= 0) return {};
  std::vector<std::string> tables;
  for (const Placement& placement : prepared.plan.placements) {
    const std::string& name = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)].name;
    if (takes_host_memory(placement) && std::ranges::find(tables, name) == tables.end()) tables.push_back(name);
  }
  const bool rows = std::ranges::any_of(prepared.plan.placements, on_host);
  const std::string taken =
      fmt::format("{} of {} {} take {:.1f} GiB of the host memory of node {}",
                  rows ? "Rows and optimizer states" : "Caches", tables.size() == 1 ? "table" : "tables",
                  first_names(tables, kTablesNamed), *fullest / kGiB, fullest - nodes.begin());
  if (const auto& memory = prepared.cluster.spec().host.memory)
    return {fmt::format("{}, which has {:.4g} GiB.", taken, gib(memory->count))};
  return {taken +
          ", and the cluster does not state how much a node has (host.memory). Whether they fit there is unknown."};
}

Notes peak_note(const Known& known) {
  const CaseResult& result = *known.result;
  const Cluster& cluster = known.prepared->cluster;
  if (result.memory_profile.ranks.empty() || result.memory_capacity <= 0) return {};
  const std::int64_t room = result.memory_capacity - result.memory_profile.highest().bytes();
  if (room < 0) return {over_note(result, cluster, -room)};
  const std::string tight =
      tight_text(room, memory_allowance(result.memory_profile.highest(), known.item.workload), result.memory_capacity);
  if (tight.empty()) return {};
  return {fmt::format("At its simulated peak, rank {} is left with {:.2f} GiB of {}. {}",
                      result.memory_profile.fullest(), gib(room), room_text(cluster), tight)};
}

// Says that the peak lacks activations that nobody can count.
Notes activations_note(const Known& known) {
  if (known.result->memory_profile.ranks.empty() || tells_dense_activations(known.item.workload.dense)) return {};
  return {
      "The workload does not state the layers of its dense part. How much memory their activations take is unknown, "
      "and the simulated peak does not contain them."};
}

}  // namespace shardsim
