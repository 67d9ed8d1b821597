#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/workload/workload_limits.h"
#include "study/import/import_request.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<const char*, DenseScale>, 2> kScales = {
    {{"kernels", DenseScale::kernels}, {"nothing", DenseScale::nothing}}};

std::string made_by(const Arguments& given) {
  std::string command = "shardsim import";
  for (const std::string& file : given.positional()) command += " " + printable(shell_word(file));
  for (const char* const option :
       {"tables", "tables-of-trace", "traced-batch", "scale-dense", "plan", "cluster", "nodes", "batch", "planner"}) {
    for (const std::string& value : given.values(option))
      command += fmt::format(" --{} {}", option, printable(shell_word(value)));
  }
  return command;
}

std::vector<std::int64_t> traced_batches(const Arguments& given) {
  std::vector<std::int64_t> batches;
  for (const std::string& text : given.values("traced-batch"))
    batches.push_back(parse_count(text, Arguments::place("traced-batch")));
  return batches;
}

// `folder`: where the scenario is to lie.
ImportRequest request_of(const Arguments& given, const fs::path& folder) {
  const auto stated = [&](const char* option) {
    return given.has(option) ? std::optional(given.text(option)) : std::nullopt;
  };
  ImportRequest request;
  request.files = given.positional();
  request.tables = stated("tables");
  request.plan = stated("plan");
  if (const auto of = stated("tables-of-trace"))
    request.tables_of_trace = *of == "world" ? TraceQuestion::Shapes::world : TraceQuestion::Shapes::rank;
  request.traced_batches = traced_batches(given);
  for (const auto& [name, scale] : kScales)
    if (given.value("scale-dense") == name) request.scale_dense = scale;
  request.cluster = stated("cluster");
  request.planner = stated("planner");
  request.nodes = given.count("nodes", 1, kMostImportedNodes);
  if (given.has("batch")) request.batch = given.count("batch", 1, kMostBatchPerGpu);
  request.made_by = made_by(given);
  request.folder = folder.string();
  request.place = [](const std::string& option) { return Arguments::place(option); };
  return request;
}

void report_import(const ImportedModel& model, const ImportSetting& setting, const fs::path& scenario) {
  const std::string file = scenario.string();
  for (const std::string& assumption : assumptions(model, setting)) print_note(assumption);
  print_lines(fmt::format("{}: {}{}\nNext: shardsim check {}, shardsim run {}\n", file,
                          counted(model.tables.size(), "table"), model.plan ? " and the plan" : "", shell_word(file),
                          shell_word(file)));
}

fs::path plan_beside(const fs::path& scenario) {
  return scenario.parent_path() / (scenario.stem().string() + ".plan.json");
}

std::vector<fs::path> written_files(const fs::path& target, bool is_file) {
  if (is_file) return {target, plan_beside(target)};
  return {target / "scenario.yaml", target / "workload.yaml", target / "plan.json"};
}

int import_into_folder(const Arguments& given, const fs::path& folder) {
  const auto [model, setting] = imported(request_of(given, folder));
  const ModelFiles files = model_files(model, setting);
  write_folder(folder, result_writer(given), [&files](const fs::path& hidden) { files.write(hidden); });
  report_import(model, setting, folder / "scenario.yaml");
  return 0;
}

int import_into_file(const Arguments& given, const fs::path& file) {
  auto [model, setting] = imported(request_of(given, file.parent_path()));
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
  const Progress progress = progress_of(given, "importing");
  const std::string output = given.text("output");
  if (output.empty() || output == "-") {
    throw input_error(Arguments::place("output"), "the name of a folder or a file is missing",
                      "Name a folder, or a file that ends in .yaml");
  }
  std::vector<std::string> read = given.positional();
  for (const char* const option : {"tables", "plan", "cluster"})
    if (given.has(option)) read.push_back(given.text(option));
  const fs::path target(output);
  const bool file = target.extension() == ".yaml" || target.extension() == ".yml";
  for (const fs::path& written : written_files(target, file)) refuse_read_file(written.string(), read);
  return file ? import_into_file(given, target) : import_into_folder(given, target);
}

std::vector<Option> model_import_options() {
  return {
      {"output", 'o', "OUT",
       "Write the scenario, the workload and the plan into this folder. If OUT ends in .yaml, write one scenario "
       "file that holds the workload too, and the plan beside it.",
       "", Option::Times::once},
      {"tables", 0, "FILE",
       "The tables of a trace: a CSV or JSON file as it is imported without a trace. Lookups, updates and "
       "exchanges are then simulated."},
      {"tables-of-trace",
       0,
       "OF",
       "Take the tables that the shapes in the trace tell (record_shapes), as if those of one lookup were alike, "
       "and simulate lookups and updates: of the traced rank alone, whose exchanges stay as measured, or of its "
       "world, every rank holding as many, with the exchanges.",
       "",
       Option::Times::at_most_once,
       {"rank", "world"}},
      {"traced-batch", 0, "N",
       "The number of samples per GPU of a trace whose shapes do not say it, or say it wrong. Give it once for "
       "each trace, in their order.",
       "", Option::Times::any},
      {"scale-dense",
       0,
       "HOW",
       "How another batch than the traced one changes the dense part, where there is only one: kernels (the time "
       "of kernels, copies and exchanges is in proportion, that of the host stays) or nothing.",
       "",
       Option::Times::at_most_once,
       {"kernels", "nothing"}},
      {"plan", 0, "PLAN",
       "Take the plan from this JSON file, which holds TorchRec's plan._serialize() or asdict(plan)."},
      {"cluster", 0, "NAME", "The cluster of the scenario: the name of a shipped one, or a file.", "dgx_h100"},
      {"nodes", 0, "N",
       "The number of nodes. Without this option it is what the plan needs, or else what the cluster file says."},
      {"batch", 0, "N", "The number of samples that each GPU processes in an iteration; of a trace, its own.", "4096"},
      {"planner", 0, "NAME", "The planner of the scenario, if no plan is given.", "torchrec"},
      force_option()};
}

}  // namespace

Command model_import_command() {
  return {
      .name = "shardsim import",
      .summary =
          "make a workload and a scenario from tables, TorchRec's configurations and plan, or a profiler's trace",
      .positionals =
          {{"FILE",
            "A CSV file of tables; a JSON file with TorchRec's table configurations, its plan, or both; or a trace of "
            "training steps (Kineto, .json or .json.gz), or a folder of them."},
           {"MORE", "Further traces of the same model: of other ranks, or with another batch.", true, {}, true}},
      .options = model_import_options(),
      .notes =
          "Whatever the file does not say is assumed. The first lines of the workload, and stderr, list the "
          "assumptions.\n"
          "docs/import.md explains the columns of the CSV and has the lines of Python that write the JSON.\n",
      .examples = {"shardsim import scenarios/imports/tables.csv -o out/imported",
                   "shardsim import scenarios/imports/torchrec.json --batch 1024 -o out/torchrec.yaml",
                   "shardsim import trace.json.gz --tables tables.csv --batch 4096 -o out/traced",
                   "shardsim import batch_4096.json.gz batch_16384.json.gz --batch 8192 -o out/line"},
      .run = import_model};
}

}  // namespace shardsim
