#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "plan/plan_entries.h"
#include "plan/plan_file.h"
#include "study/import/imported_model.h"

namespace shardsim {
namespace {

// A table as the plan places it. HugeCTR's embedding collections have two ways: "dp", a copy on every GPU, and "mp",
// whole on one GPU or its keys shared by several (NVIDIA-Merlin/HugeCTR HugeCTR/embedding/embedding_planner.cpp and
// HugeCTR/embedding/common.hpp).
struct PlacedTable {
  bool replicated = false;
  std::map<std::int64_t, int> gpu_of_shard;
  Place place;
};

using PlacedTables = std::map<std::size_t, PlacedTable>;

// The tables of the model by what the plan calls them: numbers, or names.
class TableNumbers {
 public:
  explicit TableNumbers(const ImportedModel& model) : model_(model) {}

  std::size_t of(const Tree& item) const {
    const std::string& text = scalar_text(item, "the number or the name of a table");
    for (std::size_t i = 0; i < model_.tables.size(); ++i)
      if (model_.tables[i].name_there() == text) return i;
    const auto number = whole_number<std::size_t>(text);
    if (number && *number < model_.tables.size()) return *number;
    throw input_error(item.place, fmt::format("HugeCTR's plan places table {}", excerpt(text)),
                      fmt::format("The model has {}, numbered from 0: give the tables in HugeCTR's order",
                                  counted(model_.tables.size(), "table")));
  }

 private:
  const ImportedModel& model_;
};

bool is_replicated(const Tree& strategy) {
  const std::string word = imported_word(scalar_text(strategy, "\"dp\" or \"mp\""));
  if (word == "dp") return true;
  if (word == "mp" || word == "localized" || word == "distributed") return false;
  throw input_error(strategy.place, "HugeCTR's placement strategy " + excerpt(strategy.scalar), "Write dp or mp");
}

// The number of the part of a table's keys that the GPU holds; as many as there are where the plan gives none.
std::int64_t shard_number(const Tree& part, const PlacedTable& table) {
  for (const char* const key : {"sharding_id", "shard_id"})
    if (is_given(part.find(key))) return read_whole_number(*part.find(key));
  return static_cast<std::int64_t>(table.gpu_of_shard.size());
}

void add_part(const Tree& part, int gpu, const TableNumbers& numbers, PlacedTables& placed) {
  required_map(part, "a part of HugeCTR's plan");
  const bool replicated = is_replicated(required_field(part, "table_placement_strategy"));
  for (const Tree& item : required_list(required_field(part, "local_embedding_list"), "local_embedding_list")) {
    PlacedTable& table = placed[numbers.of(item)];
    table.replicated = replicated;
    table.place = item.place;
    table.gpu_of_shard[shard_number(part, table)] = gpu;
  }
}

// {"shard_matrix": for each GPU its tables, "shard_strategy": [["mp", tables], ["dp", tables]]}.
PlacedTables of_matrix(const Tree& tree, const TableNumbers& numbers, int& gpus) {
  PlacedTables placed;
  for (const Tree& row : required_list(required_field(tree, "shard_matrix"), "shard_matrix")) {
    for (const Tree& item : required_list(row, "the tables of a GPU")) {
      PlacedTable& table = placed[numbers.of(item)];
      table.place = item.place;
      table.gpu_of_shard[static_cast<std::int64_t>(table.gpu_of_shard.size())] = gpus;
    }
    ++gpus;
  }
  for (const Tree& group : required_list(required_field(tree, "shard_strategy"), "shard_strategy")) {
    const std::vector<Tree>& pair = required_list(group, "a strategy with its tables");
    if (pair.size() != 2)
      throw input_error(group.place, "a strategy of shard_strategy has no list of tables", "Write [\"mp\", [TABLES]]");
    const bool replicated = is_replicated(pair[0]);
    for (const Tree& item : required_list(pair[1], "the tables of a strategy")) {
      if (item.kind == Tree::Kind::list)
        throw input_error(item.place, "HugeCTR's column-wise sharding of a table is not read",
                          "Write the plan in TorchRec's form, with column_wise");
      placed[numbers.of(item)].replicated = replicated;
    }
  }
  return placed;
}

PlacedTables of_list(const Tree& tree, const TableNumbers& numbers, int& gpus) {
  PlacedTables placed;
  for (const Tree& parts : required_list(tree, "HugeCTR's plan")) {
    for (const Tree& part : required_list(parts, "the parts of a GPU")) add_part(part, gpus, numbers, placed);
    ++gpus;
  }
  return placed;
}

Tree shard_of(const Place& place, std::uint64_t row, std::uint64_t rows, std::int64_t dim, int gpu, int per_host) {
  Tree shard = empty_map(place);
  shard.fields.emplace_back("shard_offsets", text_list({std::to_string(row), "0"}, place));
  shard.fields.emplace_back("shard_sizes", text_list({std::to_string(rows), std::to_string(dim)}, place));
  shard.fields.emplace_back("placement", text_tree(fmt::format("rank:{}/cuda:{}", gpu, gpu % per_host), place));
  return shard;
}

Tree entry_of(const PlacedTable& placed, const Table& table, int gpus, int per_host) {
  Tree entry = empty_map(placed.place);
  std::vector<std::string> ranks;
  if (placed.replicated) {
    for (int gpu = 0; gpu < gpus; ++gpu) ranks.push_back(std::to_string(gpu));
    entry.fields.emplace_back("sharding_type", text_tree("data_parallel", placed.place));
    entry.fields.emplace_back("compute_kernel", text_tree("dense", placed.place));
    entry.fields.emplace_back("ranks", text_list(ranks, placed.place));
    return entry;
  }
  const auto count = static_cast<std::uint64_t>(placed.gpu_of_shard.size());
  const std::uint64_t block = (table.rows + count - 1) / count;
  Tree shards = empty_list(placed.place);
  std::uint64_t row = 0;
  for (const auto& [number, gpu] : placed.gpu_of_shard) {
    const std::uint64_t rows = std::min(block, table.rows - row);
    ranks.push_back(std::to_string(gpu));
    shards.items.push_back(shard_of(placed.place, row, rows, table.dim, gpu, per_host));
    row += rows;
  }
  entry.fields.emplace_back("sharding_type", text_tree(count > 1 ? "row_wise" : "table_wise", placed.place));
  entry.fields.emplace_back("compute_kernel", text_tree("fused", placed.place));
  entry.fields.emplace_back("ranks", text_list(ranks, placed.place));
  entry.fields.emplace_back("shards", std::move(shards));
  return entry;
}

}  // namespace

bool is_hugectr_plan(const Tree& tree) {
  if (tree.kind == Tree::Kind::map) return tree.find("shard_matrix") != nullptr;
  if (tree.kind != Tree::Kind::list) return false;
  return std::ranges::any_of(tree.items, [](const Tree& gpu) {
    return gpu.kind == Tree::Kind::list && std::ranges::any_of(gpu.items, [](const Tree& part) {
             return part.kind == Tree::Kind::map && part.find("table_placement_strategy") != nullptr;
           });
  });
}

Tree plan_from_hugectr(const Tree& tree, ImportedModel& model) {
  const TableNumbers numbers(model);
  int gpus = 0;
  const PlacedTables placed =
      tree.kind == Tree::Kind::map ? of_matrix(tree, numbers, gpus) : of_list(tree, numbers, gpus);
  const int per_host = usual_host(gpus);
  Tree tables = empty_map(tree.place);
  for (std::size_t i = 0; i < model.tables.size(); ++i) {
    const auto found = placed.find(i);
    if (found == placed.end() || found->second.gpu_of_shard.empty())
      throw input_error(tree.place,
                        fmt::format("HugeCTR's plan places table {}, '{}', on no GPU", i, model.tables[i].table.name),
                        "Place every table, or leave it out of the tables");
    tables.fields.emplace_back(model.tables[i].name_there(),
                               entry_of(found->second, model.tables[i].table, gpus, per_host));
  }
  model.told.push_back(
      fmt::format("The plan is HugeCTR's, of {} on hosts of {}: its tables are placed so, dp as data_parallel, mp as "
                  "table_wise, or row_wise over the GPUs that share a table's keys. How HugeCTR executes it, "
                  "'embedding_kernels: hugectr' and 'pipeline: hugectr' of the workload say.",
                  counted(static_cast<std::size_t>(gpus), "GPU"), per_host));
  Tree modules = empty_map(tree.place), whole = empty_map(tree.place);
  modules.fields.emplace_back("ebc", std::move(tables));
  whole.fields.emplace_back("plan", std::move(modules));
  return whole;
}

}  // namespace shardsim
