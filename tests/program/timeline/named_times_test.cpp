#include "program/timeline/named_times.h"

#include <doctest/doctest.h>

#include "tests/program/overlapping_timeline.h"
#include "tests/program/sample_timeline.h"

namespace shardsim::named_times_test {
namespace {

TEST_CASE("compute, collectives and exposed time of a rank are unions over time, per kept iteration") {
  const std::vector<RankTimes> ranks = rank_times(sample_timeline());
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].compute_ms == doctest::Approx(0.060));
  CHECK(ranks[0].comm_ms == doctest::Approx(0.070));
  CHECK(ranks[0].exposed_ms == doctest::Approx(0.040));
  CHECK(ranks[1].comm_ms == doctest::Approx(0.065));
  CHECK(ranks[1].exposed_ms == doctest::Approx(0.035));
}

TEST_CASE("one pass gives the times of ranks and of names, and the mean is over all ranks") {
  const Timeline timeline = sample_timeline();
  const TimelineTimes all = all_times(timeline);
  const std::vector<RankTimes> ranks = rank_times(timeline);
  REQUIRE(all.ranks.size() == ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    CHECK(all.ranks[rank].compute_ms == ranks[rank].compute_ms);
    CHECK(all.ranks[rank].exposed_ms == ranks[rank].exposed_ms);
    CHECK(all.ranks[rank].waiting_ms == ranks[rank].waiting_ms);
  }
  REQUIRE(all.names.size() == 5);
  CHECK(all.names[1].span_ms == named_times(timeline)[1].span_ms);
  CHECK(mean_of(ranks).exposed_ms == doctest::Approx(0.0375));
  CHECK(mean_of({}).compute_ms == 0);
}

TEST_CASE("a rank that runs nothing has zero times") {
  Timeline timeline = sample_timeline();
  timeline.world_size = 3;
  const std::vector<RankTimes> ranks = rank_times(timeline);
  REQUIRE(ranks.size() == 3);
  CHECK(ranks[2].compute_ms == 0);
  CHECK(ranks[2].comm_ms == 0);
  CHECK(ranks[2].exposed_ms == 0);
}

TEST_CASE(
    "times by name are of the slowest rank, their exposed part the mean over the ranks, in order of the operations") {
  const std::vector<NamedTime> times = named_times(sample_timeline());
  REQUIRE(times.size() == 5);
  const NamedTime &exchange = times[1], &local = times[2], &sync = times[4];
  CHECK(exchange.name == "exchange");
  CHECK(exchange.op_class == "all_to_all");
  CHECK(exchange.calls == 1);
  CHECK(exchange.alone_ms == doctest::Approx(0.028));
  CHECK(exchange.span_ms == doctest::Approx(0.030));
  CHECK(exchange.exposed_ms == doctest::Approx(0.030));
  CHECK(exchange.bytes_per_rank == 8192);
  CHECK(local.exposed_ms == 0);
  CHECK(sync.span_ms == doctest::Approx(0.040));
  CHECK(sync.exposed_ms == doctest::Approx(0.0075));
}

TEST_CASE("two operations of one name are two calls of it, and each counts its own time alone") {
  Timeline timeline = sample_timeline();
  timeline.ops[2].name = "exchange";
  const std::vector<NamedTime> times = named_times(timeline);
  REQUIRE(times.size() == 4);
  CHECK(times[1].calls == 2);
  CHECK(times[1].alone_ms == doctest::Approx(0.028 + 0.015));
  CHECK(times[1].span_ms == doctest::Approx(0.030 + 0.015));
  CHECK(times[1].exposed_ms == doctest::Approx(0.030));
  CHECK(times[1].bytes_per_rank == 8192 + 1024);
}

TEST_CASE("a name that only one rank runs is not diluted by the others") {
  Timeline timeline = sample_timeline();
  std::erase_if(timeline.spans, [](const Span& span) { return span.op == 1 && span.rank == 1; });
  CHECK(named_times(timeline)[1].span_ms == doctest::Approx(0.030));
}

TEST_CASE("collectives that end together: the exposed time goes to the lower stream, then to the lower op") {
  Timeline timeline;
  timeline.world_size = 1;
  timeline.streams = {"a", "b"};
  timeline.ops = {{"late", "all_reduce"}, {"first", "all_gather"}, {"other", "all_to_all"}};
  timeline.spans = {{0, 5, 0, 1, 0, 0, 0}, {0, 5, 0, 0, 1, 0, 0}, {0, 5, 0, 0, 2, 0, 0}};
  const std::vector<NamedTime> times = named_times(timeline);
  CHECK(times[0].exposed_ms == 0);
  CHECK(times[1].exposed_ms == doctest::Approx(0.005));
  CHECK(times[2].exposed_ms == 0);
}

TEST_CASE("the exposed times of all collectives of a rank add up to its exposed time") {
  Timeline timeline;
  timeline.world_size = 1;
  timeline.streams = {"compute", "a", "b", "c"};
  timeline.ops = {{"dense", "dense"}, {"x", "all_to_all"}, {"y", "all_reduce"}, {"z", "reduce_scatter"}};
  for (int i = 0; i < 200; ++i) {
    const int stream = i % 4;
    const double start = 7.0 * (i / 4) + stream;
    timeline.spans.push_back({start, start + 1 + (i * 37 % 5), 0, stream, stream, 0, 0});
  }
  sort_spans(timeline);
  double sum = 0;
  for (const NamedTime& time : named_times(timeline)) sum += time.exposed_ms;
  const double exposed = rank_times(timeline)[0].exposed_ms;
  CHECK(exposed > 0);
  CHECK(sum == doctest::Approx(exposed).epsilon(1e-12));
}

// In 100 us of the period compute runs in 10..90; of the collectives the exchange of ids in 95..100 and 0..20, `sync`
// in 85..100: exposed are 0..10 and 90..100.
TEST_CASE("with iterations that overlap, the figures are of one period, and its parts do not exceed it") {
  const Timeline timeline = overlapping_timeline();
  for (const RankTimes& times : rank_times(timeline)) {
    CHECK(times.compute_ms == doctest::Approx(0.080));
    CHECK(times.comm_ms == doctest::Approx(0.035));
    CHECK(times.exposed_ms == doctest::Approx(0.020));
  }
  const std::vector<NamedTime> times = named_times(timeline);
  CHECK(times[0].name == "ids");
  CHECK(times[0].exposed_ms == doctest::Approx(0.015));  // 0..10, and 95..100, where `sync` ends first
  CHECK(times[0].calls == 1);
  CHECK(times[0].span_ms == doctest::Approx(0.025));
}

TEST_CASE("a rank that only runs ahead of the others keeps its figures") {
  Timeline timeline = slow_rank_timeline();
  CHECK(iteration_windows(timeline).front().repeats);
  const std::vector<RankTimes> ranks = rank_times(timeline);
  CHECK(ranks[0].compute_ms == doctest::Approx(0.030));
  CHECK(ranks[0].exposed_ms == doctest::Approx(0.070));
  CHECK(ranks[1].compute_ms == doctest::Approx(0.090));
  CHECK(ranks[1].exposed_ms == doctest::Approx(0.010));
}

// Rank 0 arrives at the exchange 60 us before rank 1, whose update of the iteration before takes so much longer.
TEST_CASE("exposed time is transfer and waiting, and says for which rank and what it was running") {
  const Timeline timeline = slow_rank_timeline();
  const NamedTime exchange = named_times(timeline)[0];
  CHECK(exchange.exposed_ms == doctest::Approx((0.070 + 0.010) / 2));
  CHECK(exchange.waiting_ms == doctest::Approx(0.060 / 2));
  CHECK(exchange.transfer_ms() == doctest::Approx(0.010));
  CHECK(exchange.waited_for.rank == 1);
  CHECK(exchange.waited_for.operation == "update");
  CHECK(exchange.waited_for.ms == doctest::Approx(0.030));
  CHECK(exchange.waits_tellingly(timeline.iteration_ms));
  CHECK(rank_times(timeline)[0].waiting_ms == doctest::Approx(0.060));
  CHECK(rank_times(timeline)[1].waiting_ms == 0);
}

TEST_CASE("nobody waits for the call itself, however short it is beside the iteration") {
  Timeline timeline = slow_rank_timeline();
  timeline.iteration_ms = 7.5e3;  // the 10 us of the exchange on rank 1 are less than 2e-6 of it
  CHECK(named_times(timeline)[0].waited_for.operation == "update");
}

// Rank 1 ends with a short step after a long one: it is the long one that rank 0 waited for.
TEST_CASE("what the last member is waited for in is what filled the waiting, not what ended last") {
  Timeline timeline;
  timeline.world_size = 2;
  timeline.streams = {"a"};
  timeline.groups = {{"world", {{0, 1}}}};
  timeline.ops = {{"update", "update"}, {"order", "other"}, {"x", "all_to_all", 0, "world"}};
  timeline.spans = {{0, 5, 0, 0, 0, 0, 0},  {5, 10, 0, 0, 1, 0, 0},  {10, 100, 0, 0, 2, 0, 0},
                    {0, 80, 1, 0, 0, 0, 0}, {80, 90, 1, 0, 1, 0, 0}, {90, 100, 1, 0, 2, 0, 0}};
  timeline.iteration_ms = 0.1;
  sort_spans(timeline);
  const NamedTime exchange = named_times(timeline)[2];
  CHECK(exchange.waited_for.rank == 1);
  CHECK(exchange.waited_for.operation == "update");
  CHECK(exchange.waited_for.ms == doctest::Approx(0.040));
}

// Rank 1 sends twice as long in the exchange, and then runs the same update as rank 0, which has ended it when rank 1
// begins: the others wait while rank 1 updates, for its exchange.
TEST_CASE("what the last member is waited for in is what made it late, not what it runs meanwhile") {
  Timeline timeline;
  timeline.world_size = 2;
  timeline.streams = {"a"};
  timeline.groups = {{"world", {{0, 1}}}};
  timeline.ops = {{"x", "all_to_all", 0, "world"}, {"update", "update"}, {"sum", "all_reduce", 0, "world"}};
  for (const int copy : {0, 1}) {  // the update may be that of an iteration before, too
    timeline.spans = {{0, 20, 0, 0, 0, 0, 0}, {20, 60, 0, 0, 1, 0, 0}, {60, 100, 0, 0, 2, 0, 0},
                      {0, 50, 1, 0, 0, 0, 0}, {50, 90, 1, 0, 1, 0, 0}, {90, 100, 1, 0, 2, 0, 0}};
    timeline.iteration_ms = 0.1 + 0.1 * copy;
    sort_spans(timeline);
    const NamedTime sum = named_times(timeline)[2];
    CHECK(sum.waited_for.rank == 1);
    CHECK(sum.waited_for.operation == "x");
    CHECK(sum.waited_for.ms == doctest::Approx(0.015));
  }
}

TEST_CASE("what compute hides is no waiting, and without known members nothing is") {
  Timeline timeline = slow_rank_timeline();
  timeline.ops.push_back({"more", "dense"});
  timeline.spans.push_back({0, 40, 0, 2, 3, 0, 0});  // beside the first 40 us of the exchange
  sort_spans(timeline);
  CHECK(rank_times(timeline)[0].waiting_ms == doctest::Approx(0.020));
  timeline.groups.clear();
  const NamedTime exchange = named_times(timeline)[0];
  CHECK(exchange.waiting_ms == 0);
  CHECK(exchange.waited_for.rank == -1);
}

TEST_CASE("of several iterations the calls of one belong together, the first with the first") {
  Timeline timeline;
  timeline.world_size = 2;
  timeline.streams = {"a"};
  timeline.groups = {{"world", {{0, 1}}}};
  timeline.ops = {{"x", "all_reduce", 0, "world"}, {"work", "dense"}};
  for (int iteration = 0; iteration < 3; ++iteration) {
    const double at = 100.0 * iteration;
    for (const double call : {0.0, 50.0}) {
      timeline.spans.push_back({at + call, at + call + 20, 0, 0, 0, iteration, 0});
      timeline.spans.push_back({at + call, at + call + 5, 1, 0, 1, iteration, 0});
      timeline.spans.push_back({at + call + 5, at + call + 20, 1, 0, 0, iteration, 0});
    }
  }
  sort_spans(timeline);
  const NamedTime calls = named_times(timeline)[0];
  CHECK(calls.calls == 2);
  CHECK(calls.exposed_ms == doctest::Approx((0.040 + 0.030) / 2));
  CHECK(calls.waiting_ms == doctest::Approx(0.010 / 2));
  CHECK(calls.waited_for.operation == "work");
}

}  // namespace
}  // namespace shardsim::named_times_test
