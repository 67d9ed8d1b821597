#include "study/scenario/task_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/tree/yaml_text.h"
#include "base/units.h"

namespace shardsim {
namespace {

std::string cluster_text(const TaskSetting& setting) {
  std::vector<std::string> gpu, cluster;
  if (setting.gpus_per_node > 0) gpu.push_back(fmt::format("count: {}", setting.gpus_per_node));
  if (!setting.memory.empty()) gpu.push_back("hbm: " + in_yaml_quotes(setting.memory));
  if (setting.nodes > 0) cluster.push_back(fmt::format("nodes: {}", setting.nodes));
  if (!gpu.empty()) cluster.push_back(fmt::format("gpu: {{{}}}", join(gpu)));
  if (cluster.empty()) return in_yaml_quotes(setting.cluster);
  return fmt::format("{{base: {}, {}}}", in_yaml_quotes(setting.cluster), join(cluster));
}

std::string numbered(const std::string& name, std::size_t index, std::size_t count) {
  const std::size_t width = fmt::format("{}", count - 1).size();
  return fmt::format("{}{:0{}}", name, index, width);
}

std::string task_name(std::size_t index, std::size_t tasks, std::size_t tests) {
  if (tests == 0) return numbered("task_", index, tasks);
  const std::size_t training = tasks - tests;
  return index < training ? numbered("train/", index, training) : numbered("test/", index - training, tests);
}

std::string case_text(const Task& task, const std::string& name, const TaskLaw& law, const TaskSetting& setting) {
  std::string workload = name;
  std::ranges::replace(workload, '/', '_');
  const std::string dtype = law.dtype == Dtype::fp32 ? "" : ", dtype: " + dtype_name(law.dtype);
  return fmt::format(
      "  - name: {}\n"
      "    workload: {{name: {}, batch_per_gpu: {}, optimizer: {{name: sgd}}, input_exchange: none,\n"
      "      tables_from: {{workload: {}{}, tables: [{}],\n"
      "        dims: [{}]}}}}\n",
      name, workload, setting.batch_per_gpu, in_yaml_quotes(setting.pool), dtype, fmt::join(task.tables, ", "),
      fmt::join(task.dims, ", "));
}

std::string law_text(std::size_t tasks, const TaskLaw& law) {
  const std::string bytes =
      law.most_bytes > 0 ? fmt::format(", at most {} in all", to_text(Bytes{std::llround(law.most_bytes)})) : "";
  const std::string tables = law.least_tables == law.most_tables
                                 ? fmt::format("{}", law.most_tables)
                                 : fmt::format("{} to {}", law.least_tables, law.most_tables);
  return fmt::format(
      "{} tasks: {} tables{}, dims {} to {} by powers of two{}. Lookups, updates and exchanges of vectors alone: "
      "ids are in place, there is no dense part, the memory counted is that of the weights, as NeuroShard has it (Zha "
      "et al., MLSys 2023).",
      tasks, tables, law.replace ? "" : ", none twice", law.least_dim, law.most_dim, bytes);
}

}  // namespace

std::string tasks_to_yaml(const std::vector<Task>& tasks, const TaskLaw& law, const TaskSetting& setting) {
  std::string text = fmt::format(
      "# Made by: {}\n"
      "{}schema: shardsim.scenario/1\n"
      "title: {}\n"
      "cluster: {}\n"
      "memory_model: {{name: paper, dp_static_multiplier: 1, mp_dynamic_copies: 0, dp_dynamic_copies: 0}}\n"
      "planner: {{name: memory_balanced}}\n"
      "cases:\n",
      setting.made_by, wrapped(law_text(tasks.size(), law), 120, "# "), in_yaml_quotes(setting.title),
      cluster_text(setting));
  for (std::size_t i = 0; i < tasks.size(); ++i)
    text += case_text(tasks[i], task_name(i, tasks.size(), static_cast<std::size_t>(setting.tests)), law, setting);
  return text;
}

}  // namespace shardsim
