#pragma once

#include <cmath>

#include "program/program_table.h"
#include "program/timeline/timeline_fields.h"
#include "study/confidence/interval.h"
#include "study/result/case_figures.h"
#include "study/result/cross_check.h"
#include "study/result/planner_fields.h"
#include "study/result/rank_classes.h"
#include "study/result/result.h"
#include "study/why/why_fields.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// The members of a result, said once for every form that it has: the bytes between worker and parent (base/packed.h),
// and result.json, written and read (base/tree/json_fields.h). Named members are those of result.json, in its order
// (docs/formats/result.md); the others travel between processes alone.

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Utilisation> auto& limit) {
  visit.field("what", limit.what);
  visit.scaled("share_pct", limit.share, 100);
}

// As a collective has them. total_ms: the calls by themselves, when nothing else runs; in_iteration_ms: as they ran,
// contention included; exposed_ms = transfer_ms + waiting_ms. waited_for: the member that arrived last, for which most
// of the waiting was, and what it ran most of that time; null where nobody waited.
template <typename Visitor>
void fields(Visitor& visit, MaybeConst<NamedTime> auto& time) {
  visit.field("name", time.name);
  visit.field("kind", time.op_class);
  visit.field("calls", time.calls);
  visit.field("total_ms", time.alone_ms);
  visit.field("exposed_ms", time.exposed_ms);
  visit.field("bytes_per_rank", time.bytes_per_rank);
  visit.field("in_iteration_ms", time.span_ms);
  visit.derived("transfer_ms", [&] { return time.transfer_ms(); });
  visit.field("waiting_ms", time.waiting_ms);
  auto& whom = time.waited_for;
  visit.group_or_null("waited_for", whom.rank >= 0, [&](auto& inner) {
    inner.field("rank", whom.rank);
    inner.field("operation", whom.operation);
    inner.field("waiting_ms", whom.ms);
  });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PathTime> auto& time) {
  visit(time.operation, time.op_class, time.ms, time.beneath_ms);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<TracedParts::Step> auto& step) {
  visit(step.kind, step.op, step.rank, step.start_us, step.us, step.link);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<TracedParts::LinkUse> auto& use) {
  visit(use.link, use.op, use.start_us, use.end_us, use.bytes, use.busy_us);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<TracedParts::Wait> auto& wait) {
  visit(wait.sends, wait.waits);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<TracedParts> auto& parts) {
  visit(parts.period_us, parts.turns, parts.path, parts.links, parts.links_in_all, parts.uses, parts.waits);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<AtPayload> auto& at) {
  visit(at.iteration_ms, at.times);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<RankTimes> auto& times) {
  visit(times.compute_ms, times.comm_ms, times.exposed_ms, times.waiting_ms);
}

// The figures in result.json of the operations of one name that compute.
struct ComputeTime {
  std::string name, op_class;
  double span_ms = 0;
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<ComputeTime> auto& time) {
  visit.field("name", time.name);
  visit.field("class", time.op_class);
  visit.field("total_ms", time.span_ms);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<DenseOperatorTime> auto& time) {
  visit.field("operator", time.op);
  visit.field("calls", time.calls);
  visit.field("kernels", time.kernels);
  visit.field("gpu_ms", time.gpu_ms);
  visit.field("host_ms", time.host_ms);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<OperatorClassTime> auto& time) {
  visit.field("class", time.name);
  visit.field("gpu_ms", time.gpu_ms);
}

std::vector<NamedTime> collective_times(const std::vector<NamedTime>& times);
void add_collective_times(std::vector<NamedTime>& times, const std::vector<NamedTime>& collectives);
std::vector<ComputeTime> compute_times(const std::vector<NamedTime>& times);
void add_compute_times(std::vector<NamedTime>& times, const std::vector<ComputeTime>& compute);

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlacementSummary> auto& placement, bool of_large_case = false) {
  visit.field("table", placement.table);
  visit.field("strategy", placement.strategy);
  visit.field("rows", placement.rows);
  visit.field("access_share", placement.access_share);
  ranks_or_set(visit, placement.ranks, of_large_case);
}

// `predicted` and `error_pct` are always there: null where the case has no such figure.
template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Comparison> auto& comparison) {
  auto& published = comparison.published;
  visit.field("quantity", published.quantity);
  visit.field("unit", published.unit);
  visit.field("value", published.value);
  visit.nullable("predicted", comparison.predicted);
  visit.field("predicted_at_observed_payload", comparison.predicted_at_observed_payload);
  if (comparison.predicted_at_observed_payload) {
    visit.derived("error_at_observed_payload_pct", [&] { return comparison.error_at_observed_payload_pct(); });
  }
  visit.derived("error_pct", [&] { return comparison.error_pct(); });
  visit.field("role", published.role);
  visit.field("fitted_share_pct", comparison.fitted_share_pct);
  visit.take("seen_before", published.seen_before);
  visit.field("source", published.source);
  visit(published.at_observed_payload, published.derived, published.note);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<MemoryPeak> auto& peak) {
  visit(peak.amounts.bytes, peak.at_us, peak.op);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlacementMemory> auto& memory) {
  visit(memory.host_bytes);
  visit.field("at_rest_bytes", memory.static_bytes);
  visit.field("optimizer_bytes", memory.optimizer_bytes);
  visit.field("cache_bytes", memory.cache_bytes);
  visit.field("buffer_bytes", memory.dynamic_bytes);
}

// The figures in result.json of a MemoryProfile: the marks of all ranks, and of the fullest one what makes it, beside
// the memory model's figures for that rank.
struct HighWater {
  std::vector<std::int64_t> per_rank_bytes;
  std::size_t rank = 0;
  double at_us = 0;
  std::string operation;
  MemoryAmounts parts;
  PlacementMemory estimate;
  std::optional<std::int64_t> over_capacity;  // of the fullest rank, if it holds more than it has
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<HighWater> auto& high, const RankClasses& classes) {
  by_rank(visit, "per_rank_bytes", high.per_rank_bytes, classes);
  visit.field("rank", high.rank);
  visit.scaled("at_ms", high.at_us, 1e-3);
  visit.field("operation", high.operation);
  visit.group("parts", [&](auto& parts) {
    for (std::size_t part = 0; part + 1 < kMemoryParts; ++part)
      parts.field(kMemoryPartNames[part], high.parts.bytes[part]);
    parts.take(kMemoryPartNames.back(), high.parts.bytes.back());  // older files lack it
  });
  visit.field("estimate", high.estimate);
  visit.field("over_capacity_bytes", high.over_capacity);
}

std::optional<HighWater> high_water_of(const CaseResult& result);  // nothing where the profile is not known
// Only the sum is known then for ranks other than the fullest; it stands as `tables`. The operation becomes the only
// one that the Timeline knows.
void set_high_water(CaseResult& result, const HighWater& high);

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<ParetoPoint> auto& point) {
  visit(point.rows, point.memory_bytes, point.time_seconds);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<ParetoFigure> auto& figure) {
  visit(figure.table, figure.rows, figure.curve, figure.a, figure.b, figure.c, figure.d);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<WorkTimes> auto& work) {
  visit(work.ids, work.other, work.lookups, work.updates, work.all_to_all, work.reduce_scatter, work.all_reduce);
}

// Milliseconds by Effect, each under its key.
template <typename Visitor>
void effect_fields(Visitor& visit, std::string_view name, MaybeConst<EffectTimes> auto& times) {
  visit.group(name, [&](auto& inner) {
    for (std::size_t i = 0; i < kEffects; ++i) inner.field(words(effect_at(i)).key, times[i]);
  });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<EstimatedCase> auto& checked) {
  auto& mean = checked.estimate.mean;
  auto& removed = checked.removed;
  visit.field("iteration_ms", checked.estimate.iteration_ms);
  visit.field("busiest_rank", checked.estimate.busiest);
  visit.group("mean_ms", [&](auto& inner) {
    inner.field("lookup", mean.lookup);
    inner.field("update", mean.update);
    inner.field("all_to_all", mean.all_to_all);
    inner.field("reduce_scatter", mean.reduce_scatter);
    inner.field("all_reduce", mean.all_reduce);
    inner.field("copies", mean.copies);
    inner.field("prefetch", mean.prefetch);
  });
  visit.group("simulated_without_ms", [&](auto& inner) {
    inner.field("contention", removed.uncontended);
    inner.field("overlap", removed.serial);
    inner.field("start_ups", removed.without_starts);
    // The sum alone of work without waiting is in result.json, and stands as `other` when it is read.
    inner.view(
        "uneven_loads", removed.even, [](const WorkTimes& work) { return work.total(); },
        [](WorkTimes& work, double ms) { work = {.other = ms}; });
  });
  visit(removed.even);
  effect_fields(visit, "effects_ms", checked.effects);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<HotRow> auto& row) {
  visit.field("table", row.table);
  visit.field("owners", row.owners);
  visit.scaled("share_pct", row.share, 100);
  visit.field("lookups", row.lookups);
  visit.field("least_times_mean", row.least_times_mean);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<RankLoads> auto& loads, const RankClasses& classes) {
  visit.field("fullest_rank", loads.fullest);
  visit.derived("fullest_times_mean", [&] { return loads.times_mean(); });
  by_rank(visit, "lookups", loads.lookups, classes);
  by_rank(visit, "distinct_rows", loads.distinct_rows, classes);
  visit.list("tables", loads.tables, [&](auto& inner, auto& of) {
    inner.field("table", of.table);
    by_rank(inner, "lookups", of.lookups, classes);
  });
  visit.field("hottest_row", loads.hottest_row);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<IterationSpread> auto& spread) {
  visit.field("mean", spread.mean);
  visit.field("median", spread.median);
  visit.field("p5", spread.p5);
  visit.field("p95", spread.p95);
  visit.field("standard_error", spread.standard_error);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<DrawnFigures> auto& drawn) {
  visit.derived("iterations", [&] { return drawn.iterations_ms.size(); });
  visit.field("seed", drawn.seed);
  visit.field("kept_iteration", drawn.kept);
  visit.field("iteration_ms", drawn.iteration_ms);
  visit.field("iterations_ms", drawn.iterations_ms);
  visit.field("figures", drawn.figures);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<HostFigures> auto& host) {
  visit.field("software", host.software);
  visit(host.with_graph);
  visit.field("rank", host.rank);
  visit.field("busy_ms", host.busy_ms);
  visit.field("waits_for_host_ms", host.waits_for_host_ms);
}

template <typename Visitor>
void high_water_fields(Visitor& visit, MaybeConst<CaseResult> auto& result, const RankClasses& classes) {
  if constexpr (Named<Visitor>) {
    std::optional<HighWater> high;
    if constexpr (!Visitor::kReads) high = high_water_of(result);
    visit.group_if("simulated", high, [&](auto& inner, auto& marks) { fields(inner, marks, classes); });
    if constexpr (Visitor::kReads) {
      if (high) set_high_water(result, *high);
    }
  }
}

// Written as the times themselves.
template <typename Visitor>
void placement_fields(Visitor& visit, MaybeConst<CaseResult> auto& result) {
  visit(result.placement_log_times);
  visit.take("row_draw", result.row_draw);
  if constexpr (Named<Visitor>) {
    std::vector<double> ms = row_placements_ms(result);
    visit.take("row_placements_ms", ms);
    if constexpr (Visitor::kReads) {
      for (const double each : ms) result.placement_log_times.push_back(std::log(each / result.iteration_ms));
    }
  }
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<CaseResult> auto& result) {
  visit(result.workload, result.cluster, result.planner, result.world_size, result.batch_per_gpu, result.last_change);
  visit.field("name", result.name);
  visit.field("iteration_ms", result.iteration_ms);
  visit.field("samples_per_s", result.samples_per_s);
  visit.field("interval", result.interval);
  visit.take("relative_to", result.relative_to);
  visit.take("beyond_torchrec", result.beyond_torchrec);
  visit.field("iteration_ms_at_observed_payload", result.iteration_ms_at_observed_payload);
  visit.take("iteration_ms_without_duplicates", result.iteration_ms_without_duplicates);
  visit.take("iteration_ms_with_modules_apart", result.iteration_ms_with_modules_apart);
  visit.take("iteration_ms_without_averages", result.iteration_ms_without_averages);
  visit.take("iteration_ms_with_averages", result.iteration_ms_with_averages);
  visit.group_if("job", result.job, [&](auto& inner, auto& job) {
    inner.field("fabric", job.fabric);
    inner.field("nodes", job.nodes);
    inner.field("start_ms", job.start_ms);
    inner.field("alone_iteration_ms", job.alone_ms);
    inner.derived("slowdown_pct", [&] { return job.slowdown_pct(result.iteration_ms); });
    inner.field("measured_iterations", job.measured);
    inner.field("shortest_iteration_ms", job.shortest_ms);
    inner.field("longest_iteration_ms", job.longest_ms);
  });
  placement_fields(visit, result);
  visit.field("drawn_batches", result.drawn);
  visit.group("estimate", [&](auto& inner) { inner.field("iteration_ms", result.estimate_iteration_ms); });
  visit.field("host", result.host);
  visit.field("dense_operators", result.dense_operators);
  visit.field("operator_classes", result.operator_classes);
  visit.field("torchrec", result.torchrec);
  visit.field("limited_by", result.limit);
  const RankClasses classes = class_fields(visit, result);
  visit.group_if("rank_loads", result.loads, [&](auto& inner, auto& loads) { fields(inner, loads, classes); });
  visit.group("memory", [&](auto& inner) {
    by_rank(inner, "per_rank_bytes", result.memory_per_rank, classes);
    inner.field("capacity_bytes", result.memory_capacity);
    inner.take("reserved_bytes", result.memory_reserved);
    inner.derived("fits", [&] { return fits(result); });
    high_water_fields(inner, result, classes);
  });
  visit(result.memory_profile.ranks, result.buffers_counted, result.estimated_memory);
  visit.view("collectives", result.times, collective_times, add_collective_times);
  visit.view("compute", result.times, compute_times, add_compute_times);
  visit(result.times, result.rank_times);
  const bool large = is_large(result);
  visit.list("placements", result.placements, [&](auto& inner, auto& placement) { fields(inner, placement, large); });
  visit.field("published", result.published);
  visit.field("notes", result.notes);
  visit(result.pareto, result.timeline, result.at_observed_payload, result.path, result.why, result.matrix);
  visit(result.traced);
}

}  // namespace shardsim
