#pragma once

#include "study/confidence/interval.h"

namespace shardsim {

// The variation of one and the same run when it is repeated, in ln(time): the mean deviation of the runs, as it follows
// from their range, averaged over the rows of scenarios/accuracy/repeats.csv (5 or 10 runs each). A smaller difference
// between two plans is not known, however much of their errors they share.
inline constexpr double kRepeatScale = 0.0073;

// Two iterations, and how sure their order is. The errors that they share are left out: on one cluster the errors of a
// class of operations are the same in both, so that only the difference of what they spend in it counts, and those of
// neighbouring sizes of one kind of collective are correlated (kNeighbourCorrelation); the error that whole iterations
// of a software have in addition to those of their parts counts to the degree to which the two consist of different
// kinds of parts. On different clusters the errors of parts are independent. The places of hot rows are the same for
// both: what counts is how their difference varies from placement to placement. Both repeat with an error of their own,
// unless the two are one plan.
struct Difference {
  double log_ratio = 0;  // ln(second / first), predicted: on average over the placements of hot rows
  double scale = 0;      // of its error
  double unlike = 0;  // share of the iterations, 0 to 1, that one spends in kinds of parts in which the other does not
  bool one_host = false;  // the same host sets both, which take as long but for what runs differ by

  double first_is_faster() const;  // chance, 0 to 1
  // The same of two that are known to differ by more than this, of ln(second / first); needs a scale above 0.
  double first_is_faster_by(double least) const;
  // The time by which the first is expected to be longer than the second where it turns out slower, on average over all
  // outcomes; relative to the second.
  double expected_regret() const;
};

// True of two that differ by less than a ten-thousandth, which no chance is worth stating of; where one host sets both
// by less than runs of one of them do.
bool is_equal(const Difference& difference);

Difference difference_of(double first_ms, const Interval& first, double second_ms, const Interval& second);

// The same in the time of a sample, of two that may differ in GPUs and batch: an iteration of each trains so many
// samples.
Difference difference_of_samples(double first_ms, Interval first, double first_samples, double second_ms,
                                 Interval second, double second_samples);

}  // namespace shardsim
