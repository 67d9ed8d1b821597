#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "models/access/access_distribution.h"
#include "validate/execute/kernels/row_law.h"
#include "validate/microbench/bench_input.h"
#include "validate/microbench/bench_point.h"

namespace shardsim {

// Draws popularity positions of a table, each by itself, with their probabilities: the inverse of the prefix sum, over
// stretches of positions that are equally popular. Where popularity falls from row to row, as by Zipf's law, positions
// whose probabilities differ by less than half a percent are taken as equal, and so are those that have a billionth of
// the accesses together.
class PositionDraw {
 public:
  explicit PositionDraw(const AccessDistribution& access);
  std::uint64_t draw(Rng& rng) const { return law().position(rng.uniform()); }

  const std::vector<Stretch>& stretches() const { return stretches_; }
  const std::vector<std::uint32_t>& guides() const { return guides_; }
  double mass() const { return mass_; }
  IdLaw law() const { return {stretches_.data(), guides_.data(), mass_}; }

 private:
  void cut(const AccessDistribution& access, std::uint64_t first, std::uint64_t end);
  void add(const Stretch& stretch);
  void set_guides();

  double mass_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> guides_;
};

// The ids of one call, drawn from the laws of its tables: what a CPU and a GPU draw alike.
struct DrawnIds {
  struct Table {
    int law = 0;             // of those that the device was given
    std::uint64_t rows = 0;  // popularity positions are spread over them by a bijection, whose key is
    std::uint64_t key = 0;
    std::uint64_t name = 0;     // hash of the table's name; with a call's salt the seed of its draws
    double average_length = 0;  // bag b has the ids from floor(b L) to floor((b + 1) L)
    std::int64_t first = 0;     // of its ids
  };
  std::vector<Table> tables;
  std::int64_t bags = 0;   // of each table
  std::int64_t count = 0;  // of ids, over all tables

  std::int64_t offsets() const { return static_cast<std::int64_t>(tables.size()) * bags + 1; }
  // Adds a table behind the others; its `first` is set.
  void add(Table table);
};

// They themselves, on the host.
BenchInput draw(const DrawnIds& ids, const std::vector<PositionDraw>& laws, std::uint64_t salt);

// Holds what points need at most, each figure by itself.
struct DrawnNeed {
  ElementType type = ElementType::fp32;
  std::int64_t table_bytes = 0, state_bytes = 0, output_bytes = 0;
  std::int64_t gradients = 0, lookups = 0, offsets = 0;
  std::int64_t dim = 0;
  int tables = 0;

  void include(const BenchPoint& point, const DrawnIds& ids);
  std::int64_t bytes() const;  // of all of them, and of sorting
};

}  // namespace shardsim
