#include "study/scenario/tables_from.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml_text.h"
#include "base/units.h"
#include "models/workload/workload_keys.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

void put_key(Tree& map, const std::string& key, const Tree& value) {
  if (Tree* const old = map.find(key)) {
    *old = value;
  } else {
    map.fields.emplace_back(key, value);
  }
}

// The entries of a workload's `tables`, addressed by the numbers of the tables that they expand to.
class TableEntries {
 public:
  explicit TableEntries(const Tree& workload) {
    const Tree* const tables = workload.find("tables");
    if (tables == nullptr || tables->kind != Tree::Kind::list || tables->items.empty())
      throw input_error(workload.place, "there are no tables to take", "Name a workload that lists its tables");
    for (const Tree& entry : tables->items) {
      firsts_.push_back(count_);
      entries_.push_back(&entry);
      count_ += copies_of(entry);
    }
  }

  std::int64_t count() const { return count_; }

  // Table number `index` as an entry of its own.
  Tree table(std::int64_t index) const {
    const auto after = std::ranges::upper_bound(firsts_, index);
    const auto place = static_cast<std::size_t>(after - firsts_.begin()) - 1;
    Tree table = *entries_[place];
    const Tree* const name = table.find("name");
    if (name == nullptr || name->kind != Tree::Kind::scalar)
      throw input_error(table.place, "the table has no name", "Give it one");
    if (table.find("copies") == nullptr) return table;
    std::erase_if(table.fields, [](const auto& field) { return field.first == "copies"; });
    const std::string copy = fmt::format("{}_{}", name->scalar, index - firsts_[place]);
    put_key(table, "name", text_tree(copy, table.place));
    return table;
  }

 private:
  static std::int64_t copies_of(const Tree& entry) {
    if (entry.kind != Tree::Kind::map)
      throw input_error(entry.place, fmt::format("a table must be a map, but is {}", kind_name(entry.kind)),
                        "Write {name: ..., rows: ..., dim: ..., kind: ...}");
    return MapReader(entry, "tables").count("copies", 1);
  }

  std::vector<const Tree*> entries_;
  std::vector<std::int64_t> firsts_;  // number of the first table of each
  std::int64_t count_ = 0;
};

std::int64_t number_of(const Tree& item, std::int64_t tables) {
  const std::int64_t number = count_leaf()(item);
  if (number < tables) return number;
  throw input_error(item.place, fmt::format("there is no table {}", number),
                    fmt::format("That workload has tables 0 to {}", tables - 1));
}

const std::vector<Tree>& dims_of(MapReader& reader, std::size_t picks) {
  static const std::vector<Tree> kNone;
  if (!reader.has("dims")) return kNone;
  const std::vector<Tree>& dims = reader.list("dims");
  if (dims.size() != picks)
    throw input_error(reader.place_of("dims"), fmt::format("{} dims of {} tables", dims.size(), picks),
                      "Give one per table, or leave them out");
  return dims;
}

// The number of columns, the type and the kind that all or each of the tables taken get; null: their own.
struct Changes {
  const Tree* dim = nullptr;
  const Tree* dtype = nullptr;
  const Tree* kind = nullptr;
};

// A pooled table as a sequence: as many items, each with a vector of its own. The statements about its features stay,
// and reading the table refuses what a sequence cannot have.
void make_sequence(Tree& table, const Tree& kind) {
  const Tree* const old = table.find("kind");
  if (old == nullptr || old->kind != Tree::Kind::scalar || old->scalar == kind.scalar) return;
  const Tree* const items = table.find("pooling_factor");
  put_key(table, "average_length", items != nullptr ? Tree(*items) : text_tree("1", kind.place));
  put_key(table, "kind", kind);
  std::erase_if(table.fields, [](const auto& field) { return field.first == "pooling_factor"; });
}

// A table that is taken for the `times`-th time.
Tree changed_table(Tree table, const Changes& changes, int times) {
  if (changes.dim != nullptr) put_key(table, "dim", *changes.dim);
  if (changes.dtype != nullptr) put_key(table, "dtype", *changes.dtype);
  if (changes.kind != nullptr) make_sequence(table, *changes.kind);
  if (times == 1) return table;
  const Tree name = *table.find("name");
  put_key(table, "name", text_tree(fmt::format("{}.{}", name.scalar, times), name.place));
  return table;
}

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

Tree picked_tables(const Tree& tables_from, const std::function<const Tree&(const Tree& name)>& load) {
  MapReader reader(tables_from, "tables_from");
  Fields map(reader);
  TablesFrom from;
  from.keys(map);
  const TableEntries entries(load(*from.workload));
  const std::vector<Tree>& picks = reader.list("tables", Bounds::from(1).to(TablesFrom::kMostTables));
  const std::vector<Tree>& dims = dims_of(reader, picks.size());
  reader.finish();
  Tree tables = empty_list(tables_from.place);
  std::map<std::int64_t, int> taken;
  std::size_t values = 0;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const std::int64_t number = number_of(picks[i], entries.count());
    Tree table = entries.table(number);
    values += size_of(table);
    if (values > kMostValues)
      throw input_error(picks[i].place, fmt::format("the tables taken hold more than {} values", kMostValues),
                        "Take fewer tables with long lists");
    tables.items.push_back(
        changed_table(std::move(table), {dims.empty() ? nullptr : &dims[i], from.dtype, from.kind}, ++taken[number]));
  }
  return tables;
}

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
