#pragma once

#include <cstdint>
#include <optional>

#include "base/tree/map_reader.h"
#include "models/load/row_owners.h"

namespace shardsim {

// How many placements of a plan's cut rows are drawn (sim/lower/draws/row_draws.h).
inline constexpr int kRowDraws = 32;

// Options for the load of a case: map `load` of a scenario and of a case (docs/formats/scenario.md).
struct LoadOptions {
  enum class RowShares { real, even };  // even: every owner of cut rows gets the same share of the lookups
  enum class Batches { expected, drawn };

  RowShares row_shares = RowShares::real;
  RowCut row_cut = RowCut::blocks;  // of row_wise, table_row_wise and grid_shard: blocks or modulo
  Batches batches = Batches::expected;
  std::int64_t iterations = 40;  // of drawn batches that are reported
  std::uint64_t seed = 1;        // of drawn batches
  // Seed of the hash that says which owner of cut rows holds which of them; none: nobody knows it before training, and
  // a typical one of many is taken (sim/lower/draws/row_draws.h).
  std::optional<std::uint64_t> placement{};
  // 1 to kRowDraws: which of those many is taken, in place of the typical one; planners do not know it.
  std::optional<int> draw{};

  bool drawn() const { return batches == Batches::drawn; }
  bool operator==(const LoadOptions&) const = default;
};

// Reads the map on top of `before`: keys that it leaves out keep their values from there. `iterations` are 2 to 10,000;
// they and `seed` belong to drawn batches and are refused beside expected ones; `placement` and `draw` are refused
// beside even shares and beside each other. Errors: Failure::input with place.
LoadOptions read_load_options(MapReader reader, const LoadOptions& before = {});

}  // namespace shardsim
