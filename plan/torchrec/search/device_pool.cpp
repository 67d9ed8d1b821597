#include "plan/torchrec/search/device_pool.h"

#include <algorithm>
#include <numeric>

namespace shardsim::torchrec {

DevicePool::DevicePool(const Topology& topology, std::optional<std::int64_t> hbm_per_device)
    : local_size_(topology.local_world_size),
      host_size_(topology.group_size()),
      room_(topology.devices),
      perf_(room_.size()) {
  if (!hbm_per_device) return;
  for (Storage& room : room_) room.hbm = *hbm_per_device;
}

DevicePool::Work DevicePool::work_of(int rank) const {
  return {perf_[static_cast<std::size_t>(rank)].total(), rank % local_size_, rank};
}

void DevicePool::set(int rank, const Storage& room, const Perf& perf) {
  auto node = by_work_.extract(work_of(rank));
  room_[static_cast<std::size_t>(rank)] = room;
  perf_[static_cast<std::size_t>(rank)] = perf;
  if (node.empty()) return;
  node.value() = work_of(rank);
  by_work_.insert(std::move(node));
}

void DevicePool::place(int rank, const Storage& storage, const Perf& perf) {
  Storage left = room(rank);
  Perf sum = perf_[static_cast<std::size_t>(rank)];
  set(rank, left -= storage, sum += perf);
}

int DevicePool::least_busy_with_room(const Storage& storage, const std::vector<bool>* taken) {
  for (int rank = 0; by_work_.size() < room_.size(); ++rank) by_work_.insert(work_of(rank));
  const auto found = std::ranges::find_if(by_work_, [&](const Work& work) {
    const int rank = std::get<2>(work);
    return !(taken != nullptr && (*taken)[static_cast<std::size_t>(rank)]) && fits(rank, storage);
  });
  return found == by_work_.end() ? -1 : std::get<2>(*found);
}

// Takes of equally busy ranks the first of the group, whatever machines it spans.
int DevicePool::least_busy_in_host(int host, const Storage& storage) const {
  const auto ms = [&](int rank) { return perf_[static_cast<std::size_t>(rank)].total(); };
  int best = -1;
  for (const int rank : ranks_of({&host, 1})) {
    if (fits(rank, storage) && (best < 0 || ms(rank) < ms(best))) best = rank;
  }
  return best;
}

std::vector<int> DevicePool::all_hosts() const {
  std::vector<int> hosts(room_.size() / static_cast<std::size_t>(host_size_));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

std::vector<int> DevicePool::hosts_by_work() const {
  std::vector<int> hosts = all_hosts();
  std::vector<double> work;
  for (const int host : hosts) {
    work.push_back(0);
    for (const int rank : ranks_of({&host, 1})) work.back() += perf_[static_cast<std::size_t>(rank)].total();
  }
  std::ranges::stable_sort(hosts, {}, [&](int host) { return work[static_cast<std::size_t>(host)]; });
  return hosts;
}

Storage DevicePool::host_room(int host) const {
  Storage sum;
  for (const int rank : ranks_of({&host, 1})) sum += room(rank);
  return sum;
}

std::vector<int> DevicePool::ranks_of(std::span<const int> hosts) const {
  std::vector<int> ranks;
  for (const int host : hosts) {
    for (int i = 0; i < host_size_; ++i) ranks.push_back(host * host_size_ + i);
  }
  return ranks;
}

std::vector<DevicePool::RankState> DevicePool::save(std::span<const int> ranks) const {
  std::vector<RankState> states;
  for (const int rank : ranks) states.push_back({rank, room(rank), perf_[static_cast<std::size_t>(rank)]});
  return states;
}

void DevicePool::restore(const std::vector<RankState>& states) {
  for (const RankState& state : states) set(state.rank, state.room, state.perf);
}

bool place_on(DevicePool& pool, const ShardingOption& option, std::span<int> ranks, std::span<const int> targets) {
  if (ranks.size() != targets.size()) return false;
  return !place_each(pool, option, ranks, [&](std::size_t shard, const Storage& storage) {
    return pool.fits(targets[shard], storage) ? targets[shard] : -1;
  });
}

}  // namespace shardsim::torchrec
