#include <fmt/format.h>

#include "plan/plan_entries.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

void expect_number(MapReader& reader, std::string_view key, std::int64_t expected) {
  const std::int64_t number = reader.count(key);
  if (number == expected) return;
  throw input_error(reader.place_of(key), fmt::format("{}.{} is {}", reader.path(), key, number),
                    fmt::format("The workload's table has {}", expected));
}

void read_head(MapReader& reader, const PlanEntry& entry, std::optional<std::uint64_t>& seed) {
  reader.required("sharding_type");
  expect_number(reader, "rows", static_cast<std::int64_t>(entry.table.rows));
  expect_number(reader, "dim", entry.table.dim);
  reader.choice("order", {"popularity"});
  reader.required("hash");
  read_hash(reader.map("hash"), seed);
}

// Reads the ranks that hold the rows; check_plan says whether they may.
void read_holders(MapReader& reader, Placement& placement, int world_size) {
  if (reader.has("compute_kernel")) reader.choice("compute_kernel", {placement.compute_kernel});
  if (placement.strategy != Strategy::flex) {
    placement.holders = {read_rank_set(reader.required("ranks"), world_size)};
    return;
  }
  for (const Tree& group : reader.list("replica_groups")) placement.holders.push_back(read_rank_set(group, world_size));
}

// The Program that a plan is lowered to knows no more tiers.
void check_tier_count(const PlanEntry& entry, const Tree& tier, std::size_t number) {
  if (number <= kMostTiers) return;
  throw input_error(tier.place, fmt::format("table '{}' has more than {} tiers", entry.table.name, kMostTiers),
                    "Join neighbouring tiers of one strategy, or leave tiers out");
}

Placement read_tier(const PlanEntry& entry, const Tree& tree, std::uint64_t begin) {
  MapReader reader(tree, entry.table.name + ".tiers");
  const Tree& rows_tree = reader.required("rows");
  const NumberPair rows = read_number_pair(rows_tree, "rows");
  Placement tier =
      whole_table(entry.index, entry.table,
                  parse_strategy(reader.choice("strategy", {"data_parallel", "flex", "row_wise", "table_wise"}),
                                 reader.place_of("strategy")),
                  {});
  tier.row_begin = static_cast<std::uint64_t>(rows.first);
  tier.row_end = static_cast<std::uint64_t>(rows.second);
  if (tier.row_begin != begin || tier.row_end <= begin || tier.row_end > entry.table.rows) {
    throw input_error(
        rows_tree.place,
        fmt::format("table '{}': the tier holds rows {} to {}", entry.table.name, rows.first, rows.second),
        fmt::format("It must begin at {}, where the last one ended, and end above that, at {} at the latest", begin,
                    entry.table.rows));
  }
  read_holders(reader, tier, entry.world_size);
  reader.share("access_share", 0.0);  // for people: the workload says it
  reader.finish();
  return tier;
}

}  // namespace

void read_hash(MapReader hash, std::optional<std::uint64_t>& seed) {
  hash.choice("name", {std::string(kRowHash)});
  hash.required("seed");
  const auto found = static_cast<std::uint64_t>(hash.count("seed", Bounds::from(0), 0));
  hash.finish();
  if (seed && *seed != found) {
    throw input_error(hash.place_of("seed"), fmt::format("hash seed {} after {}", found, *seed),
                      "Give all tables of a plan one seed");
  }
  seed = found;
}

std::vector<Placement> read_tiered_entry(const PlanEntry& entry, std::optional<std::uint64_t>& seed) {
  MapReader reader(entry.tree, entry.table.name);
  read_head(reader, entry, seed);
  std::vector<Placement> placements;
  if (reader.text("sharding_type") == "flex") {
    Placement placement = whole_table(entry.index, entry.table, Strategy::flex, {});
    read_holders(reader, placement, entry.world_size);
    reader.share("access_share", 0.0);  // for people: the workload says it
    placements.push_back(std::move(placement));
  } else {
    std::uint64_t row = 0;
    for (const Tree& tree : reader.list("tiers")) {
      check_tier_count(entry, tree, placements.size() + 1);
      placements.push_back(read_tier(entry, tree, row));
      row = placements.back().row_end;
    }
    if (row < entry.table.rows) {
      throw input_error(reader.place_of("tiers"),
                        fmt::format("table '{}': the tiers end at row {}", entry.table.name, row),
                        fmt::format("They must cover all {} rows", entry.table.rows));
    }
  }
  reader.finish();
  return placements;
}

}  // namespace shardsim
