#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/result_folder.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "study/drift/drift_study.h"
#include "study/notes/notes.h"
#include "study/report/documents/drift_document.h"
#include "study/report/documents/result_json.h"
#include "study/report/page.h"

namespace shardsim {
namespace {

int run_drift(const Arguments& given, const Terminal& terminal) {
  Progress progress = progress_of(given, "planning the days");
  const Scenario scenario = asked_scenario(given);
  const DriftOptions options = drift_options(read_file(scenario.path), scenario.path, overrides(given));
  const std::filesystem::path folder = output_folder(given, "drift", "out/drift");
  const ResultWriter writer = result_writer(given);
  check_results(folder, writer, {"drift.html", "drift.json"});
  WorkerOptions workers;
  if (const auto stated = given.count("jobs", 1, 1024)) workers.jobs = static_cast<int>(*stated);
  workers.interrupted = terminal.interrupted;
  workers.progress = [&](int done, int total) { progress.count("days", done, total); };
  const Case& item = chosen_case(scenario, given);
  if (!given.has("quiet"))
    for (const std::string& note : notes_for(Asker::drift, {item})) print_note(note);
  const DriftResult result = drift_study(scenario, item, options, workers);
  progress.now("writing the report");
  write_folder(folder, writer, [&](const std::filesystem::path& hidden) {
    write_file(hidden / "drift.json", drift_json(result, options, scenario));
    write_file(hidden / "drift.html", page_html(drift_document(result, options, scenario, Medium::page)));
  });
  print_result(shown_text(drift_document(result, options, scenario, Medium::terminal), given, terminal));
  if (!given.has("quiet")) say(fmt::format("report: {}", (folder / "drift.html").string()));
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
              {"quiet", 'q', "", "Do not print notes, progress and the place of the report."}},
      .examples = {"shardsim drift scenarios/sixty_tables.yaml --case chosen"},
      .run = run_drift};
}

}  // namespace shardsim
