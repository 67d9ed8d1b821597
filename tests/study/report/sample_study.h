#pragma once

#include <string>
#include <vector>

#include "study/result/result.h"

namespace shardsim::sample {

// A made-up study with the shape of a real one: values are plausible, not simulated. Published times are those of
// Table 6 of the FlexShard paper, Pareto points those of its model for RM-1.

struct CaseShape {
  std::string workload, plan;
  double iteration_ms = 0;
  double all_to_all_ms = 0, intra_ms = 0, all_reduce_ms = 0, cross_ms = 0;  // published; 0: the plan has none
};

inline Span span(const Timeline& timeline, int op, int stream, int rank, double from_ms, double to_ms) {
  const bool moves = is_communication(timeline.ops[op].op_class);
  return {from_ms * 1e3, to_ms * 1e3, rank, stream, op, 0, moves ? 1'000'000 : 0};
}

inline Timeline::OpInfo op(const std::string& name, const std::string& op_class) {
  Timeline::OpInfo info;
  info.name = name;
  info.op_class = op_class;
  return info;
}

// Ids, lookup, exchange, dense, exchange, update, all-reduces: one iteration on every rank.
inline Timeline timeline_of(const CaseShape& shape, int world) {
  Timeline timeline;
  timeline.world_size = world;
  timeline.ranks_per_node = 8;
  timeline.streams = {"compute", "world", "node", "cross"};
  timeline.ops = {op("input_all_to_all", "all_to_all"),
                  op("lookup_row_wise", "lookup"),
                  op("global_all_to_all", "all_to_all"),
                  op("intra_node_all_to_all", "all_to_all"),
                  op("dense_forward", "dense"),
                  op("dense_backward", "dense"),
                  op("update_row_wise", "update"),
                  op("global_all_reduce", "all_reduce"),
                  op("cross_node_all_reduce", "all_reduce"),
                  op("apply_data_parallel", "update")};
  const double half = shape.all_to_all_ms / 2, intra = shape.intra_ms / 2;
  const double sent = 12 + half, back = sent + 60;
  for (int rank = 0; rank < world; ++rank) {
    const auto add = [&](int op, int stream, double from, double to) {
      if (to > from) timeline.spans.push_back(span(timeline, op, stream, rank, from, to));
    };
    add(0, 1, 0, 4);
    add(1, 0, 4, 12);
    add(2, 1, 12, sent);
    add(3, 2, 12, 12 + intra);
    add(4, 0, sent, sent + 20);
    add(5, 0, sent + 20, back);
    add(2, 1, back, back + half);
    add(3, 2, back, back + intra);
    add(8, 3, back + intra, back + intra + shape.cross_ms);
    add(6, 0, back + half, back + half + 20);
    add(7, 1, back + half, back + half + shape.all_reduce_ms);
    add(9, 0, back + half + 20, shape.iteration_ms);
  }
  sort_spans(timeline);
  timeline.iteration_ms = shape.iteration_ms;
  return timeline;
}

inline std::vector<NamedTime> times_of(const CaseShape& shape) {
  const auto mb = [](double value) { return static_cast<std::int64_t>(value * 1e6); };
  const double rest = shape.iteration_ms - shape.all_to_all_ms - 90;
  std::vector<NamedTime> times = {{"input_all_to_all", "all_to_all", 1, 4, 4, 4, mb(8)},
                                  {"lookup_row_wise", "lookup", 1, 8, 8, 0, 0},
                                  {"global_all_to_all", "all_to_all", 2, 0.97 * shape.all_to_all_ms,
                                   shape.all_to_all_ms, shape.all_to_all_ms, mb(25 * shape.all_to_all_ms)},
                                  {"dense_forward", "dense", 1, 20, 20, 0, 0},
                                  {"dense_backward", "dense", 1, 40, 40, 0, 0},
                                  {"update_row_wise", "update", 1, 18 + rest, 18 + rest, 0, 0}};
  if (shape.intra_ms > 0)
    times.push_back({"intra_node_all_to_all", "all_to_all", 2, shape.intra_ms, shape.intra_ms, 0, mb(1190)});
  if (shape.all_reduce_ms > 0) times.push_back({"global_all_reduce", "all_reduce", 1, 3.4, 3.4, 3.4, mb(354)});
  if (shape.cross_ms > 0) times.push_back({"cross_node_all_reduce", "all_reduce", 1, 13.7, 13.7, 9.1, mb(151)});
  return times;
}

inline Comparison published(const std::string& quantity, double value, const std::string& unit, bool fitted,
                            double predicted, bool observed) {
  Comparison comparison;
  comparison.published.quantity = quantity;
  comparison.published.value = value;
  comparison.published.unit = unit;
  comparison.published.role = fitted ? PublishedRole::fitted : PublishedRole::predicted;
  comparison.published.source = "FlexShard paper, Table 6";
  comparison.published.at_observed_payload = observed;
  comparison.predicted = predicted;
  if (observed) comparison.predicted_at_observed_payload = predicted * 0.98;
  return comparison;
}

// Figure 5 of the paper for RM-1: percent of rows, MB, ms (closed form, planner bandwidths 25.3 and 75.9 GB/s).
inline ParetoFigure rm1_figure() {
  ParetoFigure figure{"history", 30'000'000, {}, {}, {}, {}, {}};
  const auto at = [](double percent, double mb, double ms) {
    return ParetoPoint{static_cast<std::uint64_t>(percent * 300'000), mb * 1e6, ms / 1e3};
  };
  const double samples[][3] = {{0, 0, 0},
                               {0.1, -605.9, -61.99},
                               {0.2, -803.9, -91.73},
                               {0.3, -867.4, -110.84},
                               {0.4, -858.0, -124.18},
                               {0.5, -799.3, -133.64},
                               {0.6, -711.7, -140.8},
                               {0.7, -605.2, -146.47},
                               {0.8, -485.5, -151.1},
                               {0.9, -356.2, -154.97},
                               {1.0, -219.6, -158.26},
                               {1.1, -77.9, -161.15},
                               {1.2, 67.2, -163.77},
                               {1.3, 215.1, -166.17},
                               {1.4, 365.6, -168.36},
                               {1.5, 518.1, -170.39},
                               {2.0, 1305.1, -178.63},
                               {9.0, 13430.9, -206.38},
                               {100, 179329.5, 86.13}};
  for (const auto& sample : samples) figure.curve.push_back(at(sample[0], sample[1], sample[2]));
  figure.a = at(0.3335, -871.8, -115.91);
  figure.b = at(1.1540, 0, -162.60);
  figure.c = at(9.0243, 13474.3, -206.38);
  figure.d = at(100, 179329.5, 86.13);
  return figure;
}

inline CaseResult case_of(const CaseShape& shape, int world) {
  CaseResult item;
  item.name = shape.workload + "/" + shape.plan;
  item.workload = shape.workload;
  item.cluster = "a100_mesh_4x8";
  item.planner = shape.plan;
  item.world_size = world;
  item.batch_per_gpu = 4096;
  item.iteration_ms = shape.iteration_ms;
  item.samples_per_s = 4096.0 * world / shape.iteration_ms * 1e3;
  item.estimate_iteration_ms = shape.iteration_ms;
  item.memory_per_rank.assign(static_cast<std::size_t>(world), 9'020'900'000);
  item.memory_per_rank[0] += 400'000'000;
  item.memory_capacity = 40LL << 30;
  item.limit = {"node0/nic3/out", 0.75 * shape.all_to_all_ms / shape.iteration_ms};
  item.times = times_of(shape);
  item.timeline = timeline_of(shape, world);
  item.published.push_back(published("global_all_to_all", shape.all_to_all_ms, "ms", shape.workload == "rm2",
                                     1.03 * shape.all_to_all_ms, true));
  if (shape.intra_ms > 0) {
    item.published.push_back(published("intra_node_all_to_all", shape.intra_ms, "ms", shape.workload == "rm4",
                                       1.047 * shape.intra_ms, true));
    item.published.push_back(published("cross_node_all_reduce", shape.cross_ms, "ms", shape.workload == "rm3",
                                       0.977 * shape.cross_ms, false));
    item.published.push_back(published("rows:flex", 1'184'544, "rows", true, 1'184'448, false));
    item.published.push_back(published("coverage:flex", 30.6, "%", true, 30.604, false));
  }
  if (shape.all_reduce_ms > 0) {
    item.published.push_back(
        published("global_all_reduce", shape.all_reduce_ms, "ms", false, shape.all_reduce_ms * 1.14, false));
    item.pareto = {rm1_figure()};
  }
  return item;
}

inline StudyResult study_of(const std::vector<CaseShape>& shapes, int world) {
  StudyResult study;
  study.scenario = "scenarios/flexshard.yaml";
  study.title = "FlexShard study, four models and three plans on 32 A100";
  study.seed = 7;
  study.version = "0.1.0";
  SourcedValue start;
  start.path = "overheads.all_to_all.across_nodes.start";
  start.value = "3.873 ms";
  start.source = "FlexShard paper, Table 6";
  start.fitted = true;
  start.fitted_on = {"rm2/row_wise global_all_to_all", "rm4/flexshard_3tier global_all_to_all"};
  study.fitted = {start};
  for (const CaseShape& shape : shapes) study.cases.push_back(case_of(shape, world));
  return study;
}

inline StudyResult twelve_cases() {
  StudyResult study = study_of({{"rm1", "row_wise", 409, 307, 0, 0, 0},
                                {"rm1", "flexshard_2tier", 254, 149, 0, 3, 0},
                                {"rm1", "flexshard_3tier", 226, 99, 30, 3, 14},
                                {"rm2", "row_wise", 410, 308, 0, 0, 0},
                                {"rm2", "flexshard_2tier", 188, 80, 0, 6, 0},
                                {"rm2", "flexshard_3tier", 178, 49, 21, 3, 27},
                                {"rm3", "row_wise", 258, 156, 0, 0, 0},
                                {"rm3", "flexshard_2tier", 207, 101, 0, 4, 0},
                                {"rm3", "flexshard_3tier", 196, 85, 13, 2, 5},
                                {"rm4", "row_wise", 257, 155, 0, 0, 0},
                                {"rm4", "flexshard_2tier", 179, 72, 0, 5, 0},
                                {"rm4", "flexshard_3tier", 162, 45, 18, 3, 9}},
                               32);
  study.cases[2].published.push_back(published("iteration", 226, "ms", false, 231, true));
  study.cases[2].published.push_back(published("throughput_gain", 81, "%", false, 77.1, false));
  study.cases[0].notes = {"the cluster does not publish which relay rule its NCCL used"};
  return study;
}

// A scenario of one case called "main": nothing published, no Pareto curve, one stream of compute.
inline StudyResult one_case(int world = 8) {
  StudyResult study = study_of({{"toy", "row_wise", 112, 20, 0, 0, 0}}, world);
  CaseResult& item = study.cases[0];
  item.name = "main";
  item.published.clear();
  study.fitted.clear();
  return study;
}

}  // namespace shardsim::sample
