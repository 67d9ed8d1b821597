#include "study/report/documents/sweep_charts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "study/report/documents/sweep_document.h"
#include "study/report/page.h"

namespace shardsim::sweep_charts_test {

namespace {

Axis axis_of(const std::string& path, const std::vector<std::string>& texts) {
  Axis axis{path, {}, {}};
  for (const std::string& text : texts) axis.values.push_back({text_tree(text), text, amount_of(text)});
  return axis;
}

// Three axes; the samples per second of a point grow with its number, and the last point has no result.
struct Sample {
  Sweep sweep;
  SweepResult result;
  Sample() {
    sweep.path = "a.yaml";
    sweep.title = "A sweep";
    for (Axis axis : {axis_of("planner", {"a", "b"}), axis_of("cluster.nodes", {"1", "2", "4"}),
                      axis_of("workload.batch_per_gpu", {"8", "16"})})
      sweep.dimensions.push_back({{std::move(axis)}});
    sweep.product = 12;
    std::vector<PointResult> results;
    for (std::uint32_t point = 0; point < sweep.product; ++point) {
      sweep.points.push_back(point);
      PointResult each;
      each.point = point;
      each.world_size = 4 << (point / 2 % 3);
      each.samples_per_s = 100.0 + point;
      each.iteration_ms = 1;
      each.peak_bytes = each.memory_bytes = std::int64_t{1} << 30;
      each.memory_capacity = std::int64_t{80} << 30;
      results.push_back(each);
    }
    results.back().outcome = PointResult::Outcome::failed;
    results.back().message = "no such <thing>";
    result = sweep_result(sweep, std::move(results));
  }
};

}  // namespace

TEST_CASE("points without a price have no cost in their chart") {
  const Sample sample;
  const std::string page = sweep_html(sample.result, SweepOrder::samples), begins = "data-own=\"sweep_points\"";
  const std::size_t begin = page.find('>', page.find(begins)) + 1;
  const auto chart = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  const auto& columns = chart["columns"]["points"];
  const auto cost = static_cast<std::size_t>(std::find(columns.begin(), columns.end(), "cost") - columns.begin());
  REQUIRE(cost < columns.size());
  REQUIRE(chart["sets"]["points"].size() == 11);
  for (const auto& row : chart["sets"]["points"]) CHECK(row[cost].is_null());
}

// Chances and choices are of means over the placements of hot rows, and so is what stands first.
TEST_CASE("points stand in the order of their means over the placements of hot rows") {
  Sample sample;
  const std::vector<std::size_t> told = sorted_points(sample.result, SweepOrder::samples);
  REQUIRE(told[0] == 10);
  REQUIRE(told[1] == 9);
  CHECK_FALSE(is_first_on_average(sample.result, told, SweepOrder::samples));
  CHECK(document_text(sweep_document(sample.result, Medium::terminal), 400, false)
            .starts_with("Most samples per second: 110 at"));
  for (PointResult& each : sample.result.results) each.interval.emplace();
  sample.result.results[10].interval->placements = {0.03, 0.01};  // longer in the others than in the one that is told
  const std::vector<std::size_t> sorted = sorted_points(sample.result, SweepOrder::samples);
  CHECK(sorted[0] == 9);
  CHECK(is_first_on_average(sample.result, sorted, SweepOrder::samples));
  CHECK(sorted_points(sample.result, SweepOrder::memory).front() == 0);
}

TEST_CASE("the map is over axes of numbers, and each cell names the best of the others") {
  const Sample sample;
  CHECK(drawn_dimensions(sample.sweep) == std::vector<std::size_t>{1, 2});
  const DataSet cells = sweep_cells(sample.result);
  REQUIRE(cells.rows.size() == 6);
  CHECK(std::get<std::string>(cells.rows[0][9]) == "b");  // points 0 and 6: the faster one
  CHECK(std::get<double>(cells.rows[0][6]) == 106);
  CHECK(std::get<std::string>(cells.rows[5][9]) == "a");  // points 5 and 11, of which that has no result
  CHECK(std::get<double>(cells.rows[5][6]) == 105);
}

TEST_CASE("scaling has a line for each setting of the axes that leave the world alone") {
  const Sample sample;
  const DataSet lines = sweep_scaling(sample.result);
  CHECK(lines.rows.size() == 11);
  CHECK(std::get<std::string>(lines.rows[0][0]) == "a, 8");
  CHECK(std::get<double>(lines.rows[0][2]) == doctest::Approx(100));
  CHECK(std::get<double>(lines.rows[2][2]) == doctest::Approx(100 * (102.0 / 8) / (100.0 / 4)));
}

TEST_CASE("scaling has a line for each machine, and none for one of a single size") {
  Sweep sweep;
  Axis clusters{"cluster", {}, {}};
  for (const char* const name : {"h100", "b200"}) clusters.values.push_back({text_tree(name), name, {}});
  sweep.dimensions = {{{clusters}}, {{axis_of("cluster.nodes", {"1", "2"})}}};
  sweep.product = 4;
  sweep.points = {0, 1, 2};
  std::vector<PointResult> results(3);
  for (std::uint32_t point = 0; point < 3; ++point) {
    results[point].point = point;
    results[point].world_size = point == 2 ? 16 : 8 << point;
    results[point].samples_per_s = 100;
  }
  const SweepResult result = sweep_result(sweep, std::move(results));
  const DataSet lines = sweep_scaling(result);
  REQUIRE(lines.rows.size() == 2);
  for (const auto& row : lines.rows) CHECK(std::get<std::string>(row[0]).starts_with("h100"));
}

TEST_CASE("a point with rows in host memory is marked, named and counted") {
  Sample sample;
  sample.result.results[10].host_bytes = std::int64_t{1008} << 30;  // the fastest
  const std::string table = document_text(sweep_document(sample.result, Medium::terminal), 1000, false);
  CAPTURE(table);
  CHECK(table.find("1.00 +host") != std::string::npos);
  CHECK(table.find("1 of 12 points: Rows stand in host memory, up to 1008 GiB of a node") != std::string::npos);
  CHECK(table.find("NOT ALL IN GPU MEMORY: planner b, nodes 4, batch_per_gpu 8 keeps 1008 GiB of rows") !=
        std::string::npos);
  CHECK(document_text(sweep_document(Sample().result, Medium::terminal), 1000, false).find("host") ==
        std::string::npos);
}

TEST_CASE("plans that TorchRec cannot run are counted, with the fastest point that it can") {
  Sample sample;
  for (PointResult& each : sample.result.results) each.memory_capacity = std::int64_t{2} << 30;
  sample.result.results[10].beyond_torchrec = "tiers of rows (history)";  // the fastest
  const std::string text = document_text(sweep_document(sample.result, Medium::terminal), 1000, false);
  CAPTURE(text);
  CHECK(text.find("the first because it has tiers of rows (history)") != std::string::npos);
  CHECK(text.find("1 of 12 points") != std::string::npos);
  CHECK(text.find("Among the points that it can run, planner b, nodes 2, batch_per_gpu 16") != std::string::npos);
  const std::string screen = document_text(sweep_document(sample.result, Medium::screen), 1000, false);
  CAPTURE(screen);
  CHECK(screen.find("TorchRec cannot run the plan of planner b, nodes 4, batch_per_gpu 8, which has tiers of rows "
                    "(history); of these points it can run planner b, nodes 2, batch_per_gpu 16, with 109 samples per "
                    "second.") != std::string::npos);
  CHECK(document_text(sweep_document(Sample().result, Medium::screen), 1000, false).find("TorchRec") ==
        std::string::npos);
}

TEST_CASE("the first sentence names the best point by what points are sorted by") {
  Sample sample;
  for (PointResult& each : sample.result.results) each.cost_per_hour = 36;
  sample.result.results[3].iteration_ms = 0.5;
  sample.result.results[4].peak_bytes = std::int64_t{1} << 29;
  sample.result.results[5].cost_per_hour = 18;
  const auto begins = [&](SweepOrder order, const std::string& with) {
    const std::string text = document_text(sweep_document(sample.result, Medium::terminal, order), 1000, false);
    CAPTURE(text.substr(0, 200));
    CHECK(text.starts_with(with));
  };
  begins(SweepOrder::samples,
         "Most samples per second: 110 at planner b, nodes 4, batch_per_gpu 8 (1.000 ms, 16 GPUs, busiest");
  begins(SweepOrder::iteration, "Shortest iteration: 0.5000 ms at planner a, nodes 2, batch_per_gpu 16 (103 samples");
  begins(SweepOrder::cost,
         "Least cost of a million samples: 47.6 at planner a, nodes 4, batch_per_gpu 16 (105 samples");
  begins(SweepOrder::memory, "Least memory of the fullest GPU: 0.50 GiB at planner a, nodes 4, batch_per_gpu 8 (104");
}

TEST_CASE("the page of a sweep says what the fastest point costs, and which one takes least memory") {
  Sample sample;
  for (PointResult& each : sample.result.results) {
    each.peak_bytes = std::int64_t{1} << 30;
    each.memory_capacity = std::int64_t{2} << 30;
    each.cost_per_hour = 36;
  }
  sample.result.results[3].peak_bytes = std::int64_t{1} << 29;
  const auto page = [&] { return document_text(sweep_document(sample.result, Medium::page), 1000, false); };
  CAPTURE(page());
  CHECK(
      page().find("there, less than at any other point. Prices are in the currency of cost_per_gpu_hour. Least memory: "
                  "0.50 GiB of the fullest GPU instead of 1.00, at planner a, nodes 2, batch_per_gpu 16, with") !=
      std::string::npos);
  sample.result.results[3].peak_bytes = (std::int64_t{1} << 30) - (std::int64_t{1} << 25);  // 3 % less
  CHECK(page().find("Least memory") == std::string::npos);
  sample.result.results[10].peak_bytes = std::int64_t{3} << 30;  // the fastest
  CHECK(page().find("The fastest point that fits is planner b, nodes 2, batch_per_gpu 16, with ") != std::string::npos);
}

TEST_CASE("the first screen of a sweep says where samples cost least") {
  Sample sample;
  for (PointResult& each : sample.result.results) each.cost_per_hour = 36;
  sample.result.results[5].cost_per_hour = 18;
  const std::string screen = document_text(sweep_document(sample.result, Medium::screen), 1000, false);
  CAPTURE(screen);
  CHECK(screen.find("A million samples cost 90.9 there. They cost least at planner a, nodes 4, batch_per_gpu 16: 47.6, "
                    "with 105 samples per second.") != std::string::npos);
  CHECK(document_text(sweep_document(Sample().result, Medium::screen), 1000, false).find("cost") == std::string::npos);
}

TEST_CASE("the points of a sweep are told with their figures, whether they fit, and their values") {
  Sample sample;
  sample.result.results[0].memory_capacity = sample.result.results[0].peak_bytes - 1;
  const DataSet points = sweep_points(sample.result);
  CHECK(points.rows.size() == 11);  // the last one has no result
  REQUIRE(points.columns.size() == 14);
  CHECK(points.columns[12] == "cluster.nodes");
  CHECK(std::get<std::string>(points.rows[0][9]) == "over");
  CHECK(std::get<std::string>(points.rows[2][12]) == "2");
  CHECK(std::get<std::string>(points.rows[0][6]) == "-");  // no price
  CHECK(std::get<double>(points.rows[10][4]) == doctest::Approx(sample.result.at(10).samples_per_s));
}

TEST_CASE("all charts of a sweep fill their specifications, and the page escapes what failed") {
  const Sample sample;
  const std::vector<Chart> charts = sweep_charts(sample.result);
  CHECK(charts.size() == 3);
  CHECK(charts.front().plot == "sweep_points");  // which plots/sweep_points.js draws
  for (const Chart& chart : charts) {
    if (chart.plot == "sweep_points") continue;
    const std::string name = "plots/" + chart.plot + ".vg.json";
    CHECK_NOTHROW(fill_chart(read_file(SHARDSIM_SOURCE_DIR "/" + name), name, chart.data));
  }
  const std::string page = sweep_html(sample.result);
  CHECK(page.find("no such &lt;thing&gt;") != std::string::npos);
  CHECK(page.find("12 points (2 x 3 x 2), 1 without a result.") != std::string::npos);
  const std::string table = document_text(sweep_document(sample.result, Medium::terminal), 100, false);
  CAPTURE(table);
  CHECK(table.find("batch_per_gpu 8 (1.000 ms") != std::string::npos);  // point 10, the fastest
}

}  // namespace shardsim::sweep_charts_test
