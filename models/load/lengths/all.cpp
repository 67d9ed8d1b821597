#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/text.h"
#include "models/access/normal_quantile.h"
#include "models/load/lengths/family.h"

namespace shardsim {

// The files beside this one define these.
LengthMaker make_fixed_lengths, make_geometric_lengths, make_histogram_lengths, make_log_normal_lengths,
    make_negative_binomial_lengths, make_poisson_lengths, make_uniform_lengths;

namespace {

const LengthEntry& length_entry_of(const LengthInput& input) {
  for (const LengthEntry& entry : length_entries()) {
    if (entry.name == input.spec.family) return entry;
  }
  throw input_error(input.place, fmt::format("unknown length family '{}'", input.spec.family),
                    known_names_hint(input.spec.family, length_families()));
}

// The mean of f (1 - f), f = offset + spread Z, over the Z with f in [0, 1).
double rounding_in_cell(double offset, double spread) {
  const double a = -offset / spread, b = (1 - offset) / spread;
  const double part = upper_tail(a) - upper_tail(b);
  const double first = normal_density(a) - normal_density(b);
  const double second = part + a * normal_density(a) - b * normal_density(b);
  return std::max(0.0,
                  (offset - offset * offset) * part + spread * (1 - 2 * offset) * first - spread * spread * second);
}

LengthFamily refuse_length_file(const LengthInput& input) {
  throw input_error(input.place, "lengths that are stored in a file cannot be drawn",
                    "Give a histogram of the lengths, or take load.batches: expected");
}

LengthFamily make_length_family(const LengthInput& input) {
  const LengthEntry& entry = length_entry_of(input);
  if (!std::isfinite(input.mean) || !(input.mean > 0))
    throw input_error(input.place, fmt::format("bags have {} ids on average", input.mean),
                      "Give a pooling_factor or an average_length above 0");
  if (input.spec.common && !entry.allows_factors)
    throw input_error(input.place, fmt::format("lengths of the family '{}' cannot be common", input.spec.family),
                      "Write common: false, or one of the families that allow it: fixed, poisson, geometric, "
                      "negative_binomial, or log_normal without 'most'");
  return entry.make(input);
}

}  // namespace

std::span<const LengthEntry> length_entries() {
  static constexpr std::array<LengthEntry, 8> kFamilies{{
      {"file", false, refuse_length_file},
      {"fixed", true, make_fixed_lengths},
      {"geometric", true, make_geometric_lengths},
      {"histogram", false, make_histogram_lengths},
      {"log_normal", true, make_log_normal_lengths},
      {"negative_binomial", true, make_negative_binomial_lengths},
      {"poisson", true, make_poisson_lengths},
      {"uniform_int", false, make_uniform_lengths},
  }};
  return kFamilies;
}

const std::vector<std::string>& length_families() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const LengthEntry& entry : length_entries()) names.emplace_back(entry.name);
    return names;
  }();
  return kNames;
}

double rounding_variance(double mean, double spread) {
  constexpr double kOneNumber = 0.3;
  if (spread >= kOneNumber) return 1.0 / 6;
  const double f = mean - std::floor(mean);
  if (!(spread > 0)) return f * (1 - f);
  double variance = 0;
  for (int cell = -3; cell <= 3; ++cell) variance += rounding_in_cell(f - cell, spread);
  return variance;
}

Error impossible_mean(const LengthInput& input, double possible) {
  return input_error(input.place,
                     fmt::format("lengths of the family '{}' have the mean {:.7g} here, bags have {:.7g} ids",
                                 input.spec.family, possible, input.mean),
                     "Correct the lengths, or the pooling_factor or average_length");
}

std::int64_t LengthLaw::Family::common_total(const FactorSums&, const UniformStream&) const {
  throw std::logic_error("LengthLaw: this family has no rule for sample factors");
}

LengthLaw::LengthLaw(const LengthSpec& spec, double mean, const Place& place)
    : family_(make_length_family({spec, mean, place})) {}

Cumulants LengthLaw::cumulants() const {
  return family_->cumulants();
}

double LengthLaw::probability(std::int64_t length) const {
  return length < 0 ? 0 : family_->probability(length);
}

double LengthLaw::inner_mean() const {
  return family_->inner_mean();
}

std::int64_t LengthLaw::total(std::int64_t bags, const UniformStream& u) const {
  return bags <= 0 ? 0 : family_->total(bags, u);
}

std::int64_t LengthLaw::total(const FactorSums& factors, const UniformStream& u) const {
  return factors.samples <= 0 ? 0 : family_->common_total(factors, u);
}

}  // namespace shardsim
