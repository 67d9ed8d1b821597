#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "plan/torchrec/estimate/sharding_option.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// The storage that every rank has left while shards are placed, and the work that it has. A host is here a group of
// ranks that hold a table of one host together: those of an NVLink domain where the topology states a pod of several
// hosts.
class DevicePool {
 public:
  // `hbm_per_device`: device memory of every rank, instead of the topology's.
  explicit DevicePool(const Topology& topology, std::optional<std::int64_t> hbm_per_device = {});

  int size() const { return static_cast<int>(room_.size()); }
  int host_size() const { return host_size_; }
  Storage largest_room() const { return *std::ranges::max_element(room_); }  // hbm counts first
  const Storage& room(int rank) const { return room_[static_cast<std::size_t>(rank)]; }
  bool fits(int rank, const Storage& storage) const { return storage.fits_in(room(rank)); }
  void place(int rank, const Storage& storage, const Perf& perf);

  // The least busy rank that has room (ties: its number inside the host, then its number), or -1.
  // Ranks that are `taken`, by rank, are passed over.
  int least_busy_with_room(const Storage& storage, const std::vector<bool>* taken = nullptr);
  // The same among the ranks of one host.
  int least_busy_in_host(int host, const Storage& storage) const;

  // Hosts by the summed work of their ranks, least first.
  std::vector<int> hosts_by_work() const;
  Storage host_room(int host) const;
  std::vector<int> ranks_of(std::span<const int> hosts) const;
  std::vector<int> all_hosts() const;

  struct RankState {
    int rank = 0;
    Storage room;
    Perf perf;
  };
  std::vector<RankState> save(std::span<const int> ranks) const;
  void restore(const std::vector<RankState>& states);

 private:
  using Work = std::tuple<double, int, int>;  // ms, number inside the machine, rank
  Work work_of(int rank) const;
  void set(int rank, const Storage& room, const Perf& perf);

  int local_size_, host_size_;
  std::vector<Storage> room_;
  std::vector<Perf> perf_;
  std::set<Work> by_work_;  // filled when the least busy rank is first asked for
};

// A shard that found no rank.
struct Homeless {
  const ShardRun* run;
  int index;          // in the run
  std::size_t shard;  // in the option
};

// Places every shard on the rank that `pick` names for it, by number and storage, and notes the ranks. The first for
// which it names none (-1).
template <typename Pick>
std::optional<Homeless> place_each(DevicePool& pool, const ShardingOption& option, std::span<int> ranks, Pick pick) {
  std::size_t shard = 0;
  for (const ShardRun& run : option.runs) {
    for (int i = 0; i < run.count; ++i, ++shard) {
      const int rank = pick(shard, run.storage);
      if (rank < 0) return Homeless{&run, i, shard};
      pool.place(rank, run.storage, run.perf);
      ranks[shard] = rank;
    }
  }
  return std::nullopt;
}

// Shard i on the i-th of the targets. False: there are more or fewer of them, or one has no room.
bool place_on(DevicePool& pool, const ShardingOption& option, std::span<int> ranks, std::span<const int> targets);

}  // namespace shardsim::torchrec
