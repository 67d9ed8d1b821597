#pragma once

#include <cstdint>
#include <optional>
#include <random>

namespace shardsim::torchrec {

// The clamped Luus-Jaakola search of planner/utils.py for the least value of a function of one variable on [left,
// right]: ask `next` for a probe, hand it the value there, and so on.
class LuusJaakola {
 public:
  LuusJaakola(double left, double right, int max_iterations, std::uint32_t seed = 42,
              std::optional<double> left_cost = std::nullopt);

  // The next probe; `value` is the function at the last one (ignored on the first call). nullopt: no more.
  std::optional<double> next(double value);
  // Nothing right of `bound` is allowed any more.
  void shrink_right(double bound);
  // The best probe so far and its value.
  double best_x() const { return x_; }
  double best_value() const { return fx_; }

 private:
  double uniform(double from, double to);
  void judge(double value);
  void record_bound(double value);
  std::optional<double> draw();

  double left_, right_;
  int max_iterations_;
  std::mt19937 random_;
  std::optional<double> left_cost_, right_cost_;
  double x_ = 0, fx_ = 0;  // best so far
  double y_ = 0;           // last probe
  double reach_ = 0;       // of the next draw to both sides of x
  int calls_ = 0;
};

}  // namespace shardsim::torchrec
