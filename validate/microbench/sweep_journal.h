#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "validate/microbench/journal.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

// The points of a sweep that are in the journal beside an output: a line of JSON with what the sweep began with, and
// one for every round of a point.
class SweepJournal {
 public:
  // Opens or begins it. Errors: those of Journal; a first line that is not that of a sweep.
  SweepJournal(const std::filesystem::path& output, const std::string& what);

  // The memory by which the points of the sweep were chosen when it began; `now` where it begins now. Free memory
  // differs from call to call, and the points have to be the same ones.
  std::int64_t memory(std::int64_t now);

  // Returns its measurements of these points. Errors (Failure::input, at the line): what is no line of their sweep.
  MeasuredBefore before(std::span<const BenchPoint> points) const;

  void begun(const DeviceLimits& limits);
  void measured(int round, std::size_t point, const MeasuredPoint& visit);
  void remove() { journal_.remove(); }
  const Journal& journal() const { return journal_; }

 private:
  Journal journal_;
  std::int64_t memory_ = 0;
  DeviceLimits limits_;
};

}  // namespace shardsim
