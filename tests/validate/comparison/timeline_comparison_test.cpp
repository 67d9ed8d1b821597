#include "validate/comparison/timeline_comparison.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "program/timeline/named_times.h"
#include "tests/base/error_text.h"
#include "tests/program/sample_timeline.h"
#include "validate/comparison/compared_side.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim::timeline_comparison_test {
namespace {

const ComparedPair kPair = {"main", "main", {"predicted.h5"}, {"observed.h5"}};

// One rank; per iteration `compute` of 60 us, then `exchange`, whose length is given per iteration; back to back.
Timeline one_rank(const std::vector<double>& exchange_us) {
  Timeline timeline;
  timeline.kind = "observed";
  timeline.world_size = 1;
  timeline.streams = {"compute", "comm"};
  timeline.ops = {{"forward", "dense"}, {"exchange", "all_to_all"}};
  double at = 0;
  for (std::size_t i = 0; i < exchange_us.size(); ++i) {
    const int iteration = static_cast<int>(i);
    timeline.spans.push_back({at, at + 60, 0, 0, 0, iteration, 0});
    timeline.spans.push_back({at + 60, at + 60 + exchange_us[i], 0, 1, 1, iteration, 8});
    at += 60 + exchange_us[i];
  }
  sort_spans(timeline);
  timeline.hbm_bytes = {1000};
  return timeline;
}

TimelineComparison compare(const Timeline& predicted, Timeline observed) {
  observed.kind = "observed";
  return compare_timelines(predicted, observed, kPair);
}

std::string message_of(const Timeline& predicted, const Timeline& observed) {
  return input_error_of([&] { compare(predicted, observed); });
}

TEST_CASE("where a profiler marks steps, figures of whole iterations are those of the middle step") {
  ComparedPair marked = kPair;
  marked.steps_ms = {0.1, 0.16, 0.13, 0.12};  // of 40, 100, 70 and 60 us exposed: the middle ones are 60 and 70
  const TimelineComparison found = compare_timelines(one_rank({40}), one_rank({40, 100, 70, 60}), marked);
  CHECK(found.iteration.observed_ms.median == doctest::Approx(0.12));
  CHECK(found.exposed.observed_ms.median == doctest::Approx(0.06));
  CHECK(found.exposed.observed_ms.max == doctest::Approx(0.1));
  CHECK(found.ranks.front().exposed.observed_ms.median == doctest::Approx(0.06));
  CHECK(compare(one_rank({40}), one_rank({40, 100, 70, 60})).exposed.observed_ms.median == doctest::Approx(0.065));
}

TEST_CASE("a timeline beside itself is off by nothing") {
  const TimelineComparison same = compare(sample_timeline(), sample_timeline());
  CHECK(same.iteration.error_pct() == doctest::Approx(0));
  CHECK(same.exposed.error_pct() == doctest::Approx(0));
  CHECK(same.operations.size() == 5);
  CHECK(same.classes.size() == 4);
  CHECK(same.ranks.size() == 2);
  CHECK(same.alone.empty());
  for (const ComparedOperation& row : same.operations) CHECK(row.time.error_pct() == doctest::Approx(0));
  CHECK(outside_tolerance(same, 0.001).empty());
}

TEST_CASE(
    "observed figures are the least, the median and the most over the iterations; errors are against the median") {
  const TimelineComparison result = compare(one_rank({44}), one_rank({50, 40, 36}));
  CHECK(result.iterations == 3);
  CHECK(result.iteration.predicted_ms == doctest::Approx(0.104));
  CHECK(result.iteration.observed_ms.min == doctest::Approx(0.096));
  CHECK(result.iteration.observed_ms.median == doctest::Approx(0.100));
  CHECK(result.iteration.observed_ms.max == doctest::Approx(0.110));
  CHECK(*result.iteration.error_pct() == doctest::Approx(4));
  const ComparedOperation& exchange = result.operations[1];
  CHECK(exchange.name == "exchange");
  CHECK(exchange.time.observed_ms.median == doctest::Approx(0.040));
  CHECK(*exchange.time.error_pct() == doctest::Approx(10));
  CHECK(exchange.share == doctest::Approx(44.0 / 104));
  CHECK(*result.exposed.error_pct() == doctest::Approx(10));
}

TEST_CASE("an operation's time is that of the slowest rank, of a class the sum on the slowest rank") {
  // By hand from sample_timeline(): all_to_all is exchange 30 and local 15 us; sync 40 on rank 0, 35 on rank 1.
  const OperationTimes times(sample_timeline());
  REQUIRE(times.names().size() == 5);
  CHECK(times.ms({4}) == std::vector<double>{0.040, 0.040});
  const std::vector<double> exchanges = times.ms({1, 2});
  CHECK(exchanges[0] == doctest::Approx(0.045));
}

TEST_CASE("figures of the ranks, by hand") {
  const TimelineComparison result = compare(sample_timeline(), sample_timeline());
  CHECK(result.ranks[1].compute.observed_ms.median == doctest::Approx(0.060));
  CHECK(result.ranks[1].comm.observed_ms.median == doctest::Approx(0.065));
  CHECK(result.ranks[1].exposed.predicted_ms == doctest::Approx(0.035));
  CHECK(result.ranks[1].busy.predicted_ms == doctest::Approx(0.095));
  CHECK(result.exposed.observed_ms.max == doctest::Approx(0.040));
  CHECK(result.predicted_bytes == 300);
}

TEST_CASE("a collective that runs beside the next iteration's compute is hidden there") {
  Timeline timeline = one_rank({40, 40});
  // The exchange of iteration 0 (60..100) now lasts to 130, beside the compute of iteration 1 (100..160).
  for (Span& span : timeline.spans)
    if (span.op == 1 && span.iteration == 0) span.end_us = 130;
  const std::vector<IterationWindow> windows = iteration_windows(timeline);
  REQUIRE(windows.size() == 2);
  CHECK(windows[0].end_us == 130);
  CHECK(windows[1].begin_us == 130);
  const auto ranks = window_rank_times(timeline, windows);
  // Compute covers 100..130 of 60..130.
  CHECK(ranks[0][0].exposed_ms == doctest::Approx(0.040));
  CHECK(ranks[0][0].compute_ms == doctest::Approx(0.090));
  CHECK(ranks[1][0].exposed_ms == doctest::Approx(0.040));
  CHECK(ranks[1][0].compute_ms == doctest::Approx(0.030));
}

TEST_CASE("a pause between iterations counts, unless the timeline says that they were run apart") {
  Timeline timeline = one_rank({40, 40, 40});
  for (Span& span : timeline.spans) {
    span.start_us += 25 * span.iteration;
    span.end_us += 25 * span.iteration;
  }
  CHECK(iteration_windows(timeline)[1].ms() == doctest::Approx(0.125));
  timeline.iteration_ms = 0.1;
  CHECK(iteration_windows(timeline)[1].ms() == doctest::Approx(0.100));
  timeline.iteration_ms = 0.124;
  CHECK(iteration_windows(timeline)[1].ms() == doctest::Approx(0.125));
}

TEST_CASE("the worst operations are those with the largest error in time, not in percent") {
  Timeline predicted = one_rank({115}), observed = one_rank({100});
  predicted.ops.push_back({"tiny", "update"});
  observed.ops.push_back({"tiny", "update"});
  predicted.spans.push_back({0, 3.6, 0, 0, 2, 0, 0});
  observed.spans.push_back({0, 2.0, 0, 0, 2, 0, 0});
  sort_spans(predicted), sort_spans(observed);
  const std::vector<ComparedOperation> worst = worst_operations(compare(predicted, observed), 2);
  REQUIRE(worst.size() == 2);
  CHECK(worst[0].name == "exchange");
  CHECK(worst[1].name == "tiny");
}

TEST_CASE("a collective that compute hides is not what differs most") {
  Timeline predicted = one_rank({45}), observed = one_rank({40});
  for (Timeline* const timeline : {&predicted, &observed}) {
    timeline->ops.push_back({"hidden", "all_to_all"});
    timeline->streams.push_back("second");
    timeline->spans.push_back({0, timeline == &predicted ? 50. : 10., 0, 2, 2, 0, 0});  // compute runs until 60
    sort_spans(*timeline);
  }
  const std::vector<ComparedOperation> worst = worst_operations(compare(predicted, observed), 2);
  REQUIRE(worst.size() == 2);
  CHECK(worst[0].name == "exchange");
  CHECK(worst[0].telling_ms() == doctest::Approx(0.005));
  CHECK(worst[1].time.off_ms() == doctest::Approx(0.040));
  CHECK(worst[1].telling_ms() == 0);
}

TEST_CASE("operations of one side are listed, and are outside any tolerance when they take one percent") {
  Timeline predicted = one_rank({40}), observed = one_rank({40});
  predicted.kind = "predicted";
  predicted.ops.push_back({"gone", "update"});
  predicted.spans.push_back({0, 0.5, 0, 0, 2, 0, 0});
  sort_spans(predicted);
  TimelineComparison result = compare(predicted, observed);
  REQUIRE(result.alone.size() == 1);
  CHECK(result.alone[0].name == "gone");
  CHECK(result.alone[0].predicted);
  CHECK(outside_tolerance(result, 10).empty());
  for (Span& span : predicted.spans)
    if (span.op == 2) span.end_us = 5;
  result = compare(predicted, observed);
  const std::vector<std::string> outside = outside_tolerance(result, 1000);
  REQUIRE(outside.size() == 1);
  CHECK(outside[0] == "gone only predicted");
  result = compare(observed, predicted);
  REQUIRE(result.alone.size() == 1);
  CHECK_FALSE(result.alone[0].predicted);
}

TEST_CASE("where names differ operations of one role are compared together, and their names are told") {
  Timeline observed = sample_timeline();
  observed.ops[1].name = "all_to_allv";
  observed.ops[2].name = "all_to_allv";
  observed.ops[1].op_class = observed.ops[2].op_class = "all_to_all_v";
  const TimelineComparison result = compare(sample_timeline(), observed);
  CHECK(result.alone.empty());
  REQUIRE(result.operations.size() == 4);
  const ComparedOperation& row = result.operations.back();
  CHECK(row.matched_by_class);
  CHECK(row.name == "exchange of vectors");
  CHECK(row.predicted_names == std::vector<std::string>{"exchange", "local"});
  CHECK(row.observed_names == std::vector<std::string>{"all_to_allv"});
  CHECK(row.time.predicted_ms == doctest::Approx(0.045));
  CHECK(*row.time.error_pct() == doctest::Approx(0));
}

TEST_CASE("of some ranks that were traced the prediction's figures are those of the same ranks") {
  Timeline predicted = sample_timeline(), observed = sample_timeline();
  // Rank 1 alone is slower by far.
  for (Span& span : predicted.spans)
    if (span.rank == 1 && predicted.ops[static_cast<std::size_t>(span.op)].op_class == "lookup") span.end_us += 5000;
  std::erase_if(observed.spans, [](const Span& span) { return span.rank == 1; });
  const auto lookup_ms = [](const TimelineComparison& result) {
    const auto found = std::find_if(result.classes.begin(), result.classes.end(),
                                    [](const ComparedOperation& row) { return row.name == "lookup"; });
    REQUIRE(found != result.classes.end());
    return found->time.predicted_ms;
  };
  CHECK(lookup_ms(compare(predicted, sample_timeline())) > 5);
  CHECK(lookup_ms(compare(predicted, observed)) < 1);
}

TEST_CASE("one rank of a world is compared with a prediction of one rank that stands alone") {
  Timeline observed = sample_timeline();
  std::erase_if(observed.spans, [](const Span& span) { return span.rank == 0; });
  Timeline alone = observed;
  alone.world_size = alone.ranks_per_node = 1;
  alone.groups.clear();
  alone.flow.clear();
  alone.hbm_bytes.clear();
  alone.bytes_in.clear();
  alone.bytes_out.clear();
  for (Span& span : alone.spans) span.rank = 0;
  const TimelineComparison result = compare(alone, observed);
  CHECK(says(result.notes.at(0), "rank 1 of 2 was observed"));
  for (const ComparedOperation& row : result.operations) CHECK(*row.time.error_pct() == doctest::Approx(0));
}

TEST_CASE("what a prediction without exchanges holds in its dense part is not judged beside a rank of many") {
  Timeline predicted = one_rank({50}), observed = one_rank({50});
  predicted.kind = "predicted";
  predicted.ops = {{"forward", "dense"}, {"update", "update"}};
  observed.ops = {{"forward", "dense"}, {"exchange", "all_to_all"}, {"update", "update"}};
  predicted.spans = {{0, 110, 0, 0, 0, 0, 0}, {110, 130, 0, 0, 1, 0, 0}};
  observed.spans.push_back({110, 130, 0, 0, 2, 0, 0});
  observed.world_size = 2;
  observed.hbm_bytes = {1000, 1000};
  const TimelineComparison result = compare(predicted, observed);
  CHECK(says(result.notes.at(1), "the prediction has no exchanges"));
  CHECK(outside_tolerance(result, 1).empty());
  CHECK(worst_operations(result, 3).empty());
}

TEST_CASE("the tolerance bounds the iteration, classes and collectives from one percent of the iteration on") {
  const TimelineComparison result = compare(one_rank({50}), one_rank({40}));
  CHECK(outside_tolerance(result, 30).empty());
  CHECK(outside_tolerance(result, 15) == std::vector<std::string>{"all_to_all +25.0 %", "exchange +25.0 %"});
  CHECK(outside_tolerance(result, 5).front() == "iteration +10.0 %");
  // 25 % of something that takes less than a percent of the iteration.
  CHECK(outside_tolerance(compare(one_rank({0.5}), one_rank({0.4})), 5).empty());
}

TEST_CASE("an incomplete observation loses its last iteration, with a note") {
  Timeline observed = one_rank({40, 40, 400});
  observed.complete = false;
  const TimelineComparison result = compare(one_rank({40}), observed);
  CHECK(result.iterations == 2);
  CHECK(result.iteration.observed_ms.max == doctest::Approx(0.100));
  CHECK_FALSE(result.complete);
  REQUIRE(!result.notes.empty());
  CHECK(says(result.notes[0], "its last iteration is left out, 2 remain"));
  observed = one_rank({40});
  observed.complete = false;
  CHECK(says(compare(one_rank({40}), observed).notes[0], "within its only measured iteration"));
}

TEST_CASE("what cannot be compared is refused with the file and the reason") {
  Timeline other = one_rank({40});
  other.world_size = 2;
  other.hbm_bytes.clear();
  other.spans.push_back(other.spans.front());
  other.spans.back().rank = 1;
  sort_spans(other);
  CHECK(says(message_of(one_rank({40}), other),
             "observed.h5: case \"main\": observed on 2 ranks, and predicted.h5 predicts 1"));
  other = one_rank({40});
  other.spans.clear();
  CHECK(says(message_of(one_rank({40}), other), "observed.h5: case \"main\" holds no operation that ran"));
  CHECK(says(message_of(other, one_rank({40})), "predicted.h5: case \"main\" holds no operation that ran"));
  other = one_rank({40});
  other.ops = {{"a", "lookup"}, {"b", "all_gather"}};
  CHECK(
      says(message_of(one_rank({40}), other),
           "no operation in common with predicted.h5, which has dense, all_to_all, while this has lookup, all_gather"));
}

TEST_CASE("clocks that may be off by more than a percent of the iteration are noted") {
  Timeline observed = one_rank({40, 40});
  observed.measured.clock_residual_us = 0.9;
  CHECK(compare(one_rank({40}), observed).notes.empty());
  observed.measured.clock_residual_us = 1.1;
  CHECK(says(compare(one_rank({40}), observed).notes.at(0), "may differ by 0.0011 ms"));
}

TEST_CASE("more ranks and iterations than memory could hold are refused") {
  Timeline observed = one_rank(std::vector<double>(300, 40.0));
  observed.world_size = 100'000;
  observed.hbm_bytes.clear();
  Timeline predicted = one_rank({40});
  predicted.world_size = 100'000;
  predicted.hbm_bytes.clear();
  CHECK(says(message_of(predicted, observed), "300 iterations of 100000 ranks are too many"));
}

TEST_CASE("iterations whose spans end before those of the one before take no time, and nothing runs backwards") {
  Timeline timeline = one_rank({40, 40, 40});
  for (Span& span : timeline.spans)
    if (span.iteration == 0) span.end_us += 500;
  sort_spans(timeline);
  const std::vector<IterationWindow> windows = iteration_windows(timeline);
  for (std::size_t i = 1; i < windows.size(); ++i) CHECK(windows[i].begin_us == windows[i - 1].end_us);
  CHECK(windows[1].ms() == 0);
  CHECK(window_rank_times(timeline, windows).size() == 3);
}

TEST_CASE("ranks that were not observed are left out of the table, with a note") {
  Timeline observed = sample_timeline();
  std::erase_if(observed.spans, [](const Span& span) { return span.rank == 1; });
  const TimelineComparison result = compare(sample_timeline(), observed);
  CHECK(result.ranks.size() == 1);
  CHECK(says(result.notes.at(0), "1 of 2 ranks"));
}

}  // namespace
}  // namespace shardsim::timeline_comparison_test
