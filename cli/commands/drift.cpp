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
#include "study/drift/drift_study.h"
#include "study/drift/resharding.h"
#include "study/notes/notes.h"
#include "study/report/how_sure.h"
#include "study/report/page.h"
#include "study/report/resharding_text.h"

namespace shardsim {
namespace {

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
  sheet.in_time = true;
  sheet.columns = {{"day"},      {"kept ms"},  {"best ms"},     {"best plan", false}, {"chance %"}, {"regret %"},
                   {"kept GiB"}, {"best GiB"}, {"to move GiB"}, {"moving ms"},        {"saved s"}};
  const auto gib = [](double bytes) { return fixed(bytes / 0x1p30, 2); };
  const std::string none = "-";
  for (const DriftDay& day : result.days) {
    const bool fits = day.frozen_fits, best = day.best_fits, both = day.is_choice(), better = day.has_better();
    sheet.rows.push_back({{fmt::format("{}", day.day), fits ? fixed(day.frozen_ms, 3) : none,
                           best ? fixed(day.best_ms, 3) : none, best ? day.best : "none fits",
                           better ? chance_cell(day.chance) : none, better ? regret_cell(day.regret_pct) : none,
                           gib(static_cast<double>(day.frozen_bytes)) + (fits ? "" : " over"),
                           best ? gib(static_cast<double>(day.best_bytes)) : none, best ? gib(day.moved_bytes) : none,
                           best ? fixed(day.moving_s * 1e3, 2) : none, both ? fixed(day.saved_s, 1) : none}});
  }
  if (medium == Medium::terminal) leave_out_columns(sheet, kOnPageAlone);
  return sheet;
}

Chart drift_chart(const DriftResult& result) {
  DataSet days{"days", {"plan", "day", "iteration_ms"}, {}};
  for (const DriftDay& day : result.days) {
    if (day.frozen_fits) days.rows.push_back({"kept", static_cast<double>(day.day), day.frozen_ms});
    if (day.best_fits) days.rows.push_back({"best of the day", static_cast<double>(day.day), day.best_ms});
  }
  return {"drift",
          "drift",
          "Iteration by day",
          "The plan of day 0 as long as it fits in memory, and the best plan of each day.",
          false,
          {days}};
}

Document drift_document(const DriftResult& result, const DriftOptions& options, const Scenario& scenario,
                        Medium medium) {
  Document document;
  document.title = scenario.title + ": drift of " + result.name;
  document.origin = scenario.path;
  document.blocks.emplace_back(Paragraph{resharding_text(result, options), Paragraph::Role::summary});
  Section days = table_section(
      "Days",
      "kept: the plan of day 0. best: the fastest of the day's own plans that fit in memory, the kept cuts with rows "
      "of the day among them, or the kept plan where none gains a ten-thousandth. chance: the probability that the "
      "best plan is really faster than the kept one, leaving "
      "out errors that "
      "affect both. regret: expected; how much time going to the best plan loses on average, counting only outcomes in "
      "which the kept plan is faster. over: more memory than a GPU has, so that plan is none to keep. to move: bytes "
      "that change their holder. saved: by the best plans since day 0.",
      drift_sheet(result, medium));
  days.blocks.emplace_back(drift_chart(result));
  document.add(std::move(days));
  return document;
}

// Null is what nobody can choose between, or have.
nlohmann::ordered_json day_json(const DriftDay& day) {
  const auto if_fits = [](bool fits, const auto& value) {
    return fits ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  return {{"day", day.day},
          {"frozen_ms", day.frozen_ms},
          {"frozen_low_ms", day.frozen_low_ms},
          {"frozen_high_ms", day.frozen_high_ms},
          {"frozen_bytes", day.frozen_bytes},
          {"frozen_fits", day.frozen_fits},
          {"best_fits", day.best_fits},
          {"best_ms", if_fits(day.best_fits, day.best_ms)},
          {"best_low_ms", if_fits(day.best_fits, day.best_low_ms)},
          {"best_high_ms", if_fits(day.best_fits, day.best_high_ms)},
          {"best_bytes", if_fits(day.best_fits, day.best_bytes)},
          {"best", if_fits(day.best_fits, day.best)},
          {"chance", if_fits(day.is_choice(), day.chance)},
          {"unlike_pct", if_fits(day.is_choice(), 100 * day.unlike)},
          {"regret_pct", if_fits(day.is_choice(), day.regret_pct)},
          {"frozen_regret_pct", if_fits(day.is_choice(), day.frozen_regret_pct)},
          {"moved_bytes", if_fits(day.best_fits, day.moved_bytes)},
          {"moving_s", if_fits(day.best_fits, day.moving_s)},
          {"saved_s", day.saved_s}};
}

std::string drift_json(const DriftResult& result, const DriftOptions& options, const Scenario& scenario) {
  nlohmann::ordered_json json{{"schema", "shardsim.drift/1"}, {"scenario", scenario.path}, {"case", result.name}};
  const auto optional = [](const auto& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  const Resharding found = resharding_of(result, options.pause);
  json["answer"] = resharding_text(result, options);
  json["reshard_every_days"] = optional(found.every_days);
  json["out_of_memory_day"] = optional(found.out_of_memory_day);
  json["no_plan_day"] = optional(found.no_plan_day);
  json["break_even_day"] = optional(result.break_even_day);
  for (const DriftDay& day : result.days) json["days"].push_back(day_json(day));
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
  const Case& item = chosen_case(scenario, given);
  if (!given.has("quiet"))
    for (const std::string& note : notes_for(Asker::drift, {item})) print_note(note);
  const DriftResult result = drift_study(scenario, item, options, workers);
  write_folder(folder, writer, [&](const std::filesystem::path& hidden) {
    write_file(hidden / "drift.json", drift_json(result, options, scenario));
    write_file(hidden / "drift.html", page_html(drift_document(result, options, scenario, Medium::page)));
  });
  print_result(shown_text(drift_document(result, options, scenario, Medium::terminal), given, terminal));
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
              details_option(),
              force_in_folder_option(),
              {"quiet", 'q', "", "Do not print notes on stderr."}},
      .run = run_drift};
}

}  // namespace shardsim
