#include <cmath>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

constexpr double kDirectRanks = 64;
constexpr double kDirectPerExponent = 10;
constexpr double kNegligible = 1e-20;  // of the first term; at most about 600 terms are added before it is reached

}  // namespace

double PowerLaw::at(double rank) const {
  return value * std::pow((rank + shift) / anchor, -exponent);
}

PowerLawRun::PowerLawRun(const PowerLaw& law, std::uint64_t first, std::uint64_t last)
    : law_(law), first_(first), last_(last) {
  add_head();
  closed_first_ = first_ + head_.size();
  low_ = static_cast<double>(closed_first_) - 0.5 + law_.shift;
  low_value_ = law_.at(static_cast<double>(closed_first_) - 0.5);
}

void PowerLawRun::add_head() {
  const double first_term = at(first_);
  double sum = 0;
  for (std::uint64_t rank = first_; rank <= last_; ++rank) {
    const double t = static_cast<double>(rank) + law_.shift;
    if (t >= kDirectRanks && t >= kDirectPerExponent * law_.exponent) return;
    const double term = at(rank);
    sum += term;
    head_.push_back(sum);
    negligible_rest_ = !(term > kNegligible * first_term);
    if (negligible_rest_) return;
  }
}

double PowerLawRun::sum_to(std::uint64_t rank) const {
  if (rank < first_) return 0;
  const std::uint64_t n = rank - first_ + 1;
  if (n <= head_.size()) return head_[n - 1];
  const double head = head_.empty() ? 0 : head_.back();
  return negligible_rest_ ? head : head + closed_form(rank);
}

double PowerLawRun::closed_form(std::uint64_t rank) const {
  const double b = 1 - law_.exponent;
  const double high = static_cast<double>(rank) + 0.5 + law_.shift;
  // log1p of the number of ranks, not the logarithm of a quotient: a large shift would swallow them.
  const double log_ratio = std::log1p(static_cast<double>(rank - closed_first_ + 1) / low_);
  const double integral = low_value_ * low_ * (std::abs(b) < 1e-14 ? log_ratio : std::expm1(b * log_ratio) / b);
  const double high_value = low_value_ * std::exp(-law_.exponent * log_ratio);
  return integral + correction(high, high_value) - correction(low_, low_value_);
}

double PowerLawRun::correction(double t, double f) const {
  const double a = law_.exponent;
  return f * (a / (24 * t) - 7 * a * (a + 1) * (a + 2) / (5760 * t * t * t));
}

}  // namespace shardsim
