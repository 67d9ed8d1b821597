#include "study/notes/case_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/statistics.h"
#include "base/text.h"
#include "models/collective/collective.h"
#include "models/collective/fitted_overheads.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/workload/dense_widths.h"
#include "plan/torchrec_types.h"
#include "study/notes/load_notes.h"
#include "study/notes/memory_notes.h"
#include "study/notes/module_notes.h"
#include "study/scenario/read_case.h"

namespace shardsim {
namespace {

using Notes = std::vector<std::string>;

void note_steadiness(Notes& notes, const CaseResult& result, const Case& item) {
  if (result.timeline.steady) return;
  if (result.drawn) {
    const IterationSpread& spread = result.drawn->iteration_ms;
    notes.push_back(
        fmt::format("Batches are drawn: 90 % of the {} iterations take {:.4g} to {:.4g} ms, and their mean is {:.4g} "
                    "+- {:.2g} ms. Figures of a single iteration are those of the one nearest to the median.",
                    result.drawn->iterations_ms.size(), spread.p5, spread.p95, spread.mean, spread.standard_error));
    return;
  }
  if (result.job) {
    notes.push_back(
        fmt::format("Its iterations take {:.4g} to {:.4g} ms while the other jobs run; the mean of {} iterations is "
                    "shown (for more of them, raise 'iterations').",
                    result.job->shortest_ms, result.job->longest_ms, result.job->measured));
    return;
  }
  notes.push_back(result.last_change
                      ? fmt::format("Not steady after {} iterations: the last one, which is shown, differs by {:+.2g} "
                                    "% from the one before it.",
                                    item.iterations, 100 * *result.last_change)
                      : "Only one iteration was simulated, so it is not known by how much the next one would differ.");
}

// Measured parts stay what they are, whatever was drawn.
void note_measured_rest(Notes& notes, const CaseResult& result, const Case& item) {
  if (!result.drawn || !item.workload.dense.measured) return;
  notes.emplace_back(
      "The measured rest (lookups, updates and dense part) takes the same time in every drawn iteration, so the real "
      "variation is larger.");
}

// Operations that use a link at once are each timed as if they had it alone.
void note_uncontended(Notes& notes, const CaseResult& result, const Case& item) {
  const Tree* const name = item.network.find("name");
  if (name == nullptr || name->scalar != "closed_form" || result.limit.share < 1) return;
  notes.push_back(
      fmt::format("Without contention (network closed_form), the operations of an iteration ask for more of {} than "
                  "there is in that time, so the real iteration is longer. 'network: {{name: fair_queues}}' shares "
                  "links.",
                  result.limit.what));
}

// What is at stake: the exposed transfer of exchanges would take as many times longer as the fabric collapses.
void note_collapse(Notes& notes, const CaseResult& result, const Case& item) {
  if (!item.cluster.fabric.collapse) return;
  double ms = 0;
  for (const NamedTime& time : result.times) {
    if (time.op_class == "all_to_all") ms += time.transfer_ms();
  }
  notes.push_back(
      fmt::format("Published measurements of this fabric show that its rate collapses under all-to-all, which the "
                  "model does not cover. The {:.2f} ms ({:.0f} % of the iteration) for which exchanges are exposed "
                  "would be longer by that factor.",
                  ms, 100 * ms / result.iteration_ms));
}

// A measured rest counts the exchange of ids once, as an allowance; the simulated one is what runs.
void note_allowance(Notes& notes, const CaseResult& result, const Case& item) {
  const auto& measured = item.workload.dense.measured;
  if (!measured) return;
  const bool row_wise = std::all_of(result.placements.begin(), result.placements.end(),
                                    [](const PlacementSummary& p) { return p.strategy == Strategy::row_wise; });
  for (const NamedTime& time : result.times) {
    const double off = time.span_ms - measured->id_exchange.time.ms();
    if (time.name != "input_all_to_all" || !row_wise || std::abs(off) <= 1.0) continue;
    notes.push_back(
        fmt::format("The simulated exchange of ids takes {:.2f} ms, {:+.2f} ms compared with the {:.2f} ms that the "
                    "measured rest contains for it.",
                    time.span_ms, off, measured->id_exchange.time.ms()));
  }
}

// Row-wise traffic is simulated as evenly split over the owners. A row is not divisible: the owner of the hottest one
// serves all of it, and its share of the others.
struct Skew {
  const Table* table = nullptr;
  double hottest = 0;  // its share of the tier's accesses
  double load = 1;     // of its owner, in even shares
};

Skew skew_of(const Placement& placement, const Workload& workload) {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  const auto owners = static_cast<double>(placement.holders.front().size());
  if (placement.strategy != Strategy::row_wise || owners < 2) return {};
  const AccessDistribution access = table.distribution();
  const double sum = access.sum(placement.row_begin, placement.row_end);
  if (!(sum > 0)) return {};
  const double hottest = access.probability(placement.row_begin) / sum;
  return {&table, hottest, 1 + hottest * (owners - 1)};
}

// Bytes of rows that an iteration reads of a row-wise placement, per sample.
double read_bytes(const Placement& placement, const Table& table) {
  if (placement.strategy != Strategy::row_wise) return 0;
  return table.distribution().sum(placement.row_begin, placement.row_end) * static_cast<double>(table.row_bytes());
}

// At most how much longer the iteration gets, in percent, when the rank of the hottest row serves `load` even shares
// and all ranks wait for it; `share`: of the table in the bytes that row-wise placements read. What grows is what moves
// or touches ids and rows: pooled rows cross the network as partial sums, of which every rank sends as many.
double slower_pct(const Skew& skew, double share, const CaseResult& result) {
  double ms = 0;
  for (const NamedTime& time : result.times) {
    if (time.name == "lookup_row_wise" || time.name == "update_row_wise") ms += time.span_ms;
    const bool rows = time.name == "global_all_to_all" && skew.table->kind == TableKind::sequence;
    if (time.name == "input_all_to_all" || rows) ms += time.exposed_ms;
  }
  return 100 * (skew.load - 1) * share * ms / result.iteration_ms;
}

// A bound, rounded up in few steps, so that cases alike share one note.
std::string bound_text(double percent) {
  if (percent < 1) return "less than 1 %";
  for (const double step : {1, 2, 5, 10}) {
    if (percent <= step) return fmt::format("at most about {:g} %", step);
  }
  return fmt::format("at most about {:g} %", 10 * std::ceil(percent / 10));
}

// One note, for the table whose skew costs most.
void note_skew(Notes& notes, const CaseResult& result, const Plan& plan, const Workload& workload) {
  double all = 0;
  for (const Placement& placement : plan.placements) all += read_bytes(placement, workload.tables[placement.table]);
  Skew worst;
  double most = -1, together = 0;
  int skewed = 0;
  for (const Placement& placement : plan.placements) {
    const Skew skew = skew_of(placement, workload);
    if (skew.table == nullptr || skew.load < 1 + kTellingSkew) continue;
    const double slower = slower_pct(skew, read_bytes(placement, *skew.table) / all, result);
    ++skewed;
    together += slower;
    if (slower <= most) continue;
    worst = skew;
    most = slower;
  }
  if (skewed == 0) return;
  notes.push_back(fmt::format(
      "The most popular row-wise row of table '{}' gets {:.1f} % of the accesses of its tier, so the rank that holds "
      "it serves about {:.1f} times the even share. Row-wise traffic is simulated as even; the real iteration is "
      "slower, because of this table by {}.{}{}",
      worst.table->name, 100 * worst.hottest, worst.load, bound_text(most), tiers_remedy(workload),
      skewed > 1 ? fmt::format(" This also holds for: {}. If one rank held the most popular rows of all these tables, "
                               "the iteration would be slower by {}.",
                               counted(static_cast<std::size_t>(skewed - 1), "row-wise table"), bound_text(together))
                 : ""));
}

// "a, b and 3 more".
std::string some_tables(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  const std::string more = names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

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
std::string cache_sizes(const Plan& plan) {
  double least = 1, most = 0;
  for (const Placement& placement : plan.placements) {
    if (placement.compute_kernel != "fused_uvm_caching") continue;
    least = std::min(least, placement.cache_load_factor);
    most = std::max(most, placement.cache_load_factor);
  }
  return least == most ? fmt::format("{:g} %", 100 * most) : fmt::format("{:g} to {:g} %", 100 * least, 100 * most);
}

// What TorchRec does not offer, or does not say.
void note_own_lowering(Notes& notes, const Plan& plan, const Workload& workload) {
  const auto unknown = tables_where(plan, workload, [](const Placement& placement, const Table& table) {
    return is_beyond_torchrec(placement, table) && !is_tier(placement, table);
  });
  if (!unknown.empty()) {
    notes.push_back(fmt::format(
        "TorchRec's sequence modules do not have the sharding types table_row_wise, grid_shard and "
        "table_column_wise. Here they exchange rows directly, as row_wise and column_wise do (tables: {}). With "
        "--torchrec-only, planners take no such type.",
        some_tables(unknown)));
  }
  const auto cached = tables_where(plan, workload, [](const Placement& placement, const Table&) {
    return placement.compute_kernel == "fused_uvm_caching";
  });
  if (cached.empty()) return;
  notes.push_back(
      fmt::format("fused_uvm_caching is simulated with a cache that holds {} of a table's rows, the most popular ones "
                  "(tables: {}).",
                  cache_sizes(plan), some_tables(cached)));
}

void note_fused_sequences(Notes& notes, const PreparedCase& prepared) {
  const std::string note = fused_sequences_note(prepared);
  if (!note.empty()) notes.push_back(note);
}

// The same model for every GPU, whose constant for sorting ids nobody measured; another one knows this GPU.
void note_compute_model(Notes& notes, const Case& item) {
  if (item.workload.dense.measured || !is_roofline(item.compute_model)) return;
  static const GpuTable known = shipped_gpu_table();
  if (known.find(item.cluster.gpu.model) == nullptr) return;
  notes.push_back(fmt::format(
      "Lookups and updates are timed by the compute model 'roofline', in which the time of sorting ids is a "
      "guess. 'compute_model: {{name: gpu_kernels}}' has constants of the {} and was compared with "
      "measured kernels.",
      item.cluster.gpu.model));
}

bool has_telling_lookups(const CaseResult& result) {
  constexpr double kTelling = 0.05;  // of the iteration
  double ms = 0;
  for (const NamedTime& time : result.times)
    if (time.op_class == "lookup" || time.op_class == "update") ms += time.span_ms;
  return ms >= kTelling * result.iteration_ms;
}

// Narrow tables are not cut into columns.
void note_slices(Notes& notes, const Case& item, const Plan& plan) {
  const Tree* const name = item.planner.find("name");
  if (!item.plan_file.empty() || name == nullptr || name->scalar != "column_wise") return;
  const auto whole = std::count_if(plan.placements.begin(), plan.placements.end(), [&](const Placement& placement) {
    return placement.columns() == item.workload.tables[static_cast<std::size_t>(placement.table)].dim;
  });
  if (whole == 0) return;
  notes.push_back(
      fmt::format("{} of {} {} too narrow to be cut into slices of at least min_partition columns; each lies "
                  "whole on one rank, as with table_wise.",
                  whole, counted(item.workload.tables.size(), "table"), whole == 1 ? "is" : "are"));
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

// Where a case reproduces published numbers, the paper's bandwidths are meant.
void note_bandwidths(Notes& notes, const Case& item) {
  if (!item.plan_file.empty() || !item.published.empty()) return;
  const std::vector<const Tree*> planners = planners_within(item.planner);
  if (std::ranges::none_of(planners, weighs_by_the_paper)) return;
  const std::string furthest = furthest_bandwidth(item);
  notes.push_back(
      fmt::format("The planner chose the tiers with the four bandwidths of the paper and not those of this "
                  "cluster{}{}. Write 'bandwidths: simulated' in the planner to use this cluster's.",
                  furthest.empty() ? "" : ": ", furthest));
}

bool attends(const DenseLayer& layer) {
  return layer.attention && !layer.attention->varying.empty();
}

// Expected batches: every sample has the mean, but for attention, which knows the law.
void note_lengths(Notes& notes, const Workload& workload) {
  const auto varies = [](const Table& table) { return table.lengths.family != "fixed"; };
  const auto first = std::find_if(workload.tables.begin(), workload.tables.end(), varies);
  if (first == workload.tables.end()) return;
  const auto more = std::count_if(std::next(first), workload.tables.end(), varies);
  const bool attention = std::ranges::any_of(workload.dense.layers, attends);
  notes.push_back(fmt::format(
      "length_distribution of table '{}'{} has no effect here{}: every {} has the mean length. In "
      "reality, ranks that get long samples are slower; 'load: {{batches: drawn}}' simulates that.",
      first->name, more > 0 ? fmt::format(" and {} more", more) : "",
      attention ? " but on attention, which costs as much as on average" : "", attention ? "rank" : "sample"));
}

void note_widths(Notes& notes, const Workload& workload) {
  const std::string note = dense_width_note(workload);
  if (!note.empty()) notes.push_back(note);
}

void note_published(Notes& notes, const Case& item) {
  if (item.changed && !item.published.empty()) {
    notes.emplace_back(
        "The published numbers belong to the scenario as it is written. --set changed its cluster or workload, so "
        "their errors now concern another machine or model.");
  }
  if (item.workload.has_runtime() || !item.payload_both) return;
  const auto count = std::count_if(item.published.begin(), item.published.end(),
                                   [](const Published& published) { return published.at_observed_payload; });
  if (count == 0) return;
  notes.push_back(
      fmt::format("{} of the published numbers are of the observed payload, which workload '{}' does not state (key "
                  "'runtime' of its tables). They are compared only with the planned payload.",
                  count, item.workload.name));
}

// A misspelt operation has no time that a published one could be compared with.
void note_operations(Notes& notes, const CaseResult& result, const Case& item) {
  std::vector<std::string> known;
  for (const NamedTime& time : result.times) known.push_back(time.name);
  for (const Published& published : item.published) {
    if (!published.quantity.starts_with(kOperationPrefix)) continue;
    const std::string name = published.quantity.substr(kOperationPrefix.size());
    if (std::ranges::find(known, name) != known.end()) continue;
    notes.push_back(fmt::format("'{}' is published, and no operation of this case has that name. {}",
                                published.quantity, known_names_hint(name, known)));
  }
}

// Drawn batches have an estimate of their own, the mean of theirs.
std::optional<double> estimate_of_expected(const CaseResult& result) {
  return result.drawn || !(result.estimate_iteration_ms > 0) ? std::nullopt
                                                             : std::optional(result.estimate_iteration_ms);
}

}  // namespace

std::vector<std::string> setting_notes(const Case& item) {
  Notes notes = cluster_notes(item.cluster);
  for (std::string& note : fit_reach_notes(item.cluster)) notes.push_back(std::move(note));
  note_compute_model(notes, item);
  return notes;
}

std::vector<std::string> case_notes(const CaseResult& result, const PreparedCase& prepared) {
  const Case& item = prepared.item;
  const Plan& plan = prepared.plan;
  Notes notes;
  note_steadiness(notes, result, item);
  note_measured_rest(notes, result, item);
  for (std::string& note : memory_notes(result, prepared)) notes.push_back(std::move(note));
  note_collapse(notes, result, item);
  note_uncontended(notes, result, item);
  for (std::string& note : cluster_notes(item.cluster)) notes.push_back(std::move(note));
  for (std::string& note : fit_notes(result, prepared)) notes.push_back(std::move(note));
  note_allowance(notes, result, item);
  if (has_telling_lookups(result)) note_compute_model(notes, item);
  if (item.load.row_shares == LoadOptions::RowShares::even) note_skew(notes, result, plan, item.workload);
  if (result.loads) {
    for (std::string& note :
         load_notes(*result.loads, prepared, estimate_of_expected(result), result.why ? &*result.why : nullptr))
      notes.push_back(std::move(note));
  }
  note_widths(notes, item.workload);
  note_slices(notes, item, plan);
  note_own_lowering(notes, plan, item.workload);
  note_fused_sequences(notes, prepared);
  for (std::string& note : idle_notes(item, plan)) notes.push_back(std::move(note));
  note_bandwidths(notes, item);
  if (item.load.batches == LoadOptions::Batches::expected) note_lengths(notes, item.workload);
  note_published(notes, item);
  note_operations(notes, result, item);
  return notes;
}

}  // namespace shardsim
