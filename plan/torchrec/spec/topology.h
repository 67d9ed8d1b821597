#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {

// Bytes in device memory, in host memory and on an SSD, which only version 2026-08 counts. Compared as TorchRec does:
// hbm first, then ddr, then ssd.
struct Storage {
  std::int64_t hbm = 0, ddr = 0, ssd = 0;

  auto operator<=>(const Storage&) const = default;
  bool fits_in(const Storage& room) const { return hbm <= room.hbm && ddr <= room.ddr && ssd <= room.ssd; }
  Storage& operator+=(const Storage& other) {
    hbm += other.hbm;
    ddr += other.ddr;
    ssd += other.ssd;
    return *this;
  }
  Storage& operator-=(const Storage& other) {
    hbm -= other.hbm;
    ddr -= other.ddr;
    ssd -= other.ssd;
    return *this;
  }
  friend Storage operator+(Storage a, const Storage& b) { return a += b; }
};

// Milliseconds of one iteration, by part.
struct Perf {
  double fwd_compute = 0, fwd_comms = 0, bwd_compute = 0, bwd_comms = 0, prefetch_compute = 0;
  double input_dist_comms = 0;  // of version 2026-08, which leaves it out of the total

  bool operator==(const Perf&) const = default;
  // In TorchRec's order of addition: its figures are reproduced to the last bit.
  double total() const { return fwd_compute + bwd_compute + fwd_comms + bwd_comms + prefetch_compute; }
  Perf& operator+=(const Perf& other) {
    fwd_compute += other.fwd_compute;
    fwd_comms += other.fwd_comms;
    bwd_compute += other.bwd_compute;
    bwd_comms += other.bwd_comms;
    prefetch_compute += other.prefetch_compute;
    input_dist_comms += other.input_dist_comms;
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
inline constexpr double kSsdBandwidth = 100 * 1024.0 * 1024 / 1000;  // mega, not giga
inline constexpr std::int64_t kHbmCap = 32 * kGiB;
inline constexpr std::int64_t kDdrCap = 128 * kGiB;
inline constexpr std::int64_t kSsdCap = 2048 * kGiB;
inline constexpr double kCachingRatio = 0.2;  // of all cached kernels, where the user gives none

// The machine as TorchRec's planner knows it: ranks, capacities, six bandwidths. It knows no latency.
struct Topology {
  int world_size = 1;
  int local_world_size = 1;     // ranks per host
  std::optional<int> pod_size;  // hosts per NVLink domain; none: a host is one
  Device device = Device::cuda;
  double hbm_bandwidth = kHbmBandwidth;  // bytes per ms, as the five below
  double ddr_bandwidth = kDdrBandwidth;
  double hbm_to_ddr_bandwidth = kHbmToDdrBandwidth;
  double intra_host_bandwidth = kIntraNodeBandwidth;
  double inter_host_bandwidth = kCrossNodeBandwidth;
  std::optional<double> ssd_bandwidth = kSsdBandwidth;  // none: a planner that knows no SSD (2025-10)
  double bwd_compute_multiplier = 2;
  double weighted_bwd_compute_multiplier = 1;
  std::vector<Storage> devices;  // capacity by rank; DDR per rank, not per host
  bool uneven = false;           // capacities given per rank: row-wise shards follow them

  // Ranks of a group that table_row_wise and grid_shard cut rows over, and that holds tables of one host.
  int group_size() const { return pod_size.value_or(1) * local_world_size; }
};

// Every rank with the same capacity, 0 for TorchRec's default, and TorchRec's default of an SSD; on a cpu no HBM.
void set_capacity(Topology& topology, std::int64_t hbm, std::int64_t ddr);

// The machine as the version of the planner knows it: the older one knows no SSD.
Topology as_seen_by(PlannerVersion version, Topology topology);

// Capacity of all ranks together, 2^62 bytes at most of each kind.
Storage capacity_of(const Topology& topology);

enum class CollectiveKind { all_to_all, all_reduce, all_gather, reduce_scatter };

// Bytes per ms among `world` ranks, `local` of them per host.
double collective_bandwidth(const Topology& topology, int local, int world, CollectiveKind kind);

// Bytes per ms that an embedding kernel reaches; nullopt where the device has no such kernel. `caching_ratio`: share of
// the rows held in HBM by the cached kernels, nullopt for the default.
std::optional<double> kernel_bandwidth(const Topology& topology, ComputeKernel kernel,
                                       std::optional<double> caching_ratio, bool prefetch_pipeline);

}  // namespace shardsim::torchrec
