#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "base/tree/tree_editor.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/workload/pool/table_pool.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/tables_from.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostTasks = 10'000;  // cases of a scenario
constexpr std::int64_t kMostTables = 100'000;
constexpr std::int64_t kMostDim = 65'536;
constexpr int kMostTriedGpus = 64;  // of a node
constexpr std::int64_t kMostSeed = std::int64_t{1} << 52;

std::uint64_t seed_of(const Arguments& given) {
  return static_cast<std::uint64_t>(*given.count("seed", 0, kMostSeed));
}

int sample_pool_file(const Arguments& given, const Terminal&) {
  const std::uint64_t seed = seed_of(given);
  deliver(pool_to_yaml(sample_pool(seed), seed), given);
  return 0;
}

TaskLaw law_of(const Arguments& given) {
  TaskLaw law;
  law.tasks = static_cast<int>(*given.count("tasks", 1, kMostTasks));
  law.least_tables = static_cast<std::size_t>(*given.count("min-tables", 1, kMostTables));
  law.most_tables = static_cast<std::size_t>(*given.count("max-tables", 1, kMostTables));
  law.least_dim = *given.count("min-dim", 1, kMostDim);
  law.most_dim = *given.count("max-dim", 1, kMostDim);
  law.dtype = given.text("dtype") == "fp16" ? Dtype::fp16 : Dtype::fp32;
  law.replace = !given.has("without-replacement");
  if (const auto bytes = given.value("max-bytes"))
    law.most_bytes = static_cast<double>(parse_bytes(*bytes, Arguments::place("max-bytes")).count);
  return law;
}

// A file as the scenario that is written to -o names it.
std::string as_named_there(const std::string& name, const Arguments& given) {
  const std::string output = given.value("output").value_or("-");
  return named_from(name, output == "-" ? "" : std::filesystem::path(output).parent_path());
}

// The shipped one of so many GPUs, unless --cluster names another.
std::string cluster_of(const Arguments& given, std::int64_t gpus) {
  if (const auto name = given.value("cluster")) return as_named_there(*name, given);
  if (gpus == 4 || gpus == 8) return fmt::format("pcie_4gib_x{}", gpus);
  throw input_error(Arguments::place("gpus"), fmt::format("no shipped cluster of PCIe GPUs has {} GPUs", gpus),
                    "Name one with --cluster, or take 4 or 8");
}

// As `nodes` nodes of so many GPUs, 0 as the file says; nothing where the cluster cannot be so.
bool can_be(Tree cluster, std::int64_t nodes, std::int64_t gpus_per_node) {
  const auto set = [&](const char* key, std::int64_t count) {
    if (count > 0) set_path(cluster, key, text_tree(fmt::format("{}", count)));
  };
  set("nodes", nodes);
  set("gpu.count", gpus_per_node);
  try {
    const Cluster made(read_cluster(cluster));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// "1, 2, 4, or a multiple of 8": how many GPUs there can be.
std::string possible_counts(const Tree& cluster, int per_node) {
  std::vector<std::string> counts;
  for (int count = 1; count < per_node && per_node <= kMostTriedGpus; ++count)
    if (can_be(cluster, 1, count)) counts.push_back(fmt::format("{}", count));
  if (!can_be(cluster, 2, 0)) return join(counts) + fmt::format("{}{}", counts.empty() ? "" : " or ", per_node);
  return join(counts) + fmt::format("{}a multiple of {}", counts.empty() ? "" : " or ", per_node);
}

// So many GPUs as the cluster has them, on more or fewer nodes, or on a part of one; the scenario says which.
void take_gpus(TaskSetting& setting, const Arguments& given, std::int64_t gpus) {
  if (!given.has("cluster")) return;
  const Tree cluster = load_named(given.text("cluster"), "clusters", "", Arguments::place("cluster"));
  const ClusterSpec spec = read_cluster(cluster);
  const int per_node = spec.gpu.count;
  if (gpus == std::int64_t{spec.nodes} * per_node) return;
  const bool whole = gpus % per_node == 0;
  const std::int64_t nodes = whole ? gpus / per_node : 1, part = whole ? 0 : gpus;
  if ((!whole && gpus > per_node) || !can_be(cluster, nodes, part))
    throw input_error(Arguments::place("gpus"),
                      fmt::format("the cluster {}, {} GPUs to a node, cannot have {} GPUs",
                                  excerpt(given.text("cluster")), per_node, gpus),
                      "Give " + possible_counts(cluster, per_node));
  setting.nodes = nodes == spec.nodes ? 0 : static_cast<int>(nodes);
  setting.gpus_per_node = static_cast<int>(part);
}

std::string sampling_command(const Arguments& given) {
  std::string text = "shardsim workload sample tasks " + given.positional()[0];
  for (const char* const name : {"tasks", "gpus", "min-tables", "max-tables", "min-dim", "max-dim", "max-bytes",
                                 "dtype", "batch", "memory", "cluster", "test", "seed"}) {
    const auto value = given.value(name);
    if (!value) continue;
    const bool bare = value->find_first_of(" \"'") == std::string::npos;
    text += fmt::format(" --{} {}", name, bare ? *value : "\"" + *value + "\"");
  }
  return text + (given.has("without-replacement") ? " --without-replacement" : "");
}

TaskSetting setting_of(const Arguments& given, const TaskLaw& law) {
  const std::int64_t gpus = *given.count("gpus", 1, 100'000), batch = *given.count("batch", 1, 1'000'000'000);
  if (batch % gpus != 0)
    throw input_error(Arguments::place("batch"),
                      fmt::format("a batch of {} cannot be divided evenly among {} GPUs", batch, gpus),
                      "Choose a multiple of the number of GPUs");
  TaskSetting setting;
  setting.made_by = printable(sampling_command(given));
  setting.pool = as_named_there(given.positional()[0], given);
  setting.title = fmt::format("{} tasks of {} on {} GPUs, dims up to {}", law.tasks,
                              std::filesystem::path(setting.pool).stem().string(), gpus, law.most_dim);
  setting.cluster = cluster_of(given, gpus);
  take_gpus(setting, given, gpus);
  setting.memory = given.text("memory");
  if (!setting.memory.empty()) parse_bytes(setting.memory, Arguments::place("memory"));
  setting.batch_per_gpu = batch / gpus;
  setting.tests = static_cast<int>(given.count("test", 0, law.tasks).value_or(0));
  return setting;
}

int sample_tasks(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "drawing tasks");
  const std::string& name = given.positional()[0];
  const TaskLaw law = law_of(given);
  const TaskSetting setting = setting_of(given, law);
  const Workload pool = read_workload(load_named(name, "workloads", "", {"argument " + name}), "");
  const auto check_stop = [&] {
    if (terminal.interrupted && terminal.interrupted()) throw Interrupted();
  };
  deliver(tasks_to_yaml(draw_tasks(pool.tables, law, seed_of(given), check_stop), law, setting), given);
  return 0;
}

Option seed_option() {
  return {"seed", 0, "N", "The random seed.", "0"};
}

Command pool_command() {
  return {.name = "shardsim workload sample pool",
          .summary = "make a workload file of 856 random tables with the published statistics of MetaSyn",
          .options = {seed_option(), output_file_option(), force_option()},
          .examples = {"shardsim workload sample pool -o out/pool.yaml",
                       "shardsim workload sample pool --seed 7 -o out/pool_7.yaml"},
          .run = sample_pool_file};
}

Command tasks_command() {
  return {
      .name = "shardsim workload sample tasks",
      .summary = "make a scenario of random sharding tasks, one case each, from the tables of a workload",
      .positionals = {{"WORKLOAD",
                       "The workload whose tables are drawn: the name of a shipped one (see `shardsim list "
                       "workloads`), or a file."}},
      .options =
          {{"tasks", 0, "N", "The number of tasks.", "100"},
           {"gpus", 0, "N",
            "The number of GPUs of a task. Without --cluster it is 4 or 8; otherwise the scenario says on how many "
            "nodes of the cluster, or on how many GPUs of one node, the tasks run.",
            "4"},
           {"min-tables", 0, "N", "The smallest number of tables of a task.", "10"},
           {"max-tables", 0, "N", "The largest number of tables of a task.", "59"},
           {"min-dim", 0, "N", "The smallest number of columns of a table.", "4"},
           {"max-dim", 0, "N",
            "The largest number of columns of a table. The numbers between are the smallest one times 2, 4, 8 ...",
            "128"},
           {"max-bytes", 0, "SIZE",
            "The most bytes that the weights of a task take, for example \"15 GiB\". Tables and columns are drawn "
            "again until they fit."},
           {"dtype", 0, "TYPE", "The data type of the rows.", "fp32", Option::Times::at_most_once, {"fp32", "fp16"}},
           {"without-replacement", 0, "", "Never draw the same table twice for one task."},
           {"batch", 0, "N", "The number of samples of an iteration, over all GPUs.", "65536"},
           {"cluster", 0, "NAME|FILE",
            "The cluster of the scenario. Without this option it is pcie_4gib_x4 or pcie_4gib_x8."},
           {"memory", 0, "SIZE", "The memory of a GPU, for example \"7 GiB\", instead of what the cluster says."},
           {"test", 0, "N",
            "Name the last N tasks test/0, test/1 ... and all others train/0, train/1 ..., so that a policy can be "
            "trained on the latter only."},
           seed_option(),
           output_file_option(),
           force_option()},
      .examples = {"shardsim workload sample tasks metasyn_856 --tasks 5 --max-bytes \"15 GiB\" -o out/tasks.yaml",
                   "shardsim workload sample tasks metasyn_856 --tasks 100 --test 10 --gpus 8 --min-tables 80 "
                   "--max-tables 80 --without-replacement --min-dim 16 --max-dim 32 --dtype fp16 --memory \"7 GiB\" -o "
                   "out/autoshard.yaml"},
      .run = sample_tasks};
}

}  // namespace

Command workload_command() {
  return {.name = "shardsim workload",
          .summary = "draw pools of tables, and sharding tasks of them",
          .examples = {"shardsim workload sample pool -o out/pool.yaml",
                       "shardsim workload sample tasks metasyn_856 --tasks 5 --max-bytes \"15 GiB\" -o out/tasks.yaml"},
          .parts = {{.name = "shardsim workload sample",
                     .summary = "draw a pool of tables, or sharding tasks of a pool",
                     .examples = {"shardsim workload sample pool -o out/pool.yaml",
                                  "shardsim workload sample tasks metasyn_856 --tasks 5 -o out/tasks.yaml"},
                     .parts = {pool_command(), tasks_command()}}}};
}

}  // namespace shardsim
