#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/files.h"
#include "base/staged_folder.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/output_folder.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/scenario_arguments.h"
#include "sim/report/report_html.h"
#include "sim/report/result_json.h"
#include "sim/report/result_table.h"
#include "sim/study/study.h"
#include "sim/timeline/kineto/kineto.h"
#include "sim/timeline/timeline_hdf5.h"

namespace shardsim {
namespace {

int jobs(const Arguments& given) {
  const auto text = given.value("jobs");
  if (!text) return 1;
  const Place place{"argument -j"};
  const std::int64_t count = parse_count(*text, place);
  if (count < 1 || count > 1024)
    throw input_error(place, "the number is not between 1 and 1024", "Use for example -j 2");
  return static_cast<int>(count);
}

// Case names to trace: none, one, or all.
std::vector<std::string> traced(const Arguments& given, const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  const auto wanted = given.value("trace");
  if (!wanted && given.has("trace-whole-us")) {
    throw input_error(Arguments::place("trace-whole-us"), "no trace is written", "Add --trace CASE or --trace all");
  }
  if (!wanted) return {};
  if (*wanted == "all") return names;
  for (const std::string& name : names) {
    if (name == *wanted) return {name};
  }
  throw input_error(Arguments::place("trace"), "unknown case '" + *wanted + "'", known_names_hint(*wanted, names));
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

TimelineFile timeline_file(const StudyResult& study, bool stamp) {
  TimelineFile file;
  file.scenario_text = study.scenario_text;
  file.seed = study.seed;
  file.version = study.version;
  if (stamp) file.created = now_text();
  for (const CaseResult& result : study.cases) file.cases.emplace_back(result.name, &result.timeline);
  return file;
}

// Leaves out the cases whose plan does not fit, saying so. Errors: as make_plan's when no case is left.
Scenario fitting_cases(Scenario scenario, bool quiet, const Terminal& terminal) {
  std::optional<Error> last;
  scenario.keep([&](const Case& item) {
    try {
      make_plan(item, cluster_of(item), scenario.seed, {terminal.interrupted, {}});
      return true;
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
      if (!quiet) std::fputs(fmt::format("warning: left out: {}\n", error.what()).c_str(), stderr);
      last = error;
      return false;
    }
  });
  if (scenario.cases.empty()) throw *last;
  return scenario;
}

// What -v adds on stderr.
void describe_runs(const StudyResult& study) {
  for (const CaseResult& result : study.cases) {
    std::fputs(fmt::format("info: {}: {} after {} iterations, {} spans\n", result.name,
                           result.timeline.steady ? "steady" : "not steady", result.timeline.iterations_run,
                           result.timeline.spans.size())
                   .c_str(),
               stderr);
    for (const std::string& note : result.notes)
      std::fputs(fmt::format("info: {}: {}\n", result.name, note).c_str(), stderr);
  }
}

// Everything but the table.
void write_files(const StudyResult& study, const std::string& json, const std::filesystem::path& folder,
                 const Arguments& given, const std::vector<std::string>& traces, const Terminal& terminal) {
  write_timelines(folder / "timeline.h5", timeline_file(study, given.has("stamp")));
  throw_if_interrupted(terminal.interrupted);
  write_file(folder / "report.html", report_html(study));
  throw_if_interrupted(terminal.interrupted);
  for (const CaseResult& result : study.cases) {
    if (std::find(traces.begin(), traces.end(), result.name) == traces.end()) continue;
    write_kineto_traces(folder / "trace" / result.name, result.timeline, result.name, given.has("trace-whole-us"));
    throw_if_interrupted(terminal.interrupted);
  }
  write_file(folder / "result.json", json);
}

std::vector<OptionSpec> run_options() {
  std::vector<OptionSpec> options = scenario_options();
  options.insert(options.end(), {{"output", 'o', true, false},
                                 {"trace", 0, true, false},
                                 {"trace-whole-us", 0, false, false},
                                 {"json", 0, false, false},
                                 {"jobs", 'j', true, false},
                                 {"skip-unfit", 0, false, false},
                                 {"stamp", 0, false, false},
                                 {"quiet", 'q', false, false},
                                 {"verbose", 'v', false, true}});
  return options;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const Arguments given(arguments, run_options(), 1, 1, "shardsim run SCENARIO [options]");
  Scenario scenario = read_scenario(given.positional()[0], overrides(given));
  if (given.has("skip-unfit")) scenario = fitting_cases(std::move(scenario), given.has("quiet"), terminal);
  const std::vector<std::string> traces = traced(given, scenario);
  const std::filesystem::path folder =
      output_folder(given, "run", std::filesystem::path("out") / std::filesystem::path(given.positional()[0]).stem());

  Progress progress(terminal.stderr_is_terminal && !given.has("quiet"));
  WorkerOptions workers;
  workers.jobs = jobs(given);
  workers.progress = [&](int done, int total) { progress.show(fmt::format("simulated {} of {}", done, total)); };
  workers.interrupted = terminal.interrupted;
  const StudyResult study = run_study(scenario, workers);
  progress.clear();
  if (given.has("verbose") && !given.has("quiet")) describe_runs(study);

  const std::string json = result_to_json(study);
  StagedFolder staged(folder);
  staged.fill([&](const std::filesystem::path& hidden) { write_files(study, json, hidden, given, traces, terminal); });
  staged.commit();
  const std::string text = given.has("json") ? json : result_table(study, terminal.width, terminal.colour);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!given.has("quiet")) say(fmt::format("report: {}", (folder / "report.html").string()));
  return 0;
}

}  // namespace shardsim
