#include "study/import/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/tree_builder.h"
#include "base/tree/tree_editor.h"
#include "base/tree/yaml_text.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/workload/workload_notes.h"
#include "plan/plan_file.h"
#include "study/import/imported_workload.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr int kCommentWidth = 120;
constexpr std::size_t kMostNamedColumns = 12;  // of those that were not read

std::string comment_lines(const std::string& text) {
  return wrapped(printable(text), kCommentWidth, "# ");
}

std::string assumed_of(const std::vector<ImportedTable>& tables, const char* what, const std::string& sentence) {
  std::vector<std::string> names;
  for (const ImportedTable& table : tables) {
    if (std::ranges::find(table.assumed, what) != table.assumed.end()) names.push_back(table.table.name);
  }
  if (names.empty()) return "";
  if (names.size() == tables.size()) return fmt::format("{} (every table).", sentence);
  constexpr std::size_t kShown = 5;
  return fmt::format("{} ({}: {}).", sentence, counted(names.size(), "table"), first_names(names, kShown));
}

std::string assumed_head(const ImportedModel& model, const ImportSetting& setting) {
  std::string text = comment_lines("Made by: " + setting.made_by) +
                     comment_lines("Assumed, because " + model.source + " does not say it:");
  for (const std::string& assumption : assumptions(model, setting)) text += comment_lines("* " + assumption);
  return text;
}

std::string indented_lines(const std::string& text, const std::string& by) {
  std::string result;
  for (const std::string& line : split(text, '\n')) {
    if (!line.empty()) result += by + line + "\n";
  }
  return result;
}

// The number of nodes, of GPUs on each, and of GPUs of a domain over several of them, that the scenario states; 0: what
// the cluster says.
struct StatedShape {
  std::int64_t nodes = 0, gpus = 0, domain = 0;
};

ClusterSpec named_cluster(const ImportSetting& setting) {
  return read_cluster(load_named(setting.cluster, "clusters", setting.cluster_from, {"argument --cluster"}));
}

int gpus_of_host(const ClusterSpec& spec) {
  return spec.gpus_per_host > 0 ? spec.gpus_per_host : spec.gpu.count;
}

[[noreturn]] void refuse_hosts(const ImportedModel& model, const ImportSetting& setting, int ranks, int per_host,
                               int gpus) {
  if (model.world.domain > 0)
    throw input_error(
        {"argument --cluster"},
        fmt::format("table '{}' is cut over {} GPUs, which are several hosts of {}, and cluster {} has no "
                    "NVLink domains of as many, nor of all {} GPUs of the plan",
                    model.world.over_hosts, model.world.domain, model.world.per_host, excerpt(setting.cluster), ranks),
        "Name a cluster with such domains, or leave the option out");
  throw input_error(
      {"argument --cluster"},
      fmt::format("the plan has {} GPUs on a host, and cluster {} has {}", per_host, excerpt(setting.cluster), gpus),
      "Name a cluster with as many");
}

StatedShape stated_shape(const ImportedModel& model, const ImportSetting& setting) {
  StatedShape shape{setting.nodes.value_or(0), setting.gpus, setting.domain};
  if (!model.plan) return shape;
  const StandalonePlan alone = standalone_plan(*model.plan);
  const ClusterSpec spec = named_cluster(setting);
  const int gpus = gpus_of_host(spec), domain = spec.gpu.count;
  const int ranks = std::max(alone.ranks, model.ranks);
  const int per_host = model.ranks > 0 ? usual_host(ranks) : alone.ranks_per_host;
  const bool one_host = ranks == per_host && ranks <= domain;
  const bool fits = per_host == gpus || per_host == domain || alone.fits_hosts_of(gpus);
  const bool of_group = model.world.group && !model.world.domain;
  if ((!fits || of_group) && (setting.cluster_assumed || of_group)) shape.gpus = per_host;
  const std::int64_t node = shape.gpus > 0 ? shape.gpus : domain;
  const bool whole = model.world.domain == 0 || node % model.world.domain == 0;
  const bool a_part = !setting.cluster_assumed && !setting.nodes && fits && ranks < domain && ranks % gpus == 0;
  if (!whole && a_part) shape.domain = ranks;  // one domain, of a part of the GPUs of one that is there
  const bool in_domains = whole || a_part;
  if (!setting.cluster_assumed && ((!fits && !one_host && !of_group) || !in_domains)) {
    refuse_hosts(model, setting, ranks, per_host, gpus);
  }
  if (setting.cluster_assumed && !in_domains) {
    shape.gpus = model.world.per_host;
    shape.domain = model.world.domain;
  }
  const std::int64_t per_node = shape.gpus > 0 ? shape.gpus : gpus;
  const std::int64_t together = shape.domain > 0 ? shape.domain : shape.gpus > 0 ? shape.gpus : domain;
  if (!setting.nodes) shape.nodes = (ranks + together - 1) / together * (together / per_node);
  return shape;
}

// A map or a scalar of a file as YAML on one line; whole numbers as they are.
std::string in_one_line(const Tree& tree) {
  if (tree.kind == Tree::Kind::scalar) {
    const bool whole = tree.scalar.find_first_not_of("0123456789") == std::string::npos;
    return whole ? tree.scalar : in_yaml_quotes(tree.scalar);
  }
  std::vector<std::string> parts;
  for (const auto& [key, value] : tree.fields) parts.push_back(key + ": " + in_one_line(value));
  return "{" + join(parts) + "}";
}

// One GPU of a cluster whose links or NICs name further ones: its keys on the shipped cluster of a single GPU. "" where
// the cluster itself can have one.
std::string single_gpu(const ImportSetting& setting) {
  Tree tree = load_named(setting.cluster, "clusters", setting.cluster_from, {"argument --cluster"});
  Tree* const gpu = tree.find("gpu");
  Tree* const count = gpu == nullptr ? nullptr : gpu->find("count");
  if (count == nullptr) return "";
  for (const auto& [key, value] : setting.gpu_keys) set_path(*gpu, key, text_tree(value));
  count->scalar = "1";
  if (Tree* const nodes = tree.find("nodes")) nodes->scalar = "1";
  try {
    const Cluster cluster(read_cluster(tree));
    return "";
  } catch (const Error&) {
    std::vector<std::string> parts;
    for (const char* const key :
         {"model", "count", "compute_capability", "hbm", "hbm_bandwidth", "copy_bandwidth", "l2", "sm_count", "flops"})
      if (const Tree* const value = gpu->find(key)) parts.push_back(std::string(key) + ": " + in_one_line(*value));
    const Tree* const name = tree.find("name");
    return fmt::format("{{base: \"a100_80gb_single\", name: {}, nodes: 1, gpu: {{{}}}}}   # one GPU of {}",
                       in_yaml_quotes("one_gpu_of_" + (name == nullptr ? "a_cluster" : name->scalar)), join(parts),
                       printable(setting.cluster));
  }
}

std::string imported_cluster(const ImportSetting& setting, const StatedShape& shape) {
  if (setting.alone)
    if (const std::string text = single_gpu(setting); !text.empty()) return text;
  std::string text = "{base: " + in_yaml_quotes(setting.cluster);
  if (shape.nodes > 0) text += fmt::format(", nodes: {}", shape.nodes);
  std::vector<std::string> gpu;
  if (shape.gpus > 0) gpu.push_back(fmt::format("count: {}", shape.gpus));
  for (const auto& [key, value] : setting.gpu_keys) gpu.push_back(key + ": " + in_yaml_quotes(value));
  if (!gpu.empty()) text += ", gpu: {" + join(gpu) + "}";
  if (shape.domain > 0) text += fmt::format(", nvlink: {{domain: {}}}", shape.domain);
  return text + "}";
}

std::string imported_constraints(const ImportedModel& model) {
  if (model.constraints.empty()) return "";
  std::string text = "constraints:\n";
  for (const auto& [table, constraint] : model.constraints)
    text += fmt::format("  {}: {}\n", in_yaml_quotes(table), constraint);
  return text;
}

// The compute model with constants of the cluster's own GPU, where there are some and it takes them: a cluster that was
// calibrated has its own, which another model would not read.
std::string imported_compute(const ClusterSpec& cluster) {
  const std::string usual = usual_compute_model(cluster.gpu);
  const bool is_known = usual == kDefaultComputeModel && shipped_gpu_table().find(cluster.gpu.model) != nullptr;
  return is_known ? fmt::format("compute_model: {{name: {}}}\n", usual) : "";
}

constexpr const char* kHostLine =
    "# software: torchrec_eager   # simulates the host, too, which launches every kernel; see shardsim list software\n";
constexpr const char* kMeasuredHostLine =
    "# The measured dense part has the host's time in it, so no software is stated.\n";

std::string imported_scenario(const ImportedModel& model, const ImportSetting& setting, const std::string& compute,
                              const std::string& workload, const std::string& plan) {
  const std::string file = std::filesystem::path(model.source).filename().string();
  return fmt::format(
      "schema: shardsim.scenario/1\ntitle: {}\ncluster: {}\n{}{}workload:{}\n{}{}\n",
      in_yaml_quotes(printable(file) + ", as imported"), imported_cluster(setting, stated_shape(model, setting)),
      compute, setting.dense.empty() ? kHostLine : kMeasuredHostLine, workload, imported_constraints(model), plan);
}

// An error in the file that was made, told as one in the file that it is made from: the first is not written, and
// nobody has seen it. It has one line for each table, in their order, and the place of that is the table's.
Error told_of_source(const Error& error, const ImportedModel& model, const std::string& text) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find("tables:\n"));
  const auto table = error.place().line - 2 - std::count(text.begin(), end, '\n');
  const bool known = table >= 0 && table < std::ssize(model.tables);
  const Place place = known ? model.tables[static_cast<std::size_t>(table)].table.place : Place{model.source};
  const std::string where = error.place().text() + ": ";
  std::string said = error.what();
  if (said.starts_with(where)) said.erase(0, where.size());
  return {error.failure(), place, known ? said : "a scenario of its tables is refused: " + said, ""};
}

Scenario read_back(const ImportedModel& model, const std::string& text, const std::string& path) {
  try {
    return scenario_from_text(text, path, {});
  } catch (const Error& error) {
    if (error.place().source != path) throw;
    throw told_of_source(error, model, text);
  }
}

// The plan with the devices of the cluster's nodes, which are domains of several hosts where these have one.
Tree plan_for(const ImportedModel& model, const ClusterSpec& cluster) {
  const int per_host = cluster.gpus_per_host > 0 ? cluster.gpus_per_host : cluster.gpu.count;
  return plan_on_nodes(*model.plan, per_host, cluster.gpu.count);
}

// Whose vectors are wider on the wire than their rows.
std::size_t narrow_tables(const ImportedModel& model) {
  return static_cast<std::size_t>(
      std::ranges::count_if(model.tables, [](const ImportedTable& table) { return table.table.dtype != Dtype::fp32; }));
}

}  // namespace

HostShape host_shape(const ImportSetting& setting) {
  const ClusterSpec spec = named_cluster(setting);
  return {gpus_of_host(spec), spec.gpu.count};
}

std::vector<std::string> model_assumptions(const std::vector<ImportedTable>& tables, const StatedParts& stated) {
  std::vector<std::string> sentences = {
      assumed_of(tables, "access", "Every row is as popular as any other; state 'access' where rows are hot"),
      assumed_of(tables, "pooling_factor", "One id a sample and feature; pooling factors decide most of the time"),
      assumed_of(tables, "sequence",
                 "Tables that state an average_length are sequences, of which every item's vector is exchanged; state "
                 "'pooling' (sum, mean) where bags are pooled"),
      assumed_of(tables, "kind", "Tables are pooled: one vector for each sample and feature"),
      assumed_of(tables, "rounded", "Numbers that are 0.0 are rounded ones, below 0.05: they count as 0.025"),
      assumed_of(tables, "dtype", "Rows are fp32"),
      assumed_of(tables, "stash_weights",
                 "Rows stay in device memory, though stash_weights says otherwise: 'stash' of the workload lets them "
                 "leave, and says when they come back")};
  if (!stated.dense)
    sentences.emplace_back(
        "There is no dense part, so an iteration is that of the embeddings alone. Products of one that you write are "
        "fp32 unless its 'precision' says tf32, fp16 or bf16, in which they take less time.");
  if (!stated.optimizer)
    sentences.emplace_back(stated.pipeline ? "The optimizer is rowwise_adagrad."
                                           : "The optimizer is rowwise_adagrad, and there is no pipeline.");
  if (stated.optimizer && !stated.pipeline) sentences.emplace_back("There is no pipeline.");
  if (!stated.host)
    sentences.emplace_back(
        "No host is simulated, which is right only where it is always ahead of the GPUs; 'software' says what it "
        "does.");
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> assumptions(const ImportedModel& model, const ImportSetting& setting) {
  const bool measured = !setting.dense.empty();  // with its host
  std::vector<std::string> sentences =
      model_assumptions(model.tables, {measured, false, !model.pipeline.empty(), measured});
  sentences.insert(sentences.end(), setting.notes.begin(), setting.notes.end());
  sentences.insert(sentences.end(), model.told.begin(), model.told.end());
  if (const std::size_t narrow = narrow_tables(model); narrow > 0)
    sentences.push_back(fmt::format(
        "Vectors are exchanged as fp32, those of the {} with narrower rows, too, as TorchRec's lookups return them; "
        "'wire_dtype' changes it.",
        counted(narrow, "table")));
  std::vector<Table> tables;
  for (const ImportedTable& each : model.tables) tables.push_back(each.table);
  sentences.push_back(module_order_text(tables, std::nullopt));
  sentences.push_back(fused_sequences_text(tables));
  if (setting.batch_assumed)
    sentences.push_back(fmt::format("The batch is {} samples per GPU (--batch).", setting.batch_per_gpu));
  if (setting.cluster_assumed)
    sentences.push_back(fmt::format("The cluster is {} (--cluster, --nodes).", setting.cluster));
  if (!model.left_out.empty())
    sentences.push_back("Columns that were not read: " + first_names(model.left_out, kMostNamedColumns) + ".");
  std::erase(sentences, "");
  return sentences;
}

ModelFiles model_files(const ImportedModel& model, const ImportSetting& setting) {
  const std::string body = imported_workload(model, setting), top = assumed_head(model, setting);
  const std::string inside = "\n" + indented_lines(body, "  ");
  const std::string planner = fmt::format("planner: {{name: {}}}", in_yaml_quotes(setting.planner));
  const std::string path = (std::filesystem::path(setting.cluster_from) / "scenario.yaml").string();
  const Scenario read = read_back(model, imported_scenario(model, setting, "", inside, planner), path);
  const Case& item = read.cases.front();
  ModelFiles files;
  std::string how = planner;
  if (model.plan) {
    const Cluster cluster = cluster_of(item);
    files.plan =
        plan_to_json(checked_plan(plan_for(model, item.cluster), item.workload, cluster), item.workload, cluster);
    how = fmt::format("plan: {{file: {}}}\n# {}   # instead of the plan: what its planner would do here",
                      in_yaml_quotes(setting.plan_file), planner);
  }
  if (!setting.in_place) files.workload = top + "schema: shardsim.workload/1\n" + body;
  files.scenario = (setting.in_place ? top : comment_lines("Made by: " + setting.made_by)) +
                   imported_scenario(model, setting, imported_compute(item.cluster),
                                     setting.in_place ? inside : " " + in_yaml_quotes(setting.workload_file), how);
  return files;
}

void ModelFiles::write(const std::filesystem::path& folder) const {
  write_file(folder / "scenario.yaml", scenario);
  if (!workload.empty()) write_file(folder / "workload.yaml", workload);
  if (!plan.empty()) write_file(folder / "plan.json", plan);
}

}  // namespace shardsim
