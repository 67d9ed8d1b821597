#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// A study as named data sets, computed from results and Timelines alone. Columns carry their unit.

// The planners of the first few cases that compare some, fastest first. Columns: case, planner, iteration_ms and
// times_best ("-" without a plan), lower_bound_ms ("-" where none is known), memory (memory_outcome), in_model
// ("in-model" where what taught the planner's costs judges it; else "").
DataSet planner_bars(const StudyResult& study);
// The chart of these planners; none where none are compared.
std::vector<Chart> planner_charts(const StudyResult& study);

// The class that gives an operation its colour: lookup, dense, update, one of the five collective names of the result
// file, or "other_collective".
std::string display_class(const std::string& name, std::string_view op_class);

// Published times (unit ms) beside ours: one row at the planned payload, one at the observed payload where there is
// one. Columns: case, quantity, class, published_ms, predicted_ms, error_pct, payload (planned, observed), role.
DataSet comparison_points(const StudyResult& study);

// Published iterations of several sources (study/report/sheets/published_iterations.h); none where the study has no
// such. Columns: case, source, group, published_ms, predicted_ms, error_pct, role.
DataSet iteration_points(const StudyResult& study);

// The parts of an iteration: compute classes, of each collective the exposed transfer and the exposed waiting for other
// ranks, the rest as "idle". The parts of a case add up to its iteration. Columns: case, part, class, order, time_ms.
DataSet breakdown_parts(const StudyResult& study);

// The classes from the inside of such a bar outwards: compute, then transfers, waiting inside collectives, the rest.
const std::vector<std::string>& stack_order();

// The critical path of each case in the same columns: its operations, of which collectives do not wait. The rest of the
// path, which is no operation of the GPU, counts as "idle". The parts of a case add up to the iteration whose path it
// is.
DataSet path_parts(const StudyResult& study);

// Lookups of each rank where rows are uneven. Columns: case, rank, times_mean, table (that adds most to the rank, of
// those that RankLoads names), share_pct (of it in the rank's lookups), fullest (yes, no),
// waited_for ("rank 63" where the others wait longest for this one, else ""). Where some case has blocks of ranks, a
// row is a block: rank and last (its ends), times_mean, table and share_pct of its fullest_rank, and least_times_mean,
// median_times_mean; a rank by itself where the case has none.
DataSet rank_load_strips(const StudyResult& study);

// True when some case has too many ranks to draw each (case_groups.h): neighbours stand together then, those that look
// up equally many rows where that is enough, else blocks of equal length.
bool has_rank_blocks(const StudyResult& study);

// The plans of the first cases as matrices (study/result/plan_matrix.h), fastest first within a workload: "cells"
// (case, table, first, last: columns that are alike; weights_mb, lookups, time_ms of one GPU), "shards" (case, table,
// sharding, kernel, rows_from, rows_to, columns_from, columns_to, shard_rows, held_by: "0-3 8-11", columns) and
// "columns" (case, gpus, gpus_of_node, gpus_of_column). No rows where no matrix is known.
std::vector<DataSet> plan_matrices(const StudyResult& study);
// Their chart, which plots/plan_matrix.js draws; none where there is nothing to draw.
std::optional<Chart> plan_matrix_chart(const StudyResult& study);

// The iterations of cases whose batches are drawn, a row each. Columns: case, iteration, time_ms, and of the case
// mean_ms, median_ms, p5_ms, p95_ms.
DataSet drawn_iterations(const StudyResult& study);

// Columns: case, what (memory model, simulated), memory_gib (largest over ranks), smallest_gib, capacity_gib,
// share_pct.
DataSet memory_bars(const StudyResult& study);

// The memory of the fullest GPU at its simulated high-water mark, and by the memory model. Columns: case, what
// (simulated, memory model), part (memory_profile.h; of a model: tables, optimizer, cache, buffers), order, size_gib,
// capacity_gib.
DataSet memory_at_peak(const StudyResult& study);

// The fastest case of each workload.
std::vector<const CaseResult*> timeline_cases(const StudyResult& study);

// One iteration as plots/timeline.js draws it: "spans" (rank, stream, op, class, start_ms, begin_ms: where a collective
// no longer waits for a member, end_ms, moved_mb, ahead, path: yes or ""), "lanes" (rank, node, stream), "path" and
// "links" (timeline_data.cpp), "view" (iteration_ms, joined_ms, gpus). The ranks are those of the node that the
// critical path goes through longest (node 0 where none is known, and fewer when there are many streams), and some
// others on it. At most `budget` spans: neighbours on a lane that are no further apart than joined_ms are joined.
std::vector<DataSet> timeline_spans(const CaseResult& result, std::size_t budget);

// Figure 3 of the FlexShard paper for the study's batch and world size: "ratios" (p, what, ratio) and "breakpoints"
// (p, label): data-parallel over row-wise, for a row read p times per sample.
std::vector<DataSet> figure3(const CaseResult& result);

// Figure 5 of the FlexShard paper: "curve" (rows_pct, time_ms, memory_gib; up to a little past point B), "points" (the
// points A to D: point, meaning, rows, rows_pct, time_ms, memory_gib, label, drawn: yes or no).
std::vector<DataSet> figure5(const ParetoFigure& figure);

// TorchRec's estimates beside the simulation, a row per plan. Columns: plan, estimated_ms, simulated_ms, mark (plan;
// too good or too bad to the estimate, of those explained; choice, fastest, choice and fastest), label (place among the
// explained, name of the choice and of the fastest; else "").
DataSet cross_check_points(const CrossCheck& check, const StudyResult& study);

// All other charts that the study has data for, but that of the cross-check, in the order of the report.
std::vector<Chart> charts_of(const StudyResult& study);

}  // namespace shardsim
