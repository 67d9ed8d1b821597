#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "plan/plan_file.h"
#include "topology/rank_set.h"

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
  return rows.total() > 0 ? rows.sum(placement.row_begin, placement.row_end) / rows.total() : 0;
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

// Rows of one shard as TorchRec cuts them: blocks of ceil(rows / shards) rows until they are used up.
std::uint64_t torchrec_rows(const Placement& part, std::uint64_t row) {
  const auto count = static_cast<std::uint64_t>(part.shards());
  return std::min((part.rows() + count - 1) / count, part.row_end - row);
}

// One of TorchRec's own types: those without tiers and without replica groups.
Json torchrec_entry(const Placements& parts, const Cluster& cluster) {
  Json json;
  json["sharding_type"] = strategy_name(parts.front()->strategy);
  json["compute_kernel"] = parts.front()->compute_kernel;
  json["ranks"] = Json::array();
  Json shards = Json::array();
  for (const Placement* part : parts) {
    std::uint64_t row = part->row_begin;
    const std::vector<int>& ranks = part->holders.at(0);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      json["ranks"].push_back(ranks[i]);
      const std::uint64_t rows = torchrec_rows(*part, row);
      shards.push_back(shard_json(*part, row, rows, ranks[i], cluster));
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
    if (!in_columns(part->strategy) || part->strategy != first.strategy || !whole_rows(*part, table)) return false;
    if (part->compute_kernel != first.compute_kernel) return false;
  }
  return true;
}

bool is_own(const Placements& parts, const Table& table) {
  for (const Placement* part : parts) {
    if (in_columns(part->strategy) || !whole_columns(*part, table)) return false;
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

// The lines of a value as they stand `depth` levels deep in the file.
std::string indented(const Json& value, std::size_t depth) {
  const std::string text = value.dump(1);
  const std::string margin(depth, ' ');
  std::string lines;
  for (const char c : text) {
    lines += c;
    if (c == '\n') lines += margin;
  }
  return lines;
}

// Entries of one module, as text: the tree of a plan of thousands of tables on many ranks would take ten times as much.
struct Module {
  std::string name;
  std::string entries;
};

void add_entry(std::vector<Module>& modules, const std::string& module, const std::string& table, const Json& entry) {
  auto found = std::find_if(modules.begin(), modules.end(), [&](const Module& other) { return other.name == module; });
  if (found == modules.end()) found = modules.insert(found, {module, ""});
  if (!found->entries.empty()) found->entries += ",\n";
  found->entries += "   " + Json(table).dump() + ": " + indented(entry, 3);
}

// Appends all modules; their text is given up on the way.
void append_modules(std::string& text, std::vector<Module>& modules) {
  std::size_t size = text.size() + 16;
  for (const Module& module : modules) size += module.name.size() + module.entries.size() + 16;
  text.reserve(size);
  text += modules.empty() ? "{}" : "{\n";
  for (Module& module : modules) {
    if (&module != &modules.front()) text += ",\n";
    text += "  ";
    text += Json(module.name).dump();
    text += ": {\n";
    text += module.entries;
    text += "\n  }";
    module.entries = {};
  }
  if (!modules.empty()) text += "\n }";
}

}  // namespace

std::string plan_to_json(const Plan& plan, const Workload& workload, const Cluster& cluster) {
  std::map<int, Placements> by_table;
  for (const Placement& placement : plan.placements) by_table[placement.table].push_back(&placement);
  std::vector<Module> modules;
  bool seed_told = plan.hash_seed == Plan{}.hash_seed;
  for (const auto& [index, parts] : by_table) {
    const Table& table = workload.tables.at(static_cast<std::size_t>(index));
    const Json entry = entry_json(parts, plan, table, cluster);
    seed_told |= entry.contains("hash");
    const bool pooled = table.kind == TableKind::pooled;
    add_entry(modules, pooled ? workload.pooled_module : workload.sequence_module, table.name, entry);
  }
  std::string text = "{\n \"schema\": \"shardsim.plan/1\",\n";
  if (!seed_told) text += " \"hash\": " + indented(hash_json(plan.hash_seed), 1) + ",\n";
  text += " \"plan\": ";
  append_modules(text, modules);
  text += "\n}\n";
  return text;
}

}  // namespace shardsim
