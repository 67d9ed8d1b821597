#include "plan/torchrec/search/device_pool.h"

#include <algorithm>
#include <numeric>

namespace shardsim::torchrec {

DevicePool::DevicePool(const Topology& topology) {
  reset(topology, std::nullopt);
}

void DevicePool::reset(const Topology& topology, std::optional<std::int64_t> hbm_per_device) {
  per_host_ = topology.local_world_size;
  room_ = topology.devices;
  if (hbm_per_device) {
    for (Storage& room : room_) room.hbm = *hbm_per_device;
  }
  perf_.assign(room_.size(), {});
  work_.assign(room_.size(), 0);
  host_work_.assign(static_cast<std::size_t>(topology.hosts()), 0);
  stale_ = true;
}

Storage DevicePool::largest_room() const {
  return *std::max_element(room_.begin(), room_.end());
}

void DevicePool::set_work(int rank, const Perf& perf) {
  const auto at = static_cast<std::size_t>(rank);
  perf_[at] = perf;
  work_[at] = perf.total();
  const auto host = static_cast<std::size_t>(rank / per_host_);
  if (host >= host_work_.size()) return;  // ranks beyond the last whole host
  const auto first = work_.begin() + static_cast<std::ptrdiff_t>(host) * per_host_;
  host_work_[host] = std::accumulate(first, first + per_host_, 0.0);
}

void DevicePool::place(int rank, const Storage& storage, const Perf& perf) {
  room_[static_cast<std::size_t>(rank)] -= storage;
  Perf sum = perf_[static_cast<std::size_t>(rank)];
  set_work(rank, sum += perf);
  if (!stale_) update(rank);
}

void DevicePool::place_everywhere(const std::vector<Storage>& used, const Perf& perf) {
  for (int rank = 0; rank < size(); ++rank) place(rank, used[static_cast<std::size_t>(rank)], perf);
}

bool DevicePool::busier(int a, int b) const {
  const double work_a = work_[static_cast<std::size_t>(a)];
  const double work_b = work_[static_cast<std::size_t>(b)];
  if (work_a != work_b) return work_a > work_b;
  const int local_a = a % per_host_;
  const int local_b = b % per_host_;
  return local_a != local_b ? local_a > local_b : a > b;
}

int DevicePool::better(int a, int b) const {
  if (a < 0) return b;
  return b < 0 || busier(b, a) ? a : b;
}

void DevicePool::build() {
  leaves_ = 1;
  while (leaves_ < size()) leaves_ *= 2;
  tree_.assign(static_cast<std::size_t>(2 * leaves_), -1);
  std::iota(tree_.begin() + leaves_, tree_.begin() + leaves_ + size(), 0);
  for (int i = leaves_ - 1; i >= 1; --i) {
    const auto at = static_cast<std::size_t>(i);
    tree_[at] = better(tree_[2 * at], tree_[2 * at + 1]);
  }
  stale_ = false;
}

void DevicePool::update(int rank) {
  for (auto at = static_cast<std::size_t>(leaves_ + rank) / 2; at >= 1; at /= 2) {
    tree_[at] = better(tree_[2 * at], tree_[2 * at + 1]);
  }
}

// Ranks without room are taken out of the tree, and put back before returning.
int DevicePool::least_busy_with_room(const Storage& storage) {
  if (stale_) build();
  std::vector<int> full;
  int rank = tree_[1];
  while (rank >= 0 && !fits(rank, storage)) {
    full.push_back(rank);
    tree_[static_cast<std::size_t>(leaves_ + rank)] = -1;
    update(rank);
    rank = tree_[1];
  }
  for (const int other : full) {
    tree_[static_cast<std::size_t>(leaves_ + other)] = other;
    update(other);
  }
  return rank;
}

int DevicePool::least_busy_in_host(int host, const Storage& storage) const {
  int best = -1;
  for (int rank = host * per_host_; rank < (host + 1) * per_host_; ++rank) {
    if (fits(rank, storage)) best = better(best, rank);
  }
  return best;
}

std::vector<int> DevicePool::hosts_by_work() const {
  std::vector<int> hosts(host_work_.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  std::stable_sort(hosts.begin(), hosts.end(), [this](int a, int b) {
    return host_work_[static_cast<std::size_t>(a)] < host_work_[static_cast<std::size_t>(b)];
  });
  return hosts;
}

Storage DevicePool::host_room(int host) const {
  Storage sum;
  for (int rank = host * per_host_; rank < (host + 1) * per_host_; ++rank) sum += room(rank);
  return sum;
}

DevicePool::HostState DevicePool::save(int host) const {
  const auto first = static_cast<std::ptrdiff_t>(host) * per_host_;
  return {host,
          {room_.begin() + first, room_.begin() + first + per_host_},
          {perf_.begin() + first, perf_.begin() + first + per_host_}};
}

void DevicePool::restore(const HostState& state) {
  for (int i = 0; i < per_host_; ++i) {
    const int rank = state.host * per_host_ + i;
    room_[static_cast<std::size_t>(rank)] = state.room[static_cast<std::size_t>(i)];
    set_work(rank, state.perf[static_cast<std::size_t>(i)]);
    if (!stale_) update(rank);
  }
}

}  // namespace shardsim::torchrec
