// Notes on the plan, and on keys of its planner or its file that have no effect.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "plan/row_stores.h"
#include "plan/torchrec_types.h"
#include "study/notes/notes.h"
#include "study/scenario/read_planner.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

constexpr std::size_t kTablesInNote = 3;  // tables

// Names of the tables with a placement that `matches`.
template <typename Matches>
std::vector<std::string> tables_where(const Plan& plan, const Workload& workload, Matches matches) {
  std::vector<std::string> names;
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
    if (matches(placement, table) && (names.empty() || names.back() != table.name)) names.push_back(table.name);
  }
  return names;
}

// "20 %", or "10 to 50 %".
std::string share_text(double least, double most) {
  return least == most ? fmt::format("{:.3g} %", 100 * most)
                       : fmt::format("{:.3g} to {:.3g} %", 100 * least, 100 * most);
}

// The same of all caches of fused_uvm_caching.
std::string cache_sizes(const Plan& plan) {
  double least = 1, most = 0;
  for (const Placement& placement : plan.placements) {
    if (placement.compute_kernel != "fused_uvm_caching") continue;
    least = std::min(least, placement.cache_load_factor);
    most = std::max(most, placement.cache_load_factor);
  }
  return least == most ? fmt::format("{:g} %", 100 * most) : fmt::format("{:g} to {:g} %", 100 * least, 100 * most);
}

// The one of the paper's four bandwidths that is furthest from this cluster's: "the paper's global all-to-all
// has 25.3 GB/s, this cluster's 12.4".
std::string furthest_bandwidth(const Case& item) {
  using Rate = double PlannerBandwidths::*;
  static constexpr std::array<std::pair<const char*, Rate>, 4> kRates = {
      {{"global all-to-all", &PlannerBandwidths::all_to_all_global},
       {"all-to-all inside a node", &PlannerBandwidths::all_to_all_intra},
       {"global all-reduce", &PlannerBandwidths::all_reduce_global},
       {"all-reduce across nodes", &PlannerBandwidths::all_reduce_cross}}};
  const PlannerBandwidths paper, here = simulated_bandwidths(item.workload, Cluster(item.cluster));
  std::string text;
  double furthest = -1;
  for (const auto& [name, rate] : kRates) {
    const double apart = std::abs(std::log(here.*rate / paper.*rate));
    if (!std::isfinite(apart) || apart <= furthest) continue;  // a tier of a single rank exchanges nothing
    furthest = apart;
    text = fmt::format("the paper's {} has {:.3g} GB/s, this cluster's {:.3g}", name, paper.*rate * 1e-9,
                       here.*rate * 1e-9);
  }
  return text;
}

bool weighs_by_the_paper(const Tree* planner) {
  const Tree* const rates = planner->find("bandwidths");
  return planner->find("name")->scalar.starts_with("flexshard") && (rates == nullptr || rates->scalar == "constants");
}

}  // namespace

// Says which ranks a plan from a file leaves without rows: it may be of a smaller job.
Notes idle_ranks_note(const Known& known) {
  if (known.item.plan_file.empty()) return {};
  std::vector<bool> holds(static_cast<std::size_t>(known.prepared->cluster.world_size()), false);
  for (const Placement& placement : known.prepared->plan.placements)
    for (const std::vector<int>& group : placement.holders)
      for (const int rank : group) holds[static_cast<std::size_t>(rank)] = true;
  std::vector<int> idle;
  for (std::size_t rank = 0; rank < holds.size(); ++rank)
    if (!holds[rank]) idle.push_back(static_cast<int>(rank));
  if (idle.empty()) return {};
  return {fmt::format("The plan places no rows on {} of {} ranks: {}. They take part in every exchange.", idle.size(),
                      holds.size(), clipped(rank_sets_text(idle), 60))};
}

// Says what of the plan TorchRec does not offer, or leaves open.
Notes own_lowering_note(const Known& known) {
  const Plan& plan = known.prepared->plan;
  const Workload& workload = known.item.workload;
  Notes notes;
  const auto unknown = tables_where(plan, workload, [](const Placement& placement, const Table& table) {
    return is_beyond_torchrec(placement, table, {}) && !is_tier(placement, table);
  });
  if (!unknown.empty()) {
    notes.push_back(fmt::format(
        "TorchRec's sequence modules do not have the sharding types table_row_wise, grid_shard and "
        "table_column_wise. Here they exchange rows directly, as row_wise and column_wise do (tables: {}). With "
        "--torchrec-only, planners take no such type.",
        first_names(unknown, kTablesInNote)));
  }
  const auto cached = tables_where(plan, workload, [](const Placement& placement, const Table&) {
    return placement.compute_kernel == "fused_uvm_caching";
  });
  if (cached.empty()) return notes;
  notes.push_back(
      fmt::format("fused_uvm_caching is simulated with a cache that holds {} of a table's rows, {} (tables: {}).",
                  cache_sizes(plan),
                  workload.cache_policy == "lru" ? "those of the latest batches"
                                                 : "those that are used most: all others are used in host memory",
                  first_names(cached, kTablesInNote)));
  return notes;
}

// Says where the rows of key-value stores lie, and that nobody has measured one for us.
Notes row_stores_note(const Known& known) {
  const Plan& plan = known.prepared->plan;
  const Workload& workload = known.item.workload;
  const std::vector<RowCaches> caches = row_caches(plan.placements, workload);
  Notes notes;
  for (const RowStore store : {RowStore::ssd, RowStore::memory}) {
    RowCaches least, most{0, 0};
    least.host = 1;
    for (std::size_t i = 0; i < caches.size(); ++i) {
      if (row_store_of(plan.placements[i]) != store) continue;
      least = {std::min(least.hbm, caches[i].hbm), std::min(least.host, caches[i].host)};
      most = {std::max(most.hbm, caches[i].hbm), std::max(most.host, caches[i].host)};
    }
    const auto tables = tables_where(
        plan, workload, [&](const Placement& placement, const Table&) { return row_store_of(placement) == store; });
    if (tables.empty()) continue;
    const std::string second =
        store == RowStore::memory ? "" : fmt::format(", {} of them in host memory", share_text(least.host, most.host));
    notes.push_back(fmt::format(
        "Rows lie {}, with the latest {} of them in a cache of the GPUs{} (tables: {}). No simulation of such a store "
        "was compared with a measurement{}.",
        store == RowStore::ssd ? "on SSDs of the nodes" : "in key-value stores of host memory",
        share_text(least.hbm, most.hbm), second, first_names(tables, kTablesInNote),
        store == RowStore::ssd && !known.item.cluster.host.ssd
            ? ", and the rates of the SSDs are those of one drive's announcement: host.ssd of the cluster states others"
            : ""));
  }
  return notes;
}

// Narrow tables are not cut into columns.
Notes slices_note(const Known& known) {
  const Case& item = known.item;
  const Plan& plan = known.prepared->plan;
  const Tree* const name = item.planner.find("name");
  if (!item.plan_file.empty() || name == nullptr || name->scalar != "column_wise") return {};
  const auto whole = std::count_if(plan.placements.begin(), plan.placements.end(), [&](const Placement& placement) {
    return placement.columns() == item.workload.tables[static_cast<std::size_t>(placement.table)].dim;
  });
  if (whole == 0) return {};
  return {
      fmt::format("{} of {} {} too narrow to be cut into slices of at least min_partition columns; each lies "
                  "whole on one rank, as with table_wise.",
                  whole, counted(item.workload.tables.size(), "table"), whole == 1 ? "is" : "are")};
}

// Where a case reproduces published numbers, the paper's bandwidths are meant.
Notes bandwidths_note(const Known& known) {
  const Case& item = known.item;
  if (!item.plan_file.empty() || !item.published.empty()) return {};
  const std::vector<const Tree*> planners = planners_within(item.planner);
  if (std::ranges::none_of(planners, weighs_by_the_paper)) return {};
  const std::string furthest = furthest_bandwidth(item);
  return {
      fmt::format("The planner chose the tiers with the four bandwidths of the paper and not those of this "
                  "cluster{}{}. Write 'bandwidths: simulated' in the planner to use this cluster's.",
                  furthest.empty() ? "" : ": ", furthest)};
}

// The types of outputs that the options of TorchRec's planner state have no effect.
Notes output_types_note(const Known& known) {
  const Case& item = known.item;
  const Tree* const name = item.planner.find("name");
  if (!item.plan_file.empty() || name == nullptr || name->scalar != "torchrec") return {};
  MapReader reader(item.planner, "planner");
  reader.name("name");
  return {torchrec::output_types_note(torchrec::read_planner_options(reader), item.workload)};
}

Notes idle_caches_note(const Known& known) {
  const Plan& plan = known.prepared->plan;
  if (plan.idle_caches.empty()) return {};
  std::vector<std::string> tables;
  for (const int table : plan.idle_caches)
    tables.push_back(known.item.workload.tables[static_cast<std::size_t>(table)].name);
  return {fmt::format(
      "cache_params of the plan file have no effect on tables whose compute kernel has no cache (tables: {}).",
      first_names(tables, kTablesInNote))};
}

Notes beyond_torchrec_note(const Known& known) {
  const std::string beyond =
      beyond_torchrec(known.prepared->plan, known.item.workload, row_ranks(known.item.workload, known.item.cluster));
  if (beyond.empty()) return {};
  return {fmt::format("TorchRec cannot run this plan, which has {}. With --torchrec-only it is a plan for TorchRec.",
                      beyond)};
}

}  // namespace shardsim
