#include <fmt/format.h>

#include <filesystem>

#include "base/byte_order_mark.h"
#include "base/files.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/workload/workload_limits.h"
#include "plan/planner.h"
#include "study/import/model_files.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostImportedNodes = 100'000;
constexpr std::size_t kMostImported = std::size_t{256} << 20;  // bytes of a model's file

// JSON begins with a bracket; a CSV with the name of a column.
bool is_json(const std::string& text) {
  const char first = first_character(text);
  return first == '{' || first == '[';
}

// Where nothing begins, the name of the file tells what it was to be.
void refuse_empty_json(const std::string& text, const std::string& file) {
  if (first_character(text) != '\0' || fs::path(file).extension() != ".json") return;
  throw input_error({file, 1}, "the file is empty",
                    "Write TorchRec's table configurations into it, as docs/import.md shows");
}

ImportedModel read_model(const std::string& file) {
  const std::string text = read_file(file, kMostImported);
  refuse_empty_json(text, file);
  return is_json(text) ? model_from_torchrec(parse_json(text, file), file) : model_from_csv(text, file);
}

void add_plan(ImportedModel& model, const Arguments& given) {
  const auto file = given.value("plan");
  if (!file) return;
  if (model.plan) {
    throw input_error(Arguments::place("plan"), "the file of the tables has a plan, too", "Leave one of the two out");
  }
  model.plan = plan_from_torchrec(read_json_file(*file));
  add_tables_of_plan(model);
  check_tables(model);
}

ImportSetting setting_of(const Arguments& given, const fs::path& folder) {
  ImportSetting setting;
  setting.made_by = "shardsim import " + printable(given.positional()[0]);
  for (const char* const option : {"plan", "cluster", "nodes", "batch", "planner"}) {
    if (given.has(option)) setting.made_by += fmt::format(" --{} {}", option, printable(given.text(option)));
  }
  load_named(given.text("cluster"), "clusters", "", Arguments::place("cluster"));  // blamed here, not in the scenario
  setting.cluster_from = folder.string();
  setting.cluster = named_from(given.text("cluster"), folder);
  setting.cluster_assumed = !given.has("cluster");
  setting.nodes = given.count("nodes", 1, kMostImportedNodes);
  setting.batch_per_gpu = *given.count("batch", 1, kMostBatchPerGpu);
  setting.batch_assumed = !given.has("batch");
  setting.planner = given.text("planner");
  make_planner(named_map(setting.planner, Arguments::place("planner")));
  return setting;
}

void report_import(const ImportedModel& model, const ImportSetting& setting, const fs::path& scenario) {
  const std::string file = scenario.string();
  for (const std::string& assumption : assumptions(model, setting)) print_note(assumption);
  print_lines(fmt::format("{}: {}{}\nNext: shardsim check {}, shardsim run {}\n", file,
                          counted(model.tables.size(), "table"), model.plan ? " and the plan" : "", file, file));
}

fs::path plan_beside(const fs::path& scenario) {
  return scenario.parent_path() / (scenario.stem().string() + ".plan.json");
}

std::vector<fs::path> written_files(const fs::path& target, bool is_file) {
  if (is_file) return {target, plan_beside(target)};
  return {target / "scenario.yaml", target / "workload.yaml", target / "plan.json"};
}

int import_into_folder(const ImportedModel& model, const Arguments& given, const fs::path& folder) {
  const ImportSetting setting = setting_of(given, folder);
  const ModelFiles files = model_files(model, setting);
  const auto write = [&](const fs::path& hidden) {
    write_file(hidden / "scenario.yaml", files.scenario);
    write_file(hidden / "workload.yaml", files.workload);
    if (!files.plan.empty()) write_file(hidden / "plan.json", files.plan);
  };
  write_folder(folder, result_writer(given), write);
  report_import(model, setting, folder / "scenario.yaml");
  return 0;
}

int import_into_file(const ImportedModel& model, const Arguments& given, const fs::path& file) {
  ImportSetting setting = setting_of(given, file.parent_path());
  setting.in_place = true;
  const fs::path plan = plan_beside(file);
  setting.plan_file = plan.filename().string();
  const ModelFiles files = model_files(model, setting);
  // Not the writer of a folder: the workload.yaml of one does not become a scenario.
  const ResultWriter writer{given.command() + " -o FILE.yaml", given.has("force")};
  if (!files.plan.empty()) check_result(plan, writer);
  check_result(file, writer);
  if (!files.plan.empty()) write_result(plan, writer, files.plan);
  write_result(file, writer, files.scenario);
  report_import(model, setting, file);
  return 0;
}

int import_model(const Arguments& given, const Terminal&) {
  const std::string output = given.text("output");
  if (output.empty() || output == "-") {
    throw input_error(Arguments::place("output"), "the name of a folder or a file is missing",
                      "Name a folder, or a file that ends in .yaml");
  }
  ImportedModel model = read_model(given.positional()[0]);
  add_plan(model, given);
  if (model.plan && given.has("planner"))
    throw input_error(Arguments::place("planner"), "there is a plan, so no planner is asked",
                      "Leave the option out, or the plan");
  std::vector<std::string> read = given.positional();
  for (const char* const option : {"plan", "cluster"})
    if (given.has(option)) read.push_back(given.text(option));
  const fs::path target(output);
  const bool file = target.extension() == ".yaml" || target.extension() == ".yml";
  for (const fs::path& written : written_files(target, file)) refuse_read_file(written.string(), read);
  return file ? import_into_file(model, given, target) : import_into_folder(model, given, target);
}

}  // namespace

Command model_import_command() {
  return {
      .name = "shardsim import",
      .summary = "make a workload and a scenario from a CSV of tables, or from TorchRec's configurations and plan",
      .positionals =
          {{"FILE", "A CSV file of tables, or a JSON file with TorchRec's table configurations, its plan, or both."}},
      .options =
          {{"output", 'o', "OUT",
            "Write the scenario, the workload and the plan into this folder. If OUT ends in .yaml, write one scenario "
            "file that holds the workload too, and the plan beside it.",
            "", Option::Times::once},
           {"plan", 0, "PLAN",
            "Take the plan from this JSON file, which holds TorchRec's plan._serialize() or asdict(plan)."},
           {"cluster", 0, "NAME", "The cluster of the scenario: the name of a shipped one, or a file.", "dgx_h100"},
           {"nodes", 0, "N",
            "The number of nodes. Without this option it is what the plan needs, or else what the cluster file says."},
           {"batch", 0, "N", "The number of samples that each GPU processes in an iteration.", "4096"},
           {"planner", 0, "NAME", "The planner of the scenario, if no plan is given.", "torchrec"},
           force_option()},
      .notes =
          "Whatever the file does not say is assumed. The first lines of the workload, and stderr, list the "
          "assumptions.\n"
          "docs/import.md explains the columns of the CSV and has the lines of Python that write the JSON.\n",
      .examples = {"shardsim import scenarios/imports/tables.csv -o out/imported",
                   "shardsim import scenarios/imports/torchrec.json --batch 1024 -o out/torchrec.yaml"},
      .run = import_model};
}

}  // namespace shardsim
