#pragma once

#include <cstdint>

namespace shardsim {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

// The splitmix64 finaliser of (x + k), wrapping (docs/formats/plan.md, hash "feistel_splitmix/1").
constexpr std::uint64_t mix(std::uint64_t x, std::uint64_t k) {
  x += k;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Counter-based generator: same seed, same numbers, on every machine.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() { return mix(++count_ * kGolden, seed_); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

}  // namespace shardsim
