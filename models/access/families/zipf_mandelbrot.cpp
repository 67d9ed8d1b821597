#include <fmt/format.h>

#include <cmath>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

// p(i) = c (i + q)^-s; Zipf's law is q = 0.
class ZipfMandelbrot final : public AccessDistribution::Family {
 public:
  ZipfMandelbrot(const PowerLaw& law, std::uint64_t rows) : run_(law, 1, rows) {}
  double probability(std::uint64_t position) const override { return run_.at(position + 1); }
  double prefix(std::uint64_t n) const override { return run_.sum_to(n); }

 private:
  PowerLawRun run_;
};

void check_parameter(double value, const char* name, const FamilyInput& input) {
  if (std::isfinite(value) && value >= 0) return;
  throw input_error(input.place, fmt::format("access parameter '{}' is {}", name, value),
                    "Give a finite number of 0 or more");
}

FamilyPointer make_power(const FamilyInput& input, double q, double c) {
  check_parameter(input.spec.s, "s", input);
  check_parameter(q, "q", input);
  check_parameter(c, "c", input);
  // Relative to rank 1, so that no power of a large q underflows; the scale of a law without c is free.
  const double first = c > 0 ? c * std::pow(1 + q, -input.spec.s) : 1;
  return std::make_shared<ZipfMandelbrot>(PowerLaw{first, 1 + q, q, input.spec.s}, input.rows);
}

}  // namespace

FamilyPointer make_zipf(const FamilyInput& input) {
  return make_power(input, 0, 0);
}

FamilyPointer make_zipf_mandelbrot(const FamilyInput& input) {
  return make_power(input, input.spec.q, input.spec.c);
}

}  // namespace shardsim
