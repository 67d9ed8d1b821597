#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "study/report/documents/result_document.h"
#include "study/report/page.h"
#include "study/report/sheets/result_sheets.h"
#include "tests/base/error_text.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::report_html_test {

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The page without the library, whose text is not ours.
std::string own_text(const std::string& page) {
  const std::optional<std::string> vega = vega_script();
  if (!vega) return page;
  std::string own = page;
  return own.erase(own.find(*vega), vega->size());
}

const std::string kSpecStart = "<script type=\"application/json\" data-chart=";

}  // namespace

TEST_CASE("the report holds every chart as a specification and as a table") {
  const std::string page = own_text(report_html(sample::twelve_cases()));
  if (!vega_script()) return;  // built without charts: the next test applies
  CHECK(count_of(page, kSpecStart) == 9);
  CHECK(count_of(page, "data-own=\"timeline\"") == 4);
  CHECK(count_of(page, "<summary>The same as a table</summary>") == 13);
  CHECK(count_of(page, "<div class=\"chart\"") == 9);
  CHECK(count_of(page, "<div class=\"own-chart timeline\"") == 4);
}

TEST_CASE("every embedded specification is JSON with filled data") {
  const std::string page = own_text(report_html(sample::twelve_cases()));
  for (std::size_t at = page.find(kSpecStart); at != std::string::npos; at = page.find(kSpecStart, at + 1)) {
    const std::size_t begin = page.find('>', at) + 1;
    const auto spec = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    CHECK_FALSE(spec["data"][0]["values"].empty());
  }
}

TEST_CASE("rows that an earlier chart has, too, are named and not repeated") {
  if (!vega_script()) return;
  const std::string page = own_text(report_html(sample::twelve_cases()));
  const auto values_of = [&](const std::string& chart) {
    const std::size_t begin = page.find('>', page.find(kSpecStart + "\"" + chart + "\"")) + 1;
    return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin))
        .at("data")
        .at(0)
        .at("values");
  };
  CHECK(values_of("comparison").at("rows").is_array());
  CHECK(values_of("error") == "comparison/points");
  CHECK(values_of("memory").at("rows").is_array());
}

TEST_CASE("without Vega the report says so, keeps all tables and draws what needs none") {
  const std::string page = own_text(report_html(sample::twelve_cases()));
  CHECK(has(page, "9 charts of this page are not drawn: vega.js is not beside the program") ==
        !vega_script().has_value());
  CHECK(count_of(page, "data-own=\"timeline\"") == 4);
  CHECK(count_of(page, "<table class=\"sheet") >= 13);
}

TEST_CASE("the page answers first: summary, charts, then tables") {
  const std::string page = own_text(report_html(sample::twelve_cases()));
  CHECK(page.find("class=\"summary\"") < page.find("Predicted beside published"));
  CHECK(page.find("Predicted beside published") < page.find("<h2>Cases, fastest first</h2>"));
  CHECK(page.find("<h2>Cases, fastest first</h2>") < page.find("<h2>Fitted constants</h2>"));
  CHECK(has(page, "overheads.all_to_all.across_nodes.start"));
  CHECK(has(page, "which relay rule"));
}

// A world of 65,536 ranks in which rank 777 looks up more than all others, which differ a little from rank to rank.
StudyResult large_world() {
  StudyResult study = sample::one_case(8);
  RankLoads loads;
  for (int rank = 0; rank < 65'536; ++rank) loads.lookups.push_back(rank == 777 ? 250 : 100 + rank % 7);
  loads.tables = {{"history", loads.lookups}};
  loads.fullest = 777;
  study.cases[0].loads = loads;
  return study;
}

TEST_CASE("the page of a large world is small, and its odd rank is there by itself") {
  const std::string page = own_text(report_html(large_world()));
  const std::size_t small = own_text(report_html(sample::one_case(8))).size();
  CHECK(page.size() < small + 150'000);  // a row of each rank would take 8 MB
  const std::size_t table = page.find("Which ranks look up equally many rows");
  REQUIRE(table != std::string::npos);
  CHECK(page.find("<td>777\n", table) != std::string::npos);
  CHECK(page.find("0-770:7", table) != std::string::npos);
  CHECK_FALSE(has(own_text(report_html(sample::one_case(8))), "look up equally many"));
}

TEST_CASE("nothing is loaded from outside") {
  const std::string page = own_text(report_html(sample::twelve_cases()));
  for (const std::string part : {" src=", "<link", "<img", "@import", "url("}) CHECK_MESSAGE(!has(page, part), part);
}

TEST_CASE("names cannot break out of the page") {
  StudyResult study = sample::twelve_cases();
  const std::string evil = "</script><img src=x onerror=alert(1)>\"'&";
  study.title = evil;
  study.scenario = evil;
  study.cases[2].name = evil;
  study.cases[2].workload = evil;
  study.cases[2].cluster = evil;
  study.cases[2].limit.what = evil;
  study.cases[2].pareto[0].table = evil;
  study.cases[2].notes = {evil};
  study.cases[2].times[0].name = evil;
  study.cases[2].timeline.ops[0].name = evil;
  study.cases[2].timeline.streams[0] = evil;
  study.cases[2].published[0].published.quantity = evil;
  study.cases[2].published[0].published.source = evil;
  study.fitted[0].source = evil;
  const std::string page = own_text(report_html(study));
  CHECK_FALSE(has(page, "<img"));
  CHECK(count_of(page, "</script") == count_of(page, "<script"));
}

TEST_CASE("a case called main, nothing published, one case, 1,024 ranks: the report stands") {
  const std::string page = own_text(report_html(sample::one_case(1024)));
  CHECK(has(page, "main takes 112.0&nbsp;ms per iteration"));
  CHECK_FALSE(has(page, "Predicted beside published"));
  CHECK_FALSE(has(page, "Figure"));
  CHECK(page.size() < 200'000);
}

TEST_CASE("a study without cases is a page, not a crash") {
  CHECK(has(report_html({}), "No case was simulated"));
}

TEST_CASE("the same study gives the same bytes") {
  CHECK(report_html(sample::twelve_cases()) == report_html(sample::twelve_cases()));
}

TEST_CASE("the summary names the fastest plan, its gain, what limits it and the worst prediction") {
  const std::string text = summary_text(sample::twelve_cases());
  // 258 / 196 = 1.32 of rm3 is the least, and 410 / 178 = 2.30 of rm2 the most.
  CHECK(has(text,
            "flexshard_3tier is the fastest plan of all 4 workloads, 1.32 to 2.30 times as fast as row_wise, and "
            "NICs limit it: rm1 takes 226.0 ms per iteration, rm2 178.0 ms, rm3 196.0 ms, rm4 162.0 ms."));
  CHECK(has(text, ", is filled to 22 % by the memory model."));
  // Predictions of the sample are 14 % high for every global all-reduce and less elsewhere.
  CHECK(has(accuracy_text(sample::twelve_cases()), "the largest error is 14.0 % (global_all_reduce of "));
  const std::string page = report_html(sample::twelve_cases());
  CHECK(has(page, "the largest error is 14.0 % (global_all_reduce of "));  // beside the chart of published times
}

TEST_CASE("with one workload the summary has samples per second, too, and the gain of the fastest plan") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(3);
  // 409 / 226 = 1.81 (FlexShard paper: +81 % throughput); 32 GPUs x 4,096 samples in 226 ms.
  CHECK(has(summary_text(study),
            "flexshard_3tier is the fastest plan: 226.0 ms per iteration, 579,965 samples/s, 1.81 times as fast as "
            "row_wise (NIC 3 of node 0, sending: busy"));
}

TEST_CASE("where the plans that win differ, the summary names each") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(6);
  std::swap(study.cases[4].iteration_ms, study.cases[5].iteration_ms);
  std::swap(study.cases[4].samples_per_s, study.cases[5].samples_per_s);
  const std::string text = summary_text(study);
  CHECK(has(text, "The fastest plan is for rm1 flexshard_3tier with 226.0 ms, 1.81 times as fast as row_wise ("));
  CHECK(has(text, "; for rm2 flexshard_2tier with 178.0 ms, 2.30 times as fast as row_wise ("));
}

TEST_CASE("the summary holds the memory model's figure and the simulated peak side by side") {
  StudyResult study = sample::one_case();
  CHECK(memory_warning(study).empty());
  study.cases[0].memory_profile.ranks.resize(2);
  study.cases[0].memory_profile.ranks[1].amounts[MemoryPart::tables] = 55LL << 30;
  CHECK(
      has(summary_text(study), "The fullest GPU is filled to 138 % at its simulated peak, 22 % by the memory model."));
  const std::string warning =
      "WARNING: at its simulated peak a GPU would need more memory than it has, so the run would end with an "
      "out-of-memory error: main (55.00 GiB of 40.00, which is 137.5 %; by the memory model 21.9 %).";
  CHECK(memory_warning(study) == warning);
  CHECK(has(report_html(study), "<p class=\"notice\">WARNING: at its simulated peak"));
  CHECK(has(result_table(study, 400, false), warning + "\n"));
}

TEST_CASE("where the cases of a workload differ in batch, the summary compares samples, not iterations") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(2);  // rm1: row-wise 409 ms, 2-tier 254 ms
  study.cases[1].batch_per_gpu /= 2;
  study.cases[1].samples_per_s /= 2;  // fewer samples in less time: the slower one
  CHECK(has(summary_text(study),
            "The 2 cases of rm1 differ in GPUs, cluster or batch: 258,016 samples/s "
            "(flexshard_2tier) to 320,469 (row_wise)."));
}

}  // namespace shardsim::report_html_test
