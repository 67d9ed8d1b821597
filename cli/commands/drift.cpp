#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/document/cells.h"
#include "base/document/document.h"
#include "base/files.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "sim/drift/drift_study.h"
#include "sim/report/how_sure.h"
#include "sim/report/page.h"

namespace shardsim {
namespace {

std::string drift_answer(const DriftResult& result, const DriftOptions& options) {
  if (!result.break_even_day) {
    return fmt::format(
        "Within {} days re-sharding does not pay off: the best plans save less time than moving the tables takes.",
        options.days);
  }
  return fmt::format(
      "Re-sharding pays off from day {} on: by then the best plans would have saved more time than moving the tables "
      "takes.",
      *result.break_even_day);
}

// A terminal has no room for all of it.
constexpr const char* kOnPageAlone[] = {"best GiB", "moving ms"};

void leave_out_columns(Sheet& sheet, std::span<const char* const> headers) {
  for (const char* const header : headers) {
    const auto column = std::ranges::find(sheet.columns, header, &Sheet::Column::header) - sheet.columns.begin();
    sheet.columns.erase(sheet.columns.begin() + column);
    for (Sheet::Row& row : sheet.rows) row.cells.erase(row.cells.begin() + column);
  }
}

Sheet drift_sheet(const DriftResult& result, Medium medium) {
  Sheet sheet;
  sheet.columns = {{"day"},      {"kept ms"},  {"best ms"},     {"best plan", false}, {"chance %"}, {"regret %"},
                   {"kept GiB"}, {"best GiB"}, {"to move GiB"}, {"moving ms"},        {"saved s"}};
  const auto gib = [](double bytes) { return fixed(bytes / 0x1p30, 2); };
  for (const DriftDay& day : result.days) {
    sheet.rows.push_back(
        {{fmt::format("{}", day.day), fixed(day.frozen_ms, 3), fixed(day.best_ms, 3), day.best, chance_cell(day.chance),
          regret_cell(day.regret_pct), gib(static_cast<double>(day.frozen_bytes)) + (day.frozen_fits ? "" : " over"),
          gib(static_cast<double>(day.best_bytes)), gib(day.moved_bytes), fixed(day.moving_s * 1e3, 2),
          fixed(day.saved_s, 1)}});
  }
  if (medium == Medium::terminal) leave_out_columns(sheet, kOnPageAlone);
  return sheet;
}

Chart drift_chart(const DriftResult& result) {
  DataSet days{"days", {"plan", "day", "iteration_ms"}, {}};
  for (const DriftDay& day : result.days) {
    days.rows.push_back({"kept", static_cast<double>(day.day), day.frozen_ms});
    days.rows.push_back({"best of the day", static_cast<double>(day.day), day.best_ms});
  }
  return {"drift", "drift", "Iteration by day", "The plan of day 0, and the best plan of each day.", false, {days}};
}

Document drift_document(const DriftResult& result, const DriftOptions& options, const Scenario& scenario,
                        Medium medium) {
  Document document;
  document.title = scenario.title + ": drift of " + result.name;
  document.origin = scenario.path;
  document.blocks.emplace_back(Paragraph{drift_answer(result, options), Paragraph::Role::summary});
  Section days = table_section(
      "Days",
      "kept: the plan of day 0. best: the fastest of the day's own plans, the kept cuts with rows of the day among "
      "them. chance: the probability that the best plan is really faster than the kept one, leaving out errors that "
      "affect both. regret: expected; how much time going to the best plan loses on average, counting only outcomes in "
      "which the kept plan is faster. to move: bytes that change their holder. saved: by the best plans since day 0.",
      drift_sheet(result, medium));
  days.blocks.emplace_back(drift_chart(result));
  document.add(std::move(days));
  return document;
}

std::string drift_json(const DriftResult& result, const Scenario& scenario) {
  nlohmann::ordered_json json{{"schema", "shardsim.drift/1"}, {"scenario", scenario.path}, {"case", result.name}};
  json["break_even_day"] = result.break_even_day ? nlohmann::ordered_json(*result.break_even_day) : nullptr;
  for (const DriftDay& day : result.days) {
    json["days"].push_back({{"day", day.day},
                            {"frozen_ms", day.frozen_ms},
                            {"frozen_low_ms", day.frozen_low_ms},
                            {"frozen_high_ms", day.frozen_high_ms},
                            {"frozen_bytes", day.frozen_bytes},
                            {"frozen_fits", day.frozen_fits},
                            {"best_ms", day.best_ms},
                            {"best_low_ms", day.best_low_ms},
                            {"best_high_ms", day.best_high_ms},
                            {"best_bytes", day.best_bytes},
                            {"best", day.best},
                            {"chance", day.chance},
                            {"regret_pct", day.regret_pct},
                            {"frozen_regret_pct", day.frozen_regret_pct},
                            {"moved_bytes", day.moved_bytes},
                            {"moving_s", day.moving_s},
                            {"saved_s", day.saved_s}});
  }
  return json.dump(1) + "\n";
}

int run_drift(const Arguments& given, const Terminal& terminal) {
  const Overrides changes = overrides(given);
  const Scenario scenario = asked_scenario(given);
  const Tree tree = drift_tree(scenario, changes);
  if (tree.kind == Tree::Kind::null) {
    throw input_error({scenario.path}, "the scenario has no 'drift'", "Write 'drift: {days: 14, rotation: 2 %/day}'");
  }
  const DriftOptions options = read_drift(tree);
  const std::filesystem::path folder = output_folder(given, "drift", "out/drift");
  const ResultWriter writer = result_writer(given);
  check_results(folder, writer, {"drift.html", "drift.json"});
  WorkerOptions workers;
  if (const auto stated = given.count("jobs", 1, 1024)) workers.jobs = static_cast<int>(*stated);
  workers.interrupted = terminal.interrupted;
  const DriftResult result = drift_study(scenario, chosen_case(scenario, given), options, workers);
  write_folder(folder, writer, [&](const std::filesystem::path& hidden) {
    write_file(hidden / "drift.json", drift_json(result, scenario));
    write_file(hidden / "drift.html", page_html(drift_document(result, options, scenario, Medium::page)));
  });
  const Document document = drift_document(result, options, scenario, Medium::terminal);
  fmt::print("{}", document_text(document, terminal.width, terminal.colour));
  return 0;
}

}  // namespace

Command drift_command() {
  return {
      .name = "shardsim drift",
      .summary = "simulate a fixed plan while the data changes from day to day, and find when re-sharding pays off",
      .positionals = {{"SCENARIO", "A scenario with the key `drift`, which says what changes from day to day."}},
      .options =
          scenario_options() +
          std::vector<Option>{
              case_option(),
              {"jobs", 'j', "N",
               "Simulate at most this number of days at a time. Without this option it is the number of processors."},
              {"output", 'o', "DIR", "Write drift.json and drift.html into this folder.", "out/drift"},
              force_in_folder_option()},
      .run = run_drift};
}

}  // namespace shardsim
