#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/plan_entries.h"
#include "sim/lower/lower.h"
#include "study/import/imported_model.h"

namespace shardsim {
namespace {

// "ShardingType.ROW_WISE" and "row_wise" are the same: enums become the one where str() writes them.
Tree word_of(const Tree& tree, std::string_view what) {
  Tree word = tree;
  word.scalar = imported_word(scalar_text(tree, what));
  word.scalar.erase(0, word.scalar.rfind('.') + 1);
  return word;
}

// The shards of one table: `shards`, or those in `sharding_spec`; null where it is replicated.
const Tree* shards_of(const Tree& entry, const std::string& table) {
  if (is_given(entry.find("shards"))) return entry.find("shards");
  const Tree* const spec = entry.find("sharding_spec");
  if (!is_given(spec)) return nullptr;
  if (spec->kind == Tree::Kind::map && is_given(spec->find("shards"))) return spec->find("shards");
  throw input_error(spec->place, fmt::format("table {}: its sharding_spec has no list of shards", excerpt(table)),
                    "Write the plan with dataclasses.asdict(plan), as docs/import.md shows");
}

Tree shard_entry(const Tree& shard) {
  required_map(shard, "a shard");
  Tree made;
  made.kind = Tree::Kind::map;
  made.place = shard.place;
  for (const char* const key : {"shard_offsets", "shard_sizes", "placement"}) {
    made.fields.emplace_back(key, required_field(shard, key));
  }
  return made;
}

// Ranks as the entry has them, else those of the placements of its shards ("rank:3/cuda:1").
Tree ranks_of(const Tree& entry, const Tree* shards, const std::string& table) {
  if (is_given(entry.find("ranks"))) return *entry.find("ranks");
  if (shards == nullptr) {
    throw input_error(entry.place, fmt::format("table {} has neither ranks nor shards", excerpt(table)),
                      "Write the plan with plan._serialize() or dataclasses.asdict(plan)");
  }
  Tree ranks;
  ranks.kind = Tree::Kind::list;
  ranks.place = shards->place;
  for (const Tree& shard : required_list(*shards, "shards")) {
    const Tree& placement = required_field(required_map(shard, "a shard"), "placement");
    const std::string text = scalar_text(placement, "\"rank:R/cuda:L\"");
    const std::size_t slash = text.find('/');
    if (!text.starts_with("rank:") || slash == std::string::npos) {
      throw input_error(placement.place, "placement " + excerpt(text), "Write \"rank:R/cuda:L\"");
    }
    ranks.items.push_back(text_tree(text.substr(5, slash - 5), placement.place));
  }
  return ranks;
}

// TorchRec knows kernels that no Program has operations for: a scenario with one of them could not be run.
Tree kernel_entry(const Tree& stated, const std::string& table, bool replicated) {
  Tree kernel = word_of(stated, "a compute kernel");
  const std::vector<std::string> known = lowered_kernels();
  if (replicated || std::ranges::find(known, kernel.scalar) != known.end()) return kernel;
  throw input_error(
      stated.place,
      fmt::format("table {} has the compute kernel {}, which is not simulated", excerpt(table), excerpt(kernel.scalar)),
      known_names_hint(kernel.scalar, known));
}

Tree table_entry(const Tree& entry, const std::string& table) {
  required_map(entry, "the entry of table " + excerpt(table));
  Tree made;
  made.kind = Tree::Kind::map;
  made.place = entry.place;
  made.fields.emplace_back("sharding_type", word_of(required_field(entry, "sharding_type"), "a sharding type"));
  const bool replicated = made.fields.front().second.scalar == "data_parallel";
  if (is_given(entry.find("compute_kernel"))) {
    made.fields.emplace_back("compute_kernel", kernel_entry(*entry.find("compute_kernel"), table, replicated));
  }
  const Tree* const shards = replicated ? nullptr : shards_of(entry, table);
  made.fields.emplace_back("ranks", ranks_of(entry, shards, table));
  if (shards != nullptr) {
    Tree list = *shards;
    for (Tree& shard : list.items) shard = shard_entry(shard);
    made.fields.emplace_back("shards", std::move(list));
  }
  if (is_given(entry.find("cache_params"))) made.fields.emplace_back("cache_params", *entry.find("cache_params"));
  return made;
}

// Our own plans say more than TorchRec's, and a scenario reads them as they are.
void refuse_own_plan(const Tree& tree) {
  const Tree* const schema = tree.find("schema");
  if (schema == nullptr || schema->kind != Tree::Kind::scalar || !schema->scalar.starts_with("shardsim.")) return;
  const bool plan = schema->scalar.starts_with("shardsim.plan/");
  throw input_error(
      schema->place,
      plan ? "this is a plan of shardsim already" : "this is no plan: its schema is " + excerpt(schema->scalar),
      plan ? "Use it in a scenario as plan: {file: PLAN.json}; --plan takes a plan that TorchRec wrote"
           : "Give the plan that TorchRec made, as docs/import.md shows");
}

}  // namespace

Tree plan_from_torchrec(const Tree& tree) {
  required_map(tree, "a plan");
  refuse_own_plan(tree);
  const Tree* modules = &tree;
  while (modules->fields.size() == 1 && modules->fields.front().first == "plan") {
    modules = &required_map(modules->fields.front().second, "'plan'");
  }
  Tree plan;
  plan.kind = Tree::Kind::map;
  plan.place = modules->place;
  for (const auto& [module, tables] : modules->fields) {
    Tree made = required_map(tables, "the plan of module " + excerpt(module));
    for (auto& [table, entry] : made.fields) entry = table_entry(entry, table);
    plan.fields.emplace_back(module, std::move(made));
  }
  Tree whole;
  whole.kind = Tree::Kind::map;
  whole.place = tree.place;
  whole.fields.emplace_back("plan", std::move(plan));
  return whole;
}

}  // namespace shardsim
