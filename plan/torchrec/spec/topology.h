#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {

// Bytes in device memory and in host memory. Compared as TorchRec does: hbm first, then ddr.
struct Storage {
  std::int64_t hbm = 0, ddr = 0;

  auto operator<=>(const Storage&) const = default;
  bool fits_in(const Storage& room) const { return hbm <= room.hbm && ddr <= room.ddr; }
  Storage& operator+=(const Storage& other) {
    hbm += other.hbm;
    ddr += other.ddr;
    return *this;
  }
  Storage& operator-=(const Storage& other) {
    hbm -= other.hbm;
    ddr -= other.ddr;
    return *this;
  }
  friend Storage operator+(Storage a, const Storage& b) { return a += b; }
};

// Milliseconds of one iteration, by part.
struct Perf {
  double fwd_compute = 0, fwd_comms = 0, bwd_compute = 0, bwd_comms = 0, prefetch_compute = 0;

  bool operator==(const Perf&) const = default;
  // In TorchRec's order of addition: its figures are reproduced to the last bit.
  double total() const { return fwd_compute + bwd_compute + fwd_comms + bwd_comms + prefetch_compute; }
  Perf& operator+=(const Perf& other) {
    fwd_compute += other.fwd_compute;
    fwd_comms += other.fwd_comms;
    bwd_compute += other.bwd_compute;
    bwd_comms += other.bwd_comms;
    prefetch_compute += other.prefetch_compute;
    return *this;
  }
};

__extension__ using Wide = unsigned __int128;  // table sizes times shard sizes pass 2^64

// numerator / denominator as the nearest double, ties to even, as Python divides whole numbers. `denominator` > 0.
double exact_ratio(Wide numerator, Wide denominator);

// Bytes rounded up. Errors: PlannerError (other) beyond 2^62: no machine has them, and sums would not fit.
std::int64_t whole_bytes(double bytes);

// Constants of torchrec/distributed/planner/constants.py; bandwidths in bytes per millisecond.
inline constexpr double kIntraNodeBandwidth = 600 * 1024.0 * 1024 * 1024 / 1000;
inline constexpr double kCrossNodeBandwidth = 12.5 * 1024 * 1024 * 1024 / 1000;
inline constexpr double kHbmBandwidth = 897 * 1024.0 * 1024 * 1024 / 1000;
inline constexpr double kDdrBandwidth = 51 * 1024.0 * 1024 * 1024 / 1000;
inline constexpr double kHbmToDdrBandwidth = 32 * 1024.0 * 1024 * 1024 / 1000;
inline constexpr std::int64_t kHbmCap = 32 * kGiB;
inline constexpr std::int64_t kDdrCap = 128 * kGiB;
inline constexpr double kCachingRatio = 0.2;  // of all cached kernels, where the user gives none

// The machine as TorchRec's planner knows it: ranks, capacities, five bandwidths. It knows no latency.
struct Topology {
  int world_size = 1;
  int local_world_size = 1;  // ranks per host
  Device device = Device::cuda;
  double hbm_bandwidth = kHbmBandwidth;  // bytes per ms, as the four below
  double ddr_bandwidth = kDdrBandwidth;
  double hbm_to_ddr_bandwidth = kHbmToDdrBandwidth;
  double intra_host_bandwidth = kIntraNodeBandwidth;
  double inter_host_bandwidth = kCrossNodeBandwidth;
  double bwd_compute_multiplier = 2;
  double weighted_bwd_compute_multiplier = 1;
  std::vector<Storage> devices;  // capacity by rank; DDR per rank, not per host
  bool uneven = false;           // capacities given per rank: row-wise shards follow them

  int hosts() const { return world_size / local_world_size; }
};

// Every rank with the same capacity; on a cpu no HBM.
void set_capacity(Topology& topology, std::int64_t hbm, std::int64_t ddr);

// Capacity of all ranks together, 2^62 bytes at most.
Storage capacity_of(const Topology& topology);

enum class CollectiveKind { all_to_all, all_reduce, all_gather, reduce_scatter };

// Bytes per ms among `world` ranks, `local` of them per host.
double collective_bandwidth(const Topology& topology, int local, int world, CollectiveKind kind);

// Bytes per ms that an embedding kernel reaches; nullopt where the device has no such kernel. `caching_ratio`: share of
// the rows held in HBM by the cached kernels, nullopt for the default.
std::optional<double> kernel_bandwidth(const Topology& topology, ComputeKernel kernel,
                                       std::optional<double> caching_ratio, bool prefetch_pipeline);

}  // namespace shardsim::torchrec
