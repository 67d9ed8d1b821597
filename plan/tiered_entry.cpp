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

void read_kernel(MapReader& reader, const Placement& placement) {
  if (reader.has("compute_kernel")) reader.choice("compute_kernel", {placement.compute_kernel});
}

std::vector<std::vector<int>> read_groups(MapReader& reader, int world_size) {
  std::vector<std::vector<int>> groups;
  for (const Tree& group : reader.list("replica_groups")) groups.push_back(read_rank_set(group, world_size));
  return groups;
}

// Replica groups are checked here so that the error has a line.
void check_groups(const Placement& placement, const MapReader& reader, int world_size) {
  std::vector<bool> seen(static_cast<std::size_t>(world_size), false);
  for (const std::vector<int>& group : placement.holders) {
    if (group.size() != placement.holders.front().size()) {
      throw input_error(
          reader.place_of("replica_groups"),
          fmt::format("replica groups of {} and {} ranks", placement.holders.front().size(), group.size()),
          "Give all replica groups the same length");
    }
    for (const int rank : group) {
      if (seen[static_cast<std::size_t>(rank)]) {
        throw input_error(reader.place_of("replica_groups"), fmt::format("rank {} is in two replica groups", rank),
                          "Replica groups share no rank");
      }
      seen[static_cast<std::size_t>(rank)] = true;
    }
  }
}

void read_holders(MapReader& reader, Placement& placement, int world_size) {
  read_kernel(reader, placement);
  const bool flex = placement.strategy == Strategy::flex;
  const std::string_view key = flex ? "replica_groups" : "ranks";
  if (flex) {
    placement.holders = read_groups(reader, world_size);
    check_groups(placement, reader, world_size);
  } else {
    placement.holders = {read_rank_set(reader.required(key), world_size)};
  }
  const bool none = placement.holders.empty() || placement.holders.front().empty();
  const bool many = placement.strategy == Strategy::table_wise && !none && placement.holders.front().size() > 1;
  if (none || many) {
    throw input_error(reader.place_of(key),
                      fmt::format("{}.{}: {}", reader.path(), key, none ? "no rank" : "several ranks"),
                      none ? "Name the ranks that hold these rows" : "A table_wise tier lies on one rank");
  }
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
        fmt::format("It begins at {}, where the last one ended, and ends above that and at {} at most", begin,
                    entry.table.rows));
  }
  read_holders(reader, tier, entry.world_size);
  reader.has("access_share");
  reader.finish();
  return tier;
}

}  // namespace

void read_hash(MapReader hash, std::optional<std::uint64_t>& seed) {
  hash.choice("name", {std::string(kRowHash)});
  hash.required("seed");
  const auto found = static_cast<std::uint64_t>(hash.count_from("seed", 0, 0));
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
    reader.has("access_share");
    placements.push_back(std::move(placement));
  } else {
    std::uint64_t row = 0;
    for (const Tree& tree : reader.list("tiers")) {
      placements.push_back(read_tier(entry, tree, row));
      row = placements.back().row_end;
    }
    if (row < entry.table.rows) {
      throw input_error(reader.place_of("tiers"),
                        fmt::format("table '{}': the tiers end at row {}", entry.table.name, row),
                        fmt::format("They cover all {} rows", entry.table.rows));
    }
  }
  reader.finish();
  return placements;
}

}  // namespace shardsim
