

#include "study/planning/planner_comparison.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "base/tree/json.h"
#include "study/report/documents/result_document.h"
#include "study/report/documents/result_json.h"
#include "study/report/sheets/planner_sheets.h"
#include "study/report/sheets/result_sheets.h"
#include "study/run/study.h"
#include "tests/base/error_text.h"

namespace shardsim::planner_comparison_test {

namespace {

// Planners a, b and c; 0 ms: no plan.
PlannerComparison compared(double a, double b, double c) {
  PlannerComparison comparison;
  comparison.judged_by = "roofline";
  for (const auto& [name, ms] : {std::pair{"a", a}, {"b", b}, {"c", c}}) {
    comparison.planners.push_back({"case/" + std::string(name), name});
    if (ms > 0) comparison.planners.back().iteration_ms = ms;
  }
  return comparison;
}

// A table of 20.48 MB on GPUs with room for it once, and not six times (the paper's multiplier of replicated rows).
StudyResult small_study(int jobs, const std::string& planners = "[row_wise, data_parallel, {name: torchrec}]",
                        const std::string& more = "") {
  const std::string text =
      "schema: shardsim.scenario/1\n"
      "cluster: {base: toy_2x4, gpu: {hbm: \"30 MB\"}}\n"
      "workload: {base: toy_history, tables: [{name: history, kind: sequence, rows: 80000, dim: 64, "
      "access: {family: uniform}, average_length: 10}]}\n" +
      more + "planners: " + planners + "\n";
  return run_study(scenario_from_text(text, SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", {}), {jobs, {}, {}});
}

const ComparedPlan& plan_of(const StudyResult& study, const std::string& planner) {
  for (const ComparedPlan& plan : study.comparisons.at(0).planners) {
    if (plan.planner == planner) return plan;
  }
  FAIL("no planner " << planner);
  return study.comparisons.at(0).planners.front();
}

}  // namespace

TEST_CASE("means are over the cases that all planners solve which solve any; ties win for each") {
  const PlannerTotals totals = totals_of({compared(10, 20, 0), compared(30, 15, 0), compared(5, 0, 0)});
  CHECK(totals.cases == 3);
  CHECK(totals.common == 2);
  const PlannerTotal &a = totals.planners.at(0), &b = totals.planners.at(1), &c = totals.planners.at(2);
  CHECK(a.solved == 3);
  CHECK(a.won == 2);
  CHECK(a.mean_iteration_ms.value() == doctest::Approx(20));
  CHECK(a.mean_times_best.value() == doctest::Approx(std::sqrt(2.0)));
  CHECK(b.solved == 2);
  CHECK(b.won == 1);
  CHECK(b.mean_iteration_ms.value() == doctest::Approx(17.5));
  CHECK(c.solved == 0);
  CHECK(!c.mean_iteration_ms);
  const PlannerTotals tied = totals_of({compared(7, 7, 8)});
  CHECK(tied.planners.at(0).won == 1);
  CHECK(tied.planners.at(1).won == 1);
  CHECK(tied.planners.at(2).won == 0);
}

TEST_CASE("each planner beside the best one, over the cases that both solve, whatever the others do") {
  const PlannerTotals totals =
      totals_of({compared(10, 20, 0), compared(30, 15, 0), compared(5, 40, 0), compared(8, 0, 16)});
  CHECK(totals.common == 0);
  CHECK(totals.best == "a");
  const PlannerTotal &a = totals.planners.at(0), &b = totals.planners.at(1), &c = totals.planners.at(2);
  CHECK(a.pairs == 4);
  CHECK(a.mean_times_pair.value() == 1);
  CHECK(b.pairs == 3);
  CHECK(b.mean_times_pair.value() == doctest::Approx(2));  // 2, 1/2 and 8
  CHECK(c.pairs == 1);
  CHECK(c.mean_times_pair.value() == doctest::Approx(2));
  const PlannerTotals nobody = totals_of({compared(0, 0, 0), compared(0, 0, 0)});
  CHECK(nobody.best.empty());
  CHECK(!nobody.planners.at(0).mean_times_pair);
}

TEST_CASE("the answer over many cases: who wins how often, who is next where both have a plan, who has none") {
  StudyResult study;
  study.comparisons = {compared(10, 20, 0), compared(30, 15, 0), compared(5, 40, 0)};
  // b over a: 2, 1/2 and 8, whose geometric mean is 2.
  CHECK(
      planners_sentence(study) ==
      "Of 3 planners, a makes the fastest plan in 2 of 3 cases, and a plan that fits in every case. Next comes b: its "
      "iterations take 2.000 times as long on average. Without a plan for any case: c.");
  study.comparisons = {compared(10, 20, 0), compared(30, 0, 0), compared(5, 0, 0)};
  CHECK(planners_sentence(study) ==
        "Of 3 planners, a makes the fastest plan in all 3 cases. Next comes b: in the one case for which both have a "
        "plan its iteration takes 2.000 times as long. Without a plan for any case: c.");
  study.comparisons = {compared(10, 20, 40), compared(30, 0, 60), compared(0, 5, 0)};
  CHECK(planners_sentence(study) ==
        "Of 3 planners, a makes the fastest plan in 2 of 3 cases, and a plan that fits in 2. Next comes b: in the one "
        "case for which both have a plan its iteration takes 2.000 times as long.");
  study.comparisons = {compared(10, 20, 40), compared(30, 0, 60), compared(5, 0, 0)};
  CHECK(planners_sentence(study) ==
        "Of 3 planners, a makes the fastest plan in all 3 cases. Next comes c: its iterations take 2.828 times as long "
        "on average, over the 2 cases for which both have a plan.");
  study.comparisons = {compared(0, 0, 0), compared(0, 0, 0)};
  CHECK(planners_sentence(study) == "Of 3 planners none has a plan for any of the 2 cases.");
}

TEST_CASE("planners that need options are named apart and not counted") {
  PlannerComparison comparison = compared(10, 20, 0);
  comparison.planners.at(2).needs_options = true;
  StudyResult study;
  study.comparisons = {comparison};
  const std::string one = planners_sentence(study);
  CHECK(one.starts_with("Of 2 planners, a makes the fastest plan for "));
  CHECK(one.ends_with("times that."));  // the table says who is not compared, and why
  study.comparisons = {comparison, comparison};
  CHECK(totals_of(study.comparisons).planners.size() == 2);
  CHECK(planners_sentence(study).find("Not compared") == std::string::npos);
}

TEST_CASE("without a case that all solve there is no mean") {
  const PlannerTotals totals = totals_of({compared(10, 0, 0), compared(0, 15, 0)});
  CHECK(totals.common == 0);
  CHECK(!totals.planners.at(0).mean_times_best);
  CHECK(totals.planners.at(0).won == 1);
}

TEST_CASE("a planner's own cost is compared with the simulation, and what trained it with what judges it") {
  PlannerComparison comparison = compared(10, 20, 0);
  ComparedPlan& a = comparison.planners.at(0);
  CHECK(!a.cost_error_pct());
  a.figures.values["cost_ms"] = 9;
  CHECK(a.cost_error_pct().value() == doctest::Approx(-10));
  CHECK(!comparison.in_model());
  a.figures.trained_on = "measured shards.csv";
  CHECK(!comparison.in_model());
  a.figures.trained_on = "roofline";
  CHECK(comparison.in_model());
  CHECK(!comparison.in_model(comparison.planners.at(1)));
}

TEST_CASE("a planner without a plan that fits is listed with the reason, and stops nobody") {
  const StudyResult study = small_study(2);
  REQUIRE(study.comparisons.size() == 1);
  CHECK(plan_of(study, "row_wise").iteration_ms);
  CHECK(plan_of(study, "torchrec").figures.values.contains("cost_ms"));
  const ComparedPlan& over = plan_of(study, "data_parallel");
  CHECK(!over.iteration_ms);
  // 80,000 rows of 64 fp32 values are 20,480,000 bytes, six of them more than the 30 MB of a GPU by at least that.
  CHECK(over.bytes_over.value_or(0) >= 6 * 20'480'000 - 30'000'000);
  CHECK(has(over.reason, "does not fit in memory"));
  CHECK(study.cases.size() == 2);
  CHECK(study.planning_cpu_s.size() == 3);
  const std::string table = result_table(study, 1000, false);
  CHECK(has(table, "data_parallel: "));
  CHECK(has(table, "GiB over"));
  CHECK(has(table, "None of the planners was trained on data"));
}

TEST_CASE("all planners are tried with their defaults; what one of them lacks is its reason") {
  const StudyResult study = small_study(2, "all");
  for (const ComparedPlan& plan : study.comparisons.at(0).planners) {
    INFO(plan.planner);
    CHECK(plan.iteration_ms.has_value() == plan.reason.empty());
  }
}

TEST_CASE("everything but planning time is the same for any number of jobs, and reads back") {
  StudyResult one = small_study(1), three = small_study(3);
  one.planning_cpu_s = three.planning_cpu_s;
  const std::string json = result_to_json(one);
  CHECK(json == result_to_json(three));
  CHECK(result_to_json(result_from_tree(parse_json(json, "result.json"))) == json);
}

TEST_CASE("constraints are kept by every planner of a comparison, or it is refused by name") {
  const StudyResult study = small_study(2, "[row_wise, table_wise, random, torchrec]",
                                        "constraints: {history: {sharding_types: [table_wise]}}\n");
  CHECK(has(plan_of(study, "row_wise").reason,
            "planner \"row_wise\" violates the constraints: table 'history' is "
            "row_wise, where sharding_types allow table_wise"));
  for (const char* const planner : {"table_wise", "random", "torchrec"}) {
    CAPTURE(planner);
    CHECK(plan_of(study, planner).reason == "");
  }
}

TEST_CASE("constraints that leave no plan say how many bytes are missing, and what would fit") {
  const StudyResult study = small_study(1, "[torchrec]", "constraints: {history: {sharding_types: [data_parallel]}}\n");
  CHECK(has(plan_of(study, "torchrec").reason, "no plan meets the constraints: table 'history' needs"));
  CHECK(has(plan_of(study, "torchrec").reason, "The smallest change that helps: allow "));
}

TEST_CASE("a table of planners that were trained on their judge is titled in-model; a bound has columns of its own") {
  StudyResult study = small_study(1, "[row_wise, table_wise]");
  CHECK(has(result_table(study, 1000, false), "PLANNERS\n"));
  REQUIRE(study.comparisons.at(0).lower_bound_ms);
  CHECK(*study.comparisons.at(0).lower_bound_ms <= *study.comparisons.at(0).best_ms());
  study.comparisons.at(0).lower_bound_ms.reset();
  CHECK(!has(result_table(study, 1000, false), "x bound"));
  study.comparisons.at(0).planners.at(0).figures.trained_on = "roofline";
  study.comparisons.at(0).lower_bound_ms = *study.comparisons.at(0).best_ms() / 2;
  const std::string table = result_table(study, 1000, false);
  CHECK(has(table, "PLANNERS, in-model\n"));
  CHECK(has(table, "the model that labelled the training data of row_wise also judges it here"));
  CHECK(has(table, "x bound"));
  CHECK(has(table, "2.000"));
  const std::string json = result_to_json(study);
  CHECK(has(json, "\"in_model\": true"));
  CHECK(result_to_json(result_from_tree(parse_json(json, "result.json"))) == json);
}

TEST_CASE("the lower bound is not laid beside plans with rows in host memory, and says what it leaves out") {
  StudyResult study =
      small_study(2, "[row_wise, {name: torchrec, constraints: {history: {compute_kernels: [fused_uvm]}}}]");
  const PlannerComparison& comparison = study.comparisons.at(0);
  CHECK(comparison.times_bound(plan_of(study, "row_wise")));
  CHECK(plan_of(study, "torchrec").host_rows);
  CHECK(plan_of(study, "torchrec").iteration_ms);
  CHECK(!comparison.times_bound(plan_of(study, "torchrec")));
  CHECK(has(result_table(study, 1000, false),
            "holds for plans with all rows in device memory, and so not for " + plan_of(study, "torchrec").name));
  study.comparisons.at(0).lower_bound_lacks = "lookups";
  CHECK(has(result_table(study, 1000, false), "the bound is weak, because it does not include lookups."));
  const std::string json = result_to_json(study);
  CHECK(has(json, "\"rows_in_host_memory\": true"));
  CHECK(result_to_json(result_from_tree(parse_json(json, "result.json"))) == json);
}

TEST_CASE("where the memory model counts no buffers, peaks above the memory are told once, and not case by case") {
  const auto study_with = [](int copies) {
    return small_study(2, "[data_parallel, {name: data_parallel, label: again}]",
                       fmt::format("memory_model: {{name: paper, dp_static_multiplier: 1, mp_dynamic_copies: {0}, "
                                   "dp_dynamic_copies: {0}}}\n",
                                   copies));
  };
  // 20.48 MB of rows on a GPU of 30 MB, and their gradients beside them at the peak.
  const StudyResult with_buffers = study_with(1);
  REQUIRE(with_buffers.cases.size() == 2);
  CHECK(has(memory_warning(with_buffers), "data_parallel"));
  const StudyResult without = study_with(0);
  CHECK(memory_warning(without) == "");
  std::vector<std::vector<std::string>> told;
  for (const auto& [text, cases] : notes_by_text(without)) {
    if (has(text, "counts only the rows of tables, and no buffers")) told.push_back(cases);
    CHECK(!has(text, "At its simulated peak, rank"));
  }
  REQUIRE(told.size() == 1);
  CHECK(told.front().size() == 2);
}

TEST_CASE("what a planner says of its choice is a note of the case, compared or not") {
  const auto notes_tell = [](const StudyResult& study) {
    for (const std::string& note : study.cases.at(0).notes) {
      if (note.starts_with("Planner: ") && has(note, "estimate's first choice")) return true;
    }
    return false;
  };
  CHECK(notes_tell(small_study(1, "[{name: torchrec, objective: simulated}]")));
  const std::string alone =
      "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\n"
      "planner: {name: torchrec, objective: simulated}\n";
  CHECK(notes_tell(run_study(scenario_from_text(alone, SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", {}), {1, {}, {}})));
}

TEST_CASE("a plan that needs more at its peak than a GPU has is neither the best nor solved") {
  PlannerComparison comparison = compared(10, 20, 30);
  comparison.planners[0].bytes_over = 1;
  CHECK(comparison.best_ms() == 20);
  const PlannerTotals totals = totals_of({comparison});
  CHECK(totals.best == "b");
  CHECK(totals.planners.at(0).solved == 0);
  const std::vector<const ComparedPlan*> plans = fastest_first(comparison, {});
  CHECK(plans.at(0)->planner == "b");
  CHECK(plans.at(2)->planner == "a");
  CHECK(memory_outcome(*plans.at(2)).ends_with(" over"));
  for (ComparedPlan& plan : comparison.planners) plan.bytes_over = 1;
  CHECK(comparison.best_ms() == 10);  // where none fits
}

}  // namespace shardsim::planner_comparison_test
