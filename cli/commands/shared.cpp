#include "cli/commands/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/document/first_screen.h"
#include "base/files.h"
#include "base/result_folder.h"
#include "base/result_stream.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/units.h"
#include "plan/planner.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/dropped_edits.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

// Options that say what --set can say, too, and its key.
constexpr std::pair<const char*, const char*> kSameAsSet[] = {
    {"seed", "seed"},        {"memory-model", "memory_model"}, {"planners", "planners"},
    {"planners", "planner"}, {"planner", "planner"},           {"objective", "planner.objective"}};

void add_setting(Overrides& changes, const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw input_error(Arguments::place(option), "'" + text + "' is not PATH=VALUE",
                      "Write for example --" + option + " cluster.nodes=8");
  }
  const std::string path = text.substr(0, equals);
  for (const auto& [known, value] : changes.set) {
    if (known == path) throw input_error(Arguments::place(option + " " + path), "the path is set twice", "Set it once");
  }
  changes.set.emplace_back(path, text.substr(equals + 1));
}

}  // namespace

std::vector<Option> scenario_options() {
  return {{"set", 0, "PATH=VALUE", "Change one value of the scenario, for example cluster.nodes=8.", "",
           Option::Times::any},
          {"seed", 0, "N", "Use this random seed instead of the scenario's."},
          {"torchrec-only", 0, "",
           "Keep plans to what TorchRec has: no table is cut into tiers of rows or sharded flex, and sequences are "
           "data_parallel, table_wise, column_wise or row_wise. It is a constraint that planners follow, as "
           "`constraints: {\"*\": {torchrec_only: true}}` is."},
          {"memory-model", 0, "NAME", "Use this memory model instead of the scenario's."}};
}

std::vector<std::string> given_scenario_options(const Arguments& given) {
  std::vector<std::string> words;
  for (const Option& option : scenario_options()) {
    const std::string word = "--" + option.name;
    if (option.value.empty()) {
      if (given.has(option.name)) words.push_back(word);
      continue;
    }
    for (const std::string& value : given.values(option.name)) words.insert(words.end(), {word, value});
  }
  return words;
}

Option case_option() {
  return {"case", 0, "NAME",
          "The case to work on: its name, or a pattern with * and ? that fits only its name. Required when the "
          "scenario has several cases."};
}

Option cases_option() {
  return {"case",
          0,
          "NAME",
          "Work only on the case of this name, or on the cases whose names fit a pattern with * and ?. Without this "
          "option all cases are taken.",
          "",
          Option::Times::any};
}

Option force_option() {
  Option option = force_in_folder_option();
  option.needs = "output";
  return option;
}

Option force_in_folder_option() {
  return {"force", 0, "",
          "Replace existing files even if another command or a person wrote them, or they were changed since this "
          "command wrote them. A file that it reads is never replaced."};
}

Option details_option() {
  return {"details", 0, "",
          "Print all tables, with legends and notes. Without this option the answer is printed, with what fits on a "
          "screen beside it."};
}

bool shows_details(const Arguments& given) {
  return given.has("details") || given.has("verbose");
}

std::string shown_text(const Document& document, const Arguments& given, const Terminal& terminal, int tables) {
  return shows_details(given) ? document_text(document, terminal.width, terminal.colour)
                              : first_screen_text(document, terminal.width, terminal.colour, tables);
}

Option output_file_option() {
  return {"output", 'o', "FILE",
          "Write the result to this file. Without this option, or with -, it goes to standard output."};
}

Option tolerance_option(const std::string& judged) {
  return {"tolerance", 0, "P%", "Exit with 4 when " + judged + "."};
}

void refuse_beside_set(const Overrides& changes, const Arguments& given, const std::string& option,
                       const std::string& key) {
  if (!given.has(option)) return;
  for (const auto& [path, value] : changes.set) {
    if (path != key && !path.starts_with(key + ".")) continue;
    throw input_error(Arguments::place(option),
                      fmt::format("--{} and --set {}=... cannot be used together", option, path),
                      "Give one of the two");
  }
}

void add_settings(Overrides& changes, const Arguments& given, const std::string& option) {
  for (const std::string& text : given.values(option)) add_setting(changes, option, text);
}

Overrides overrides(const Arguments& given) {
  Overrides changes;
  add_settings(changes, given, "set");
  for (const auto& [option, key] : kSameAsSet) refuse_beside_set(changes, given, option, key);
  if (const auto seed = given.value("seed"))
    changes.seed = static_cast<std::uint64_t>(parse_count(*seed, Arguments::place("seed")));
  changes.torchrec_only = given.has("torchrec-only");
  if (given.has("memory-model")) changes.memory_model = given.text("memory-model");
  if (const auto planners = given.value("planners")) changes.planners = split(*planners, ',');
  changes.only_cases = given.values("case");
  return changes;
}

Scenario asked_scenario(const Arguments& given) {
  Scenario scenario = read_scenario(given.positional()[0], overrides(given));
  note_dropped_edits(given);
  return scenario;
}

std::optional<Workload> asked_workload(const Arguments& given) {
  if (!given.has("workload")) return std::nullopt;
  return read_workload(load_named(given.text("workload"), "workloads", "", Arguments::place("workload")), "");
}

void note_dropped_edits(const Arguments& given) {
  if (given.has("quiet")) return;
  for (const std::string& sentence : dropped_edits(given.positional()[0], overrides(given))) print_note(sentence);
}

namespace {

// `run --planners` calls a plan CASE/PLANNER, and no other command knows that case: the planner is set there.
std::string planner_hint(const std::string& pattern, const std::vector<std::string>& names) {
  const std::size_t slash = pattern.rfind('/');
  if (slash == std::string::npos) return "";
  const std::string of_case = pattern.substr(0, slash), planner = pattern.substr(slash + 1);
  const bool known = std::ranges::find(names, of_case) != names.end() &&
                     std::ranges::find(planners(), planner, &PlannerEntry::name) != planners().end();
  if (!known) return "";
  return fmt::format("The plan that a planner makes for a case: --case {} --set planner='{{name: {}}}'", of_case,
                     planner);
}

Error unknown_case(const std::string& option, const std::string& pattern, const std::vector<std::string>& names) {
  const std::string planner = planner_hint(pattern, names);
  return input_error(Arguments::place(option), "unknown case " + excerpt(pattern),
                     planner.empty() ? known_names_hint(pattern, names) : planner);
}

}  // namespace

std::vector<std::size_t> chosen_names(const std::vector<std::string>& names, const Arguments& given,
                                      const std::string& option) {
  std::set<std::size_t> chosen;
  for (const std::string& pattern : given.values(option)) {
    const std::vector<std::size_t> fitting = fitting_names(names, pattern);
    if (fitting.empty()) throw unknown_case(option, pattern, names);
    chosen.insert(fitting.begin(), fitting.end());
  }
  return {chosen.begin(), chosen.end()};
}

std::size_t chosen_name(const std::vector<std::string>& names, const Arguments& given, const std::string& holder) {
  if (!given.has("case") && names.size() == 1) return 0;
  const std::vector<std::size_t> chosen = chosen_names(names, given);
  if (chosen.size() == 1) return chosen.front();
  const std::string wrong =
      chosen.empty() ? holder + " has several cases" : excerpt(given.text("case")) + " fits several";
  std::vector<std::string> fitting;
  for (const std::size_t index : chosen) fitting.push_back(names[index]);
  throw input_error(Arguments::place("case"), wrong, "Name one of: " + join(chosen.empty() ? names : fitting));
}

std::vector<std::string> names_of(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  return names;
}

namespace {

// The name of the case that lists planners means all of them.
std::vector<std::size_t> chosen_positions(const Scenario& scenario, const Arguments& given) {
  std::set<std::size_t> chosen;
  const std::vector<std::string> names = names_of(scenario);
  for (const std::string& pattern : given.values("case")) {
    std::vector<std::size_t> fitting = fitting_names(names, pattern);
    for (std::size_t index = 0; index < names.size(); ++index) {
      const auto& compared = scenario.cases[index].compared;
      const bool listed =
          compared &&
          (fits_pattern(compared->group, pattern) ||
           std::ranges::any_of(compared->also, [&](const std::string& name) { return fits_pattern(name, pattern); }));
      if (listed) fitting.push_back(index);
    }
    if (fitting.empty()) throw unknown_case("case", pattern, names);
    chosen.insert(fitting.begin(), fitting.end());
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace

Scenario chosen_cases(Scenario scenario, const Arguments& given) {
  if (given.has("case")) keep_cases(scenario, chosen_positions(scenario, given));
  return scenario;
}

const Case& chosen_case(const Scenario& scenario, const Arguments& given) {
  return scenario.cases[chosen_name(names_of(scenario), given, "the scenario")];
}

void deliver(const std::string& text, const Arguments& given) {
  deliver(text, given, result_writer(given));
}

void deliver(const std::string& text, const Arguments& given, const ResultWriter& writer) {
  const std::string path = given.value("output").value_or("-");
  if (path.empty() || is_folder(path)) {
    throw input_error(Arguments::place("output"), path.empty() ? "the name is empty" : excerpt(path) + " is a folder",
                      "Name a file, or - for standard output");
  }
  if (path == "-") return print_result(text);
  if (is_there(path) && !is_file(path) && !is_stream(path))
    throw input_error(Arguments::place("output"), excerpt(path) + " is a disk or a socket",
                      "Name a file or a pipe, or - for standard output");
  refuse_read_file(path, given.positional());
  write_result(path, writer, text);
  if (text.starts_with('{') && !has_readable_length(text))
    print_note(path +
               ": it holds more values than shardsim itself reads from one JSON file; other programs may read it");
}

std::string result_name(const Arguments& given) {
  const std::string stem = std::filesystem::path(given.positional()[0]).stem().string();
  return stem.find_first_not_of('.') == std::string::npos ? "scenario" : stem;
}

std::filesystem::path output_folder(const Arguments& given, const std::string& command,
                                    const std::filesystem::path& standard) {
  const auto folder = given.value("output");
  if (!folder) return standard;
  if (*folder != "-" && !folder->empty()) return *folder;
  throw input_error(Arguments::place("output"), command + " writes a folder of files, not one text", "Name a folder");
}

std::optional<double> tolerance(const Arguments& given) {
  const auto text = given.value("tolerance");
  if (!text) return std::nullopt;
  const double most = parse_percent(*text, Arguments::place("tolerance"));
  if (most >= 0) return most;
  throw input_error(Arguments::place("tolerance"), excerpt(*text) + " is below 0", "Write 0% or more");
}

int tolerance_verdict(const std::optional<double>& judged, const std::optional<double>& most) {
  if (!most) return 0;
  if (!judged) {
    throw input_error(Arguments::place("tolerance"), "no row is in the model, so there is nothing to judge",
                      "Leave --tolerance out, or give other measurements");
  }
  if (*judged <= *most) return 0;
  return report_error(
      kOutsideTolerance,
      fmt::format("outside the tolerance: the median error is {:.1f} %, {} % are allowed", *judged, shortest(*most)));
}

Progress progress_of(const Arguments& given, const std::string& what) {
  return Progress(what, given.has("quiet"));
}

void print_note(const std::string& note) {
  say("note: " + note);
}

}  // namespace shardsim
