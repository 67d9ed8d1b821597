// Notes on the iteration that is shown.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "study/notes/notes.h"

namespace shardsim {

Notes steadiness_note(const Known& known) {
  const CaseResult& result = *known.result;
  if (result.timeline.steady) return {};
  if (result.drawn) {
    const IterationSpread& spread = result.drawn->iteration_ms;
    return {
        fmt::format("Batches are drawn: 90 % of the {} iterations take {:.4g} to {:.4g} ms, and their mean is {:.4g} "
                    "+- {:.2g} ms. Figures of a single iteration are those of the one nearest to the median.",
                    result.drawn->iterations_ms.size(), spread.p5, spread.p95, spread.mean, spread.standard_error)};
  }
  if (result.job)
    return {
        fmt::format("Its iterations take {:.4g} to {:.4g} ms while the other jobs run; the mean of {} iterations is "
                    "shown (for more of them, raise 'iterations').",
                    result.job->shortest_ms, result.job->longest_ms, result.job->measured)};
  if (!result.last_change)
    return {"Only one iteration was simulated, so it is not known by how much the next one would differ."};
  return {
      fmt::format("Not steady after {} iterations: the last one, which is shown, differs by {:+.2g} "
                  "% from the one before it.",
                  result.timeline.iterations_run, 100 * *result.last_change)};
}

double span_ms_of(const CaseResult& result, const std::vector<std::string>& names) {
  double ms = 0;
  for (const NamedTime& time : result.times)
    if (std::ranges::find(names, time.name) != names.end()) ms += time.span_ms;
  return ms;
}

// Which part of the mean iteration the averages are, and what the iteration takes that has them. Jobs that share a
// fabric are charged with their part.
Notes averages_note(const Known& known) {
  const auto& groups = known.item.workload.sharding_groups;
  if (!groups || groups->size == known.result->world_size) return {};
  const std::string of_groups =
      fmt::format("{} sharding groups of {} ranks", known.result->world_size / groups->size, groups->size);
  const double sharded = span_ms_of(*known.result, {"replica_rows_reduce_scatter", "replica_rows_all_gather"});
  if (sharded > 0)
    return {
        fmt::format("{}: between lookup and update each replica keeps its share of the rows; giving up the others "
                    "and gathering them again takes {:.4g} ms of its stream.",
                    of_groups, sharded)};
  const double ms = span_ms_of(*known.result, {"replica_rows_all_reduce", "replica_states_all_reduce"});
  if (ms == 0) return {};  // of replicas whose gradients are reduced
  if (groups->sync_every == 1) return {fmt::format("{}: averaging their replicas takes {:.4g} ms.", of_groups, ms)};
  if (known.result->iteration_ms_with_averages)
    return {fmt::format(
        "{}: their replicas are averaged in one of {} iterations. That one takes {:.4g} ms and each of the others "
        "{:.4g} ms; their mean is told, and the averages that are shown are so long that they make an iteration so.",
        of_groups, groups->sync_every, *known.result->iteration_ms_with_averages,
        *known.result->iteration_ms_without_averages)};
  return {fmt::format(
      "{}: their replicas are averaged in one of {} iterations. Each is charged with {:.4g} ms of that, and "
      "the one that averages takes some {:.4g} ms more.",
      of_groups, groups->sync_every, ms, static_cast<double>(groups->sync_every - 1) * ms)};
}

// How long the batch takes that has the all-reduce and the optimizers, and the others.
Notes accumulated_note(const Known& known) {
  const std::int64_t batches = known.item.workload.accumulate;
  if (batches == 1 || !known.result->iteration_ms_with_averages) return {};
  return {fmt::format(
      "Dense gradients of {} batches are added up: the batch with their all-reduce and the optimizer takes {:.4g} ms "
      "and "
      "each of the others {:.4g} ms; their mean is told. Rows of sharded tables are updated in each of them.",
      batches, *known.result->iteration_ms_with_averages, *known.result->iteration_ms_without_averages)};
}

// Tables that no planner places, and what DDP does with them.
Notes unsharded_note(const Known& known) {
  std::vector<std::string> names;
  double bytes = 0;
  for (const Table& table : known.item.workload.tables) {
    if (table.sharded) continue;
    names.push_back(table.name);
    bytes += static_cast<double>(table.rows) * static_cast<double>(table.row_bytes());
  }
  if (names.empty()) return {};
  return {fmt::format(
      "Not sharded: {} ({}), which no planner places and no plan file has. On every GPU {} of weights, as much of "
      "gradients, and the states of the dense part's optimizer, which passes over all rows. Kernels are taken to be as "
      "fast as FBGEMM's.",
      names.size() == 1 ? "one table" : fmt::format("{} tables", names.size()), printable(first_names(names, 3)),
      to_text(Bytes{std::llround(bytes)}))};
}

// Measured parts stay what they are, whatever was drawn or changed.
Notes measured_rest_note(const Known& known) {
  const DensePart& dense = known.item.workload.dense;
  if (!dense.measured) return {};
  const std::string what = holds_embeddings(dense) ? "lookups, updates and dense part" : "dense part";
  Notes notes;
  if (known.result->drawn)
    notes.push_back(fmt::format(
        "The measured rest ({}) takes the same time in every drawn iteration, so the real variation is larger.", what));
  if (known.item.changed && dense.measured->batch == 0)
    notes.push_back(
        fmt::format("The measured rest ({}, 'dense.measured') takes {:.4g} ms at every batch and on every GPU: what "
                    "--set changed of them changes the other parts of the iteration alone.",
                    what, dense.measured->rest.ms()));
  return notes;
}

// A trace in the place of the dense part says what it leaves open where it is read, and nobody sees it there.
Notes traced_dense_note(const Known& known) {
  const DensePart& dense = known.item.workload.dense;
  return dense.measured ? dense.measured->notes : Notes{};
}

// Operations that use a link at once are each timed as if they had it alone.
Notes uncontended_note(const Known& known) {
  const Tree* const name = known.item.network.find("name");
  const Utilisation& limit = known.result->limit;
  if (name == nullptr || name->scalar != "closed_form" || limit.share < 1) return {};
  return {
      fmt::format("Without contention (network closed_form), the operations of an iteration ask for more of {} than "
                  "there is in that time, so the real iteration is longer. 'network: {{name: fair_queues}}' shares "
                  "links.",
                  limit.what)};
}

// States what is at stake: single runs lost more than the rate that is taken.
Notes collapse_note(const Known& known) {
  if (!known.item.cluster.fabric.collapse) return {};
  double ms = 0;
  for (const NamedTime& time : known.result->times) {
    if (time.op_class == "all_to_all") ms += time.transfer_ms();
  }
  return {fmt::format(
      "This fabric loses rate under all-to-all over many nodes (fabric.collapse): from 8 nodes on, a NIC is "
      "taken to keep (8 / nodes)^0.05 of its rate, which the published runs of one system say. One of its "
      "settings lost five times as much, so the {:.2f} ms ({:.0f} % of the iteration) for which exchanges "
      "are exposed may be longer by that factor.",
      ms, 100 * ms / known.result->iteration_ms)};
}

// A measured rest counts the exchange of ids once, as an allowance; the simulated one is what runs.
Notes allowance_note(const Known& known) {
  const auto& measured = known.item.workload.dense.measured;
  if (!measured) return {};
  const CaseResult& result = *known.result;
  Notes notes;
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
  return notes;
}

}  // namespace shardsim
