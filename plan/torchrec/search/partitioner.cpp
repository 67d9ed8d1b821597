#include "plan/torchrec/search/partitioner.h"

#include <algorithm>

namespace shardsim::torchrec {
namespace {

constexpr std::int64_t kNarrowEnough = 10 * (std::int64_t{1} << 20);  // bytes between the bounds

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

template <typename Value, typename Of>
std::vector<Value> sum_per_rank(const Proposal& proposal, const Assignment& assignment, int world_size, Of of) {
  std::vector<Value> sums(static_cast<std::size_t>(world_size));
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    std::size_t at = assignment.first[i];
    for (const ShardRun& run : proposal[i]->runs) {
      const Value value = of(run);
      for (int k = 0; k < run.count; ++k) sums[static_cast<std::size_t>(assignment.ranks[at++])] += value;
    }
  }
  return sums;
}

}  // namespace

bool Partitioner::partition(const Proposal& proposal) {
  if (!place(proposal, std::nullopt)) return false;
  if (settings_.kind == PartitionerKind::memory_balanced) balance(proposal);
  return true;
}

void Partitioner::balance(const Proposal& proposal) {
  const int world = topology_.world_size;
  Assignment best = assignment_;
  const double slowest = perf_rating(proposal, best, world) * (1 + settings_.tolerance);
  std::int64_t high = storage_rating(proposal, best, world);
  std::int64_t low = least_hbm(proposal, world);
  for (int count = 0; count < settings_.max_search_count && low + kNarrowEnough < high; ++count) {
    const std::int64_t middle = (high + low) / 2;
    if (place(proposal, middle) && perf_rating(proposal, assignment_, world) <= slowest) {
      best = assignment_;
      high = middle;
    } else {
      low = middle;
    }
  }
  assignment_ = std::move(best);
}

std::vector<double> perf_per_rank(const Proposal& proposal, const Assignment& assignment, int world_size) {
  return sum_per_rank<double>(proposal, assignment, world_size, [](const ShardRun& run) { return run.perf.total(); });
}

double perf_rating(const Proposal& proposal, const Assignment& assignment, int world_size) {
  const auto sums = perf_per_rank(proposal, assignment, world_size);
  return *std::max_element(sums.begin(), sums.end());
}

std::vector<Storage> storage_per_rank(const Proposal& proposal, const Assignment& assignment, int world_size) {
  return sum_per_rank<Storage>(proposal, assignment, world_size, [](const ShardRun& run) { return run.storage; });
}

std::int64_t storage_rating(const Proposal& proposal, const Assignment& assignment, int world_size) {
  std::int64_t most = 0;
  for (const Storage& storage : storage_per_rank(proposal, assignment, world_size)) most = std::max(most, storage.hbm);
  return most;
}

}  // namespace shardsim::torchrec
