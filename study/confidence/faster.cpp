#include "study/confidence/faster.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

namespace shardsim {
namespace {

// As the law of class_errors.cpp.
using RegretLaw = boost::math::students_t_distribution<
    double,
    boost::math::policies::policy<boost::math::policies::overflow_error<boost::math::policies::errno_on_error>>>;

// True when nothing that we know tells them apart: two names of one plan.
bool same_figures(double first_ms, const Interval& first, double second_ms, const Interval& second) {
  return first_ms == second_ms && first.parts == second.parts && first.setting.cluster == second.setting.cluster &&
         first.setting.software == second.setting.software && first.setting.version == second.setting.version;
}

struct PartPair {
  double first = 0, second = 0;  // shares of the iterations, of their geometric mean
  double scale_of_first = 0, scale_of_second = 0;
  double fitted_of_first = 1, fitted_of_second = 1;

  double changed() const { return second - first; }
  double error_of_first() const { return first * scale_of_first; }
  double error_of_second() const { return second * scale_of_second; }
  // The times would move so far against each other if both had the constants of the one, or of the other.
  double unlike_evidence() const {
    return first > 0 && second > 0 ? (first + second) / 2 * std::log(fitted_of_first / fitted_of_second) : 0;
  }
};

// By kind, and by size within it.
using PairedParts = std::map<SizedClass, PartPair>;

PairedParts paired_parts(double first_ms, const Interval& first, double second_ms, const Interval& second) {
  const double middle = std::sqrt(first_ms * second_ms);
  PairedParts pairs;
  for (const UncertainPart& part : first.parts) {
    PartPair& pair = pairs[sized_class(part.error_class)];
    pair.first = part.ms / middle;
    pair.scale_of_first = part.scale;
    pair.fitted_of_first = part.fitted_share;
  }
  for (const UncertainPart& part : second.parts) {
    PartPair& pair = pairs[sized_class(part.error_class)];
    pair.second = part.ms / middle;
    pair.scale_of_second = part.scale;
    pair.fitted_of_second = part.fitted_share;
  }
  return pairs;
}

// The square of what the errors of parts leave between two iterations on one cluster. Errors of calls of one kind go
// together where their sizes are near: a call that is a little above the end of a class is no other thing in one plan
// than one a little below it is in the other.
double squares_on_one_cluster(const PairedParts& pairs) {
  double squares = 0;
  for (const auto& [one, of_one] : pairs) {
    const double left = of_one.error_of_second() - of_one.error_of_first();
    for (auto other = pairs.lower_bound({one.kind, 0}); other != pairs.end() && other->first.kind == one.kind;
         ++other) {
      const double beside = other->second.error_of_second() - other->second.error_of_first();
      squares += left * beside * std::pow(kNeighbourCorrelation, std::abs(one.size - other->first.size));
    }
  }
  return std::max(0.0, squares);
}

double squares_on_two_clusters(const PairedParts& pairs) {
  double squares = 0;
  for (const auto& [one, pair] : pairs)
    squares += std::pow(pair.error_of_first(), 2) + std::pow(pair.error_of_second(), 2);
  return squares;
}

// The square of the spread between two pieces of evidence for one network: one of the two clusters may well behave as
// the other's was measured. All parts move together.
double squares_of_evidence(const PairedParts& pairs) {
  double spread = 0;
  for (const auto& [one, pair] : pairs) spread += pair.unlike_evidence();
  return spread * spread;
}

// Returns what the two spend in different kinds of parts, the one more and the other less; sizes are no kinds.
double changed_parts(const PairedParts& pairs) {
  std::map<std::string, double> kinds;
  for (const auto& [one, pair] : pairs) kinds[one.kind] += pair.changed();
  double changed = 0;
  for (const auto& [kind, each] : kinds) changed += std::abs(each);
  return changed;
}

// The square of what the order hangs on the draw. Rows lie in one place for both, so draws are compared one by one;
// that the two are told in unlike placements is no part of it.
double placement_squares(const Interval& first, const Interval& second) {
  const std::size_t draws = std::max(first.placements.size(), second.placements.size());
  const auto of = [](const Interval& interval, std::size_t draw) {
    return interval.placements.empty() ? 0 : interval.placements[draw];
  };
  const double middle = second.placement_mean() - first.placement_mean();
  double squares = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) squares += std::pow(of(second, draw) - of(first, draw) - middle, 2);
  return draws == 0 ? 0 : squares / static_cast<double>(draws);
}

// The iteration as its host alone makes it: nothing of what GPUs do beside it is in its time.
Interval host_alone(Interval interval, double ms) {
  const auto host = std::ranges::find(interval.parts, "host", &UncertainPart::error_class);
  UncertainPart all = host == interval.parts.end() ? UncertainPart{"host"} : *host;
  all.ms = ms;
  interval.parts = {all};
  return interval;
}

Difference by_parts(double first_ms, const Interval& first, double second_ms, const Interval& second) {
  const bool same_cluster = first.setting.cluster == second.setting.cluster;
  const PairedParts pairs = paired_parts(first_ms, first, second_ms, second);
  const double squares = same_cluster ? squares_on_one_cluster(pairs) : squares_on_two_clusters(pairs);
  const double changed = changed_parts(pairs);
  const bool same_software =
      first.setting.software == second.setting.software && first.setting.version == second.setting.version;
  const double rest = std::max(first.rest_scale, second.rest_scale);
  const double unshared = same_cluster && same_software ? rest * std::min(1.0, changed) : rest;
  const double both =
      same_software ? unshared * unshared : first.rest_scale * first.rest_scale + second.rest_scale * second.rest_scale;
  const double spread = first.spread_scale * first.spread_scale + second.spread_scale * second.spread_scale;
  const double repeats = same_figures(first_ms, first, second_ms, second) ? 0 : 2 * kRepeatScale * kRepeatScale;
  return {std::log(second.expected(second_ms) / first.expected(first_ms)),
          std::sqrt(squares + both + spread + placement_squares(first, second) + repeats + squares_of_evidence(pairs)),
          std::min(1.0, changed / 2)};
}

}  // namespace

Difference difference_of(double first_ms, const Interval& first, double second_ms, const Interval& second) {
  const double apart = std::abs(std::log(second.expected(second_ms) / first.expected(first_ms)));
  const bool same_host = first.setting.cluster == second.setting.cluster &&
                         first.setting.software == second.setting.software &&
                         first.setting.version == second.setting.version;
  // Of two further apart, another host would let the GPUs of one of them set its time.
  if (!same_host || apart >= kRepeatScale || !first.is_set_by_host() || !second.is_set_by_host())
    return by_parts(first_ms, first, second_ms, second);
  Difference difference = by_parts(first_ms, host_alone(first, first_ms), second_ms, host_alone(second, second_ms));
  difference.one_host = true;
  return difference;
}

bool is_equal(const Difference& difference) {
  constexpr double kEqualTimes = 1e-4;
  return std::abs(difference.log_ratio) < (difference.one_host ? kRepeatScale : kEqualTimes);
}

double Difference::first_is_faster_by(double least) const {
  const double first = error_chance((log_ratio - least) / scale), second = error_chance((-log_ratio - least) / scale);
  return first / (first + second);
}

double Difference::first_is_faster() const {
  if (scale <= 0) return log_ratio > 0 ? 1 : log_ratio < 0 ? 0 : 0.5;
  return error_chance(log_ratio / scale);
}

// The mean of what a t-distributed error has above log_ratio, in closed form: of density f and distribution F with n
// degrees of freedom, the mean of max(0, X - z) is (n + z^2) / (n - 1) f(z) - z (1 - F(z)).
double Difference::expected_regret() const {
  if (scale <= 0) return std::max(0.0, -log_ratio);
  const RegretLaw law(kErrorFreedom);
  const double z = log_ratio / scale;
  const double beyond = boost::math::cdf(boost::math::complement(law, z));
  return scale * ((kErrorFreedom + z * z) / (kErrorFreedom - 1) * boost::math::pdf(law, z) - z * beyond);
}

Difference difference_of_samples(double first_ms, Interval first, double first_samples, double second_ms,
                                 Interval second, double second_samples) {
  const auto of_sample = [](Interval& interval, double samples) {
    for (UncertainPart& part : interval.parts) {
      part.ms /= samples;
      part.beneath_ms /= samples;
    }
  };
  of_sample(first, first_samples);
  of_sample(second, second_samples);
  return difference_of(first_ms / first_samples, first, second_ms / second_samples, second);
}

}  // namespace shardsim
