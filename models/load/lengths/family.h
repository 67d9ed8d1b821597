#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "models/load/length_law.h"

namespace shardsim {

// The families of length laws. To add one: its class, its maker and its row in all.cpp, its keys in
// models/workload/length_reader.cpp, a row in docs/formats/workload.md.
class LengthLaw::Family {
 public:
  virtual ~Family() = default;
  virtual Cumulants cumulants() const = 0;
  virtual double probability(std::int64_t length) const = 0;
  virtual double inner_mean() const { return cumulants().mean; }
  virtual std::int64_t total(std::int64_t bags, const UniformStream& u) const = 0;
  // Only asked of families that allow sample factors.
  virtual std::int64_t common_total(const FactorSums& factors, const UniformStream& u) const;
};

// Up to so many bags are drawn one by one where their law has no sum of its own.
inline constexpr std::int64_t kSingleBags = 256;

using LengthFamily = std::shared_ptr<const LengthLaw::Family>;

// The input of every maker; the mean is finite and above 0. `place` is for errors about parameters (Failure::input).
struct LengthInput {
  const LengthSpec& spec;
  double mean;
  const Place& place;
};

using LengthMaker = LengthFamily(const LengthInput& input);

struct LengthEntry {
  std::string_view name;
  bool allows_factors;  // whether its bags may share the factor of their sample
  LengthMaker* make;
};

std::span<const LengthEntry> length_entries();  // alphabetical

// Variance that floor(Y + U) adds to a real length Y, U uniform in [0, 1): the mean of f (1 - f), f the fraction of Y.
// 1/6 where lengths spread over more than one number; less where Y hardly leaves a whole one (there Y counts as
// normal).
double rounding_variance(double mean, double spread);

// An error of a mean that the family cannot have.
Error impossible_mean(const LengthInput& input, double possible);

}  // namespace shardsim
