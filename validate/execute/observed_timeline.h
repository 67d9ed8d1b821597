#pragma once

#include <string>
#include <vector>

#include "sim/program.h"
#include "sim/timeline.h"

namespace shardsim {

// What one rank has to tell of a run, and the Timeline that those of all ranks make.
struct RankReport {
  std::vector<Span> spans;  // us of rank 0's clock
  std::int64_t peak_bytes = 0;
  std::string host;
  Timeline::Measured facts;
  double clock_residual_us = 0;

  std::string to_text() const;                           // for the wire
  static RankReport from_text(const std::string& text);  // Errors: Failure::run
};

// reports: by rank; without spans where a rank said nothing. An incomplete run keeps the iterations that every rank
// finished, and of the next one what there is.
Timeline observed_timeline(const Program& program, const std::vector<RankReport>& reports, bool complete);

// Seconds of each kept iteration in order: from the end of the one before it (of the first: from its first span) to its
// own end, on the slowest rank.
std::vector<double> iteration_times_us(const Timeline& timeline);

}  // namespace shardsim
