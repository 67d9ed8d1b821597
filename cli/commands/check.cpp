#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "accuracy/measurements/read/system_map.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/yaml.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/collective/fitted_overheads.h"
#include "plan/plan_file.h"
#include "program/program_file.h"
#include "study/notes/notes.h"
#include "study/report/case_groups.h"
#include "study/report/documents/result_json.h"
#include "study/scenario/named_tree.h"
#include "study/sweep/checked_scenario.h"

namespace shardsim {
namespace {

std::string schema_of(const Tree& tree) {
  const Tree* schema = tree.find("schema");
  return schema && schema->kind == Tree::Kind::scalar ? schema->scalar : "";
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

Checked check_cluster(const Tree& tree, const std::string& path) {
  const Cluster cluster(with_fits(read_cluster(whole_tree(tree, "clusters", folder_of(path)))));
  Checked checked{"cluster", fmt::format("{} of {} GPUs", counted(static_cast<std::size_t>(cluster.nodes()), "node"),
                                         cluster.ranks_per_node())};
  checked.add_notes(cluster.spec().name, idle_key_notes(cluster.spec()));
  return checked;
}

Checked check_workload(const Tree& tree, const std::string& path) {
  const Workload workload = read_workload(whole_tree(tree, "workloads", folder_of(path)), "");
  Checked checked{"workload", counted(workload.tables.size(), "table")};
  checked.add_notes(workload.name, workload_notes(workload));
  return checked;
}

Checked check_plan_alone(const Tree& tree) {
  const StandalonePlan plan = standalone_plan(tree);
  return {"plan", fmt::format("{} tables on {} ranks", plan.tables, plan.ranks)};
}

Checked check_system_map(const Tree& tree, const std::string& path) {
  const SystemMap map = system_map_from_tree(tree, path);
  for (const MappedSystem& system : map.systems) Cluster{system.spec};
  return {"system map", counted(map.systems.size(), "system")};
}

Checked check_result(const Tree& tree) {
  const std::size_t cases = result_from_tree(tree).cases.size();
  return {"result", counted(cases, "case")};
}

// A file that is no scenario.
Checked check_part(const Tree& tree, const std::string& schema, const std::string& path) {
  if (schema == "shardsim.cluster/1") return check_cluster(tree, path);
  if (schema == "shardsim.workload/1") return check_workload(tree, path);
  if (schema == "shardsim.clusters_map/1") return check_system_map(tree, path);
  if (schema == "shardsim.result/1" || schema == "shardsim.result/2") return check_result(tree);
  if (schema.starts_with("shardsim.program/")) {
    const Program program = program_from_tree(tree);
    return {"program", fmt::format("{} operations on {} ranks", program.ops.size(), program.world_size)};
  }
  if (schema == "shardsim.plan/1" || (schema.empty() && tree.find("plan"))) return check_plan_alone(tree);
  const std::string known =
      "Known: shardsim.scenario/1, shardsim.cluster/1, shardsim.workload/1, shardsim.plan/1, shardsim.program/2, "
      "shardsim.clusters_map/1, shardsim.result/2";
  if (schema.empty()) throw input_error(tree.place, "the key 'schema' is missing", "Say what the file is. " + known);
  throw input_error(tree.find("schema")->place, "unknown schema " + excerpt(schema), known);
}

// What the command line changes, it changes of a scenario.
void refuse_changes_of(const std::string& kind, const Arguments& given) {
  const std::vector<std::string> words = given_scenario_options(given);
  if (!words.empty())
    throw input_error({"argument " + words.front()}, fmt::format("the file is a {}, and this changes a scenario", kind),
                      "Leave it out, or edit the file");
}

// The file is read once: it may be a pipe.
Checked check_file(const Arguments& given, const PlanWatch& watch) {
  const std::string& path = given.positional()[0];
  const std::string text = read_file(path);
  if (text.starts_with("\x89HDF\r\n"))
    throw input_error({path}, "an HDF5 file, and check reads text alone",
                      "Look at a timeline with shardsim compare, or write it as text with shardsim convert");
  const Tree tree = first_character(text) == '{' ? parse_json(text, path) : parse_yaml(text, path);
  const std::string schema = schema_of(tree);
  if (schema == "shardsim.scenario/1") return checked_scenario(text, path, overrides(given), watch);
  Checked checked = check_part(tree, schema, path);
  refuse_changes_of(checked.kind, given);
  return checked;
}

// The kind of a note, whatever it names: its words without their numbers and the names in quotes.
std::string kind_of_note(const std::string& note) {
  std::string kind;
  bool quoted = false;
  for (const char c : note) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind.substr(0, kind.find(". "));  // what follows the first sentence is advice, which not all of a kind have
}

// Says the first notes of each kind and how many there are beyond them: of fifty cases, fifty times the same is read by
// nobody.
void print_notes_of(const Checked& checked, bool all) {
  constexpr std::size_t kShown = 3;
  std::map<std::string, std::size_t> of_kind;
  for (const auto& [note, cases] : checked.notes)
    if (++of_kind[kind_of_note(note)] <= kShown || all) print_note(some_names(cases) + ": " + note);
  std::size_t hidden = 0;
  for (const auto& [kind, count] : of_kind) hidden += count - std::min(count, kShown);
  if (!all && hidden > 0)
    print_note(fmt::format("{} say the same of other cases; --details shows all", counted(hidden, "more note")));
}

int check(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "checking, with the plan of each case");
  const Checked checked = check_file(given, {terminal.interrupted, {}});
  for (const std::string& finding : checked.findings) report_error(0, finding);
  if (!checked.findings.empty()) return checked.failure == Failure::infeasible ? 3 : 2;
  print_lines(fmt::format("{}: {}, {}: ok\n", given.positional()[0], checked.kind, checked.summary));
  print_notes_of(checked, given.has("details"));
  return 0;
}

}  // namespace

Command check_command() {
  return {
      .name = "shardsim check",
      .summary = "find the errors in a scenario, cluster, workload, plan or program file, without simulating",
      .positionals = {{"FILE", "The file to check. Its key `schema` says of what kind it is."}},
      .options = std::vector<Option>{{"details", 0, "",
                                      "Print every note; without it, three of those that say the same of several "
                                      "cases."}} +
                 scenario_options(),
      .examples = {"shardsim check scenarios/flexshard.yaml", "shardsim check scenarios/clusters/a100_mesh_4x8.yaml"},
      .run = check};
}

}  // namespace shardsim
