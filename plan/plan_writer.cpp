#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "plan/plan_file.h"
#include "plan/sharding_groups.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

using Placements = std::vector<const Placement*>;

bool whole_rows(const Placement& placement, const Table& table) {
  return placement.row_begin == 0 && placement.row_end == table.rows;
}

bool whole_columns(const Placement& placement, const Table& table) {
  return placement.column_begin == 0 && placement.column_end == table.dim;
}

Json hash_json(std::uint64_t seed) {
  return {{"name", "feistel_splitmix/1"}, {"seed", seed}};
}

Json ranks_json(const std::vector<int>& ranks) {
  const std::string text = rank_set_text(ranks);
  return text.empty() ? Json(ranks) : Json(text);
}

Json groups_json(const Placement& placement) {
  Json groups = Json::array();
  for (const std::vector<int>& group : placement.holders) groups.push_back(ranks_json(group));
  return groups;
}

void add_holders(Json& json, const Placement& placement) {
  json["compute_kernel"] = placement.compute_kernel;
  if (placement.strategy == Strategy::flex) {
    json["replica_groups"] = groups_json(placement);
  } else {
    json["ranks"] = ranks_json(placement.holders.at(0));
  }
}

double access_share(const Placement& placement, const AccessDistribution& rows) {
  if (rows.total() <= 0) return 0;
  return std::clamp(rows.sum(placement.row_begin, placement.row_end) / rows.total(), 0.0, 1.0);
}

Json tier_json(const Placement& placement, const AccessDistribution& rows) {
  Json json;
  json["rows"] = {placement.row_begin, placement.row_end};
  json["strategy"] = strategy_name(placement.strategy);
  add_holders(json, placement);
  json["access_share"] = access_share(placement, rows);
  return json;
}

// The head of the two sharding types that TorchRec does not know.
Json own_entry(const char* type, const Table& table, std::uint64_t seed) {
  Json json;
  json["sharding_type"] = type;
  json["rows"] = table.rows;
  json["dim"] = table.dim;
  json["order"] = "popularity";
  json["hash"] = hash_json(seed);
  return json;
}

Json tiers_entry(const Placements& tiers, const Table& table, std::uint64_t seed) {
  Json json = own_entry("row_tiers", table, seed);
  const AccessDistribution rows = table.distribution();
  for (const Placement* tier : tiers) json["tiers"].push_back(tier_json(*tier, rows));
  return json;
}

Json flex_entry(const Placement& placement, const Table& table, std::uint64_t seed) {
  Json json = own_entry("flex", table, seed);
  add_holders(json, placement);
  return json;
}

Json shard_json(const Placement& shard, std::uint64_t row, std::uint64_t rows, int rank, const Cluster& cluster) {
  const bool cuda = cluster.spec().device == "cuda";
  const std::string device = cuda ? fmt::format("cuda:{}", cluster.gpu_of(rank)) : "cpu";
  return {{"shard_offsets", {row, shard.column_begin}},
          {"shard_sizes", {rows, shard.columns()}},
          {"placement", fmt::format("rank:{}/{}", rank, device)}};
}

// Rows of one shard: TorchRec cuts blocks of ceil(rows / shards) until they are used up (its lookups find a row's shard
// by that block), so the last ones may be shorter, or empty.
std::uint64_t torchrec_block(const Placement& part) {
  const auto shards = static_cast<std::uint64_t>(part.shards());
  return (part.rows() + shards - 1) / shards;
}

// A whole number where it is one, as TorchRec has them.
Json units_of(Bytes bytes, std::int64_t unit) {
  if (bytes.count % unit == 0) return bytes.count / unit;
  return static_cast<double>(bytes.count) / static_cast<double>(unit);
}

void add_store(Json& json, const Placement& part) {
  if (part.most_l1) json["key_value_params"]["max_l1_cache_size"] = units_of(*part.most_l1, std::int64_t{1} << 20);
  if (part.l2.count > 0) json["key_value_params"]["l2_cache_size"] = units_of(part.l2, std::int64_t{1} << 30);
}

// One of TorchRec's own types.
Json torchrec_entry(const Placements& parts, const Cluster& cluster) {
  Json json;
  json["sharding_type"] = strategy_name(parts.front()->strategy);
  json["compute_kernel"] = parts.front()->compute_kernel;
  const double factor = parts.front()->cache_load_factor;
  if (has_cache(parts.front()->compute_kernel) && factor != kCacheLoadFactor) {
    json["cache_params"] = {{"load_factor", factor}};
  }
  add_store(json, *parts.front());
  json["ranks"] = Json::array();
  Json shards = Json::array();
  for (const Placement* part : parts) {
    std::uint64_t row = part->row_begin;
    int place = 0;
    for (const int rank : part->holders.at(0)) {
      json["ranks"].push_back(rank);
      const std::uint64_t rows =
          part->bucket_rows > 1 ? part->shard_rows(place++) : std::min(torchrec_block(*part), part->row_end - row);
      shards.push_back(shard_json(*part, row, rows, rank, cluster));
      row += rows;
    }
  }
  if (parts.front()->strategy != Strategy::data_parallel) json["shards"] = std::move(shards);
  return json;
}

bool is_torchrec(const Placements& parts, const Table& table) {
  const Placement& first = *parts.front();
  if (parts.size() == 1 && first.strategy != Strategy::flex) return whole_rows(first, table);
  for (const Placement* part : parts) {
    if (part->strategy != first.strategy || !in_columns(part->strategy)) return false;
    if (!whole_rows(*part, table)) return false;
    if (part->compute_kernel != first.compute_kernel) return false;
    if (part->cache_load_factor != first.cache_load_factor) return false;
    if (part->most_l1 != first.most_l1 || part->l2 != first.l2) return false;
  }
  return true;
}

bool is_own(const Placements& parts, const Table& table) {
  for (const Placement* part : parts) {
    if (in_columns(part->strategy) || within_node(part->strategy) || !whole_columns(*part, table)) return false;
    if (part->compute_kernel != default_kernel(part->strategy)) return false;
  }
  return true;
}

Json entry_json(const Placements& parts, const Plan& plan, const Table& table, const Cluster& cluster) {
  if (is_torchrec(parts, table)) return torchrec_entry(parts, cluster);
  if (!is_own(parts, table)) {
    throw run_error(fmt::format("table '{}' is cut in a way that no plan file can say", table.name),
                    "Cut it by rows or by columns, with the compute kernels of the strategies");
  }
  const bool flex = parts.size() == 1 && parts.front()->strategy == Strategy::flex && whole_rows(*parts[0], table);
  return flex ? flex_entry(*parts.front(), table, plan.hash_seed) : tiers_entry(parts, table, plan.hash_seed);
}

// Texts of values by key, in their order.
using Entries = std::vector<std::pair<std::string, std::string>>;

std::string map_text(const Entries& entries) {
  std::string text;
  for (const auto& [key, value] : entries) {
    text += (text.empty() ? "{\n " : ",\n ") + Json(key).dump() + ": ";
    for (const char c : value) {
      text += c;
      if (c == '\n') text += ' ';
    }
  }
  return text.empty() ? "{}" : text + "\n}";
}

Entries& entries_of(const std::string& module, std::vector<std::pair<std::string, Entries>>& modules) {
  const auto found = std::ranges::find(modules, module, [](const auto& known) { return known.first; });
  return found == modules.end() ? modules.emplace_back(module, Entries{}).second : found->second;
}

constexpr std::size_t kMostShards = 1'000'000;  // of a plan file: its readers take five million values

void require_writable(const Plan& plan) {
  std::size_t shards = 0;
  for (const Placement& placement : plan.placements)
    for (const std::vector<int>& holders : placement.holders) shards += holders.size();
  if (shards > kMostShards)
    throw input_error(Place{}, fmt::format("the plan has {} shards, over the {} of a plan file", shards, kMostShards),
                      "Plan fewer tables, or for fewer ranks");
}

// In plan files a table has the name that it has in its module: workloads call those of several modules MODULE.TABLE.
std::string name_in_module(const Table& table, const std::string& path, const std::set<std::string>& names) {
  const bool begins = !path.empty() && table.name.size() > path.size() + 1 && table.name.starts_with(path + ".");
  const std::string rest = begins ? table.name.substr(path.size() + 1) : "";
  return begins && !names.contains(rest) ? rest : table.name;
}

}  // namespace

std::vector<std::string> module_paths(const Workload& workload, const Plan& plan) {
  std::set<std::int64_t> dims;
  for (const Table& table : workload.tables) {
    if (table.kind == TableKind::sequence && table.sharded) dims.insert(table.dim);
  }
  std::vector<std::string> paths;
  for (const Table& table : workload.tables) {
    if (!table.module.empty()) {
      paths.push_back(table.module);
    } else if (table.kind == TableKind::pooled) {
      paths.push_back(workload.pooled_module);
    } else {
      paths.push_back(workload.sequence_module + (dims.size() > 1 ? fmt::format("_{}", table.dim) : ""));
    }
  }
  for (const auto& [table, path] : plan.modules) paths.at(static_cast<std::size_t>(table)) = path;
  return paths;
}

// Table by table: the largest plans have a quarter of a million shards, which as one Json take four times the text.
std::string plan_to_json(const Plan& plan, const Workload& workload, const Cluster& cluster) {
  if (const auto groups = GroupedWorld::of(workload, cluster); groups && groups->has(plan))
    return plan_to_json(groups->of_group(plan), workload, groups->cluster());  // as TorchRec has it
  require_writable(plan);
  std::map<int, Placements> by_table;
  for (const Placement& placement : plan.placements) by_table[placement.table].push_back(&placement);
  const auto table_of = [&](int index) -> const Table& { return workload.tables.at(static_cast<std::size_t>(index)); };
  const bool seed_told = plan.hash_seed == Plan{}.hash_seed || std::ranges::any_of(by_table, [&](const auto& entry) {
                           return !is_torchrec(entry.second, table_of(entry.first));
                         });
  const std::vector<std::string> paths = module_paths(workload, plan);
  std::set<std::string> names;
  for (const Table& table : workload.tables) names.insert(table.name);
  std::vector<std::pair<std::string, Entries>> modules;  // in order of first appearance
  for (const auto& [index, parts] : by_table) {
    const Table& table = table_of(index);
    if (!table.sharded) continue;  // of no module of TorchRec's
    const std::string& path = paths.at(static_cast<std::size_t>(index));
    entries_of(path, modules)
        .emplace_back(name_in_module(table, path, names), entry_json(parts, plan, table, cluster).dump(1));
  }
  Entries texts, whole;
  for (const auto& [module, tables] : modules) texts.emplace_back(module, map_text(tables));
  whole.emplace_back("schema", Json("shardsim.plan/1").dump());
  if (!seed_told) whole.emplace_back("hash", hash_json(plan.hash_seed).dump(1));
  whole.emplace_back("plan", map_text(texts));
  return map_text(whole) + "\n";
}

}  // namespace shardsim
