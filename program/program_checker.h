#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "program/program.h"

namespace shardsim {

// Whole numbers of a JSON file stay below this: a reader with doubles then loses nothing.
inline constexpr double kWholeNumberLimit = 9007199254740992.0;

// The most that an operation of a rank may have: above what any workload may ask for (models/workload/workload.cpp),
// and low enough that it is a whole number of 64 bits. A duration is at most that of all that is simulated, 10^6 s.
inline constexpr double kMostRowsOfOp = 1e15;   // lookups, bags, rows
inline constexpr double kMostBytesOfOp = 1e18;  // of memory
inline constexpr double kMostFlops = 1e24;      // 10^6 s of a device of 10^18 FLOP/s
inline constexpr double kMostMatrix = 1e18;     // elements
inline constexpr std::int64_t kMostNanoseconds = 1'000'000'000'000'000;

inline bool is_amount(double value) {
  return std::isfinite(value) && value >= 0;
}

// Some keys of a map that a user wrote, fit for a message.
template <typename Map>
std::vector<std::string> some_keys(const Map& map) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> keys;
  for (const auto& entry : map) {
    if (keys.size() < kMost) keys.push_back(entry.first.size() <= 64 ? excerpt(entry.first) : excerpt("..."));
  }
  return keys;
}

// The work behind check_program: operations in check_ops.cpp, what several parts must have in common in check_sums.cpp,
// all else in check_program.cpp.
class ProgramChecker {
 public:
  ProgramChecker(const Program& program, const ProgramPlaces& places) : program_(program), places_(places) {}

  void run() {
    check_sizes();
    for (const auto& [name, sets] : program_.groups) check_group(name, sets);
    for (std::size_t i = 0; i < program_.matrices.size(); ++i) check_matrix(i);
    for (std::size_t i = 0; i < program_.tables.size(); ++i) check_table(i);
    for (std::size_t i = 0; i < program_.shards.size(); ++i) check_shard(i);
    for (std::size_t i = 0; i < program_.fusions.size(); ++i) check_fusion(i);
    for (std::size_t i = 0; i < program_.ops.size(); ++i) check_op(i);
    check_cover();
    check_fusion_ops();
  }

 private:
  void check_sizes() const;
  void check_group(const std::string& name, const std::vector<std::vector<int>>& sets);
  void check_matrix(std::size_t index);
  void check_dense(std::size_t index) const;
  void check_table(std::size_t index);
  void check_shard(std::size_t index) const;
  void check_holders(std::size_t index) const;
  void check_lookups(std::size_t index) const;
  void check_fusion(std::size_t index);
  void check_op(std::size_t index) const;
  void check_role(const Op& op) const;
  void check_shards(const Op& op) const;
  void check_order(const Op& op) const;
  void check_collective(const Op& op) const;
  void check_bytes_by_set(const Op& op, std::size_t sets) const;
  void check_members(const Op& op) const;
  void check_matrix_fits(const Op& op, const std::vector<std::vector<int>>& sets) const;
  void check_matrix_fits(const Op& op, int index, std::size_t members) const;
  void check_every(const Op& op) const;
  void check_host(const Op& op) const;
  void check_compute(const Op& op) const;
  void check_stored_rows(const Op& op) const;
  void check_row_facts(const Op& op) const;
  void check_tables(const Op& op) const;
  void check_kernels(const Op& op) const;
  // Ids of the operations of a fusion group, by what they do with its rows.
  struct FusionOps {
    std::vector<int> lookups, updates, ids, reduces;
  };
  void check_cover() const;
  void check_cover(std::size_t index, std::vector<int> shards) const;
  void check_fusion_ops() const;
  bool of_one_batch(const std::vector<int>& ops, const std::vector<int>& others) const;
  std::vector<double> lookups_on_ranks(const std::vector<int>& ops) const;
  void check_updated(const FusionOps& ops, const std::vector<double>& looked_up) const;
  void check_asked(std::size_t fusion, const FusionOps& ops, const std::vector<double>& looked_up) const;
  void check_reduced(std::size_t index, const FusionOps& ops) const;
  void check_per_rank(const Op& op, const PerRank& numbers, std::string_view key, double most) const;

  // Sorted; throws for a rank twice or outside the world.
  std::vector<int> sorted_ranks(std::vector<int> ranks, const Place& place, const std::string& what) const;

  const Place& place_in(const std::vector<Place>& places, std::size_t index) const {
    return index < places.size() ? places[index] : places_.program;
  }
  const Place& place_in(const std::map<std::string, Place>& places, const std::string& name) const {
    const auto found = places.find(name);
    return found == places.end() ? places_.program : found->second;
  }
  [[noreturn]] void fail_op(const Op& op, const std::string& wrong, const std::string& remedy) const;

  const Program& program_;
  const ProgramPlaces& places_;
  std::map<std::string, std::vector<int>> members_;  // of every group, sorted
  std::set<std::string> matrix_names_, table_names_, fusion_names_;
  std::map<int, int> fusions_;  // the fusion group of each shard that belongs to one
};

}  // namespace shardsim
