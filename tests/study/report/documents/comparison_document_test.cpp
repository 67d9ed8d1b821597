#include "study/report/documents/comparison_document.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/document/first_screen.h"
#include "base/error.h"
#include "study/report/page.h"
#include "tests/base/error_text.h"
#include "tests/program/sample_timeline.h"

namespace shardsim::comparison_report_test {
namespace {

std::string html_of(const ComparisonReport& report) {
  return page_html(comparison_document(report, Medium::page));
}

using Json = nlohmann::json;

TimelineSource source(const std::string& path, const std::vector<std::string>& cases, bool observed) {
  TimelineSource result{path, {}, false, {}};
  for (const std::string& name : cases)
    result.cases.push_back({name, observed ? sample_observation() : sample_timeline()});
  return result;
}

std::string message_of(const TimelineSource& predicted, const TimelineSource& observed, const std::string& only = "") {
  return input_error_of(
      [&] { compare_sources(predicted, observed, only.empty() ? std::vector<std::string>{} : std::vector{only}); });
}

TEST_CASE("cases are matched by name; those of one side are told") {
  const ComparisonReport report =
      compare_sources(source("p.h5", {"a", "b", "c"}, false), source("o.h5", {"c", "b", "d"}, true), {});
  REQUIRE(report.cases.size() == 2);
  CHECK(report.cases[0].comparison.case_name == "b");
  CHECK(report.cases[1].comparison.case_name == "c");
  CHECK(report.only_predicted == std::vector<std::string>{"a"});
  CHECK(report.only_observed == std::vector<std::string>{"d"});
}

TEST_CASE("below an observation stands how far it differs from itself, and what its machines said") {
  TimelineSource observed = source("o.h5", {"a"}, true);
  observed.cases[0].timeline.measured.more = "SM clock, MHz: 1395 to 1410; throttled: none";
  const std::string text = document_text(
      comparison_document(compare_sources(source("p.h5", {"a"}, false), observed, {}), Medium::terminal), 100, false);
  CHECK(has(text, "conditions of what was observed"));
  CHECK(has(text, "1395 to 1410"));
  CHECK(has(text, "throttled"));
  CHECK(has(text, "spread of computing from rank to rank"));
  const std::string both =
      document_text(comparison_document(compare_sources(source("p.h5", {"a"}, false), source("q.h5", {"a"}, false), {}),
                                        Medium::terminal),
                    100, false);
  CHECK(both.find("conditions of what") == std::string::npos);
}

TEST_CASE("one case on each side is compared whatever it is called, with a note") {
  const ComparisonReport report = compare_sources(source("p.h5", {"a"}, false), source("o.json", {"main"}, true), {});
  CHECK(report.cases.at(0).comparison.notes == std::vector<std::string>{"the observed case is called main"});
}

TEST_CASE("--case chooses the case, and the prediction for an observation of one case") {
  const TimelineSource predicted = source("p.h5", {"a", "b"}, false);
  CHECK(compare_sources(predicted, source("o.h5", {"a", "b"}, true), {"b"}).cases.at(0).comparison.observed_case ==
        "b");
  CHECK(compare_sources(predicted, source("o.h5", {"main"}, true), {"b"}).cases.at(0).comparison.observed_case ==
        "main");
  CHECK(has(message_of(predicted, source("o.h5", {"a", "c"}, true), "b"), "o.h5: there is no case \"b\""));
  CHECK(has(message_of(predicted, source("o.h5", {"a"}, true), "z"), "p.h5: there is no case \"z\""));
  CHECK(has(message_of(predicted, source("o.h5", {"x", "y"}, true)),
            "o.h5: the files have no case in common: a, b in p.h5, x, y here"));
  TimelineSource traces = source("dir", {"kineto"}, true);
  traces.names_no_case = true;
  CHECK(has(message_of(predicted, traces), "Name it with --case: a, b"));
  CHECK(compare_sources(predicted, traces, {"a"}).cases.at(0).comparison.notes.empty());
}

TEST_CASE("--case takes several names and patterns; a case without a partner is told") {
  const TimelineSource predicted = source("p.h5", {"a", "rm/b", "rm/c"}, false);
  const TimelineSource observed = source("o.h5", {"a", "rm/c", "rm/d"}, true);
  const ComparisonReport report = compare_sources(predicted, observed, {"rm/*"});
  REQUIRE(report.cases.size() == 1);
  CHECK(report.cases[0].comparison.case_name == "rm/c");
  CHECK(report.only_predicted == std::vector<std::string>{"rm/b"});
  CHECK(report.only_observed.empty());
  CHECK(compare_sources(predicted, observed, {"a", "*c"}).cases.size() == 2);
  CHECK(has(message_of(predicted, observed, "q*"), "p.h5: there is no case \"q*\""));
}

TEST_CASE("the JSON has every figure under its name, and says what is outside") {
  TimelineSource predicted = source("p.h5", {"main"}, false);
  for (Span& span : predicted.cases[0].timeline.spans)
    if (span.op == 4) span.end_us += 10;  // sync: 50 us where 40 were observed
  ComparisonReport report = compare_sources(predicted, source("o.h5", {"main"}, true), {});
  Json json = Json::parse(comparison_json(report));
  CHECK(json.at("schema") == "shardsim.comparison/1");
  CHECK(json.at("within_tolerance").is_null());
  CHECK(json.at("cases").at(0).at("iteration").at("within_tolerance").is_null());
  report.tolerance_pct = 12;
  json = Json::parse(comparison_json(report));
  CHECK(json.at("within_tolerance") == false);
  const Json& item = json.at("cases").at(0);
  CHECK(item.at("outside") == Json({"all_reduce +25.0 %", "sync +25.0 %"}));
  CHECK(item.at("world_size") == 2);
  CHECK(item.at("iterations") == 2);
  const Json& sync = item.at("operations").at(4);
  CHECK(sync.at("name") == "sync");
  CHECK(sync.at("class") == "all_reduce");
  CHECK(sync.at("matched_by") == "name");
  CHECK(sync.at("predicted_ms") == doctest::Approx(0.05));
  CHECK(sync.at("observed_median_ms") == doctest::Approx(0.04));
  CHECK(sync.at("error_pct") == doctest::Approx(25));
  CHECK(sync.at("within_tolerance") == false);
  CHECK(item.at("operations").at(0).at("within_tolerance").is_null());  // a lookup: its class is judged
  CHECK(item.at("worst_operations").at(0).at("name") == "sync");
  CHECK(item.at("worst_operations").at(0).at("error_ms") == doctest::Approx(0.01));
  CHECK(item.at("memory").at("observed_hbm_max_bytes") == 300);
  CHECK(item.at("ranks").at(1).at("comm").at("observed_median_ms") == doctest::Approx(0.065));
  CHECK(item.at("measured").at("hosts").at(1) == "node-b");
  report.tolerance_pct = 25.001;
  CHECK(Json::parse(comparison_json(report)).at("within_tolerance") == true);
}

TEST_CASE("the table names classes, operations, worst operations and verdicts, in 100 columns") {
  TimelineSource predicted = source("p.h5", {"main"}, false);
  predicted.cases[0].timeline.ops[3].op_class = "update";  // `dense` has no partner, and no class on the other side
  predicted.cases[0].timeline.spans[0].end_us += 1;
  ComparisonReport report = compare_sources(predicted, source("o.h5", {"main"}, true), {});
  report.tolerance_pct = 10;
  const std::string text = document_text(comparison_document(report, Medium::terminal), 100, false);
  CHECK(has(text, "2 ranks, 2 iterations observed on A100-SXM4-40GB (node-a, node-b), nccl, NCCL 2.18.3"));
  CHECK(has(text, "on one side only"));
  CHECK(has(text, "dense (update)"));
  CHECK(has(text, "OUTSIDE"));
  const std::string unbroken = document_text(comparison_document(report, Medium::terminal), 1000, false);
  CHECK(has(unbroken, "Largest errors in time: "));
  CHECK(has(unbroken, " ms per iteration: they are equal within 0.05 %."));
  CHECK(unbroken.find("Largest errors in time: ") < unbroken.find("OUTSIDE"));  // the answer stands above its tables
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}

TEST_CASE("the charts have both timelines on one axis, and a point for the iteration and for every operation") {
  const ComparisonReport report = compare_sources(source("p.h5", {"main"}, false), source("o.h5", {"main"}, true), {});
  const std::vector<Chart> charts = comparison_charts(report.cases.at(0), "case0");
  REQUIRE(charts.size() == 3);
  const DataSet &spans = charts[0].data.at(0), &lanes = charts[0].data.at(1), &points = charts[1].data.at(1);
  CHECK(spans.rows.size() == 10);  // rank 0, the busiest too, five operations on each side
  CHECK(lanes.rows.size() == 6);
  CHECK(std::get<std::string>(lanes.rows[0][1]) == "rank 0 predicted");
  CHECK(std::get<std::string>(lanes.rows[5][1]) == "rank 0 observed");
  CHECK(points.rows.size() == 6);
  CHECK(has(html_of(report), "Predicted beside observed: main"));
}

// 12 predictions beside others that are shorter by less and less: the second side's first spans end later.
ComparisonReport twelve_cases(bool observed) {
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back("case" + std::to_string(i));
  TimelineSource first = source("p.h5", names, false), second = source("q.h5", names, observed);
  for (std::size_t i = 0; i < 12; ++i) {
    Timeline& timeline = first.cases[i].timeline;
    const double more = 10.0 * static_cast<double>(i);
    for (Span& span : timeline.spans)
      if (span.op == 4) span.end_us += more;  // sync, the last one
    timeline.iteration_ms += more / 1e3;
  }
  return compare_sources(first, second, {});
}

TEST_CASE("two predictions are called first and second everywhere, and neither is said to be observed") {
  const std::vector<std::string> cases = {"a", "b", "only_here"};
  const ComparisonReport report = compare_sources(source("p.h5", cases, false), source("q.h5", {"a", "b"}, false), {});
  const std::string page = html_of(report),
                    text = document_text(comparison_document(report, Medium::terminal), 400, false);
  for (const std::string& shown : {page.substr(page.find("<body>")), text}) {
    CHECK(shown.find("bserved beside") == std::string::npos);
    CHECK(shown.find("only one iteration was observed") == std::string::npos);
    CHECK(shown.find("redicted against") == std::string::npos);
    CHECK(shown.find("observed (ms)") == std::string::npos);
    CHECK(shown.find("predicted (ms)") == std::string::npos);
    CHECK(shown.find("Only predicted") == std::string::npos);
    CHECK(has(shown, "100 (first - second) / second"));
    CHECK(has(shown, "Only first: only_here"));
  }
  CHECK(has(page, "First against second"));
  CHECK(has(page, "<th scope=\"col\">first (ms)<th scope=\"col\">second (ms)"));
  CHECK(has(page, "first time, beside the second (%)"));  // the title of an axis
  CHECK_FALSE(has(page, "error of the first"));
}

TEST_CASE("a range over iterations stands there only where there is one") {
  ComparisonReport report = twelve_cases(false);
  report.cases.resize(1);
  const auto text = [&] { return document_text(comparison_document(report, Medium::terminal), 400, false); };
  const auto header = [&] {
    const std::string all = text();
    const std::size_t begin = all.find("per iteration  ");
    return all.substr(begin, all.find('\n', begin) - begin);
  };
  TimelineComparison& sides = report.cases.front().comparison;
  const auto all_times = [&](double factor) {
    for (std::vector<ComparedOperation>* const rows : {&sides.classes, &sides.operations})
      for (ComparedOperation& row : *rows) row.time.observed_ms.max = factor * row.time.observed_ms.median;
  };
  for (ComparedTime* const time : {&sides.iteration, &sides.exposed, &sides.waiting})
    time->observed_ms.min = time->observed_ms.max = time->observed_ms.median;
  for (std::vector<ComparedOperation>* const rows : {&sides.classes, &sides.operations})
    for (ComparedOperation& row : *rows) row.time.observed_ms.min = row.time.observed_ms.median;
  all_times(1);
  INFO(header());
  CHECK_FALSE(has(header(), " max"));
  CHECK(has(header(), "difference %"));
  all_times(2);
  CHECK(has(header(), " max"));
}

TEST_CASE("several cases have one answer and a line each, the largest difference first") {
  const ComparisonReport report = twelve_cases(false);
  const std::string screen = first_screen_text(comparison_document(report, Medium::terminal), kNoTerminal, false);
  INFO(screen);
  CHECK(std::count(screen.begin(), screen.end(), '\n') <= kFirstScreenLines);
  CHECK(screen.starts_with("In 12 cases the first and the second differ by "));
  CHECK(has(screen, "case11: the first is 55.0 % longer, and of its operations differs most sync +0.11 ms"));
  CHECK(has(screen, "CASES, largest difference first"));
  CHECK(screen.find("\n  case11 ") < screen.find("\n  case0 "));
  CHECK(screen.find("rrors in time") == std::string::npos);
  const std::string page = html_of(report);
  const std::size_t answer = page.find("<p class=\"summary\">In 12&nbsp;cases"),
                    plain = page.find("<p class=\"summary\">In 12 cases");
  CHECK(std::min(answer, plain) < page.find("<table"));
  CHECK(has(page, "Largest differences in time: "));
  CHECK(has(page, "How much does each operation differ?"));
  CHECK(has(page, "<h2>case11</h2>"));  // which is open, and the others are folded
  CHECK(has(page, "<summary>case0</summary>"));
  CHECK(has(html_of(twelve_cases(true)), "Largest errors in time: "));
}

TEST_CASE("cases that are all equal are said to be so") {
  const std::vector<std::string> names = {"a", "b", "only_here"};
  const std::string text = document_text(
      comparison_document(compare_sources(source("p.h5", names, false), source("q.h5", {"a", "b"}, false), {}),
                          Medium::terminal),
      kNoTerminal, false);
  INFO(text);
  CHECK(text.starts_with(
      "In all 2 cases the first and the second are equal within 0.05 %. Only in the first file: 1 case."));
}

TEST_CASE("a name that would end the page's scripts or tags does not") {
  TimelineSource predicted = source("p.h5", {"main"}, false), observed = source("o.h5", {"main"}, true);
  for (TimelineSource* side : {&predicted, &observed}) side->cases[0].timeline.ops[0].name = "</script><img src=x>";
  observed.cases[0].timeline.measured.device = "<b>GPU";
  const std::string page = html_of(compare_sources(predicted, observed, {}));
  CHECK(page.find("<img src=x>") == std::string::npos);
  CHECK(page.find("<b>GPU") == std::string::npos);
}

}  // namespace
}  // namespace shardsim::comparison_report_test
