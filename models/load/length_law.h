#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/load/draws.h"

namespace shardsim {

// The largest `sigma` of log-normal lengths: beyond it the mean lies in bags that no run ever meets. The range of
// `size` of negative binomial ones.
inline constexpr double kMostLengthSigma = 5;
inline constexpr double kLeastLengthSize = 0.01, kMostLengthSize = 1e9;

// The lengths of bags as a workload file writes them (docs/formats/workload.md, "length_distribution").
struct LengthSpec {
  std::string family = "fixed";
  double size = 0;                 // negative_binomial: successes waited for
  double sigma = 0;                // log_normal
  std::int64_t most = 0;           // log_normal: no bag is longer; 0: no limit
  std::int64_t low = 0, high = 0;  // uniform_int: shortest and longest
  struct Bin {
    std::int64_t length = 0;
    double share = 0;
    bool operator==(const Bin&) const = default;
  };
  std::vector<Bin> lengths;  // histogram
  std::string file;          // family "file": as written in the workload file
  bool common = false;       // samples that are long in one such table are long in all (SampleFactor)

  bool operator==(const LengthSpec&) const = default;
};

// The law of how many ids a bag has. Bags are independent of each other, or share the factor of their sample.
class LengthLaw {
 public:
  // `mean` ids of a bag. Errors (Failure::input at `place`): a mean that is not finite and above 0 or that the family
  // cannot have, parameters out of range, a family that nothing is drawn from (file), `common` with a family that has
  // no such rule.
  LengthLaw(const LengthSpec& spec, double mean, const Place& place = {});

  Cumulants cumulants() const;  // of one bag; log_normal: where lengths spread over more than one number
  double probability(std::int64_t length) const;
  double inner_mean() const;  // log_normal: mean of what `most` cuts; of other families the mean

  // Ids of `bags` bags together. The family `fixed` draws nothing: bags times the mean, rounded half up.
  std::int64_t total(std::int64_t bags, const UniformStream& u) const;
  // Ids of one bag of each sample, whose means are stretched by factors of the given sums; needs `common`.
  std::int64_t total(const FactorSums& factors, const UniformStream& u) const;

  class Family;  // one per family name

 private:
  std::shared_ptr<const Family> family_;
};

// The families that a workload file may name, alphabetical; `file` is not drawn from.
const std::vector<std::string>& length_families();

}  // namespace shardsim
