#pragma once

#include <random>

#include "tests/physics/two_tables.h"

// A table whose rows are drawn, one id a sample, and a cache of rows that is played with the ids of its batches: what
// tests of caches hold predictions against.
namespace shardsim::physics {

inline constexpr std::uint64_t kRows = 20'000;
inline constexpr int kBatch = 1'000;  // ids of a batch
inline constexpr double kRowBytes = 64 * 4;

// The table on a single GPU, its ids drawn by Zipf's law with exponent `s`. `keys`: those of the workload, the
// optimizer among them.
inline Workload table_of_ids(double s, const std::string& keys, int dim = 64) {
  return read_workload(
      parse_yaml(fmt::format("schema: shardsim.workload/1\nname: one\nbatch_per_gpu: {}\n{}tables: [{{name: a, rows: "
                             "{}, dim: {}, kind: pooled, pooling_factor: 1, access: {{family: zipf, s: {}}}}}]\n",
                             kBatch, keys, kRows, dim, s),
                 "one"),
      "");
}

// Its batches, drawn. Rows are numbered in the order of their popularity, or each of these by so many.
class DrawnIds {
 public:
  explicit DrawnIds(double s, int numbering = 1) : numbering_(numbering) {
    std::vector<double> weights;
    for (std::uint64_t rank = 1; rank <= kRows; ++rank) weights.push_back(std::pow(static_cast<double>(rank), -s));
    places_ = std::discrete_distribution<int>(weights.begin(), weights.end());
  }

  // The rows of the next batch, rising.
  std::vector<int> next() {
    std::vector<int> rows(kBatch);
    for (int& row : rows) row = numbering_ * places_(random_) % static_cast<int>(kRows);
    std::ranges::sort(rows);
    return rows;
  }
  std::vector<int> next_different() {
    std::vector<int> rows = next();
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

 private:
  int numbering_;
  std::discrete_distribution<int> places_;
  std::mt19937_64 random_{5};
};

// A cache that drops the rows that were used longest ago.
class LatestRows {
 public:
  explicit LatestRows(std::size_t capacity) : capacity_(capacity), used_(kRows, kNever) {}

  bool holds(int row) const { return used_[static_cast<std::size_t>(row)] != kNever; }

  // Takes a row in, or has it as the one that was used last.
  void use(int row) {
    held_ += holds(row) ? 0 : 1;
    used_[static_cast<std::size_t>(row)] = uses_.size();
    uses_.push_back(row);
  }

  // Makes room for what was taken in beyond the capacity; returns what leaves.
  std::vector<int> drop() {
    std::vector<int> dropped;
    for (; held_ > capacity_; ++oldest_) {
      std::size_t& used = used_[static_cast<std::size_t>(uses_[oldest_])];
      if (used != oldest_) continue;  // again since
      used = kNever;
      --held_;
      dropped.push_back(uses_[oldest_]);
    }
    return dropped;
  }

 private:
  static constexpr std::size_t kNever = ~std::size_t{0};
  std::size_t capacity_, held_ = 0, oldest_ = 0;
  std::vector<int> uses_;          // rows, in the order of all uses
  std::vector<std::size_t> used_;  // [row] place of its last use in there
};

}  // namespace shardsim::physics
