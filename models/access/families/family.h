#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/access/access_distribution.h"

namespace shardsim {

// The families of access distributions, one file each. To add one: its file, its maker and its row in all.cpp, its keys
// in access_reader.cpp.

using FamilyPointer = std::shared_ptr<const AccessDistribution::Family>;

// The input of every maker; `place` is for its errors (Failure::input), which report parameters outside their range.
struct FamilyInput {
  const AccessSpec& spec;
  std::uint64_t rows;
  const Place& place;
};

// Runs of rows of one value each, as they come: the rest of the rows, behind the last run, has its value.
class EqualRuns : public AccessDistribution::Family {
 public:
  double probability(std::uint64_t position) const final { return run_of(position).value; }

  double prefix(std::uint64_t n) const final {
    if (n == 0) return 0;
    const Run& run = run_of(n - 1);
    return run.mass_before + static_cast<double>(n - run.first) * run.value;
  }

 protected:
  // Begins a run of rows of equal value at `first`; `mass_before` is the sum of the values of the rows before it. The
  // first run begins at 0.
  void begin_run(std::uint64_t first, double value, double mass_before) {
    runs_.push_back({first, value, mass_before});
  }
  bool goes_on(double value) const { return !runs_.empty() && runs_.back().value == value; }

 private:
  struct Run {
    std::uint64_t first = 0;
    double value = 0, mass_before = 0;
  };

  const Run& run_of(std::uint64_t position) const {
    return *std::prev(std::ranges::upper_bound(runs_, position, {}, &Run::first));
  }

  std::vector<Run> runs_;
};

using FamilyMaker = FamilyPointer(const FamilyInput& input);

struct FamilyEntry {
  std::string_view name;
  FamilyMaker* make;
};

std::span<const FamilyEntry> access_families();  // alphabetical

// Unknown name: an input error listing the known ones.
FamilyPointer make_family(const FamilyInput& input);

// A run of ranks (counted from 1) whose probability follows one power law:
//   p(i) = value * ((i + shift) / anchor)^-exponent,   i = first .. last.
struct PowerLaw {
  double value = 1;
  double anchor = 1;
  double shift = 0;
  double exponent = 0;  // 0 or more

  double at(double rank) const;
};

// Sums of a power law without its rows. The sum over i = u .. v is the integral from u - 1/2 to v + 1/2 with two
// midpoint (Euler-Maclaurin) corrections:  I - (f'(hi) - f'(lo)) / 24 + 7 (f'''(hi) - f'''(lo)) / 5760.
// The series needs exponent / rank to be small, so ranks below 64 or below 10 times the exponent are added one by one,
// once. Error below 1e-10 of the sum.
class PowerLawRun {
 public:
  PowerLawRun(const PowerLaw& law, std::uint64_t first, std::uint64_t last);

  std::uint64_t last() const { return last_; }
  double at(std::uint64_t rank) const { return law_.at(static_cast<double>(rank)); }
  double sum_to(std::uint64_t rank) const;  // over first .. rank, rank at most last
  double sum() const { return sum_to(last_); }

 private:
  void add_head();
  double closed_form(std::uint64_t rank) const;  // over closed_first_ .. rank
  double correction(double t, double f) const;

  PowerLaw law_;
  std::uint64_t first_;
  std::uint64_t last_;
  std::vector<double> head_;        // head_[k]: sum of the first k + 1 ranks
  bool negligible_rest_ = false;    // nothing behind the head changes the sum
  std::uint64_t closed_first_ = 0;  // first rank behind the head
  double low_ = 0;                  // its lower edge, shifted
  double low_value_ = 0;            // f there
};

}  // namespace shardsim
