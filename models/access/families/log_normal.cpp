#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/access/families/family.h"
#include "models/access/normal_quantile.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kEdge = 256;  // ranks at either end that are added one by one

// p(i) ~ exp(sigma z(i - 1/2)), z(t) the normal quantile of 1 - t / rows. The sum over ranks u .. v is the integral of
// h(t) = exp(sigma z(t)) over [u - 1, v], which is rows exp(sigma^2 / 2) times a difference of the normal distribution
// function shifted by sigma, with the midpoint (Euler-Maclaurin) corrections in h' and h'''. Both ends, where z runs to
// infinity, are added one by one.
class LogNormal final : public AccessDistribution::Family {
 public:
  LogNormal(double sigma, std::uint64_t rows);
  double probability(std::uint64_t position) const override { return std::exp(sigma_ * (z_at(position) - z_first_)); }
  double prefix(std::uint64_t n) const override;

 private:
  double z_at(std::uint64_t position) const;    // in the middle of a row
  double z_edge(std::uint64_t position) const;  // at its lower edge
  double antiderivative(std::uint64_t edge) const;

  double sigma_;
  std::uint64_t rows_;
  double z_first_ = 0;
  std::vector<double> head_;      // sums of the first k rows
  std::uint64_t tail_first_ = 0;  // first position of the tail
  std::vector<double> tail_;      // sums of k rows from there
  double head_antiderivative_ = 0;
  double before_tail_ = 0;
};

LogNormal::LogNormal(double sigma, std::uint64_t rows) : sigma_(sigma), rows_(rows), z_first_(z_at(0)) {
  const std::uint64_t head = std::min(kEdge, rows_);
  tail_first_ = std::max(head, rows_ - std::min(kEdge, rows_));
  head_.push_back(0);
  for (std::uint64_t i = 0; i < head; ++i) head_.push_back(head_.back() + probability(i));
  before_tail_ = head_.back();
  if (tail_first_ > head) {
    head_antiderivative_ = antiderivative(head);
    before_tail_ += antiderivative(tail_first_) - head_antiderivative_;
  }
  tail_.push_back(0);
  for (std::uint64_t i = tail_first_; i < rows_; ++i) tail_.push_back(tail_.back() + probability(i));
}

double LogNormal::z_at(std::uint64_t position) const {
  const auto n = static_cast<double>(rows_);
  const std::uint64_t mirror = rows_ - 1 - position;
  if (position == mirror) return 0;
  return position < mirror ? upper_quantile((static_cast<double>(position) + 0.5) / n)
                           : -upper_quantile((static_cast<double>(mirror) + 0.5) / n);
}

double LogNormal::z_edge(std::uint64_t position) const {
  const auto n = static_cast<double>(rows_);
  const std::uint64_t mirror = rows_ - position;
  if (position == mirror) return 0;
  return position < mirror ? upper_quantile(static_cast<double>(position) / n)
                           : -upper_quantile(static_cast<double>(mirror) / n);
}

// Up to a constant; of the two tails the one that is small where z < sigma, as the other one swallows all differences.
// With w = dz/dt = -1 / (rows normal_density(z)) and dw/dt = z w^2:
//   h' = sigma h w,   h''' = sigma h w^3 ((sigma + z)(sigma + 2 z) + 1).
double LogNormal::antiderivative(std::uint64_t edge) const {
  const double z = z_edge(edge);
  const auto n = static_cast<double>(rows_);
  const double h = std::exp(sigma_ * (z - z_first_));
  const double w = -1 / (n * normal_density(z));
  const double integral = n * std::exp(0.5 * sigma_ * sigma_ - sigma_ * z_first_) * -upper_tail(sigma_ - z);
  const double third = sigma_ * h * w * w * w * ((sigma_ + z) * (sigma_ + 2 * z) + 1);
  return integral - sigma_ * h * w / 24 + 7 * third / 5760;
}

double LogNormal::prefix(std::uint64_t n) const {
  if (n < head_.size()) return head_[n];
  if (n >= tail_first_) return before_tail_ + tail_[n - tail_first_];
  return head_.back() + antiderivative(n) - head_antiderivative_;
}

}  // namespace

FamilyPointer make_log_normal(const FamilyInput& input) {
  const double sigma = input.spec.sigma;
  if (!(sigma > 0 && sigma <= kMostAccessSigma))
    throw input_error(input.place, fmt::format("access parameter 'sigma' is {}", sigma),
                      fmt::format("Give a number above 0 and at most {}", kMostAccessSigma));
  return std::make_shared<LogNormal>(sigma, input.rows);
}

}  // namespace shardsim
