#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/collective_kind.h"
#include "models/compute/compute_model.h"

namespace shardsim {

// The work that one placement adds to one operation of an iteration, in the numbers of the lowering (docs/lowering.md).
// Steps of equal key are one operation of the whole plan: their amounts add up, but for rounding to whole bytes.
struct LoadStep {
  // In the order in which a batch meets them.
  enum class Phase { inputs, forward, backward, update };

  std::string key;
  Phase phase = Phase::inputs;

  // Compute: amounts by rank of the world, or one number that holds for every rank.
  ComputeWork work;  // its kind, optimizer and rules alone; the amounts are those below
  std::vector<double> hbm_bytes, lookups, host_seconds;
  std::vector<TableWork> tables = {};  // of the first rank; none: nobody asked

  // A collective, where there is a kind.
  std::optional<CollectiveKind> collective = {};
  // all_to_all: its members are the ranks of the world, or with `in_node` those of each node, or with `across_nodes`
  // those of one place in every node. The same holds for the other kinds.
  enum class Reach { world, in_node, across_nodes };
  Reach reach = Reach::world;
  // all_to_all: bytes that every member sends to each position of the group, own chunk included, or one number for all
  // positions; `returns`: that every member gets from it instead.
  std::vector<double> bytes_to;
  bool returns = false;
  // Other kinds: as CollectiveCall::bytes, by rank set of the group, or one number for all.
  std::vector<double> bytes;
};

// That of a rank of the world, or of a rank set, in a list that may be one number for all; 0 where nobody has any.
inline double amount_at(const std::vector<double>& amounts, std::size_t index) {
  if (amounts.empty()) return 0;
  return amounts.size() == 1 ? amounts.front() : amounts[index];
}

// The work that one placement adds to an iteration: its lookups, the exchanges of its ids, vectors and gradients, its
// update, and the passes over memory between them. The dense part is no placement's.
struct PlacementLoad {
  std::vector<LoadStep> steps;
};

// A fused lookup or update as a sum over placements, on the first rank: the seconds of a call without lookups, and
// those that the tables of one placement add. What tables of one call share beyond that (lanes of the widest one, the
// cache) is left out.
struct TableSeconds {
  double call = 0, added = 0;
};
// None where the step says nothing table by table, or reads rows over the link of the host.
std::optional<TableSeconds> seconds_by_tables(const LoadStep& step, const ComputeModel& compute, const GpuSpec& gpu);

// Seconds of a compute step on one rank of a GPU, alone.
Seconds step_seconds(const LoadStep& step, std::size_t rank, const ComputeModel& compute, const GpuSpec& gpu);

}  // namespace shardsim
