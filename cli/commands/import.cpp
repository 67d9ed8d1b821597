#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/byte_order_mark.h"
#include "base/files.h"
#include "base/gzip_input.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/workload/workload_limits.h"
#include "plan/planner.h"
#include "program/timeline/kineto/kineto_trace.h"
#include "study/import/json_path.h"
#include "study/import/model_files.h"
#include "study/import/trace_files.h"
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

constexpr std::size_t kHeadOfTrace = std::size_t{1} << 16;  // bytes in which a trace shows that it is one

// A profiler's trace: compressed, or JSON with a list of events. Tables and plans are neither.
bool is_trace(const std::string& file) {
  if (is_folder(file)) return true;
  if (!is_file(file)) return false;
  const std::unique_ptr<std::istream> in = open_text(file);
  std::string head(kHeadOfTrace, '\0');
  in->read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in->gcount()));
  return is_json(head) &&
         (head.find("\"traceEvents\"") != std::string::npos || head.find("\"deviceProperties\"") != std::string::npos ||
          head.find("\"ph\"") != std::string::npos);
}

// A trace, or those of a folder by name.
std::vector<std::string> trace_files(const std::string& given) {
  if (!is_folder(given)) return {given};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(given))
    if (const fs::path& path = entry.path(); path.extension() == ".json" || path.extension() == ".gz")
      files.push_back(path.string());
  if (files.empty())
    throw input_error({given}, "holds no trace (*.json, *.json.gz)", "Name a trace, or a folder of them");
  std::ranges::sort(files);
  return files;
}

// A print of TorchRec, or JSON; nothing where the text is neither.
std::optional<Tree> tree_of(const std::string& text, const std::string& file) {
  refuse_empty_json(text, file);
  if (std::optional<Tree> plan = printed_plan(text, file)) return plan;
  if (std::optional<Tree> model = printed_statistics(text, file)) return model;
  if (is_json(text)) return parse_json(text, file);
  return std::nullopt;
}

ImportedModel read_model(const std::string& file) {
  const std::string text = read_file(file, kMostImported);
  const std::optional<Tree> tree = tree_of(text, file);
  if (!tree) return model_from_csv(text, file);
  try {
    return model_from_torchrec(*tree, file);
  } catch (const Error& error) {
    throw told_with_path(error, *tree);
  }
}

// Holds what the files say: tables and a plan, or traces with or without tables.
struct ImportInput {
  ImportedModel model;
  std::vector<TracedModel> traces;
  bool has_tables = true;
};

void add_plan(ImportedModel& model, const Arguments& given) {
  const auto file = given.value("plan");
  if (!file) return;
  if (model.plan) {
    throw input_error(Arguments::place("plan"), "the file of the tables has a plan, too", "Leave one of the two out");
  }
  const std::string text = read_file(*file, kMostImported);
  const std::optional<Tree> printed = printed_plan(text, *file);
  const Tree plan = printed ? *printed : parse_json(text, *file);
  try {
    take_plan(model, plan);
    check_tables(model);
  } catch (const Error& error) {
    throw told_with_path(error, plan);
  }
  if (!model.constraints.empty()) model.constraints.clear();  // where everything lies is said
}

constexpr std::array<std::pair<const char*, DenseScale>, 2> kScales = {
    {{"kernels", DenseScale::kernels}, {"nothing", DenseScale::nothing}}};

std::vector<TracedModel> read_traces(const Arguments& given) {
  std::vector<TracedModel> traces;
  for (const std::string& named : given.positional()) {
    if (!is_trace(named))
      throw input_error({named}, "is no profiler's trace, where the first file is one",
                        "Give traces alone, and tables with --tables");
    for (const std::string& file : trace_files(named))
      traces.push_back(traced_model(read_kineto_trace(fs::path(file))));
  }
  return traces;
}

ImportInput read_input(const Arguments& given) {
  const std::string& file = given.positional()[0];
  const auto tables = given.value("tables");
  if (!is_trace(file)) {
    for (const char* const option : {"tables", "tables-of-trace", "traced-batch", "scale-dense"})
      if (given.has(option))
        throw input_error(Arguments::place(option), file + " is no profiler's trace, but a list of tables itself",
                          "Leave the option out, or name a trace first");
    if (given.positional().size() > 1)
      throw input_error({"argument " + given.positional()[1]}, "one file of tables is imported at a time",
                        "Leave it out; only traces may be several");
    return {read_model(file), {}, true};
  }
  given.refuse_beside("tables", {"tables-of-trace"});
  if (given.has("plan") && !tables)
    throw input_error(Arguments::place("plan"), "there is a plan and no list of tables", "Give it with --tables, too");
  ImportInput input{{}, read_traces(given), tables.has_value()};
  if (tables) input.model = read_model(*tables);
  return input;
}

ImportSetting setting_of(const Arguments& given, const fs::path& folder) {
  ImportSetting setting;
  setting.made_by = "shardsim import " + printable(given.positional()[0]);
  for (std::size_t i = 1; i < given.positional().size(); ++i) setting.made_by += " " + printable(given.positional()[i]);
  for (const char* const option :
       {"tables", "tables-of-trace", "traced-batch", "scale-dense", "plan", "cluster", "nodes", "batch", "planner"}) {
    for (const std::string& value : given.values(option))
      setting.made_by += fmt::format(" --{} {}", option, printable(value));
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

TraceQuestion question(ImportInput& input, const Arguments& given) {
  TraceQuestion asked;
  asked.traces = std::move(input.traces);
  for (const std::string& text : given.values("traced-batch")) {
    const std::int64_t batch = parse_count(text, Arguments::place("traced-batch"));
    if (batch < 1 || batch > kMostBatchPerGpu)
      throw input_error(Arguments::place("traced-batch"), excerpt(text) + " is no batch size",
                        "Give the samples per GPU of each trace");
    asked.batches.push_back(batch);
  }
  if (given.has("batch")) asked.batch = given.count("batch", 1, kMostBatchPerGpu);
  if (input.has_tables) asked.tables = &input.model;
  asked.planner_stated = given.has("planner") || given.has("plan");
  asked.tables_file = given.value("tables").value_or("");
  if (given.has("tables-of-trace"))
    asked.tables_of_trace =
        given.value("tables-of-trace") == "world" ? TraceQuestion::Shapes::world : TraceQuestion::Shapes::rank;
  for (const auto& [name, scale] : kScales)
    if (given.value("scale-dense") == name) asked.scale = scale;
  return asked;
}

// The setting, and the model as it will be written.
ImportSetting prepared(ImportInput& input, const Arguments& given, const fs::path& folder) {
  ImportSetting setting = setting_of(given, folder);
  if (input.traces.empty()) return setting;
  TraceImport import = trace_import(question(input, given), std::move(setting));
  input.model = std::move(import.model);
  return std::move(import.setting);
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

int import_into_folder(ImportInput input, const Arguments& given, const fs::path& folder) {
  const ImportSetting setting = prepared(input, given, folder);
  const ImportedModel& model = input.model;
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

int import_into_file(ImportInput input, const Arguments& given, const fs::path& file) {
  ImportSetting setting = prepared(input, given, file.parent_path());
  const ImportedModel& model = input.model;
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
  ImportInput input = read_input(given);
  if (input.has_tables) add_plan(input.model, given);
  if (input.model.plan && given.has("planner"))
    throw input_error(Arguments::place("planner"), "there is a plan, so no planner is asked",
                      "Leave the option out, or the plan");
  std::vector<std::string> read = given.positional();
  for (const char* const option : {"tables", "plan", "cluster"})
    if (given.has(option)) read.push_back(given.text(option));
  const fs::path target(output);
  const bool file = target.extension() == ".yaml" || target.extension() == ".yml";
  for (const fs::path& written : written_files(target, file)) refuse_read_file(written.string(), read);
  return file ? import_into_file(std::move(input), given, target) : import_into_folder(std::move(input), given, target);
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
      .options =
          {{"output", 'o', "OUT",
            "Write the scenario, the workload and the plan into this folder. If OUT ends in .yaml, write one scenario "
            "file that holds the workload too, and the plan beside it.",
            "", Option::Times::once},
           {"tables", 0, "FILE",
            "The tables of a trace: a CSV or JSON file as it is imported without a trace. Lookups, updates and "
            "exchanges "
            "are then simulated."},
           {"tables-of-trace",
            0,
            "OF",
            "Take the tables that the shapes in the trace tell (record_shapes), as if those of one lookup were alike, "
            "and "
            "simulate lookups and updates: of the traced rank alone, whose exchanges stay as measured, or of its "
            "world, "
            "every rank holding as many, with the exchanges.",
            "",
            Option::Times::at_most_once,
            {"rank", "world"}},
           {"traced-batch", 0, "N",
            "The number of samples per GPU of a trace whose shapes do not say it, or say it wrong. Give it once for "
            "each "
            "trace, in their order.",
            "", Option::Times::any},
           {"scale-dense",
            0,
            "HOW",
            "How another batch than the traced one changes the dense part, where there is only one: kernels (the time "
            "of "
            "kernels, copies and exchanges is in proportion, that of the host stays) or nothing.",
            "",
            Option::Times::at_most_once,
            {"kernels", "nothing"}},
           {"plan", 0, "PLAN",
            "Take the plan from this JSON file, which holds TorchRec's plan._serialize() or asdict(plan)."},
           {"cluster", 0, "NAME", "The cluster of the scenario: the name of a shipped one, or a file.", "dgx_h100"},
           {"nodes", 0, "N",
            "The number of nodes. Without this option it is what the plan needs, or else what the cluster file says."},
           {"batch", 0, "N", "The number of samples that each GPU processes in an iteration; of a trace, its own.",
            "4096"},
           {"planner", 0, "NAME", "The planner of the scenario, if no plan is given.", "torchrec"},
           force_option()},
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
