#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "models/collective/collective.h"
#include "models/workload/workload_notes.h"
#include "study/notes/modules_apart.h"
#include "study/notes/notes.h"

namespace shardsim {
namespace {

constexpr int kMostReorderedRanks = 256;
constexpr double kTellingModules = 0.03;  // of the iteration

// How many sizes of vectors the sequences of each type have that exchange something.
std::map<Strategy, std::set<std::int64_t>> exchanged_dims(const PreparedCase& prepared) {
  std::map<Strategy, std::set<std::int64_t>> dims;
  for (const Placement& placement : prepared.plan.placements) {
    const Table& table = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)];
    if (table.kind == TableKind::sequence && placement.strategy != Strategy::data_parallel)
      dims[placement.strategy].insert(table.dim);
  }
  return dims;
}

// Returns the time of an all-to-all of next to nothing.
double shortest_call_ms(const Cluster& cluster) {
  ByteMatrix even;
  even.units = {cluster.world_size()};
  const CollectiveCall call{CollectiveKind::all_to_all, all_ranks(cluster.world_size()), &even, 0};
  return expand_collective(call, cluster, "auto").alone(cluster).ms();
}

}  // namespace

// States the iteration with the other module, of pooled tables or of sequences, first in the forward pass: with
// the same plan, simulated once more. None where that changes less than 3 %, where the workload has one module, and for
// worlds so large that a second simulation is felt.
Notes other_order_note(const Known& known) {
  const PreparedCase& prepared = *known.prepared;
  const CaseResult& result = *known.result;
  const Workload& workload = prepared.item.workload;
  const bool small = prepared.cluster.world_size() <= kMostReorderedRanks && prepared.cluster.world_size() > 1;
  if (!small || !workload.has_both_kinds() || prepared.item.job || result.drawn || runs_once(prepared.item.network))
    return {};
  Case item = prepared.item;
  item.workload.first_module = other_kind(workload.first_kind());
  const double ms = simulated_ms({prepared.scenario, item, prepared.shared_cluster(), prepared.plan}),
               change = ms / result.iteration_ms - 1;
  if (std::abs(change) < kTellingModules) return {};
  return {fmt::format(
      "With the {} module first in the forward pass, an iteration would take {:.4g} ms, {:.2g} % {}, with the same "
      "plan. Here the {} module is first{}: 'modules: {{first: {}}}' in the workload takes the other order, if the "
      "model's code has that or can have it.",
      kind_name(*item.workload.first_module), ms, 100 * std::abs(change), change < 0 ? "less" : "more",
      kind_name(workload.first_kind()), workload.first_module ? "" : ", because the first table is one of it",
      kind_name(*item.workload.first_module))};
}

std::optional<ModulesApart> modules_apart(const PreparedCase& prepared) {
  const Workload& workload = prepared.item.workload;
  if (prepared.cluster.world_size() < 2 || workload.hugectr_rows() || workload.modules_apart) return std::nullopt;
  std::size_t modules = 0;
  for (const auto& [strategy, dims] : exchanged_dims(prepared)) modules += dims.size() - 1;
  if (modules == 0) return std::nullopt;
  return ModulesApart{modules * (workload.full_input_exchange() ? 4 : 3), shortest_call_ms(prepared.cluster)};
}

std::optional<double> ms_with_modules_apart(const PreparedCase& prepared, double iteration_ms) {
  Case item = prepared.item;
  const bool small = prepared.cluster.world_size() <= kMostReorderedRanks;
  if (!small || item.job || item.load.drawn() || !item.published.empty() || runs_once(item.network))
    return std::nullopt;
  const std::optional<ModulesApart> apart = modules_apart(prepared);
  if (!apart || apart->shortest_ms * static_cast<double>(apart->calls) < kTellingModules * iteration_ms)
    return std::nullopt;
  item.workload.modules_apart = true;
  return simulated_ms({prepared.scenario, item, prepared.shared_cluster(), prepared.plan});
}

// Where sequences of several dimensions are exchanged together, as those of TorchRec's modules are not: states how many
// calls of collectives more the modules would make, and how long these take: simulated, or at least.
Notes fused_sequences_note(const Known& known) {
  const std::optional<ModulesApart> apart = modules_apart(*known.prepared);
  if (!apart) return {};
  const std::string more = fmt::format("{} TorchRec's would make {} more, for lengths, ids, vectors and gradients.",
                                       fused_sequences_text(known.item.workload.tables), counted(apart->calls, "call"));
  const std::optional<double>& with = known.result->iteration_ms_with_modules_apart;
  if (with)
    return {
        fmt::format("{} With them, 'modules: {{exchanges: each}}' in the workload, an iteration takes {:.4g} ms, "
                    "with the same plan.",
                    more, *with)};
  return {
      fmt::format("{} Each takes at least {:.3g} ms, so that an iteration is about {:.2g} ms longer where nothing "
                  "hides them.",
                  more, apart->shortest_ms, apart->shortest_ms * static_cast<double>(apart->calls))};
}

}  // namespace shardsim
