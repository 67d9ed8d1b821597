#include <algorithm>
#include <array>
#include <cmath>

#include "models/compute/kernels/kernels.h"

namespace shardsim {
namespace {

constexpr double kPartialBytes = 4;   // of a partial sum of a split product
constexpr double kLeastSplitK = 256;  // a split is not cut shorter

struct Tile {
  double m, n;
  double rate;  // of the best tile's
};
constexpr int kSplits[] = {1, 2, 3, 4, 6, 8};

struct Machine {
  double flops;      // of one SM, FLOP/s
  double copy;       // of one SM, bytes/s
  double gather_l2;  // of all, bytes/s
  double sm_count;
  double exposed_write;
};

std::array<Tile, 5> tiles_of(const GpuConstants& gpu) {
  return {{{256, 128, 1},
           {128, 256, 1},
           {128, 128, gpu.tile_128x128_share},
           {128, 64, gpu.tile_128x64_share},
           {64, 64, gpu.tile_64x64_share}}};
}

double tiled_seconds(const ProductWork& of, const Tile& tile, int split, double out_bytes, const Machine& on) {
  const double tiles = std::ceil(of.m / tile.m) * std::ceil(of.n / tile.n) * split;
  const double waves = std::ceil(tiles / on.sm_count);
  const double work = 2 * tile.m * tile.n * of.k / split / (on.flops * tile.rate);
  const double write = on.exposed_write * tile.m * tile.n * (split == 1 ? out_bytes : kPartialBytes) / on.copy;
  const double sums = split == 1 ? 0 : 2 * split * of.m * of.n * kPartialBytes / on.gather_l2;
  return waves * (work + write) + sums;
}

}  // namespace

double element_bytes(const std::string& precision) {
  if (precision == "fp64") return 8;
  if (precision == "fp16" || precision == "bf16") return 2;
  return precision == "fp8" || precision == "int8" ? 1 : 4;
}

Seconds product_time(const ComputeWork& work, Flops peak, double in_situ, const GpuConstants& gpu) {
  const double best = peak.per_second * gpu.share_of_peak(work.precision) * in_situ;
  const ProductWork& of = work.product;
  if (!(of.m > 0 && of.n > 0 && of.k > 0)) return gpu.kernel_fixed + Seconds{work.flops / best};
  const double element = element_bytes(work.precision), copy = gpu.copy_bandwidth.bytes_per_second;
  const Machine machine{best / gpu.sm_count, copy / gpu.sm_count, gpu.gather_l2.bytes_per_second,
                        static_cast<double>(gpu.sm_count), gpu.exposed_write};
  double least = HUGE_VAL;
  for (const Tile& tile : tiles_of(gpu))
    for (const int split : kSplits)
      if (split == 1 || of.k / split >= kLeastSplitK)
        least = std::min(least, tiled_seconds(of, tile, split, element, machine));
  const double operands = (of.m * of.k + of.k * of.n + of.m * of.n) * element / copy;
  return gpu.kernel_fixed + Seconds{std::max(least, operands)};
}

}  // namespace shardsim
