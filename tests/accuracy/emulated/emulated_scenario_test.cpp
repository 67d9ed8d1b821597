#include "accuracy/emulated/emulated_scenario.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accuracy/emulated/campaign.h"
#include "base/error.h"

namespace shardsim::emulated_scenario_test {

namespace {

Span span(int rank, int op, double start_ms, double end_ms, int stream = 0) {
  Span made;
  made.rank = rank;
  made.op = op;
  made.stream = stream;
  made.start_us = 1e3 * start_ms;
  made.end_us = 1e3 * end_ms;
  return made;
}

// Two nodes of two ranks; operation 0 among all, 1 inside the nodes, 2 between them, 3 computes.
Timeline timeline(const std::vector<Span>& spans) {
  Timeline made;
  made.world_size = 4;
  made.ranks_per_node = 2;
  made.streams = {"first", "second"};
  made.groups = {{"world", {{0, 1, 2, 3}}}, {"node", {{0, 1}, {2, 3}}}, {"cross_node", {{0, 2}, {1, 3}}}};
  const auto op = [](const std::string& name, const std::string& op_class, const std::string& group) {
    Timeline::OpInfo info;
    info.name = name;
    info.op_class = op_class;
    info.group = group;
    return info;
  };
  made.ops = {op("all", "all_to_all", "world"), op("inside", "all_to_all", "node"),
              op("between", "all_reduce", "cross_node"), op("dense", "dense", "")};
  made.spans = spans;
  made.hbm_bytes = {0, 0, 0, 0};
  double last = 0;
  for (const Span& each : spans) {
    last = std::max(last, each.end_us);
    double& alone_us = made.ops[static_cast<std::size_t>(each.op)].alone_us;
    alone_us = std::max(alone_us, each.end_us - each.start_us);
  }
  made.iteration_ms = last / 1e3;
  return made;
}

std::vector<std::string> misses(const Timeline& predicted, const Timeline& observed, double rate_share = 1) {
  return verdict_of(compare_timelines(predicted, observed, {"case", "case", {"p"}, {"o"}}), predicted, rate_share)
      .outside;
}

}  // namespace

TEST_CASE("the shipped cluster stands for the shapers it was made from") {
  const EmulatedShape shape = shape_of(emulated_cluster_spec({2, 4}));
  CHECK(shape.ranks == NodeShape{2, 4});
  CHECK(shape.fast.bytes_per_second == doctest::Approx(240e6 / 8).epsilon(1e-6));
  CHECK(shape.nic.bytes_per_second == doctest::Approx(20e6 / 8).epsilon(1e-6));
}

TEST_CASE("at a share of the rates the cluster that is simulated is the one that is built") {
  const ClusterSpec whole = emulated_cluster_spec({}), half = with_rate_share(whole, 0.5);
  const EmulatedShape built = at_share({}, 0.5);
  CHECK(built.fast.bytes_per_second == 120e6 / 8);
  CHECK(built.nic.bytes_per_second == 10e6 / 8);
  CHECK(shape_of(half).fast.bytes_per_second == doctest::Approx(built.fast.bytes_per_second).epsilon(1e-6));
  CHECK(shape_of(half).nic.bytes_per_second == doctest::Approx(built.nic.bytes_per_second).epsilon(1e-6));
  CHECK(half.nvlink.per_link.bytes_per_second == 0.5 * whole.nvlink.per_link.bytes_per_second);
  CHECK(rate_share_text(1, built).empty());
  CHECK(rate_share_text(0.5, built)
            .find("1/2 of the rates that were asked for, 120 Mbit/s inside a node and 10 Mbit/s") != std::string::npos);
}

TEST_CASE("clusters that name spaces cannot stand for are refused") {
  ClusterSpec spec = emulated_cluster_spec({2, 4});
  CHECK_NOTHROW(shape_of(spec));
  spec.device = "cuda";
  CHECK_THROWS_AS(shape_of(spec), Error);
  spec = emulated_cluster_spec({100, 4});
  CHECK_THROWS_AS(shape_of(spec), Error);
  spec = emulated_cluster_spec({2, 4});
  spec.nics->per_gpu = 2;
  CHECK_THROWS_AS(shape_of(spec), Error);
  spec = emulated_cluster_spec({2, 4});
  spec.nics->rate = {1e12};
  CHECK_THROWS_AS(shape_of(spec), Error);
}

TEST_CASE("collectives share a tier when they run at once on links of one kind") {
  CHECK_FALSE(shares_its_tier(timeline({span(0, 0, 0, 10), span(0, 2, 10, 20)}), 0));
  CHECK(shares_its_tier(timeline({span(0, 0, 0, 11), span(0, 2, 10, 20, 1)}), 0));
  CHECK(shares_its_tier(timeline({span(0, 0, 0, 11), span(0, 1, 10, 20, 1)}), 1));
  CHECK_FALSE(shares_its_tier(timeline({span(0, 1, 0, 11), span(0, 2, 10, 20, 1)}), 1));  // other links
  CHECK_FALSE(shares_its_tier(timeline({span(0, 0, 0, 11), span(1, 2, 10, 20, 1)}), 0));  // other ranks
  CHECK_FALSE(shares_its_tier(timeline({span(0, 0, 0, 11), span(0, 3, 10, 20, 1)}), 0));  // compute
}

TEST_CASE("an iteration may be off by 8 %, a long collective alone on its tier by 12 %") {
  const Timeline predicted = timeline({span(0, 0, 0, 100), span(0, 3, 100, 200)});
  CHECK(misses(predicted, timeline({span(0, 0, 0, 110), span(0, 3, 110, 215)})).empty());
  CHECK(misses(predicted, timeline({span(0, 0, 0, 120), span(0, 3, 120, 200)})) ==
        std::vector<std::string>{"all: 100.0 ms predicted, 120.0 ms least observed, -16.7 % (12 % allowed)"});
  CHECK(misses(predicted, timeline({span(0, 0, 0, 100), span(0, 3, 100, 250)})) ==
        std::vector<std::string>{"iteration: 200.0 ms predicted, 250.0 ms median observed, -20.0 % (8 % allowed)"});
}

TEST_CASE("short collectives, and those that share their tier, are only reported") {
  const Timeline brief = timeline({span(0, 0, 0, 40), span(0, 3, 40, 200)});
  CHECK(misses(brief, timeline({span(0, 0, 0, 48), span(0, 3, 48, 200)})).empty());
  // At a quarter of the rates that which takes 50 ms at the whole ones takes 200.
  const Timeline slow = timeline({span(0, 0, 0, 199), span(0, 3, 199, 1000)});
  const Timeline observed = timeline({span(0, 0, 0, 240), span(0, 3, 240, 1000)});
  CHECK(misses(slow, observed, 0.25).empty());
  CHECK(misses(slow, observed, 0.26).size() == 1);
  const Timeline shared = timeline({span(0, 0, 0, 100), span(0, 2, 0, 100, 1), span(0, 3, 100, 400)});
  CHECK(misses(shared, timeline({span(0, 0, 0, 70), span(0, 2, 0, 120, 1), span(0, 3, 120, 400)})).empty());
}

TEST_CASE("the bytes of every rank may be off by 1 % of those that were counted") {
  Timeline predicted = timeline({span(0, 0, 0, 100)}), observed = predicted;
  for (int rank = 1; rank < 4; ++rank) {
    predicted.spans.push_back(span(rank, 0, 0, 100));
    observed.spans.push_back(span(rank, 0, 0, 100));
  }
  predicted.bytes_out = predicted.bytes_in = {1'000'000, 1'000'000, 1'000'000, 2'000'000};
  observed.bytes_out = {1'009'000, 1'000'000, 1'000'000, 2'000'000};
  observed.bytes_in = predicted.bytes_in;
  CHECK(misses(predicted, observed).empty());
  observed.bytes_in = {1'000'000, 1'000'000, 1'000'000, 2'030'000};
  CHECK(misses(predicted, observed) ==
        std::vector<std::string>{
            "bytes per iteration, the rank that is off most: 2.000 MB predicted, 2.030 MB received by "
            "rank 3, -1.48 % (1 % allowed)"});
  observed.bytes_in = {0, 1'000'000, 1'000'000, 2'000'000};
  CHECK(misses(predicted, observed).size() == 1);  // bytes that never came
}

TEST_CASE("a prediction beside the one that is judged is told, with both errors, and does not fail the round") {
  ScenarioRound round;
  round.beside_settings = {"load.row_shares=even"};
  round.beside = {{"blocks", {100, {240, 250, 260}}, -60.0, CaseMiss::OfRank{0, "sent", {1'000'000, 4'000'000}}}};
  CHECK(round.holds());
  const std::string text = document_text(round_document(round), 200, false);
  CHECK(text.find("With load.row_shares=even, beside the same observation and not judged:") != std::string::npos);
  CHECK(
      text.find("blocks, iteration: 100.0 ms predicted, 250.0 ms median observed, -60.0 %; bytes: 1.000 MB predicted, "
                "4.000 MB sent by rank 0, -75.00 %") != std::string::npos);
  const auto beside = nlohmann::json::parse(round_json(round))["emulated"]["beside"];
  CHECK(beside["settings"][0] == "load.row_shares=even");
  CHECK(beside["cases"][0]["iteration_error_pct"] == -60.0);
  CHECK(beside["cases"][0]["bytes_error_pct"] == -75.0);
}

TEST_CASE("a round holds when nothing is outside and the cases rank alike") {
  ScenarioRound round;
  round.predicted_order = round.observed_order = {"a", "b"};
  CHECK(round.holds());
  round.observed_order = {"b", "a"};
  CHECK_FALSE(round.holds());
  CHECK(nlohmann::json::parse(round_json(round))["emulated"]["within_tolerance"] == false);
  CHECK(document_text(round_document(round), 100, false).find("Observed: b, a.") != std::string::npos);
}

}  // namespace shardsim::emulated_scenario_test
