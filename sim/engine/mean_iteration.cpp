#include "sim/engine/mean_iteration.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <set>

namespace shardsim {
namespace {

constexpr double kSameLength = 1e-11;  // of an iteration
constexpr int kMostTrials = 50;

// As they are where a part of the whole runs of each of those operations that `runs` says, and nothing of the others.
std::vector<OpWork> with_part(const Program& program, std::vector<OpWork> works, double part,
                              const std::function<bool(const Op&)>& runs) {
  for (const Op& op : program.ops) {
    if (op.every == 1) continue;
    const double factor = runs(op) ? part * op.every : 0;  // of what it is charged with
    for (double& seconds : works[static_cast<std::size_t>(op.id)].seconds)
      if (seconds > 0) seconds *= factor;
    for (OpWork::Call& call : works[static_cast<std::size_t>(op.id)].calls) {
      call.loads.start = factor * call.loads.start;
      for (LinkLoad& load : call.loads.loads) load.occupancy *= factor;
      if (factor == 0) call.loads.loads.clear();
    }
  }
  return works;
}

bool any_op(const Op&) {
  return true;
}

}  // namespace

bool has_rare_ops(const Program& program) {
  return std::ranges::any_of(program.ops, [](const Op& op) { return op.every > 1; });
}

MeanIteration mean_iteration(const Program& program, const std::vector<OpWork>& works, const TimeOfWorks& time_of) {
  MeanIteration found;
  found.without = time_of(with_part(program, works, 0, any_op));
  found.with = time_of(with_part(program, works, 1, any_op));
  std::set<int> numbers;
  for (const Op& op : program.ops)
    if (op.every > 1) numbers.insert(op.every);
  found.mean = found.without;
  for (const int every : numbers) {  // one, unless a Program was written by hand
    const auto runs = [every](const Op& op) { return op.every == every; };
    const double alone = numbers.size() == 1 ? found.with : time_of(with_part(program, works, 1, runs));
    found.mean += (alone - found.without) / every;
  }
  return found;
}

std::vector<OpWork> works_of_mean(const Program& program, const std::vector<OpWork>& works, const MeanIteration& mean,
                                  const TimeOfWorks& time_of) {
  const double same = kSameLength * mean.mean;
  if (std::abs(time_of(works) - mean.mean) <= same) return works;
  const auto works_of = [&](double part) { return with_part(program, works, part, any_op); };
  double last = 1;  // that was tried
  const auto longer = [&](double part) {
    last = part;
    const double by = time_of(works_of(part)) - mean.mean;
    return std::abs(by) <= same ? 0 : by;
  };
  // From a whole one down, iterations get shorter in a straight line until it hides behind something else.
  constexpr double kStep = 1.0 / 64;
  const double whole = mean.with - mean.mean, slope = (whole - longer(1 - kStep)) / kStep;
  const double guess = slope > 0 ? 1 - whole / slope : 0.5;
  if (guess > 0 && guess < 1 && longer(guess) == 0) return works_of(guess);
  if (whole * (mean.without - mean.mean) > 0) return works;  // of several numbers: no one part makes it as long
  std::uintmax_t trials = kMostTrials;
  boost::math::tools::toms748_solve(longer, 0.0, 1.0, mean.without - mean.mean, whole,
                                    boost::math::tools::eps_tolerance<double>(48), trials);
  return works_of(last);
}

}  // namespace shardsim
