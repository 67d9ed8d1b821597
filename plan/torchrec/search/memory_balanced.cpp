#include "plan/torchrec/search/memory_balanced.h"

#include <algorithm>

namespace shardsim::torchrec {
namespace {

constexpr std::int64_t kNarrowEnough = 10 * (std::int64_t{1} << 20);  // bytes between the bounds

PartitionerSettings by_perf(PartitionerSettings settings) {
  settings.sort_by_perf = true;
  return settings;
}

// No placement takes less on its fullest rank: the average, and the largest shard.
std::int64_t least_hbm(const Proposal& proposal, int world_size) {
  std::int64_t sum = 0, largest = 0;
  for (const ShardingOption* option : proposal) {
    sum += option->total.hbm;
    largest = std::max(largest, option->largest.hbm);
  }
  const double average = static_cast<double>(sum) / world_size;
  return std::max(static_cast<std::int64_t>(average), largest);
}

}  // namespace

MemoryBalancedPartitioner::MemoryBalancedPartitioner(const PartitionerSettings& settings, const SearchSpace& space,
                                                     const Topology& topology)
    : settings_(settings), topology_(topology), greedy_(by_perf(settings), space, topology) {}

bool MemoryBalancedPartitioner::partition(const Proposal& proposal) {
  if (!greedy_.partition(proposal, std::nullopt)) return false;
  best_ = greedy_.assignment();
  bisect(proposal);
  return true;
}

void MemoryBalancedPartitioner::bisect(const Proposal& proposal) {
  const int world = topology_.world_size;
  const double slowest = perf_rating(proposal, best_, world) * (1 + settings_.tolerance);
  std::int64_t high = storage_rating(proposal, best_, world);
  std::int64_t low = least_hbm(proposal, world);
  for (int count = 0; count < settings_.max_search_count && low + kNarrowEnough < high; ++count) {
    const std::int64_t middle = (high + low) / 2;
    const bool good =
        greedy_.partition(proposal, middle) && perf_rating(proposal, greedy_.assignment(), world) <= slowest;
    if (good) {
      best_ = greedy_.assignment();
      high = middle;
    } else {
      low = middle;
    }
  }
}

}  // namespace shardsim::torchrec
