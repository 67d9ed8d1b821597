#include "study/import/import_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/gzip_input.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/tree.h"
#include "models/workload/workload_limits.h"
#include "plan/planner.h"
#include "program/timeline/kineto/kineto_trace.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

bool is_plain_key(const std::string& key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool find_place(const Tree& tree, const Place& place, std::string& path) {
  if (tree.place == place) return true;
  const std::size_t length = path.size();
  for (const auto& [key, value] : tree.fields) {
    path += is_plain_key(key) ? "." + key : "['" + key + "']";
    if (find_place(value, place, path)) return true;
    path.resize(length);
  }
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    path += fmt::format("[{}]", i);
    if (find_place(tree.items[i], place, path)) return true;
    path.resize(length);
  }
  return false;
}

int last_line(const Tree& tree) {
  int line = tree.place.line;
  if (!tree.fields.empty()) line = std::max(line, last_line(tree.fields.back().second));
  if (!tree.items.empty()) line = std::max(line, last_line(tree.items.back()));
  return line;
}

// The path of the value that stands at this place, as $.plan['m.ebc'].t.ranks[2]; "" where none does, or the whole.
std::string json_path(const Tree& root, const Place& place) {
  if (root.place == place) return "";
  std::string path = "$";
  return find_place(root, place, path) ? path : "";
}

// An error at a value of a document that stands on one line, where the line says nothing: the same error, with the
// value's path.
Error told_with_path(const Error& error, const Tree& root) {
  if (error.place().source != root.place.source || error.place().column == 0 || last_line(root) != root.place.line)
    return error;
  const std::string path = json_path(root, error.place());
  if (path.empty()) return error;
  const std::string where = error.place().text() + ": ";
  std::string said = error.what();
  if (said.starts_with(where)) said.erase(0, where.size());
  return {error.failure(), error.place(), path + ": " + said, ""};
}

namespace fs = std::filesystem;

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

// What json.dump() writes of a text that json.dumps() has made.
void refuse_quoted_json(const std::string& text, const std::string& file) {
  if (first_character(text) != '"' || fs::path(file).extension() != ".json") return;
  throw input_error({file, 1}, "the file is one text in quotes, in which JSON may be",
                    "Write the value itself, json.dump(VALUE, file), as docs/import.md shows");
}

// Only traces are compressed: what is none by its head was cut off, or is no file of gzip.
void refuse_other_gzip(const std::string& file) {
  if (fs::path(file).extension() != ".gz" && fs::path(file).extension() != ".tgz") return;
  if (file.ends_with(".tar.gz") || file.ends_with(".tgz"))
    throw input_error({file}, "an archive of files (tar), where one trace or a folder of traces is due",
                      "Unpack it, and name the folder");
  throw input_error(
      {file}, "no profiler's trace is in it: the file is empty, cut off, or not compressed by gzip",
      "Check it with gzip -t, and copy it again from where it was written; tables are given uncompressed");
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

ImportedModel model_of_tree(const Tree& tree, const std::string& file) {
  try {
    return model_from_torchrec(tree, file);
  } catch (const Error& error) {
    throw told_with_path(error, tree);
  }
}

// A print of TorchRec, JSON or CSV.
ImportedModel read_model(const std::string& file) {
  refuse_other_gzip(file);
  const std::string text = read_file(file, kMostImported);
  refuse_empty_json(text, file);
  refuse_quoted_json(text, file);
  if (const std::optional<Tree> plan = printed_plan(text, file)) return model_of_tree(*plan, file);
  if (const std::optional<PrintedStatistics> statistics = printed_statistics(text, file)) {
    ImportedModel model = model_of_tree(statistics->model, file);
    model.batch = statistics->batch;
    model.ranks = statistics->ranks;
    return model;
  }
  return is_json(text) ? model_of_tree(parse_json(text, file), file) : model_from_csv(text, file);
}

// Holds what the files say: tables and a plan, or traces with or without tables.
struct ImportInput {
  ImportedModel model;
  std::vector<TracedModel> traces;
  bool has_tables = true;
};

void add_plan(ImportedModel& model, const ImportRequest& request) {
  if (!request.plan) return;
  if (model.plan) {
    throw input_error(request.place("plan"), "the file of the tables has a plan, too", "Leave one of the two out");
  }
  const std::string text = read_file(*request.plan, kMostImported);
  const std::optional<Tree> printed = printed_plan(text, *request.plan);
  const Tree plan = printed ? *printed : parse_json(text, *request.plan);
  try {
    take_plan(model, plan);
    check_tables(model);
  } catch (const Error& error) {
    throw told_with_path(error, plan);
  }
  if (!model.constraints.empty()) model.constraints.clear();  // where everything lies is said
}

std::vector<TracedModel> read_traces(const ImportRequest& request) {
  std::vector<TracedModel> traces;
  for (const std::string& named : request.files) {
    if (!is_trace(named))
      throw input_error({named}, "is no profiler's trace, where the first file is one",
                        "Give traces alone, and tables with --tables");
    for (const std::string& file : trace_files(named))
      traces.push_back(traced_model(read_kineto_trace(fs::path(file))));
  }
  return traces;
}

// Options of traces have nothing to do where a list of tables stands in their place.
void refuse_options_of_traces(const ImportRequest& request) {
  const std::vector<std::pair<std::string, bool>> given = {{"tables", request.tables.has_value()},
                                                           {"tables-of-trace", request.tables_of_trace.has_value()},
                                                           {"traced-batch", !request.traced_batches.empty()},
                                                           {"scale-dense", request.scale_dense.has_value()}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      throw input_error(request.place(option),
                        request.files[0] + " is no profiler's trace, but a list of tables itself",
                        "Leave the option out, or name a trace first");
  if (request.files.size() > 1)
    throw input_error({"argument " + request.files[1]}, "one file of tables is imported at a time",
                      "Leave it out; only traces may be several");
}

ImportInput read_input(const ImportRequest& request) {
  if (!is_trace(request.files[0])) {
    if (request.of_traces && is_file(request.files[0]))
      throw input_error({request.files[0]}, "is no profiler's trace",
                        "Name one, or a folder of them; import_model() takes tables and plans");
    refuse_options_of_traces(request);
    return {read_model(request.files[0]), {}, true};
  }
  if (request.tables && request.tables_of_trace)
    throw input_error(request.place("tables-of-trace"), "the option has no effect together with --tables",
                      "Leave it out");
  if (request.plan && !request.tables)
    throw input_error(request.place("plan"), "there is a plan and no list of tables", "Give it with --tables, too");
  ImportInput input{{}, read_traces(request), request.tables.has_value()};
  if (request.tables) input.model = read_model(*request.tables);
  return input;
}

void refuse_outside(const ImportRequest& request, const std::string& option, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  if (option == "traced-batch")
    throw input_error(request.place(option), fmt::format("\"{}\" is no batch size", value),
                      "Give the samples per GPU of each trace");
  throw input_error(request.place(option), fmt::format("{} is not from 1 to {}", value, most),
                    "Give a whole number in that range");
}

// The batch of the file's own statement, unless the command says another one.
void take_batch(const ImportedModel& model, ImportSetting& setting) {
  constexpr std::int64_t kDefault = 512;  // torchrec/distributed/planner/constants.py, BATCH_SIZE
  if (!model.batch || !setting.batch_assumed) return;
  setting.batch_per_gpu = *model.batch;
  setting.batch_assumed = false;
  setting.notes.push_back(
      fmt::format("The batch is the planner's, {} samples per GPU{}.", *model.batch,
                  *model.batch == kDefault ? ", which is also its default: give yours with --batch" : ""));
}

ImportSetting setting_of(const ImportRequest& request) {
  ImportSetting setting;
  setting.made_by = request.made_by;
  if (request.cluster) {
    load_named(*request.cluster, "clusters", "", request.place("cluster"));  // blamed here, not in the scenario
    setting.cluster = named_from(*request.cluster, request.folder);
  }
  setting.cluster_from = request.folder;
  setting.cluster_assumed = !request.cluster;
  if (request.nodes) refuse_outside(request, "nodes", *request.nodes, kMostImportedNodes);
  setting.nodes = request.nodes;
  if (request.batch) {
    refuse_outside(request, "batch", *request.batch, kMostBatchPerGpu);
    setting.batch_per_gpu = *request.batch;
  }
  setting.batch_assumed = !request.batch;
  if (request.planner) setting.planner = *request.planner;
  make_planner(named_map(setting.planner, request.place("planner")));
  return setting;
}

TraceQuestion question(ImportInput& input, const ImportRequest& request) {
  TraceQuestion asked;
  asked.traces = std::move(input.traces);
  for (const std::int64_t batch : request.traced_batches) {
    refuse_outside(request, "traced-batch", batch, kMostBatchPerGpu);
    asked.batches.push_back(batch);
  }
  asked.batch = request.batch;
  if (input.has_tables) asked.tables = &input.model;
  asked.planner_stated = request.planner || request.plan;
  asked.tables_file = request.tables.value_or("");
  asked.tables_of_trace = request.tables_of_trace.value_or(TraceQuestion::Shapes::none);
  asked.scale = request.scale_dense.value_or(DenseScale::none);
  return asked;
}

}  // namespace

Imported imported(const ImportRequest& request) {
  ImportInput input = read_input(request);
  if (input.has_tables) add_plan(input.model, request);
  if (input.model.plan && request.planner)
    throw input_error(request.place("planner"), "there is a plan, so no planner is asked",
                      "Leave the option out, or the plan");
  ImportSetting setting = setting_of(request);
  take_batch(input.model, setting);
  if (input.traces.empty()) return {std::move(input.model), std::move(setting)};
  TraceImport import = trace_import(question(input, request), std::move(setting));
  return {std::move(import.model), std::move(import.setting)};
}

}  // namespace shardsim
