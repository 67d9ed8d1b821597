#include "models/load/uniform_stream.h"

#include <algorithm>

#include "base/rng.h"
#include "models/access/row_hash.h"

namespace shardsim {

UniformStream::UniformStream(std::string_view table, std::uint64_t seed, std::uint64_t use, const DrawPoint& at)
    : key_(hash_key(table, seed, use)),
      first_((static_cast<std::uint64_t>(at.iteration) * static_cast<std::uint64_t>(at.world) +
              static_cast<std::uint64_t>(at.rank))
             << 32) {}

double UniformStream::operator()(std::uint64_t a) const {
  const std::uint64_t bits = mix(key_, (first_ + a) * kGolden) >> 11;
  // The largest of the 2^53 numbers would round to 1, which no quantile has.
  return std::min((static_cast<double>(bits) + 0.5) * 0x1.0p-53, 1 - 0x1.0p-53);
}

}  // namespace shardsim
