#pragma once

#include <vector>

#include "plan/torchrec/estimate/sharding_option.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// What is left of every rank while shards find their places, and how much work each has. Keeps the ranks in a tree of
// winners, so that the least busy one is known at once.
class DevicePool {
 public:
  explicit DevicePool(const Topology& topology);

  void reset(const Topology& topology, std::optional<std::int64_t> hbm_per_device);

  int size() const { return static_cast<int>(room_.size()); }
  const Storage& room(int rank) const { return room_[static_cast<std::size_t>(rank)]; }
  Storage largest_room() const;  // hbm counts first
  bool fits(int rank, const Storage& storage) const { return storage.fits_in(room(rank)); }
  void place(int rank, const Storage& storage, const Perf& perf);

  // The same work for every rank, and bytes for each: what evenly spread tables take, all at once.
  void place_everywhere(const std::vector<Storage>& used, const Perf& perf);

  // The least busy rank that has room (ties: its number inside the host, then its number), or -1.
  int least_busy_with_room(const Storage& storage);
  // The same among the ranks of one host.
  int least_busy_in_host(int host, const Storage& storage) const;

  // Hosts by the summed work of their ranks, least first.
  std::vector<int> hosts_by_work() const;
  Storage host_room(int host) const;

  struct HostState {
    int host = 0;
    std::vector<Storage> room;
    std::vector<Perf> perf;
  };
  HostState save(int host) const;
  void restore(const HostState& state);

  int per_host() const { return per_host_; }

 private:
  bool busier(int a, int b) const;  // is b the better choice
  int better(int a, int b) const;
  void update(int rank);
  void build();
  void set_work(int rank, const Perf& perf);

  int per_host_ = 1;
  std::vector<Storage> room_;
  std::vector<Perf> perf_;
  std::vector<double> work_;       // total of perf_
  std::vector<double> host_work_;  // sum over the ranks of a host
  std::vector<int> tree_;          // winners; leaves from leaves_ on; -1: nobody
  int leaves_ = 1;
  bool stale_ = true;
};

}  // namespace shardsim::torchrec
