#include "validate/execute/run/observed_timeline.h"

#include <doctest/doctest.h>

namespace shardsim::observed_timeline_test {

namespace {

// Two ranks: rank 0 computes, then both exchange.
Program two_ranks() {
  Program program;
  program.case_name = "main";
  program.world_size = program.ranks_per_node = 2;
  program.streams = {"compute", "world"};
  program.groups["world"] = {{0, 1}};
  ByteMatrix matrix;
  matrix.unit_bytes = 8;
  matrix.units = {6};
  program.matrices = {{"m", matrix}};
  Op dense;
  dense.name = "dense_forward";
  Op exchange;
  exchange.id = 1;
  exchange.name = "global_all_to_all";
  exchange.op_class = OpClass::all_to_all;
  exchange.stream = 1;
  exchange.after = {0};
  exchange.group = "world";
  exchange.matrix.index = 0;
  program.ops = {dense, exchange};
  return program;
}

// Iterations of 100 us and 140 us, both 1 s after the epoch; rank 1 is 10 us late.
std::vector<RankReport> reports() {
  std::vector<RankReport> both(2);
  for (int rank = 0; rank < 2; ++rank) {
    RankReport& report = both[rank];
    const double late = 10.0 * rank;
    report.spans = {{1e6 + late, 1e6 + 40, rank, 0, 0, 5, 0},
                    {1e6 + 40, 1e6 + 90 + late, rank, 1, 1, 5, 0},
                    {1e6 + 110 + late, 1e6 + 150, rank, 0, 0, 6, 0},
                    {1e6 + 150, 1e6 + 230 + late, rank, 1, 1, 6, 0}};
    report.peak_bytes = 1000 + rank;
    report.host = "n0";
    report.facts.device = "CPU";
    report.facts.transport = "sockets";
    report.clock_residual_us = 0.5 * rank;
  }
  return both;
}

}  // namespace

TEST_CASE("reports of all ranks make one Timeline that starts at 0") {
  const Timeline timeline = observed_timeline(two_ranks(), reports(), Pace::back_to_back, true);
  CHECK(timeline.kind == "observed");
  CHECK(timeline.complete);
  REQUIRE(timeline.spans.size() == 8);
  CHECK(timeline.spans.front().start_us == 0);
  CHECK(timeline_fault(timeline).text == "");
  CHECK(timeline.spans.front().bytes == 0);
  CHECK(timeline.spans.back().bytes == 48);
  CHECK(timeline.hbm_bytes == std::vector<std::int64_t>{1000, 1001});
  CHECK(timeline.measured.hosts == std::vector<std::string>{"n0"});
  CHECK(timeline.measured.device == "CPU");
  CHECK(timeline.measured.clock_residual_us == 0.5);
  CHECK(timeline.bytes_out == std::vector<std::int64_t>{24, 24});
}

TEST_CASE("bytes are the mean of what the ranks counted, where all of them did and the run is complete") {
  std::vector<RankReport> counted = reports();
  counted[0].sent = {0, 60};  // of two iterations
  counted[1].sent = {50, 0};
  const Timeline timeline = observed_timeline(two_ranks(), counted, Pace::back_to_back, true);
  CHECK(timeline.bytes_out == std::vector<std::int64_t>{30, 25});
  CHECK(timeline.bytes_in == std::vector<std::int64_t>{25, 30});
  CHECK(timeline.flow == std::vector<std::int64_t>{0, 30, 25, 0});
  const std::vector<std::int64_t> of_program{24, 24};
  CHECK(observed_timeline(two_ranks(), counted, Pace::back_to_back, false).bytes_out == of_program);
  counted[1].sent.clear();
  CHECK(observed_timeline(two_ranks(), counted, Pace::back_to_back, true).bytes_out == of_program);
}

TEST_CASE("a node that was not heard of is named so, and readers take the timeline") {
  std::vector<RankReport> heard = reports();
  heard[1] = {};
  Program program = two_ranks();
  program.ranks_per_node = 1;
  const Timeline timeline = observed_timeline(program, heard, Pace::back_to_back, false);
  CHECK(timeline.measured.hosts == std::vector<std::string>{"n0", "unknown"});
  CHECK(timeline_fault(timeline).text == "");
}

TEST_CASE("an iteration lasts from the end of the one before to its own, on the slowest rank") {
  const Timeline timeline = observed_timeline(two_ranks(), reports(), Pace::back_to_back, true);
  const std::vector<double> times = iteration_times_us(timeline, Pace::back_to_back);
  REQUIRE(times.size() == 2);
  CHECK(times[0] == doctest::Approx(100));
  CHECK(times[1] == doctest::Approx(140));
  CHECK(timeline.iteration_ms == doctest::Approx(0.120));
  const std::vector<double> alone = iteration_times_us(timeline, Pace::apart);
  CHECK(alone[0] == doctest::Approx(100));
  CHECK(alone[1] == doctest::Approx(130));
  CHECK(timeline.iterations_run == 2);
}

TEST_CASE("a rank that said nothing leaves an incomplete Timeline") {
  std::vector<RankReport> said = reports();
  said[1] = {};
  const Timeline timeline = observed_timeline(two_ranks(), said, Pace::back_to_back, false);
  CHECK_FALSE(timeline.complete);
  CHECK(timeline.spans.size() == 4);
  CHECK(timeline_fault(timeline).text == "");
}

TEST_CASE("a report reads back as it was written") {
  RankReport report = reports()[1];
  report.sent = {7, 0};
  const RankReport again = RankReport::from_text(report.to_text());
  CHECK(again.spans == report.spans);
  CHECK(again.sent == report.sent);
  CHECK(RankReport::from_text(reports()[0].to_text()).sent.empty());
  CHECK(again.peak_bytes == report.peak_bytes);
  CHECK(again.host == report.host);
  CHECK(again.facts == report.facts);
  CHECK(again.clock_residual_us == report.clock_residual_us);
}

}  // namespace shardsim::observed_timeline_test
