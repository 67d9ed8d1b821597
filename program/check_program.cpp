#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "models/workload/workload_limits.h"
#include "program/program_checker.h"

namespace shardsim {
namespace {

constexpr int kMostIndexBatches = 4096;
constexpr double kMostElements = 0x1p57;  // of a table; a workload may have 2^56 bytes
constexpr std::size_t kMostDenseMembers = 1024;

}  // namespace

void ProgramChecker::check_sizes() const {
  const auto require = [this](bool good, const std::string& wrong, const std::string& remedy) {
    if (!good) throw input_error(places_.program, wrong, remedy);
  };
  const Program& p = program_;
  require(p.world_size >= 1 && p.world_size <= kMostProgramRanks, fmt::format("world_size is {}", p.world_size),
          fmt::format("Write 1 to {} ranks.", kMostProgramRanks));
  require(p.ranks_per_node >= 1 && p.world_size % p.ranks_per_node == 0,
          fmt::format("ranks_per_node {} does not divide world_size {}", p.ranks_per_node, p.world_size),
          "All nodes hold the same number of ranks.");
  require(p.batch_per_rank >= 1, "batch_per_rank is below 1", "Write the samples per rank.");
  require(p.batch_per_rank <= kMostBatchPerGpu, fmt::format("batch_per_rank is {}", p.batch_per_rank),
          fmt::format("Write at most {} samples.", kMostBatchPerGpu));
  require(p.index_batches >= 1 && p.index_batches <= kMostIndexBatches,
          fmt::format("index_batches is {}", p.index_batches), "Write 8, the usual number; at most 4096.");
  require(p.id_bytes == 4 || p.id_bytes == 8, fmt::format("id_bytes is {}", p.id_bytes), "Write 4 or 8.");
  require(static_cast<double>(p.seed) < kWholeNumberLimit && static_cast<double>(p.hash_seed) < kWholeNumberLimit,
          "a seed is 2^53 or more", "Choose a smaller seed: JSON readers lose digits beyond that.");
  require(!p.ops.empty(), "there are no operations", "Lower a plan that holds a table, or write some in 'ops'.");
  require(!p.streams.empty(), "there are no streams", "Name at least one in 'streams'.");
  const std::set<std::string> names(p.streams.begin(), p.streams.end());
  require(names.size() == p.streams.size() && !names.contains(""), "two streams have the same name, or one has none",
          "Give every stream a name of its own.");
}

std::vector<int> ProgramChecker::sorted_ranks(std::vector<int> ranks, const Place& place,
                                              const std::string& what) const {
  std::ranges::sort(ranks);
  if (!ranks.empty() && (ranks.front() < 0 || ranks.back() >= program_.world_size)) {
    throw input_error(place, fmt::format("{} names a rank outside the world", what),
                      fmt::format("Ranks go from 0 to {}.", program_.world_size - 1));
  }
  if (const auto twice = std::ranges::adjacent_find(ranks); twice != ranks.end()) {
    throw input_error(place, fmt::format("{} names rank {} twice", what, *twice), "Name every rank once.");
  }
  return ranks;
}

void ProgramChecker::check_group(const std::string& name, const std::vector<std::vector<int>>& sets) {
  const Place& place = place_in(places_.groups, name);
  const std::string what = fmt::format("group {}", excerpt(name));
  if (sets.empty() || sets.front().empty()) {
    throw input_error(place, what + " has no ranks", "Write at least one rank set, or leave the group out.");
  }
  std::vector<int> members;
  for (const std::vector<int>& set : sets) {
    if (set.size() != sets.front().size()) {
      throw input_error(place, fmt::format("{} has sets of {} and of {} ranks", what, sets.front().size(), set.size()),
                        "All sets of a group are equally long: they run the same operation side by side.");
    }
    members.insert(members.end(), set.begin(), set.end());
  }
  members_[name] = sorted_ranks(std::move(members), place, what);
}

void ProgramChecker::check_matrix(std::size_t index) {
  const auto& [name, matrix] = program_.matrices[index];
  const Place& place = place_in(places_.matrices, index);
  const std::string what = fmt::format("matrix {}", excerpt(name));
  if (name.empty() || !matrix_names_.insert(name).second) {
    throw input_error(place, what + " has no name of its own", "Give every matrix its own name.");
  }
  if (matrix.unit_bytes < 1) throw input_error(place, what + ": unit_bytes is below 1", "Write the bytes of one unit.");
  if (static_cast<double>(matrix.unit_bytes) >= kWholeNumberLimit)
    throw input_error(place, what + ": unit_bytes is 2^53 or more", "Write the bytes of one unit.");
  if (matrix.kind == ByteMatrix::Kind::dense) {
    check_dense(index);
  } else if (!matrix.dense.empty() || matrix.units.empty() ||
             (matrix.kind == ByteMatrix::Kind::even && matrix.units.size() != 1)) {
    throw input_error(
        place, what + ": 'units' does not have the shape of its kind",
        "The kind even needs one number, by_destination and by_source one per member, and dense a list of lists.");
  }
  double total = 0;
  const auto add = [&](std::int64_t units) {
    if (units < 0) throw input_error(place, what + " has negative units", "Write 0 or more.");
    total += static_cast<double>(units);
  };
  std::ranges::for_each(matrix.units, add);
  for (const auto& row : matrix.dense) std::ranges::for_each(row, add);
  if (total * static_cast<double>(matrix.unit_bytes) >= kWholeNumberLimit) {
    throw input_error(place, what + " moves 2^53 bytes or more", "Check units and unit_bytes.");
  }
}

void ProgramChecker::check_dense(std::size_t index) const {
  const auto& [name, matrix] = program_.matrices[index];
  const std::size_t members = matrix.dense.size();
  const bool square = std::ranges::all_of(matrix.dense, [&](const auto& row) { return row.size() == members; });
  if (!matrix.units.empty() || members == 0 || !square || members > kMostDenseMembers) {
    throw input_error(
        place_in(places_.matrices, index), fmt::format("matrix {} is not square", excerpt(name)),
        fmt::format("A dense matrix has one row and one column per member, at most {}.", kMostDenseMembers));
  }
}

void ProgramChecker::check_table(std::size_t index) {
  const Table& table = program_.tables[index];
  const Place& place = place_in(places_.tables, index);
  if (table.name.empty() || !table_names_.insert(table.name).second) {
    throw input_error(place, fmt::format("table {} has no name of its own", index), "Give every table its own name.");
  }
  const double elements = static_cast<double>(table.rows) * static_cast<double>(table.dim);
  if (elements >= kMostElements) {
    throw input_error(place, fmt::format("table {} has 2^57 elements or more", excerpt(table.name)),
                      "Check its rows and dim.");
  }
  if (table.rows < 1 || table.dim < 1) {
    throw input_error(place, fmt::format("table {} has no rows or no columns", excerpt(table.name)),
                      "Write 1 or more.");
  }
}

void ProgramChecker::check_shard(std::size_t index) const {
  const Program::Shard& shard = program_.shards[index];
  const Place& place = place_in(places_.shards, index);
  const std::string what = fmt::format("shard {}", index);
  if (shard.table < 0 || static_cast<std::size_t>(shard.table) >= program_.tables.size()) {
    throw input_error(place, fmt::format("{} is of table {}", what, shard.table),
                      fmt::format("There are {} tables, counted from 0.", program_.tables.size()));
  }
  const Table& table = program_.tables[static_cast<std::size_t>(shard.table)];
  const bool rows_fit = shard.row_begin < shard.row_end && shard.row_end <= table.rows;
  const bool columns_fit =
      0 <= shard.column_begin && shard.column_begin < shard.column_end && shard.column_end <= table.dim;
  if (!rows_fit || !columns_fit) {
    throw input_error(
        place,
        fmt::format("{} holds rows [{}, {}) and columns [{}, {}) of table {}", what, shard.row_begin, shard.row_end,
                    shard.column_begin, shard.column_end, excerpt(table.name)),
        fmt::format("The table has {} rows and {} columns; a shard is not empty.", table.rows, table.dim));
  }
  if (shard.tier < -1 || shard.tier >= kMostTiers || (shard.order != "popularity" && shard.order != "row_id")) {
    throw input_error(place, what + " has an impossible tier or order",
                      "A tier is 0, 1 or 2 (-1: no tiers); the order is popularity or row_id.");
  }
  check_holders(index);
  check_lookups(index);
}

void ProgramChecker::check_lookups(std::size_t index) const {
  const Program::Shard& shard = program_.shards[index];
  const bool fit =
      shard.lookups.size() == shard.holders.front().size() && std::ranges::all_of(shard.lookups, [](std::int64_t each) {
        return each >= 0 && static_cast<double>(each) <= kMostRowsOfOp;
      });
  if (shard.lookups.empty() || fit) return;
  throw input_error(place_in(places_.shards, index),
                    fmt::format("shard {} has {} numbers of lookups for {} holders, or one below 0 or above 10^15",
                                index, shard.lookups.size(), shard.holders.front().size()),
                    "Write one for each holder of a set, or leave 'lookups' out where all have as many");
}

void ProgramChecker::check_holders(std::size_t index) const {
  const Program::Shard& shard = program_.shards[index];
  const Place& place = place_in(places_.shards, index);
  const std::string what = fmt::format("shard {}", index);
  const auto groups = program_.groups.find("sharding");  // of 2D parallelism, each of which has a set
  const bool in_groups = groups != program_.groups.end() && shard.holders.size() == groups->second.size() &&
                         shard.strategy != Strategy::data_parallel;
  const bool fits = shard.strategy == Strategy::flex || shard.holders.size() == 1 || in_groups;
  if (shard.holders.empty() || shard.holders.front().empty() || !fits) {
    throw input_error(
        place, what + " has no holders, or too many sets of them",
        "The strategy flex needs a list of rank sets, the others one rank set, or one for each set of the "
        "group 'sharding'.");
  }
  std::vector<int> ranks;
  for (const std::vector<int>& set : shard.holders) {
    if (set.size() != shard.holders.front().size()) {
      throw input_error(place, what + " has replica groups of different length", "Make them equally long.");
    }
    ranks.insert(ranks.end(), set.begin(), set.end());
  }
  sorted_ranks(std::move(ranks), place, what);
}

void ProgramChecker::check_fusion(std::size_t index) {
  const Program::Fusion& fusion = program_.fusions[index];
  const Place& place = place_in(places_.fusions, index);
  const std::string what = fmt::format("fusion group {}", excerpt(fusion.name));
  if (fusion.name.empty() || !fusion_names_.insert(fusion.name).second) {
    throw input_error(place, what + " has no name of its own", "Give every fusion group its own name.");
  }
  if (fusion.shards.empty()) throw input_error(place, what + " has no shards", "List them, or leave the group out.");
  for (const int shard : fusion.shards) {
    if (shard < 0 || static_cast<std::size_t>(shard) >= program_.shards.size()) {
      throw input_error(place, fmt::format("{} has shard {}, which does not exist", what, shard),
                        fmt::format("There are {}, counted from 0.", program_.shards.size()));
    }
    if (!fusions_.emplace(shard, static_cast<int>(index)).second) {
      throw input_error(place, fmt::format("{} has shard {}, which is in a fusion group already", what, shard),
                        "Let each shard be in one fusion group, once.");
    }
    if (program_.tables[static_cast<std::size_t>(program_.shard(shard).table)].kind != fusion.kind) {
      throw input_error(place, fmt::format("{} has shard {}, whose table is of the other kind", what, shard),
                        "Pooled tables and sequences are in different fusion groups.");
    }
  }
}

void check_program(const Program& program, const ProgramPlaces& places) {
  ProgramChecker(program, places).run();
}

void check_program(const Program& program, const Place& place) {
  check_program(
      program,
      ProgramPlaces{
          .program = place, .matrices = {}, .tables = {}, .shards = {}, .fusions = {}, .ops = {}, .groups = {}});
}

}  // namespace shardsim
