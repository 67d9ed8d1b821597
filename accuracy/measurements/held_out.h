#pragma once

#include <optional>
#include <vector>

#include "accuracy/measurements/judged_row.h"
#include "accuracy/measurements/overhead_fit.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Rows left out of which an interval of one's own is worth making.
inline constexpr int kLeastHeldOut = 4;
// The scale of their errors as a cluster file has it: to four digits.
double written_scale(double scale);

// A measured row as a cluster predicted it before a calibration, and as a fit predicts it that did not see the row.
struct LeftOutRow {
  JudgedRow before, after;
};

// The same rows in the same order.
std::vector<LeftOutRow> beside_each_other(std::vector<JudgedRow> before, std::vector<JudgedRow> after);

// Every row as a fit from `start` to the others predicts it. The sizes of a collective and group are dealt in order to
// five parts, or to as many as there are sizes; rows of one size stay together, since they tell of each other. Each
// part is left out in turn. Empty where all rows are of one size.
std::vector<LeftOutRow> left_out_in_turn(const ClusterSpec& before, const ClusterSpec& start,
                                         const std::vector<MeasuredRow>& rows, FitScope scope);

// The scales of the errors of such rows by size. A scale is the mean of |ln(measured / predicted)|, as that of the
// class of errors that it replaces (study/confidence/class_errors.h), pulled towards the mean over all sizes, which
// counts as three rows. Nothing where fewer than four rows were left out.
std::optional<HeldOutCalls> held_out_calls(const std::vector<JudgedRow>& rows);

}  // namespace shardsim
