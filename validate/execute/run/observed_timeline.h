#pragma once

#include <string>
#include <vector>

#include "sim/program/program.h"
#include "sim/timeline/timeline.h"

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

enum class Pace {
  back_to_back,  // an iteration lasts from the end of the one before it (the first: from its first span) to its own
  apart,         // from its first span to its end
};

// reports: by rank; without spans where a rank said nothing. Timeline::iteration_ms is the median of the iterations.
Timeline observed_timeline(const Program& program, const std::vector<RankReport>& reports, Pace pace, bool complete);

// Microseconds of each kept iteration in order, on the slowest rank.
std::vector<double> iteration_times_us(const Timeline& timeline, Pace pace);

}  // namespace shardsim
