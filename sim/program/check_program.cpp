#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "sim/program/program_checker.h"

namespace shardsim {
namespace {

constexpr int kMostIndexBatches = 4096;
constexpr std::size_t kMostDenseMembers = 1024;
constexpr int kMostTiers = 3;        // data_parallel, flex, row_wise
constexpr int kMostTransposes = 16;  // in a row

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

void ProgramChecker::check_matrix(const std::string& name, const ByteMatrix& matrix) const {
  const Place& place = place_in(places_.matrices, name);
  const std::string what = fmt::format("matrix {}", excerpt(name));
  if (matrix.unit_bytes < 1) throw input_error(place, what + ": unit_bytes is below 1", "Write the bytes of one unit.");
  if (matrix.kind == ByteMatrix::Kind::dense) {
    check_dense(name, matrix);
  } else if (!matrix.dense.empty() || matrix.units.empty() ||
             (matrix.kind == ByteMatrix::Kind::even && matrix.units.size() != 1)) {
    throw input_error(place, what + ": 'units' does not have the shape of its kind",
                      "even: one number; by_destination and by_source: one per member; dense: a list of lists.");
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

void ProgramChecker::check_dense(const std::string& name, const ByteMatrix& matrix) const {
  const std::size_t members = matrix.dense.size();
  const bool square = std::ranges::all_of(matrix.dense, [&](const auto& row) { return row.size() == members; });
  if (!matrix.units.empty() || members == 0 || !square || members > kMostDenseMembers) {
    throw input_error(
        place_in(places_.matrices, name), fmt::format("matrix {} is not square", excerpt(name)),
        fmt::format("A dense matrix has one row and one column per member, at most {}.", kMostDenseMembers));
  }
}

const ByteMatrix* ProgramChecker::stated_matrix(const std::string& name) const {
  std::string at = name;
  for (int steps = 0; steps <= kMostTransposes; ++steps) {
    const auto transpose = program_.transpose_of.find(at);
    if (transpose == program_.transpose_of.end()) {
      const auto found = program_.matrices.find(at);
      return found == program_.matrices.end() ? nullptr : &found->second;
    }
    at = transpose->second;
  }
  return nullptr;
}

void ProgramChecker::check_transpose(const std::string& name, const std::string& of) const {
  const Place& place = place_in(places_.matrices, name);
  if (program_.matrices.contains(name)) {
    throw input_error(place, fmt::format("matrix {} is stated and a transpose, too", excerpt(name)),
                      "Keep one of them");
  }
  if (stated_matrix(name) == nullptr) {
    throw input_error(place,
                      fmt::format("matrix {} is a transpose of {}, which leads to none", excerpt(name), excerpt(of)),
                      fmt::format("Name a matrix with kind and units, over at most {} others", kMostTransposes));
  }
}

void ProgramChecker::check_table(std::size_t index) {
  const Table& table = program_.tables[index];
  const Place& place = place_in(places_.tables, index);
  if (table.name.empty() || !table_names_.insert(table.name).second) {
    throw input_error(place, fmt::format("table {} has no name of its own", index), "Give every table its own name.");
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
}

void ProgramChecker::check_holders(std::size_t index) const {
  const Program::Shard& shard = program_.shards[index];
  const Place& place = place_in(places_.shards, index);
  const std::string what = fmt::format("shard {}", index);
  const bool one_set = shard.strategy == Strategy::flex || shard.holders.size() == 1;
  if (shard.holders.empty() || shard.holders.front().empty() || !one_set) {
    throw input_error(place, what + " has no holders, or too many sets of them",
                      "flex: a list of rank sets; the other strategies: one rank set.");
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

void check_program(const Program& program, const ProgramPlaces& places) {
  ProgramChecker(program, places).run();
}

void check_program(const Program& program, const Place& place) {
  check_program(program,
                ProgramPlaces{.program = place, .tables = {}, .shards = {}, .ops = {}, .groups = {}, .matrices = {}});
}

}  // namespace shardsim
