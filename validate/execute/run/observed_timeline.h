#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "program/timeline/timeline.h"
#include "validate/execute/fusion/iteration_programs.h"

namespace shardsim {

// The report of one rank on a run, and the Timeline that those of all ranks make.
struct RankReport {
  std::vector<Span> spans;         // us of rank 0's clock
  std::vector<std::int64_t> sent;  // [rank] bytes sent to each in the kept iterations; empty: not counted
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
// bytes_out, bytes_in and flow are the mean of what all ranks counted; those of the Program where one did not count, or
// the run is not complete.
Timeline observed_timeline(const IterationPrograms& programs, const std::vector<RankReport>& reports, Pace pace,
                           bool complete);

// Microseconds of each kept iteration in order, on the slowest rank.
std::vector<double> iteration_times_us(const Timeline& timeline, Pace pace);

}  // namespace shardsim
