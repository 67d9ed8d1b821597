#pragma once

#include <compare>
#include <cstdint>

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

}  // namespace shardsim::torchrec
