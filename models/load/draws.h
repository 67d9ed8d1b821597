#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace shardsim {

// Identifies one batch of one rank. Besides the stream (table and use), what is drawn for the batch depends only on
// this.
struct DrawPoint {
  std::int64_t iteration = 0;
  int rank = 0;
  int world = 1;  // ranks
};

// The uses of a stream of draws. Feature f of a table uses kLengthDraws + f and kOwnerDraws + f; sample factors have no
// table (its name is empty).
inline constexpr std::uint64_t kLengthDraws = 2000, kOwnerDraws = 3000, kFactorDraws = 4000;

// Counter-based draws u(a), a = 0, 1, 2 ... below 2^32, uniform in (0, 1), for one table, use and batch: the same
// numbers whatever the plan, the cluster, the other tables or the order in which they are asked for.
class UniformStream {
 public:
  UniformStream(std::string_view table, std::uint64_t seed, std::uint64_t use, const DrawPoint& at);

  double operator()(std::uint64_t a) const;

 private:
  std::uint64_t key_, first_;
};

// Whole random numbers from one uniform number u of (0, 1) each. Small means are inverted exactly; larger ones take the
// normal quantile with a correction for skewness, whose distribution function is off by at most 4.6e-4 at a mean of 30
// and by 1.2e-5 at 1,000 (negative binomial at size 64: 7e-4).

// Mean, variance and third central moment.
struct Cumulants {
  double mean = 0, variance = 0, third = 0;
};

// max(0, floor(mean + sqrt(variance) (z + sk (z^2 - 1) / 6) + 1/2)), z the normal quantile of u, sk the skewness.
std::int64_t rounded_skew_draw(double u, const Cumulants& law);

// Successes of n trials, each with probability p (0 to 1), and the same by inversion whatever the mean.
std::int64_t draw_binomial(double u, std::int64_t n, double p);
std::int64_t invert_binomial(double u, std::int64_t n, double p);

std::int64_t draw_poisson(double u, double mean);

// Failures before `size` successes (any real above 0), with the given mean.
std::int64_t draw_negative_binomial(double u, double size, double mean);

// n things over cells in proportion to `shares`, cell a from u(a); a cell without a share gets nothing, and where none
// has one nobody gets any.
std::vector<std::int64_t> draw_multinomial(const UniformStream& u, std::int64_t n, const std::vector<double>& shares);

// Samples that are long in all tables at once: sample a has a factor A = exp(sigma Z - sigma^2 / 2) of mean 1, with Z
// standard normal, and the bags of tables with `common` lengths have the mean A times theirs.
struct SampleFactor {
  double sigma = 0;
  bool operator==(const SampleFactor&) const = default;
};

// Sums over the samples of one rank's batch: of A, A^2, A^3, and how many samples.
struct FactorSums {
  double first = 0, second = 0, third = 0;
  std::int64_t samples = 0;
};

// Drawn; the same for all tables of a batch. `seed` is that of the load.
FactorSums factor_sums(const SampleFactor& factor, std::int64_t samples, std::uint64_t seed, const DrawPoint& at);

}  // namespace shardsim
