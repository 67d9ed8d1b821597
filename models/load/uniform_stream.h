#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace shardsim
