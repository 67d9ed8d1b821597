#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "program/program.h"
#include "sim/engine/op_work.h"

namespace shardsim {

// Operations that run in one of several iterations (Op::every), as averages of replicas do, or the optimizer of
// gradients that several batches add up. Works charge every iteration with its part of them (sim/engine/op_work.h),
// which may be hidden where a whole one is not: the mean of the iterations with and without them is longer.

// The lengths of such iterations, in seconds.
struct MeanIteration {
  double mean = 0;
  double without = 0, with = 0;  // none of them, or all
};

// Seconds of an iteration of such works.
using TimeOfWorks = std::function<double(const std::vector<OpWork>& works)>;

bool has_rare_ops(const Program& program);

// Simulates iterations without and with them.
MeanIteration mean_iteration(const Program& program, const std::vector<OpWork>& works, const TimeOfWorks& time_of);

// The works of an iteration that is as long as the mean: each takes so large a part of the whole. Those that were given
// where their parts make it as long.
std::vector<OpWork> works_of_mean(const Program& program, const std::vector<OpWork>& works, const MeanIteration& mean,
                                  const TimeOfWorks& time_of);

}  // namespace shardsim
