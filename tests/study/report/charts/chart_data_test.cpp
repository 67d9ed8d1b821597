#include "study/report/charts/chart_data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "program/timeline/iteration_window.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::chart_data_test {

namespace {

std::size_t column(const DataSet& set, const std::string& name) {
  for (std::size_t c = 0; c < set.columns.size(); ++c) {
    if (set.columns[c] == name) return c;
  }
  FAIL("no column " << name);
  return 0;
}

double number(const DataSet& set, std::size_t row, const std::string& name) {
  return std::get<double>(set.rows.at(row).at(column(set, name)));
}

std::string text(const DataSet& set, std::size_t row, const std::string& name) {
  return std::get<std::string>(set.rows.at(row).at(column(set, name)));
}

double ratio_at(const DataSet& set, const std::string& what, double p) {
  for (std::size_t row = 0; row < set.rows.size(); ++row) {
    const double here = number(set, row, "p");
    if (text(set, row, "what") == what && std::abs(here / p - 1) < 1e-9) return number(set, row, "ratio");
  }
  return -1;
}

}  // namespace

TEST_CASE("an operation's class follows its name for collectives and its class for compute") {
  CHECK(display_class("global_all_to_all", "all_to_all") == "global_all_to_all");
  CHECK(display_class("lookup_row_wise", "lookup") == "lookup");
  CHECK(display_class("dense_all_reduce", "all_reduce") == "other_collective");
}

TEST_CASE("each published time is a point per payload, other units are none") {
  const DataSet points = comparison_points(sample::twelve_cases());
  std::map<std::string, int> by_payload, by_role;
  for (std::size_t row = 0; row < points.rows.size(); ++row) {
    ++by_payload[text(points, row, "payload")];
    ++by_role[text(points, row, "role")];
  }
  // FlexShard Table 6 has 12 + 4 + 8 + 4 times, and one iteration; the first, second and last kind have observed
  // payloads.
  CHECK(by_payload["planned"] == 29);
  CHECK(by_payload["observed"] == 17);
  CHECK(by_role["fitted"] > 0);
}

// Every rank looks up 100 rows of one table, but for rank 5, which looks up 300 in all.
StudyResult with_loads(int world) {
  StudyResult study = sample::one_case(8);
  RankLoads loads;
  loads.lookups.assign(static_cast<std::size_t>(world), 100);
  loads.tables = {{"history", loads.lookups}, {"", std::vector<double>(static_cast<std::size_t>(world))}};
  loads.lookups[5] = 300;
  loads.tables[1].lookups[5] = 200;
  loads.fullest = 5;
  study.cases[0].loads = loads;
  return study;
}

TEST_CASE("the parts of an iteration are the same whether the times of the ranks came with the case or not") {
  StudyResult study = sample::one_case();
  const DataSet before = breakdown_parts(study);
  CaseResult& item = study.cases[0];
  item.rank_times = rank_times(item.timeline);
  CHECK(breakdown_parts(study).rows == before.rows);
  for (RankTimes& rank : item.rank_times) rank.compute_ms /= 2;
  CHECK(breakdown_parts(study).rows != before.rows);
}

TEST_CASE("strips of ranks that are all alike are folded, below a heading that says so") {
  const auto chart_of = [](const StudyResult& study) {
    const std::vector<Chart> charts = charts_of(study);
    return *std::ranges::find(charts, "loads", &Chart::id);
  };
  StudyResult study = with_loads(8);
  const bool folded = chart_of(study).folded;
  CHECK_FALSE(folded);
  study.cases[0].loads->lookups[5] = 101;
  CHECK(chart_of(study).folded);
  CHECK(chart_of(study).title.find("All look up nearly equally many rows") != std::string::npos);
}

TEST_CASE("each rank of a small world has a row of loads") {
  const DataSet loads = rank_load_strips(with_loads(1024));
  REQUIRE(loads.rows.size() == 1024);
  CHECK(loads.columns ==
        std::vector<std::string>{"case", "rank", "times_mean", "table", "share_pct", "fullest", "waited_for"});
  CHECK(number(loads, 5, "times_mean") == doctest::Approx(300 / ((1023 * 100 + 300) / 1024.0)));
  CHECK(text(loads, 5, "table") == "other tables");
  CHECK(text(loads, 5, "fullest") == "yes");
  CHECK(text(loads, 5, "waited_for") == "");
}

TEST_CASE("the rank that the others wait for is marked where the critical path has it, not where most is looked up") {
  for (const int world : {1024, 65'536}) {
    StudyResult study = with_loads(world);
    Why& why = study.cases[0].why.emplace();
    why.iteration_ms = 10;
    why.collectives = {{"exchange", 3, 1, 2, 7, "lookup", "bag"}};
    const DataSet loads = rank_load_strips(study);
    const std::size_t row = world == 1024 ? 7 : 2;
    CHECK(text(loads, row, "waited_for") == "rank 7");
    CHECK(text(loads, world == 1024 ? 5 : 1, "waited_for") == "");
    CHECK(text(loads, row, "fullest") == "no");
  }
}

TEST_CASE("the caption of loads speaks of colours that differ and of triangles only where there are some") {
  const auto caption = [](const StudyResult& study) {
    for (const Chart& chart : charts_of(study))
      if (chart.plot == "rank_loads") return chart.caption;
    return std::string();
  };
  StudyResult study = with_loads(8);
  CHECK(caption(study).find("one colour") == std::string::npos);
  CHECK(caption(study).find("triangle") == std::string::npos);
  study.cases[0].loads->lookups[5] = 102;
  CHECK(caption(study).find("nearly equally many, the fullest of all cases 1.02 times the mean") != std::string::npos);
  study.cases[0].why.emplace().collectives = {{"exchange", 3, 1, 2, 7, "lookup", "bag"}};
  CHECK(caption(study).find("A triangle marks the rank that the others wait for longest") != std::string::npos);
}

TEST_CASE("alike neighbours of a large world share a row of loads, and the odd rank has its own") {
  const DataSet loads = rank_load_strips(with_loads(65'536));
  REQUIRE(loads.rows.size() == 3);
  CHECK(number(loads, 0, "last") == 4);
  CHECK(number(loads, 1, "rank") == 5);
  CHECK(number(loads, 1, "last") == 5);
  CHECK(text(loads, 1, "fullest") == "yes");
  CHECK(number(loads, 2, "last") == 65'535);
  CHECK(number(loads, 2, "least_times_mean") == number(loads, 2, "times_mean"));
}

TEST_CASE("of neighbours that differ a block has the fullest, the least and the median, and all ranks are in a block") {
  StudyResult study = with_loads(10'000);
  for (std::size_t rank = 0; rank < 10'000; rank += 2) study.cases[0].loads->lookups[rank] = 50;
  const DataSet loads = rank_load_strips(study);
  CHECK(loads.rows.size() == 250);
  double next = 0;
  for (std::size_t row = 0; row < loads.rows.size(); ++row) {
    CHECK(number(loads, row, "rank") == next);
    next = number(loads, row, "last") + 1;
  }
  CHECK(next == 10'000);
  CHECK(number(loads, 0, "fullest_rank") == 5);
  CHECK(text(loads, 0, "fullest") == "yes");
  CHECK(number(loads, 1, "times_mean") == doctest::Approx(2 * number(loads, 1, "least_times_mean")));
  CHECK(number(loads, 1, "median_times_mean") == doctest::Approx(1.5 * number(loads, 1, "least_times_mean")));
}

TEST_CASE("points that a logarithmic axis cannot show are left out") {
  StudyResult study = sample::one_case();
  study.cases[0].published = {sample::published("global_all_reduce", 3, "ms", false, 0, false)};
  CHECK(comparison_points(study).rows.empty());
}

TEST_CASE("published operations are drawn as what they do, and kernels as well") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(1);
  CaseResult& item = study.cases[0];
  NamedTime lookup;
  lookup.name = "lookup_row_wise";
  lookup.op_class = "lookup";
  item.times = {lookup};
  item.published.clear();
  for (const char* const quantity : {"operation:lookup_row_wise", "kernels:products", "kernels:embedding"}) {
    Comparison comparison;
    comparison.published.quantity = quantity;
    comparison.published.unit = "ms";
    comparison.published.value = 2;
    comparison.predicted = 1;
    item.published.push_back(comparison);
  }
  const DataSet points = comparison_points(study);
  REQUIRE(points.rows.size() == 3);
  CHECK(text(points, 0, "class") == "lookup");
  CHECK(text(points, 1, "class") == "dense");
  CHECK(text(points, 2, "class") == "lookup");
}

TEST_CASE("the parts of a bar add up to the iteration") {
  const StudyResult study = sample::twelve_cases();
  const DataSet parts = breakdown_parts(study);
  std::map<std::string, double> sums;
  for (std::size_t row = 0; row < parts.rows.size(); ++row) {
    CHECK(number(parts, row, "time_ms") > 0);
    sums[text(parts, row, "case")] += number(parts, row, "time_ms");
  }
  REQUIRE(sums.size() == study.cases.size());
  for (const CaseResult& item : study.cases) CHECK(sums[item.name] == doctest::Approx(item.iteration_ms));
}

TEST_CASE("what nothing fills is idle") {
  StudyResult study = sample::one_case();
  study.cases[0].iteration_ms += 50;
  const DataSet parts = breakdown_parts(study);
  const std::size_t last = parts.rows.size() - 1;
  CHECK(text(parts, last, "class") == "idle");
  CHECK(number(parts, last, "time_ms") == doctest::Approx(50));
}

TEST_CASE("the memory bar is the fullest GPU") {
  const DataSet memory = memory_bars(sample::one_case());
  CHECK(number(memory, 0, "memory_gib") == doctest::Approx(9.4209e9 / (1 << 30)));
  CHECK(number(memory, 0, "smallest_gib") == doctest::Approx(9.0209e9 / (1 << 30)));
  CHECK(number(memory, 0, "capacity_gib") == doctest::Approx(40));
}

TEST_CASE("the simulated high-water mark has a bar of its own beside the memory model's") {
  StudyResult study = sample::one_case();
  CHECK(memory_bars(study).rows.size() == 1);
  study.cases[0].memory_profile.ranks.resize(2);
  study.cases[0].memory_profile.ranks[0].amounts[MemoryPart::tables] = 10LL << 30;
  study.cases[0].memory_profile.ranks[1].amounts[MemoryPart::tables] = 60LL << 30;
  const DataSet memory = memory_bars(study);
  REQUIRE(memory.rows.size() == 2);
  CHECK(text(memory, 0, "what") == "memory model");
  CHECK(text(memory, 1, "what") == "simulated");
  CHECK(number(memory, 1, "memory_gib") == 60);
  CHECK(number(memory, 1, "smallest_gib") == 10);
  CHECK(number(memory, 1, "share_pct") == 150);
}

TEST_CASE("what memory holds at its peak: parts of the fullest GPU, beside those of the memory model") {
  StudyResult study = sample::one_case();
  CHECK(memory_at_peak(study).rows.empty());
  CaseResult& item = study.cases[0];
  item.memory_profile.ranks.resize(2);
  item.memory_profile.ranks[1].amounts[MemoryPart::tables] = 3LL << 30;
  item.memory_profile.ranks[1].amounts[MemoryPart::inputs] = 1LL << 30;
  item.estimated_memory.static_bytes = 4.0 * (1 << 30);
  item.estimated_memory.optimizer_bytes = 1.0 * (1 << 30);
  item.estimated_memory.dynamic_bytes = 0.5 * (1 << 30);
  const DataSet memory = memory_at_peak(study);
  REQUIRE(memory.rows.size() == 5);
  CHECK(number(memory, 0, "size_gib") == 3);  // tables
  CHECK(number(memory, 1, "size_gib") == 1);  // inputs
  CHECK(number(memory, 2, "size_gib") == 3);  // tables, by the model
  CHECK(number(memory, 3, "size_gib") == 1);
  CHECK(number(memory, 4, "size_gib") == 0.5);
  CHECK(number(memory, 0, "capacity_gib") == 40);
}

TEST_CASE(
    "the chart of planners has a row for each, fastest first, those without a plan last and saying what they lack") {
  StudyResult study = sample::one_case();
  PlannerComparison comparison;
  comparison.name = "pool";
  comparison.judged_by = "roofline";
  comparison.lower_bound_ms = 8;
  comparison.planners = {{"pool/over", "over"}, {"pool/slow", "slow"}, {"pool/fast", "fast"}, {"pool/none", "none"}};
  comparison.planners[0].bytes_over = 3LL << 29;
  comparison.planners[1].iteration_ms = 15;
  comparison.planners[2].iteration_ms = 10;
  comparison.planners[2].figures.trained_on = "roofline";
  study.comparisons = {comparison};
  const DataSet bars = planner_bars(study);
  REQUIRE(bars.rows.size() == 4);
  const std::vector<std::string> order = {"fast", "slow", "over", "none"},
                                 memory = {"fits", "fits", "1.50 GiB over", "no plan"};
  for (std::size_t row = 0; row < 4; ++row) {
    CHECK(text(bars, row, "planner") == order[row]);
    CHECK(text(bars, row, "memory") == memory[row]);
    CHECK(text(bars, row, "in_model") == (row == 0 ? "in-model" : ""));
    CHECK(number(bars, row, "lower_bound_ms") == 8);
  }
  CHECK(number(bars, 1, "times_best") == 1.5);
  CHECK(text(bars, 2, "iteration_ms") == "-");
  CHECK(planner_charts(sample::one_case()).empty());
  CHECK(planner_charts(study).at(0).title == "Planners side by side, in-model");
  const std::string below = " A planner without a bar has no plan, or one so large that it was not simulated; ";
  const std::string grey = " Grey bars, below the others: plans that do not fit in memory, and what they lack.";
  CHECK(planner_charts(study).at(0).caption.find(below) != std::string::npos);
  CHECK(planner_charts(study).at(0).caption.find(grey) == std::string::npos);
  study.comparisons[0].planners[0].iteration_ms = 9;  // simulated, faster than all, and too large
  CHECK(text(planner_bars(study), 2, "planner") == "over");
  CHECK(planner_charts(study).at(0).caption.find(grey + below) != std::string::npos);
  study.comparisons.resize(20, comparison);
  CHECK(planner_bars(study).rows.size() == 6 * 4);
  for (int i = 0; i < 20; ++i) study.comparisons[static_cast<std::size_t>(i)].name = std::to_string(i);
  CHECK(planner_charts(study).at(0).caption.ends_with(" The first 6 of 20 cases are drawn."));
}

TEST_CASE("the timeline of a workload is its fastest case") {
  const StudyResult study = sample::twelve_cases();
  const auto cases = timeline_cases(study);
  REQUIRE(cases.size() == 4);
  CHECK(cases[0]->name == "rm1/flexshard_3tier");
  CHECK(cases[3]->name == "rm4/flexshard_3tier");
}

TEST_CASE("a timeline of 1,024 ranks shows the first node") {
  const std::vector<DataSet> sets = timeline_spans(sample::one_case(1024).cases[0], 1500);
  CHECK(sets[1].rows.size() == 8 * 2);  // 8 GPUs a node, streams compute and world
  CHECK(sets[0].rows.size() <= 1500);
  for (std::size_t row = 0; row < sets[0].rows.size(); ++row) CHECK(number(sets[0], row, "rank") < 8);
}

TEST_CASE("the caption of a timeline says which case it is and which GPUs it shows") {
  const StudyResult study = sample::one_case(1024);
  const std::vector<Chart> charts = charts_of(study);
  const auto chart = std::ranges::find(charts, "timeline", &Chart::plot);
  REQUIRE(chart != charts.end());
  CHECK(chart->caption.starts_with("The fastest case of " + study.cases[0].workload + ":"));
  CHECK(chart->caption.find("on GPUs 0 to 7 of 1024,") != std::string::npos);
}

TEST_CASE("marks the eye cannot tell apart are joined, and the budget holds") {
  CaseResult item = sample::one_case(1).cases[0];
  item.timeline.spans.clear();
  const int lookup = 1, exchange = 2;
  for (int i = 0; i < 10'000; ++i) {
    item.timeline.spans.push_back(
        sample::span(item.timeline, i % 2 ? lookup : exchange, 0, 0, 0.01 * i, 0.01 * i + 0.009));
  }
  CHECK(timeline_spans(item, 100)[0].rows.size() <= 100);
  const DataSet spans = timeline_spans(item, 1500)[0];
  CHECK(spans.rows.size() <= 1500);
  CHECK(number(spans, 0, "start_ms") == doctest::Approx(0));
  CHECK(number(spans, spans.rows.size() - 1, "end_ms") == doctest::Approx(0.01 * 9'999 + 0.009));
  double moved_mb = 0;
  for (std::size_t row = 0; row < spans.rows.size(); ++row) moved_mb += number(spans, row, "moved_mb");
  CHECK(moved_mb == doctest::Approx(5'000));  // every second span moved 1 MB
}

TEST_CASE("spans far apart stay apart") {
  const DataSet spans = timeline_spans(sample::twelve_cases().cases[2], 1500)[0];
  // 12 operations of the three-tier plan on each of 8 ranks; nothing is short or near enough to be joined.
  CHECK(spans.rows.size() == 8 * 12);
}

// A world of 64 GPUs whose path goes over GPU 20 longest, and over GPU 3.
CaseResult traced_case() {
  CaseResult item = sample::one_case(64).cases[0];
  TracedParts parts;
  parts.path = {{"work", 1, 20, 0, 5000, ""}, {"transfer", 2, 3, 5000, 2000, "node2/nic1/in"}};
  parts.links = {"node0/nic0/out", "node2/nic1/in"};
  parts.uses = {{0, 2, 5000, 7000, 1e6, 1500}, {1, 2, 5000, 7000, 2e6, 500}};
  item.traced = std::move(parts);
  return item;
}

TEST_CASE("a timeline shows the node that the critical path goes through longest, and others on the path") {
  const std::vector<DataSet> sets = timeline_spans(traced_case(), 1500);
  std::set<double> ranks, marked;
  for (std::size_t row = 0; row < sets[1].rows.size(); ++row) ranks.insert(number(sets[1], row, "rank"));
  CHECK(ranks == std::set<double>{3, 16, 17, 18, 19, 20, 21, 22, 23});
  CHECK(number(sets[1], 0, "node") == 0);
  for (std::size_t row = 0; row < sets[0].rows.size(); ++row)
    if (text(sets[0], row, "path") == "yes") marked.insert(number(sets[0], row, "rank"));
  CHECK(marked == std::set<double>{3, 20});
  REQUIRE(sets[2].rows.size() == 2);
  CHECK(text(sets[2], 0, "class") == "lookup");
  CHECK(text(sets[2], 1, "link") == "NIC 1 of node 2, receiving");
  CHECK(number(sets[2], 1, "end_ms") == doctest::Approx(7));
  REQUIRE(sets[3].rows.size() == 2);
  CHECK(number(sets[3], 1, "moved_mb") == doctest::Approx(2));
  CHECK(number(sets[3], 0, "busy_ms") == doctest::Approx(1.5));
}

TEST_CASE("what a path that repeats itself does before its iteration lies at the end, where it runs again") {
  CaseResult item = traced_case();
  const double end_us = iteration_windows(item.timeline).back().end_us;
  item.traced->period_us = end_us;
  item.traced->path = {{"work", 1, 20, -2000, 5000, ""}};
  const DataSet path = timeline_spans(item, 1500)[2];
  REQUIRE(path.rows.size() == 2);
  CHECK(number(path, 0, "start_ms") == doctest::Approx(0));
  CHECK(number(path, 0, "end_ms") == doctest::Approx(3));
  CHECK(number(path, 1, "start_ms") == doctest::Approx(end_us / 1e3 - 2));
  CHECK(number(path, 1, "end_ms") == doctest::Approx(end_us / 1e3));
}

TEST_CASE("the mean steps of a path over several iterations lie one behind the other") {
  CaseResult item = traced_case();
  item.traced->turns = 2;
  item.traced->path[0].start_us = 9000;
  const DataSet path = timeline_spans(item, 1500)[2];
  CHECK(number(path, 0, "start_ms") == doctest::Approx(0));
  CHECK(number(path, 1, "start_ms") == doctest::Approx(5));
}

TEST_CASE("a collective of a timeline begins when its last member has come") {
  CaseResult item = sample::one_case(2).cases[0];
  Timeline& timeline = item.timeline;
  timeline.groups["pair"] = {{0, 1}};
  timeline.ops[2].group = "pair";
  timeline.spans = {sample::span(timeline, 2, 0, 0, 0, 10), sample::span(timeline, 2, 0, 1, 4, 10)};
  const DataSet spans = timeline_spans(item, 1500)[0];
  REQUIRE(spans.rows.size() == 2);
  CHECK(number(spans, 0, "begin_ms") == doctest::Approx(4));
  CHECK(number(spans, 1, "begin_ms") == doctest::Approx(4));
}

TEST_CASE("Figure 3 meets the values of the FlexShard cost model") {
  // Memory (6 + B p)/(1/32 + 2 B p) and time 25.3/(2 B p 75.9) at B = 4096: 152.2, 7.537, 0.507 and 40.69, 0.4069.
  const std::vector<DataSet> sets = figure3(sample::twelve_cases().cases[0]);
  CHECK(ratio_at(sets[0], "memory", 1e-6) == doctest::Approx(152.2).epsilon(1e-3));
  CHECK(ratio_at(sets[0], "memory", 1e-4) == doctest::Approx(7.537).epsilon(1e-3));
  CHECK(ratio_at(sets[0], "memory", 1e-1) == doctest::Approx(0.507).epsilon(1e-3));
  CHECK(ratio_at(sets[0], "time", 1e-6) == doctest::Approx(40.69).epsilon(1e-3));
  CHECK(ratio_at(sets[0], "time", 1e-4) == doctest::Approx(0.4069).epsilon(1e-3));
  REQUIRE(sets[1].rows.size() == 2);
  CHECK(number(sets[1], 1, "p") == doctest::Approx(1 / (6 * 4096.0)).epsilon(1e-3));  // equal time
}

TEST_CASE("Figure 5 draws the bend through A and B and tells C and D in words") {
  const std::vector<DataSet> sets = figure5(sample::rm1_figure());
  const DataSet& curve = sets[0];
  CHECK(number(curve, curve.rows.size() - 1, "rows_pct") == doctest::Approx(1.5));
  const DataSet& points = sets[1];
  REQUIRE(points.rows.size() == 4);
  const std::vector<std::string> drawn = {"yes", "yes", "no", "no"};
  for (std::size_t row = 0; row < 4; ++row) CHECK(text(points, row, "drawn") == drawn[row]);
  CHECK(text(points, 3, "label").find("D: all rows replicated, 100 % of rows, +86.1 ms") == 0);
}

TEST_CASE("charts without data are left out") {
  std::vector<std::string> ids;
  for (const Chart& chart : charts_of(sample::one_case())) ids.push_back(chart.plot);
  CHECK(ids == std::vector<std::string>{"iteration_breakdown", "memory", "timeline"});
  StudyResult bare = sample::one_case();
  bare.cases[0].timeline = {};
  bare.cases[0].memory_per_rank.clear();
  CHECK(charts_of(bare).size() == 1);
}

TEST_CASE("the twelve-case study has every chart, each table of Figure 5 once") {
  std::map<std::string, int> plots;
  std::map<std::string, int> ids;
  for (const Chart& chart : charts_of(sample::twelve_cases())) {
    ++plots[chart.plot];
    ++ids[chart.id];
  }
  CHECK(plots == std::map<std::string, int>{{"figure3", 1},
                                            {"figure5", 4},
                                            {"iteration_breakdown", 1},
                                            {"memory", 1},
                                            {"predicted_vs_published", 1},
                                            {"prediction_error", 1},
                                            {"timeline", 4}});
  for (const auto& entry : ids) CHECK_MESSAGE(entry.second == 1, entry.first);
}

}  // namespace shardsim::chart_data_test
