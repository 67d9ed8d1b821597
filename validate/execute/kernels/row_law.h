#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SHARDSIM_ANYWHERE __host__ __device__
#else
#define SHARDSIM_ANYWHERE
#endif

namespace shardsim {

// Neighbouring popularity positions of a table that are equally popular, or nearly so.
struct Stretch {
  std::uint64_t first, positions;
  double before;  // mass of the positions before it
  double each;    // of one of its positions
};

// The law by which positions of one table are drawn; the arrays are somebody else's. The same numbers give the same
// positions on a CPU and a GPU.
struct IdLaw {
  static constexpr std::uint32_t kGuides = 4096;
  const Stretch* stretches;     // in order, none without mass
  const std::uint32_t* guides;  // [kGuides + 1]: the stretch at this share of the whole mass
  double mass;                  // of all of them

  // Never a fused multiply-add, which rounds otherwise.
  SHARDSIM_ANYWHERE static double product(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
  }

  // uniform: in [0, 1).
  SHARDSIM_ANYWHERE std::uint64_t position(double uniform) const {
    const auto at = static_cast<std::uint32_t>(uniform * kGuides);
    const double drawn = product(mass, uniform);
    std::uint32_t low = guides[at], high = guides[at + 1] + 1;  // the stretch is in [low, high)
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      if (stretches[middle].before <= drawn) {
        low = middle;
      } else {
        high = middle;
      }
    }
    const Stretch& stretch = stretches[low];
    const auto beyond = static_cast<std::uint64_t>((drawn - stretch.before) / stretch.each);
    return stretch.first + (beyond < stretch.positions ? beyond : stretch.positions - 1);
  }
};

}  // namespace shardsim
