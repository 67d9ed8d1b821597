#include "study/report/documents/sweep_document.h"

#include <doctest/doctest.h>

#include "study/report/documents/sweep_notes.h"
#include "study/sweep/read_sweep.h"
#include "tests/base/error_text.h"

namespace shardsim::sweep_document_test {

namespace {

Sweep sweep_over(const std::string& axis) {
  const std::string text =
      "schema: shardsim.scenario/1\ncluster: {base: hgx_h100_8x400g, nodes: 2, cost_per_gpu_hour: 2}\n"
      "workload: toy_history\nplanner: {name: row_wise}\nsweep: {axes: {" +
      axis + "}}\n";
  return sweep_from_text(text, SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", {}, {});
}

// A point whose iteration takes that long; of more samples per second than others costs as much less.
PointResult point_of(double ms, double memory_gib = 10, double cost_per_hour = 32) {
  PointResult point;
  point.world_size = 16;
  point.batch_per_gpu = 1024;
  point.iteration_ms = ms;
  point.samples_per_s = 16 * 1024 / (ms * 1e-3);
  point.memory_bytes = point.peak_bytes = static_cast<std::int64_t>(memory_gib * 0x1p30);
  point.memory_capacity = std::int64_t{60} << 30;
  point.cost_per_hour = cost_per_hour;
  return point;
}

std::string text_of(const SweepResult& result, Medium medium, SweepOrder order = SweepOrder::samples) {
  return document_text(sweep_document(result, medium, order), 2000, false);
}

SweepResult result_of(const Sweep& sweep, std::vector<PointResult> points) {
  for (std::size_t i = 0; i < points.size(); ++i) points[i].point = static_cast<std::uint32_t>(i);
  return sweep_result(sweep, std::move(points));
}

}  // namespace

TEST_CASE("a point that costs the same, but for rounding or a digit that is not printed, is no alternative") {
  const Sweep sweep = sweep_over("cluster.nics.rate: [200 Gbit/s, 400 Gbit/s, 800 Gbit/s]");
  const SweepResult rounded = result_of(sweep, {point_of(10), point_of(10 * (1 - 1e-12)), point_of(11)});
  for (const SweepOrder order : {SweepOrder::samples, SweepOrder::cost}) {
    const std::string text = text_of(rounded, Medium::screen, order);
    CHECK(has(text, "at rate 200 Gbit/s ("));
    CHECK(has(text, "there, and at no other point less."));
    CHECK_FALSE(has(text, "They cost least at"));
  }
  const std::string unseen = text_of(result_of(sweep, {point_of(10), point_of(9.9999), point_of(11)}), Medium::screen);
  CHECK_FALSE(has(unseen, "They cost least at"));
  const std::string unlike = text_of(result_of(sweep, {point_of(10), point_of(20), point_of(11)}), Medium::screen);
  CHECK(has(unlike, "there, less than at any other point."));
}

TEST_CASE("of points that cost equally little the first on the axis is named, and only where nothing else names it") {
  const Sweep sweep = sweep_over("cluster.nics.rate: [200 Gbit/s, 400 Gbit/s, 800 Gbit/s]");
  const SweepResult result =
      result_of(sweep, {point_of(20, 10, 8), point_of(20 * (1 - 1e-12), 10, 8), point_of(10, 10, 64)});
  CHECK(has(text_of(result, Medium::screen), "They cost least at rate 200 Gbit/s: "));
  const std::string by_cost = text_of(result, Medium::screen, SweepOrder::cost);
  CHECK(has(by_cost, "Least cost of a million samples: "));
  CHECK(has(by_cost, "The fastest point that fits is rate 800 Gbit/s, with "));
  CHECK_FALSE(has(by_cost, "They cost least at"));
}

TEST_CASE("of points that need equally little memory the first on the axis is named") {
  const Sweep sweep = sweep_over("cluster.nics.rate: [200 Gbit/s, 400 Gbit/s, 800 Gbit/s]");
  const SweepResult result = result_of(sweep, {point_of(20, 5.0001), point_of(15, 5), point_of(10, 10)});
  CHECK(has(text_of(result, Medium::page), "Least memory: 5.00 GiB of the fullest GPU instead of 10.00, at rate 200"));
  CHECK_FALSE(has(text_of(result, Medium::page, SweepOrder::memory), "Least memory: "));
}

TEST_CASE("a point that beats one with more memory is told with a warning on a first screen, and not as advice") {
  const Sweep sweep = sweep_over("cluster.gpu.hbm: [60 GiB, 140 GiB]");
  const SweepResult result = result_of(sweep, {point_of(12.69, 51), point_of(17.14, 55)});
  for (const Medium medium : {Medium::screen, Medium::page})
    CHECK(has(text_of(result, medium),
              "It is 35 % faster than at 140 GiB, although nothing of its cluster is faster: that is no advice to take "
              "it. The planner uses what the better hardware has more of for another plan"));
  CHECK(has(sweep_order_warning(result_of(sweep, {point_of(12.69), point_of(17.14)}), 0), "With --details a note"));
  CHECK(sweep_order_warning(result_of(sweep, {point_of(17.14, 51), point_of(12.69, 55)}), 1).empty());
}

TEST_CASE("the warning compares whole clusters, too, whatever they cost") {
  const Sweep sweep = sweep_over("cluster: [hgx_h100_8x400g, dgx_h200]");
  const std::string text = text_of(result_of(sweep, {point_of(12, 51), point_of(17, 55, 51)}), Medium::screen);
  CHECK(has(text, "It is 42 % faster than at dgx_h200, although nothing of its cluster is faster"));
}

TEST_CASE("what index_dedup takes off the points that are told first stands on a first screen") {
  const Sweep sweep = sweep_over("cluster.nics.rate: [200 Gbit/s, 400 Gbit/s]");
  SweepResult result = result_of(sweep, {point_of(20), point_of(10)});
  result.results[1].beyond_torchrec = "tiers of rows (history)";
  CHECK(told_points(result, SweepOrder::samples) == std::vector<std::size_t>{1, 0});
  result.results[1].beyond_torchrec = "";
  CHECK(told_points(result, SweepOrder::samples) == std::vector<std::size_t>{1});
  result.without_duplicates[0] = {6, 4.9, 5.8};
  result.without_duplicates[1] = {9.5, 1.1, 1.1};  // not telling
  CHECK_FALSE(has(text_of(result, Medium::screen), "index_dedup"));
  result.results[1].beyond_torchrec = "tiers of rows (history)";
  const std::string text = text_of(result, Medium::screen);
  CHECK(has(text,
            "With 'index_dedup: true' and its plan kept, the best point that TorchRec can run takes 6.000 instead "
            "of 20.00 ms (4.9 times fewer ids); planned anew it may take less."));
}

}  // namespace shardsim::sweep_document_test
