

#include "study/report/documents/result_document.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "study/report/sheets/how_sure.h"
#include "study/report/sheets/result_sheets.h"
#include "study/report/wording.h"
#include "study/result/choices.h"
#include "tests/base/error_text.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::result_document_test {

namespace {}  // namespace

TEST_CASE("a range of a case that was never measured has a question mark, and the first screen says of what") {
  StudyResult study;
  Interval interval;
  interval.low_ms = 2;
  interval.high_ms = 3;
  CHECK(interval_cell(interval) == "2.0-3.0");
  CHECK(doubt_sentence(study).empty());
  interval.outside = {"no published run on toy"};
  CHECK(interval_cell(interval) == "2.0-3.0?");
  study.cases.emplace_back().interval = interval;
  study.cases.emplace_back().interval = interval;
  CHECK(doubt_sentence(study) == "?: not counted in the range: no published run on toy.");
}

TEST_CASE("question marks are explained on the first screen of many cases, too, and only where there are any") {
  StudyResult study = sample::twelve_cases();
  const auto screen = [&] { return document_text(result_document(study, Medium::screen), 400, false); };
  CHECK_FALSE(has(screen(), "?: "));
  Interval interval;
  interval.outside = {"no published run on toy"};
  study.cases.back().interval = interval;
  CHECK(has(screen(), "QUESTION MARKS\n?: not counted in the range: no published run on toy."));
}

TEST_CASE("no line passes the width, at any width") {
  for (const int width : {40, 72, 80, 100, 160}) {
    for (const std::string& line : split(result_table(sample::twelve_cases(), width, false), '\n')) {
      CHECK_MESSAGE(display_width(line) <= width, line);
    }
  }
}

TEST_CASE("at 100 columns nothing of the study is cut") {
  CHECK_FALSE(has(result_table(sample::twelve_cases(), 100, false).substr(0, 6000), "~"));
}

TEST_CASE("cases stand fastest first within each workload, workloads in the scenario's order") {
  StudyResult study = sample::twelve_cases();
  std::swap(study.cases[0], study.cases[1]);
  const std::string table = result_table(study, 100, false);
  const auto at = [&](const std::string& part) { return table.find(part); };
  CHECK(at("rm1 on a100_mesh_4x8: 32 GPUs, batch 4,096 per GPU") < at("rm2 on a100_mesh_4x8"));
  CHECK(at("  flexshard_3tier         226.0") < at("  flexshard_2tier         254.0"));
  CHECK(at("  flexshard_2tier         254.0") < at("  row_wise                409.0"));
  CHECK(at("  row_wise                409.0") < at("rm2 on"));
}

TEST_CASE("where the cases of a workload differ in cluster and size, its heading spans them") {
  StudyResult study = sample::twelve_cases();
  study.cases[0].cluster = "another";
  study.cases[0].world_size = 8;
  study.cases[0].batch_per_gpu = 16'384;
  const std::string table = result_table(study, 100, false);
  CHECK(has(table, "another"));
  CHECK(has(table, ": 8 to 32 GPUs, batch 4,096 to 16,384 per GPU"));
}

TEST_CASE("no speed is told against a case whose plan does not fit in memory") {
  StudyResult study = sample::twelve_cases();
  CaseResult& slowest = study.cases[0];
  REQUIRE(slowest.name == "rm1/row_wise");
  slowest.memory_per_rank[0] = slowest.memory_capacity + 1;
  const std::string table = result_table(study, 100, false);
  CHECK(has(join(split(table, '\n'), " "), "slowest case of the workload that fits"));
  CHECK(has(table, "  flexshard_3tier         226.0            -    579,965  1.12x"));  // against 254 ms
  for (CaseResult& item : study.cases) item.relative_to = item.workload == "rm1" ? slowest.name : "";
  CHECK_FALSE(has(result_table(study, 100, false), "579,965  1."));
}

TEST_CASE("a case shows iteration, rate, gain, memory and limit") {
  // 131,072 samples in 226 ms are 579,965 per second (FlexShard, end to end).
  StudyResult study = sample::twelve_cases();
  CHECK(has(result_table(study, 100, false),
            "  flexshard_3tier         226.0            -    579,965  1.81x  8.77     -  40.0  node0/nic3/out  33\n"));
  for (CaseResult& item : study.cases) {
    item.memory_profile.ranks.resize(2);
    item.memory_profile.ranks[1].amounts[MemoryPart::tables] = 10LL << 30;
  }
  CHECK(has(result_table(study, 120, false), "8.77  10.00  40.0  node0/nic3/out"));
}

TEST_CASE("collectives show time alone, in the run and exposed, calls and bytes") {
  CHECK(has(result_table(sample::twelve_cases(), 100, false),
            "  intra_node_all_to_all      2     30.00      30.00        0.00        0.00     1,190.0\n"));
}

TEST_CASE("published numbers stand beside both predictions with error and role") {
  const std::string table = result_table(sample::twelve_cases(), 100, false);
  CHECK(has(table, "  quantity               unit  published    planned  error %  observed  error %  role\n"));
  // 307 ms published; 3 % more planned, 0.94 % more at the observed payload.
  CHECK(has(table, "  global_all_to_all      ms        307.0      316.2     +3.0     309.9     +0.9  predicted\n"));
  CHECK(has(table, "  global_all_to_all      ms        308.0      317.2     +3.0     310.9     +0.9  fitted\n"));
  CHECK(has(table, "  rows:flex              rows  1,184,544  1,184,448      0.0                     fitted\n"));
  CHECK(has(table, "'fitted': a constant"));
}

TEST_CASE("fitted constants are named with their value") {
  const std::string table = result_table(sample::twelve_cases(), 100, false);
  CHECK(has(table, "FITTED CONSTANTS"));
  CHECK(has(table,
            "  overheads.all_to_all.across_nodes.start: 3.873 ms\n"
            "      fitted on rm2/row_wise global_all_to_all, rm4/flexshard_3tier global_all_to_all; FlexShard\n"
            "      paper, Table 6\n"));
}

TEST_CASE("without published numbers and constants these sections are absent") {
  const std::string table = result_table(sample::one_case(), 100, false);
  CHECK_FALSE(has(table, "PUBLISHED"));
  CHECK_FALSE(has(table, "FITTED"));
  CHECK_FALSE(has(table, "NOTES"));
  CHECK(has(table, "  main "));
}

TEST_CASE("a figure that the case does not have is told, not left out") {
  StudyResult study = sample::one_case();
  study.cases[0].published = {sample::published("cross_node_all_reduce", 14, "ms", false, 1, false)};
  study.cases[0].published[0].predicted.reset();
  CHECK(has(result_table(study, 100, false), "  cross_node_all_reduce  ms         14.0     none"));
}

TEST_CASE("without colour no escape sequence is printed, even from a name") {
  StudyResult study = sample::one_case();
  study.cases[0].name = "a\033[31mb";
  CHECK_FALSE(has(result_table(study, 100, false), "\033"));
  CHECK(has(result_table(study, 100, true), "\033[1m"));
}

TEST_CASE("an empty study and a width of zero do not crash") {
  CHECK_FALSE(result_table({}, 0, false).empty());
}

TEST_CASE("fastest first is by samples per second where batches differ, and nothing says a speed") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(2);
  study.cases[1].batch_per_gpu /= 2;
  study.cases[1].samples_per_s /= 2;
  const std::string table = result_table(study, 100, false);
  CHECK(table.find("  row_wise                409.0") < table.find("  flexshard_2tier         254.0"));
  CHECK(has(table, "    409.0            -    320,469      -  "));
  CHECK(has(table, "compare their samples/s"));
}

TEST_CASE("a case that names none is measured against another's only where their plans alone differ") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(3);
  study.cases[2].relative_to = "rm1/flexshard_2tier";
  study.cases[0].batch_per_gpu /= 2;
  const std::string table = result_table(study, 200, false);
  CHECK(has(table, "579,965  1.12x"));
  CHECK(has(table, "516,031  1.00x"));
  CHECK(has(table, "320,469      -"));
  CHECK(has(table, "only the plan differs"));
}

TEST_CASE("the headline measures as the table does") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(3);
  study.cases[0].relative_to = "rm1/flexshard_2tier";  // named by another case, and the fastest names none
  CHECK(has(summary_text(study), "1.12 times as fast as flexshard_2tier"));
}

TEST_CASE("waiting for an operation of one's own name is for the one before") {
  NamedTime time;
  time.name = "global_all_to_all";
  time.exposed_ms = 2;
  time.waiting_ms = 1;
  time.waited_for = {2, "global_all_to_all", 1};
  CHECK(waiting_text(time, 1) == "1.0 of 2.0 ms exposed is waiting for rank 2, the previous global_all_to_all");
  time.waited_for.operation = "lookup";
  CHECK(waiting_text(time, 1) == "1.0 of 2.0 ms exposed is waiting for rank 2, lookup");
}

TEST_CASE("the legend explains a time in the run below that of the calls alone") {
  StudyResult study = sample::twelve_cases();
  CHECK_FALSE(has(result_table(study, 400, false), "in run may be less than alone"));
  for (NamedTime& time : study.cases[0].times) time.alone_ms = 2 * time.span_ms;
  CHECK(has(result_table(study, 400, false), "in run may be less than alone"));
}

TEST_CASE("speed is in samples per second against the case that relative_to names") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(3);
  study.cases[2].relative_to = "rm1/flexshard_2tier";
  const std::string table = result_table(study, 100, false);
  CHECK(has(table, "579,965  1.12x"));  // 254 / 226
  CHECK(has(table, "516,031  1.00x"));
  CHECK(has(table, "320,469  0.62x"));
  CHECK(has(table, "the case that relative_to names"));
  study.cases[1].batch_per_gpu *= 2;
  study.cases[1].samples_per_s *= 2;
  CHECK(has(result_table(study, 100, false), "579,965  0.56x"));
}

TEST_CASE("a lead of search that its seed may turn round is told as none") {
  const auto text_of = [](double second_ms, const std::string& planner) {
    StudyResult study;
    for (const char* const name : {"first", "second"}) {
      CaseResult& item = study.cases.emplace_back();
      item.name = name;
      item.interval.emplace();
    }
    study.cases[0].iteration_ms = 10;
    study.cases[0].interval->setting.plan = "search, evaluations 2000";
    study.cases[1].iteration_ms = second_ms;
    study.cases[1].interval->setting.plan = planner;
    Choice& choice = study.choices.emplace_back();
    choice.chosen = "first";
    choice.others.push_back({"second", 0.7, 1});
    return document_text(Document{"", "", {how_sure_section(study, Medium::terminal)}}, 2000, false);
  };
  const std::string told = "Its lead over second (1.0 %) is no lead of one planner over the other";
  CHECK(has(text_of(10.1, "row_wise"), told));
  CHECK_FALSE(has(text_of(10.1, "search"), "is no lead"));
  CHECK_FALSE(has(text_of(10 * (1 + search_spread(0)) + 0.01, "row_wise"), "is no lead"));
}

// The one that is told in a fast placement may be the slower one; and more GPUs train more in a longer iteration.
TEST_CASE("a note says where the first is told with the longer time, and only there") {
  StudyResult study;
  const auto add = [&](const char* name, double ms, int gpus, double mean_log) {
    CaseResult& item = study.cases.emplace_back();
    item.name = name;
    item.iteration_ms = ms;
    item.world_size = gpus;
    item.batch_per_gpu = 100;
    item.samples_per_s = gpus * 100 / (ms * 1e-3);
    item.placement_log_times = {mean_log, mean_log};
    item.interval.emplace();
  };
  add("b200", 22.27, 8, -0.01);
  add("h200", 22.14, 8, 0.03);
  add("four", 30.6, 32, 0.04);
  add("two", 19.0, 16, -0.01);
  Choice& choice = study.choices.emplace_back();
  choice.chosen = "b200";
  choice.others.push_back({"h200", 0.6, 1});
  study.machines = {{"w", "b200", "h200", 0.6}, {"w", "four", "two", 0.9}};
  const std::string text = document_text(Document{"", "", {how_sure_section(study, Medium::terminal)}}, 4000, false);
  CAPTURE(text);
  CHECK(has(text,
            "b200 comes before h200, although the placement of its rows that is told takes longer: on average "
            "over all placements an iteration takes 22.0 ms, and 22.8 with h200; 22.3 and 22.1 are told."));
  CHECK(has(text, "trains fewer samples per second (35,923 and 36,134): on average over all placements it trains"));
  CHECK_FALSE(has(text, "four comes before two"));
}

// A placement of hot rows in which the slower plan is told as the faster one.
TEST_CASE("the case that is chosen stands first in table, sentence and summary, and a sentence says why") {
  StudyResult study;
  const auto add = [&](const char* name, double ms, double mean_log) {
    CaseResult& item = study.cases.emplace_back();
    item.name = name;
    item.iteration_ms = ms;
    item.world_size = 8;
    item.batch_per_gpu = 100;
    item.samples_per_s = 800 / (ms * 1e-3);
    item.placement_log_times = {mean_log, mean_log};
    item.interval.emplace();
    item.why.emplace().sentence = "The iteration takes long.";
  };
  add("flex", 1.462, 0.019);
  add("row_wise", 1.490, -0.021);
  study.choices = choices_of(study);
  REQUIRE(study.choices.size() == 1);
  CHECK(study.choices.front().chosen == "row_wise");
  const std::string screen = document_text(result_document(study, Medium::screen), 400, false);
  CAPTURE(screen);
  REQUIRE(has(screen, "\n  flex "));
  CHECK(screen.find("\n  row_wise ") < screen.find("\n  flex "));
  CHECK(has(screen, "row_wise: The iteration takes long."));
  CHECK(has(screen, "row_wise comes before flex, although the placement of its rows that is told takes longer"));
  CHECK(has(summary_text(study), "row_wise is the fastest plan: 1.490 ms per iteration"));
  CHECK_FALSE(has(summary_text(study), "0.98 times as fast"));
  study.cases[0].placement_log_times = study.cases[1].placement_log_times = {};
  CHECK(order_sentence(study).empty());
}

TEST_CASE("a first screen warns of a case that is the fastest although its hardware is the slower one") {
  StudyResult study;
  for (const double ms : {13.07, 13.36}) {
    CaseResult& item = study.cases.emplace_back();
    item.name = ms < 13.1 ? "slow" : "base";
    item.iteration_ms = ms;
    item.samples_per_s = 1e3 / ms;
  }
  const auto screen = [&] { return document_text(result_document(study, Medium::screen), 400, false); };
  CHECK_FALSE(has(screen(), "although nothing of its cluster is faster"));
  study.cases[0].beats_better_hardware = "2.2 % faster than base";
  CHECK(has(screen(), "slow is 2.2 % faster than base, although nothing of its cluster is faster: that is no advice"));
  CHECK(has(screen(), "The notes say where it comes from."));
  study.cases[0].why_better_hardware_loses = "It has another plan.";
  CHECK(has(screen(), "no chance is stated. It has another plan."));
}

}  // namespace shardsim::result_document_test
