#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/tree/map_reader.h"
#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

inline constexpr std::string_view kRowHash = "feistel_splitmix/1";  // the only one known (models/access/row_hash.h)

// One table's entry in a plan file, and what it must fit.
struct PlanEntry {
  const Tree& tree;
  int index = 0;  // of the table in the workload
  const Table& table;
  int world_size = 0;
  int per_node = 0;   // ranks
  bool cpus = false;  // ranks are CPUs
};

// TorchRec's own sharding types; unknown keys are TorchRec's business. Errors: Failure::input with the line.
std::vector<Placement> read_torchrec_entry(const PlanEntry& entry, Strategy strategy);

// True when the entry gives the load factor of a cache. Errors: keys that TorchRec's CacheParams does not have.
bool states_cache(const PlanEntry& entry);

// `row_tiers` and `flex`, which are ours: unknown keys are errors. `seed` gets the entry's hash seed.
std::vector<Placement> read_tiered_entry(const PlanEntry& entry, std::optional<std::uint64_t>& seed);

// The seed of a `hash` map, the same as `seed` when that is known already.
void read_hash(MapReader hash, std::optional<std::uint64_t>& seed);

// Errors with the line when the tree is of another kind, or the key is missing.
const Tree& required_field(const Tree& map, std::string_view key);
const Tree& required_map(const Tree& tree, std::string_view what);
const std::vector<Tree>& required_list(const Tree& tree, std::string_view what);

// [A, B] of whole numbers.
struct NumberPair {
  std::int64_t first = 0, second = 0;
};
NumberPair read_number_pair(const Tree& tree, std::string_view what);
std::int64_t read_whole_number(const Tree& tree);

}  // namespace shardsim
