#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plan/plan.h"
#include "plan/plan_entries.h"
#include "sim/lower/lower.h"
#include "study/import/imported_model.h"

namespace shardsim {
namespace {

Tree word_of(const Tree& tree, std::string_view what) {
  Tree word = tree;
  word.scalar = enum_word(tree, what);
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

const Tree& field_of(const Tree& map, const char* key, const std::string& table) {
  if (const Tree* const found = map.find(key)) return *found;
  throw input_error(map.place, fmt::format("table {}: the key '{}' is missing", excerpt(table), key),
                    "Write the plan with plan._serialize() or dataclasses.asdict(plan)");
}

Tree shard_entry(const Tree& shard, const std::string& table) {
  required_map(shard, "a shard of table " + excerpt(table));
  Tree made = empty_map(shard.place);
  for (const char* const key : {"shard_offsets", "shard_sizes", "placement"}) {
    made.fields.emplace_back(key, field_of(shard, key, table));
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
  Tree ranks = empty_list(shards->place);
  for (const Tree& shard : required_list(*shards, "shards")) {
    const Tree& placement = field_of(required_map(shard, "a shard"), "placement", table);
    const std::string text = scalar_text(placement, "\"rank:R/cuda:L\"");
    const std::size_t slash = text.find('/');
    if (!text.starts_with("rank:") || slash == std::string::npos) {
      throw input_error(placement.place, fmt::format("table {}: placement {}", excerpt(table), excerpt(text)),
                        "Write \"rank:R/cuda:L\": the rank of the job, and the number of its GPU on its host");
    }
    ranks.items.push_back(text_tree(text.substr(5, slash - 5), placement.place));
  }
  return ranks;
}

// Holds what the entries of a plan say beside placements: by what it concerns, the tables.
struct PlanRemarks {
  std::vector<std::string> old_kernels, old_names;
  CacheParameters caches;
  std::map<std::string, std::vector<std::string>> not_simulated;

  void tell(ImportedModel& model) const {
    constexpr std::size_t kShown = 3;
    if (!old_kernels.empty())
      model.told.push_back(fmt::format("Kernels have their names of 2022: {} is {} here (tables {}).",
                                       old_names.front(), kernel_of_today(old_names.front()),
                                       first_names(old_kernels, kShown)));
    caches.tell(model);
    for (const auto& [key, tables] : not_simulated)
      model.told.push_back(
          fmt::format("{} of the plan is not simulated (tables {}).", key, first_names(tables, kShown)));
  }
};

// TorchRec knows kernels that no Program has operations for: a scenario with one of them could not be run.
Tree kernel_entry(const Tree& stated, const std::string& table, bool replicated, PlanRemarks& remarks) {
  Tree kernel = word_of(stated, "a compute kernel");
  const std::string today = kernel_of_today(kernel.scalar);
  if (today != kernel.scalar) {
    remarks.old_kernels.push_back(table);
    remarks.old_names.push_back(kernel.scalar);
    kernel.scalar = today;
  }
  const std::vector<std::string> known = lowered_kernels();
  if (replicated || std::ranges::find(known, kernel.scalar) != known.end()) return kernel;
  if (kernel.scalar.starts_with("quant"))
    throw input_error(
        stated.place,
        fmt::format("table {} has the compute kernel {}, which is one of inference, and training is simulated",
                    excerpt(table), excerpt(kernel.scalar)),
        "Give the plan of the training, in which it is fused, fused_uvm or fused_uvm_caching");
  throw input_error(
      stated.place,
      fmt::format("table {} has the compute kernel {}, which is not simulated", excerpt(table), excerpt(kernel.scalar)),
      known_names_hint(kernel.scalar, known));
}

// Keys of TorchRec's ParameterSharding that are simulated. Others change how a table runs, or are of later versions.
constexpr const char* kTaken[] = {"sharding_type", "compute_kernel", "ranks",
                                  "sharding_spec", "shards",         "cache_params"};

bool says_something(const Tree* value) {
  return is_given(value) && !(value->kind == Tree::Kind::scalar && imported_word(value->scalar) == "false");
}

// Takes the sizes of the caches of a key-value store over, where there is one; its folders and threads have no part
// here. True where there is nothing else to say of the map.
bool add_store_sizes(Tree& made, const Tree* params) {
  const Tree* const kernel = made.find("compute_kernel");
  if (kernel == nullptr || !in_key_value_store(kernel->scalar)) return false;
  if (!is_given(params) || params->kind != Tree::Kind::map) return true;
  Tree sizes = empty_map(params->place);
  for (const char* const key : {"max_l1_cache_size", "l2_cache_size"})
    if (is_given(params->find(key))) sizes.fields.emplace_back(key, *params->find(key));
  if (!sizes.fields.empty()) made.fields.emplace_back("key_value_params", std::move(sizes));
  return true;
}

Tree table_entry(const Tree& entry, const std::string& table, PlanRemarks& remarks) {
  required_map(entry, "the entry of table " + excerpt(table));
  Tree made = empty_map(entry.place);
  made.fields.emplace_back("sharding_type", word_of(field_of(entry, "sharding_type", table), "a sharding type"));
  const bool replicated = made.fields.front().second.scalar == "data_parallel";
  if (is_given(entry.find("compute_kernel"))) {
    made.fields.emplace_back("compute_kernel", kernel_entry(*entry.find("compute_kernel"), table, replicated, remarks));
  }
  const Tree* const shards = replicated ? nullptr : shards_of(entry, table);
  made.fields.emplace_back("ranks", ranks_of(entry, shards, table));
  if (shards != nullptr) {
    Tree list = *shards;
    for (Tree& shard : list.items) shard = shard_entry(shard, table);
    made.fields.emplace_back("shards", std::move(list));
  }
  if (is_given(entry.find("cache_params"))) made.fields.emplace_back("cache_params", *entry.find("cache_params"));
  const Tree* const kernel = made.find("compute_kernel");
  remarks.caches.add(entry.find("cache_params"), table, kernel != nullptr && has_cache(kernel->scalar));
  const bool stored = add_store_sizes(made, entry.find("key_value_params"));
  for (const auto& [key, value] : entry.fields) {
    if (std::ranges::find(kTaken, key) != std::end(kTaken) || (stored && key == "key_value_params")) continue;
    if (key == kReturnedType && is_given(&value)) {
      made.fields.emplace_back(key, value);
    } else if (says_something(&value)) {
      remarks.not_simulated[key].push_back(table);
    }
  }
  return made;
}

// Tables of one name in several modules are different tables.
void tell_modules_apart(Tree& plan) {
  std::map<std::string, int> modules_of;
  for (const auto& [module, tables] : plan.fields)
    for (const auto& [table, entry] : tables.fields) ++modules_of[table];
  for (auto& [module, tables] : plan.fields)
    for (auto& [table, entry] : tables.fields)
      if (modules_of[table] > 1) table = fmt::format("{}.{}", module, table);
}

// A map of entries: the plan of one module.
bool is_of_module(const Tree& tree) {
  return tree.kind == Tree::Kind::map && !tree.fields.empty() &&
         tree.fields.front().second.find("sharding_type") != nullptr;
}

// The plan without the key around it, beside which other things may stand. Of one module alone, which has no path
// there, it is that of the model. A module may be called "plan", too.
Tree plan_by_module(const Tree& tree, std::vector<std::string>& told) {
  const Tree* plan = &tree;
  std::vector<std::string> beside;
  for (const Tree* inner = plan->find("plan"); inner != nullptr; inner = plan->find("plan")) {
    if (is_of_module(*inner) && plan->fields.size() > 1) break;
    for (const auto& [key, value] : plan->fields)
      if (&value != inner && is_given(&value)) beside.push_back(excerpt(key));
    plan = &required_map(*inner, "'plan'");
  }
  if (!beside.empty()) told.push_back(fmt::format("Beside 'plan' the file has {}, which is not read.", join(beside)));
  if (!is_of_module(*plan)) return *plan;
  Tree made = empty_map(plan->place);
  made.fields.emplace_back("", *plan);
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

std::string enum_word(const Tree& tree, std::string_view what) {
  std::string word = imported_word(scalar_text(tree, what));
  word.erase(0, word.rfind('.') + 1);
  return word;
}

std::string kernel_of_today(const std::string& kernel) {
  constexpr std::string_view kOld = "batched_";
  return kernel.starts_with(kOld) ? kernel.substr(kOld.size()) : kernel;
}

void CacheParameters::add(const Tree* params, const std::string& table, bool has_cache) {
  const bool stated = is_given(params) && params->kind == Tree::Kind::map;
  const Tree* const algorithm = stated ? params->find("algorithm") : nullptr;
  const std::string word = algorithm != nullptr && is_given(algorithm) ? imported_word(algorithm->scalar) : "";
  const bool lfu = word.find("lfu") != std::string::npos || word == "1";  // <CacheAlgorithm.LFU: 1>, as repr writes it
  if (has_cache || lfu) (lfu ? lfu_ : lru_).push_back(table);
  if (!stated) return;
  if (says_something(params->find("prefetch_pipeline"))) prefetch_.push_back(table);
  const Tree* const reserved = params->find("reserved_memory");
  if (is_given(reserved) && reserved->scalar.find_first_of("123456789") != std::string::npos)
    not_simulated_["reserved_memory"].push_back(table);
  for (const char* const key : {"precision", "stats", "multipass_prefetch_config"})
    if (is_given(params->find(key))) not_simulated_[key].push_back(table);
}

void CacheParameters::tell(ImportedModel& model) const {
  constexpr std::size_t kShown = 3;
  if (!prefetch_.empty()) {
    model.pipeline = "prefetch_sparse_dist";
    model.told.push_back(fmt::format(
        "cache_params.prefetch_pipeline is true (tables {}), so the pipeline is prefetch_sparse_dist: it fetches the "
        "rows of the next batch into the caches beside the backward pass.",
        first_names(prefetch_, kShown)));
  }
  if (!lfu_.empty() && lru_.empty() && prefetch_.empty()) {
    model.cache_policy = "lfu";
    model.told.push_back(
        fmt::format("cache_params.algorithm is LFU (tables {}), so cache_policy is lfu: caches hold the rows that are "
                    "used most.",
                    first_names(lfu_, kShown)));
  } else if (!lfu_.empty()) {
    model.told.push_back(fmt::format(
        "cache_params.algorithm is LFU (tables {}), which is not taken: cache_policy of the workload is one for all "
        "caches, and caches that are filled ahead are LRU.",
        first_names(lfu_, kShown)));
  }
  for (const auto& [key, tables] : not_simulated_)
    model.told.push_back(
        fmt::format("cache_params.{} is not simulated (tables {}).", key, first_names(tables, kShown)));
}

Tree plan_from_torchrec(const Tree& tree, ImportedModel& model) {
  required_map(tree, "a plan");
  refuse_own_plan(tree);
  const Tree by_module = plan_by_module(tree, model.told);
  const Tree* const modules = &by_module;
  PlanRemarks remarks;
  Tree plan = empty_map(modules->place);
  for (const auto& [module, tables] : modules->fields) {
    Tree made = required_map(tables, "the plan of module " + excerpt(module));
    for (auto& [table, entry] : made.fields) entry = table_entry(entry, table, remarks);
    plan.fields.emplace_back(module, std::move(made));
  }
  tell_modules_apart(plan);
  remarks.tell(model);
  Tree whole = empty_map(tree.place);
  whole.fields.emplace_back("plan", std::move(plan));
  return whole;
}

}  // namespace shardsim
