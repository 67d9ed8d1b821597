#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/tree/map_reader.h"

namespace shardsim {

// The largest `sigma` of log_normal: beyond, one row takes all accesses and exp(sigma^2 / 2) nears overflow.
inline constexpr double kMostAccessSigma = 20;

// An access distribution as a workload file writes it (docs/formats/workload.md, "access distributions").
struct AccessSpec {
  std::string family = "uniform";
  double s = 0, q = 0, c = 0;  // zipf, zipf_mandelbrot (c = 0: not absolute)
  double sigma = 0;            // log_normal
  struct Knot {
    double rank = 0;  // 1-based, whole
    double ln_p = 0;
    bool operator==(const Knot&) const = default;
  };
  std::vector<Knot> knots;  // piecewise_power_law
  struct Step {
    std::uint64_t rows = 0;
    double weight = 0;  // of each of them, against the others
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> steps;  // steps: from the heaviest rows down; rows behind the last have probability 0
  std::vector<double> p;    // explicit or counts: probabilities, sorted falling
  std::string file, table;  // counts: where they came from
  bool rescale = false;

  bool absolute() const;  // its sum is L; otherwise it is scaled to L
  bool operator==(const AccessSpec&) const = default;
};

inline constexpr std::uint64_t kMostTableRows = std::uint64_t{1} << 53;  // doubles hold every whole number up to here

// Row probabilities of one table in popularity order: p of a row is its expected occurrences per sample (it may exceed
// 1). Everything is in closed form over rank intervals: a table of 10^10 rows costs what a small one costs.
// Positions count from 0 here; FlexShard's rank i is position i - 1.
class AccessDistribution {
 public:
  // Scaled to `average_length` unless absolute (then average_length <= 0 means "the sum"). Errors (Failure::input at
  // `place`): parameters outside their range, a sum that is not finite, an absolute sum that differs from
  // average_length by more than 1e-4 relative without `rescale`.
  AccessDistribution(const AccessSpec& spec, std::uint64_t rows, double average_length, const Place& place = {});

  std::uint64_t rows() const { return rows_; }
  double total() const { return total_; }            // L = expected items per sample
  double probability(std::uint64_t position) const;  // p, not rising with position
  double prefix(std::uint64_t n) const;              // sum of p over the first n positions
  double sum(std::uint64_t first, std::uint64_t end) const { return prefix(end) - prefix(first); }
  std::uint64_t count_at_least(double p) const;  // number of rows with probability >= p
  // The row that owns the point `mass` of [0, total): smallest i with prefix(i + 1) > mass; the last row beyond.
  std::uint64_t position_at(double mass) const { return position_between(0, rows_ - 1, mass); }
  // The same, of a mass whose row is known to be one of [first, last].
  std::uint64_t position_between(std::uint64_t first, std::uint64_t last, double mass) const;

  // Expected number of different rows of [first, end) met in `draws` accesses that fall into that interval: the sum of
  // 1 - (1 - p/S)^draws over its rows, S the interval's sum. Within 1e-3 of the sum; exact where p is constant.
  double expected_distinct(std::uint64_t first, std::uint64_t end, double draws) const;

  // True for copies of one distribution; false for two that were made separately, even if they are equal.
  bool operator==(const AccessDistribution&) const = default;

  class Family;  // one per family name

 private:
  std::shared_ptr<const Family> family_;
  std::uint64_t rows_ = 0;
  double scale_ = 1;
  double total_ = 0;
};

// The interface behind the families; unscaled.
// Contract: probability is finite, at least 0 and does not rise with the position; prefix(n) is the sum of the first n
// of them, exact to 1e-9 of the whole; both are cheap for any number of rows.
class AccessDistribution::Family {
 public:
  virtual ~Family() = default;
  virtual double probability(std::uint64_t position) const = 0;
  virtual double prefix(std::uint64_t n) const = 0;
};

// Reads the `access` map of a table. `rows` resolves knots given as fractions; `folder` resolves relative files. Where
// `hottest_first` says that row ids are in order of popularity, rows that are listed or counted otherwise are refused.
AccessSpec read_access(MapReader reader, std::uint64_t rows, const std::string& folder, bool hottest_first = false);

// An observed payload over a planned one: on each interval between given points the planned prefix sum is stretched to
// meet the observed shares, then everything is scaled to the observed length. (docs/formats/workload.md, `runtime`.)
struct ObservedAccess {
  double average_length = 0;
  struct Share {
    std::uint64_t rows = 0;
    double share = 0;
    bool operator==(const Share&) const = default;
  };
  std::vector<Share> shares;
  std::string source;
  bool operator==(const ObservedAccess&) const = default;

  // Expected items per sample that fall into positions [first, end).
  double sum(const AccessDistribution& planned, std::uint64_t first, std::uint64_t end) const;
};

// AccessDistribution::position_at for many masses of one interval: the same positions, from narrower searches. Cut
// points at even steps of the mass are searched for beforehand, as many as pay for the number of searches that is
// expected.
class PositionSearch {
 public:
  // For masses of [begin, end] within [0, total]. The distribution must outlive this.
  PositionSearch(const AccessDistribution& access, double begin, double end, std::int64_t searches);

  std::uint64_t position_at(double mass) const;

 private:
  void cut(std::size_t first, std::size_t last);
  double mass_of(std::size_t cut) const { return begin_ + step_ * static_cast<double>(cut); }

  const AccessDistribution& access_;
  double begin_, step_;
  std::vector<std::uint64_t> cuts_;  // the positions at even steps of the mass, both ends included
};

}  // namespace shardsim
