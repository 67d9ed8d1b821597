#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "plan/planner.h"
#include "program/timeline/kineto/kineto.h"
#include "program/timeline/kineto/merged_trace.h"
#include "program/timeline/timeline_file.h"
#include "study/planning/resolved_case.h"
#include "study/report/case_groups.h"
#include "study/report/documents/result_document.h"
#include "study/report/documents/result_json.h"
#include "study/report/page.h"
#include "study/report/sheets/planner_sheets.h"
#include "study/report/sheets/result_sheets.h"
#include "study/result/case_figures.h"
#include "study/run/study.h"
#include "study/scenario/read_planner.h"
#include "topology/spec/rank_set.h"
#include "topology/spec/unusual_values.h"

namespace shardsim {
namespace {

constexpr int kMostJobs = 1024;

// As many processes as there are processors for this one, unless -j says otherwise.
int jobs(const Arguments& given) {
  return static_cast<int>(given.count("jobs", 1, kMostJobs).value_or(std::min<std::int64_t>(processors(), kMostJobs)));
}

// Names of the cases to trace.
std::vector<std::string> traced(const Arguments& given, const Scenario& scenario) {
  for (const char* const option : {"trace-whole-us", "one-file", "trace-ranks"}) {
    if (!given.has("trace") && given.has(option))
      throw input_error(Arguments::place(option), "no trace is to be written", "Add --trace CASE or --trace all");
  }
  if (given.has("trace-ranks") && !given.has("one-file"))
    throw input_error(Arguments::place("trace-ranks"), "without --one-file each rank has a trace of its own",
                      "Add --one-file, or leave --trace-ranks out");
  if (given.has("trace-whole-us") && given.has("one-file"))
    throw input_error(Arguments::place("trace-whole-us"), "a trace in one file has whole nanoseconds",
                      "Leave --trace-whole-us or --one-file out");
  const std::vector<std::string> names = names_of(scenario);
  if (std::ranges::count(given.values("trace"), "all") > 0) return names;
  std::vector<std::string> chosen;
  for (const std::size_t index : chosen_names(names, given, "trace")) chosen.push_back(names[index]);
  return chosen;
}

TimelineFile timeline_file(const StudyResult& study, bool stamp) {
  TimelineFile file;
  file.scenario_text = study.scenario_text;
  file.seed = study.seed;
  file.version = study.version;
  if (stamp) file.created = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  for (const CaseResult& result : study.cases) {
    const auto* const ranks = result.rank_times.empty() ? nullptr : &result.rank_times;
    file.cases.push_back({result.name, &result.timeline, ranks});
  }
  return file;
}

// Leaves out the cases whose plan does not fit, saying so. Errors: as make_plan's when no case is left.
Scenario fitting_cases(Scenario scenario, bool quiet, const Terminal& terminal) {
  std::optional<Error> last;
  scenario.keep([&](const Case& item) {
    if (item.compared) return true;  // the comparison lists it
    try {
      make_plan(item, cluster_of(item), scenario.seed, {terminal.interrupted, {}});
      return true;
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
      if (!quiet) say(fmt::format("warning: left out: {}", error.what()));
      last = error;
      return false;
    }
  });
  if (scenario.cases.empty()) throw *last;
  return scenario;
}

bool may_make_tiers(const Case& item) {
  return item.plan_file.empty() && std::ranges::any_of(planners_within(item.planner), [](const Tree* planner) {
           const Tree* const name = planner->find("name");
           const PlannerEntry* const entry = name == nullptr ? nullptr : find_planner(name->scalar);
           return entry != nullptr && entry->tiers;
         });
}

// The case without --torchrec-only, for a line of its own: what its planner would bring if TorchRec had no part in it.
Case without_limit(Case item) {
  item.relative_to = item.name;
  item.name += kWithoutLimit;
  item.published.clear();
  return item;
}

// Beside the cases of planners that know more than TorchRec, what they do without its limit: as in the scenario without
// --torchrec-only, which has the same cases.
Scenario with_unlimited(Scenario scenario, const Arguments& given) {
  Overrides free = overrides(given);
  free.torchrec_only = false;
  for (const Case& item : chosen_cases(read_scenario(given.positional()[0], free), given).cases) {
    if (may_make_tiers(item) && !item.job && !item.compared) scenario.cases.push_back(without_limit(item));
  }
  return scenario;
}

// Prints the lines that -v adds on stderr.
void describe_runs(const StudyResult& study) {
  for (const CaseResult& result : study.cases) {
    say(fmt::format("info: {}: {} after {} iterations, {} spans", result.name,
                    result.drawn             ? "drawn batches"
                    : result.timeline.steady ? "steady"
                                             : "not steady",
                    result.timeline.iterations_run, result.timeline.spans.size()));
    for (const std::string& note : result.notes) say(fmt::format("info: {}: {}", result.name, note));
  }
}

// The ranks that --trace-ranks names, "0-7,64"; none where it is not given. Errors: no such rank in a world of so many.
std::vector<int> traced_ranks(const Arguments& given, int world_size) {
  if (!given.has("trace-ranks")) return {};
  return read_rank_sets(given.text("trace-ranks"), world_size, Arguments::place("trace-ranks"));
}

// Before anything is simulated: what is wrong with the ranks that are asked for.
void check_traced_ranks(const Arguments& given, const Scenario& scenario, const std::vector<std::string>& traces) {
  for (const Case& item : scenario.cases) {
    if (std::ranges::count(traces, item.name) > 0) traced_ranks(given, cluster_of(item).world_size());
  }
}

void write_merged(const std::filesystem::path& folder, const CaseResult& result, const Arguments& given) {
  const MergedTrace trace = merged_trace(result.timeline, result.traced.value_or(TracedParts{}),
                                         traced_ranks(given, result.world_size), result.name);
  write_file(folder / "trace" / result.name / "merged.pt.trace.json", trace.json);
  if (trace.left_out.empty() || given.has("trace-ranks") || given.has("quiet")) return;
  print_note(
      fmt::format("the trace of {} shows ranks 0 to {} of {}: --trace-ranks LIST, for example {}-{}, shows others",
                  excerpt(result.name), trace.left_out.front() - 1, result.world_size, trace.left_out.front(),
                  result.world_size - 1));
}

// Everything but the table, what takes long in processes side by side.
void write_files(const StudyResult& study, const std::string& json, const std::filesystem::path& folder,
                 const Arguments& given, const std::vector<std::string>& traces, const WorkerOptions& options) {
  std::vector<WorkerTask> tasks;
  const auto add = [&](const std::string& name, const std::function<void()>& write) {
    tasks.push_back({name, [write] { return write(), std::string(); }});
  };
  add("timeline.h5", [&] { write_timelines(folder / "timeline.h5", timeline_file(study, given.has("stamp"))); });
  add("report.html", [&] { write_file(folder / "report.html", report_html(study)); });
  for (const CaseResult& result : study.cases) {
    if (std::find(traces.begin(), traces.end(), result.name) == traces.end()) continue;
    add(result.name, [&] {
      if (given.has("one-file")) return write_merged(folder, result, given);
      write_kineto_traces(folder / "trace" / result.name, result.timeline, result.name, given.has("trace-whole-us"));
    });
  }
  run_in_workers(tasks, {options.jobs, {}, options.interrupted});
  write_file(folder / "result.json", json);
}

// Which cases became one, for planners replaced what they differed in.
void note_joined(const Scenario& scenario) {
  std::string last;
  for (const Case& item : scenario.cases) {
    if (!item.compared || item.compared->also.empty() || item.compared->group == last) continue;
    last = item.compared->group;
    print_note(
        fmt::format("{} stands for {}: these cases differ only in their plans", last, some_names(item.compared->also)));
  }
}

// "greedy for rm1: 2 GiB are missing ... ": why the first planner that says so has no plan. The first screen shows no
// other reason.
std::string first_reason(const StudyResult& study) {
  for (const PlannerComparison& comparison : study.comparisons)
    for (const ComparedPlan& plan : comparison.planners)
      if (!plan.reason.empty() && !plan.needs_options)
        return fmt::format("{} for {}: {}", plan.planner, comparison.name, plan.reason);
  return "";
}

// Where planners were compared and no case is left: none takes the case, be there ever so much memory (Failure::input),
// or none has a plan that fits (Failure::infeasible).
std::optional<Error> fault_of_planners(const StudyResult& study) {
  if (!study.cases.empty() || study.comparisons.empty()) return std::nullopt;
  std::string reason = first_reason(study);
  while (reason.ends_with('.')) reason.pop_back();
  if (!reason.empty()) reason.insert(0, ". ");
  const auto refuses = [](const ComparedPlan& plan) { return plan.refused || plan.needs_options; };
  const auto all_refuse = [&](const PlannerComparison& each) { return std::ranges::all_of(each.planners, refuses); };
  if (std::ranges::all_of(study.comparisons, all_refuse))
    return Error(Failure::input, Place{}, "no planner takes the case" + reason, "");
  return Error(Failure::infeasible, Place{}, "no planner has a plan that fits, for any case" + reason,
               "--details gives all reasons. Take more memory, a smaller batch, or fewer constraints");
}

// Returns the case that the sentence of why is about: the fastest that fits. Where none does, the fastest.
const CaseResult& told_first(const StudyResult& study) {
  const std::vector<WorkloadCases> groups = by_workload(study);
  for (const WorkloadCases& group : groups)
    if (const CaseResult* const best = fastest_that_fits(group)) return *best;
  return *groups.front().cases.front();
}

// The options that made the scenario another one, as they were given.
std::string same_changes(const Arguments& given) {
  std::string options;
  for (const std::string& word : given_scenario_options(given)) options += " " + shell_word(word);
  return options;
}

// Returns what to ask next about that case.
std::string next_question(const StudyResult& study, const Arguments& given) {
  const std::string same = same_changes(given);
  if (study.cases.empty()) return "";
  if (!study.comparisons.empty()) {
    const PlannerComparison& comparison = study.comparisons.front();
    const std::string& name = comparison.also.empty() ? comparison.name : comparison.also.front();
    const ComparedPlan& best = *fastest_first(comparison, study).front();
    const bool of_file = !given.has("planners");  // then each planner is a case, which has its options, too
    const std::string which =
        of_file ? shell_word(best.name) : fmt::format("{} --planner {}", shell_word(name), best.planner);
    return fmt::format("Next: shardsim plan {} --case {} -o plan.json{}", shell_word(study.scenario), which, same);
  }
  const CaseResult& first = told_first(study);
  // The scenario may have others than those that were asked for.
  const bool is_only_case =
      !given.has("case") && std::ranges::count_if(study.cases, std::not_fn(is_without_limit)) == 1;
  const std::string which = is_only_case ? "" : " --case " + shell_word(first.name);
  return fmt::format("Next: shardsim why {}{}{}", shell_word(study.scenario), which, same);
}

Document run_document(const StudyResult& study, const Arguments& given) {
  Document document = result_document(study, shows_details(given) ? Medium::terminal : Medium::screen);
  if (const std::string next = next_question(study, given); !next.empty())
    document.blocks.emplace_back(Paragraph{next, Paragraph::Role::summary, 0, true});
  return document;
}

// Errors (--strict): where the plan of a case that is run for itself needs more than a GPU has at its simulated peak.
void require_room_at_peak(StudyResult study) {
  std::erase_if(study.cases, [&](const CaseResult& item) {
    return std::ranges::any_of(study.comparisons, [&](const PlannerComparison& comparison) {
      return std::ranges::find(comparison.planners, item.name, &ComparedPlan::name) != comparison.planners.end();
    });
  });
  const std::string over = cases_over_at_peak(study);
  if (over.empty()) return;
  throw Error(Failure::infeasible, Place{},
              fmt::format("--strict: at the simulated peak a GPU would need more memory than it has: {}", over),
              "Take more GPUs, GPUs with more memory, a smaller batch or another plan; the results are written all the "
              "same");
}

// A wrong prefix has to be seen before its figures are.
void note_unusual_values(const Scenario& scenario) {
  std::set<std::string> said;
  for (const Case& item : scenario.cases)
    for (const std::string& note : unusual_values(item.cluster))
      if (said.insert(note).second) print_note(note);
}

int run_scenario(const Arguments& given, const Terminal& terminal) {
  Progress progress = progress_of(given, "reading and planning");
  Scenario scenario = chosen_cases(asked_scenario(given), given);
  if (given.has("torchrec-only")) scenario = with_unlimited(std::move(scenario), given);
  if (given.has("skip-unfit")) scenario = fitting_cases(std::move(scenario), given.has("quiet"), terminal);
  if (!given.has("quiet")) {
    note_joined(scenario);
    note_unusual_values(scenario);
  }
  const std::vector<std::string> traces = traced(given, scenario);
  if (given.has("one-file")) scenario.merged_traces = traces;
  if (given.has("trace-ranks")) check_traced_ranks(given, scenario, traces);
  const std::filesystem::path folder = output_folder(given, "run", std::filesystem::path("out") / result_name(given));

  check_results(folder, result_writer(given), {"report.html", "result.json", "timeline.h5"});

  WorkerOptions workers;
  workers.jobs = jobs(given);
  workers.progress = [&](int done, int total) { progress.count("cases", done, total); };
  workers.interrupted = terminal.interrupted;
  progress.now("simulating");
  const StudyResult study = run_study(scenario, workers);
  progress.now("writing the report");
  const std::optional<Error> fault = fault_of_planners(study);
  if (fault && fault->failure() == Failure::input) throw *fault;
  if (given.has("verbose") && !given.has("quiet")) describe_runs(study);
  if (scenario.cross_check && study.cross_checks.empty() && !given.has("quiet"))
    print_note("there is no cross-check: too few cases of one workload on one cluster are left");

  const std::string json = result_to_json(study);
  write_folder(folder, result_writer(given),
               [&](const std::filesystem::path& hidden) { write_files(study, json, hidden, given, traces, workers); });
  print_result(given.has("json") ? json : shown_text(run_document(study, given), given, terminal));
  if (!given.has("quiet")) {
    say(fmt::format("report: {}", (folder / "report.html").string()));
    if (const std::string missing = missing_charts_text(); !missing.empty()) say(missing);
  }
  if (fault) throw *fault;
  if (given.has("strict")) require_room_at_peak(study);
  return 0;
}

std::vector<Option> run_options() {
  return {
      {"output", 'o', "DIR",
       "Write the result files into this folder. Without this option it is out/ followed by the name of the scenario."},
      cases_option(),
      {"planners", 0, "LIST",
       "Ignore the plans of the cases and compare these planners instead: names separated by commas, or all."},
      {"trace", 0, "CASE|all",
       "Also write Kineto traces, one file per rank, of the case of this name, of the cases whose names fit a pattern, "
       "or of all cases.",
       "", Option::Times::any},
      {"trace-whole-us", 0, "", "Round the times in the traces to whole microseconds."},
      {"one-file", 0, "",
       "Write the trace of a case as one file for Perfetto, merged.pt.trace.json: all ranks with their streams and "
       "hosts, "
       "links, the critical path, and arrows to what waits."},
      {"trace-ranks", 0, "LIST",
       "Show these ranks in a trace of one file, for example 0-7,64. Without this option it is rank 0 and those after "
       "it, as many as make some 100 MB."},
      {"json", 0, "", "Print the content of result.json instead of the table."},
      {"jobs", 'j', "N",
       "Run at most this number of worker processes at a time. Without this option it is the number of processors."},
      force_in_folder_option(),
      {"skip-unfit", 0, "", "Leave out the cases whose plan does not fit in memory, and print a warning for each."},
      {"strict", 0, "",
       "End with exit code 3, after everything is written, if a case needs more memory at its simulated peak than a "
       "GPU has. Without this option that is a warning."},
      {"stamp", 0, "", "Write the date and time of the run into timeline.h5."},
      {"quiet", 'q', "", "Do not print the progress and the place of the report."},
      details_option(),
      {"verbose", 'v', "",
       "As --details, and print on stderr after how many iterations each case became steady, and its notes.", "",
       Option::Times::any}};
}

}  // namespace

Command run_command() {
  return {.name = "shardsim run",
          .summary = "simulate the cases of a scenario and compare them with published numbers",
          .positionals = {{"SCENARIO", "A scenario file."}},
          .options = run_options() + scenario_options(),
          .examples = {"shardsim run scenarios/toy.yaml -o out/toy",
                       "shardsim run scenarios/toy.yaml --planners all -o out/planners"},
          .run = run_scenario};
}

}  // namespace shardsim
