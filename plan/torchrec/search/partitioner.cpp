#include "plan/torchrec/search/partitioner.h"

#include <algorithm>

#include "plan/torchrec/search/greedy_partitioner.h"

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

// MemoryBalancedPartitioner: the placement with the least memory on the fullest rank that is at most `tolerance` slower
// than the fastest one, by bisection of the memory that a rank may use.
class MemoryBalancedPartitioner : public Partitioner {
 public:
  MemoryBalancedPartitioner(const PartitionerSettings& settings, const SearchSpace& space, const Topology& topology)
      : settings_(settings), topology_(topology), greedy_(by_perf(settings), space, topology) {}

  bool partition(const Proposal& proposal) override {
    if (!greedy_.partition(proposal, std::nullopt)) return false;
    best_ = greedy_.assignment();
    bisect(proposal);
    return true;
  }
  const Assignment& assignment() const override { return best_; }
  const PlacementFailure& failure() const override { return greedy_.failure(); }

 private:
  void bisect(const Proposal& proposal) {
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

  PartitionerSettings settings_;
  const Topology& topology_;
  GreedyPartitioner greedy_;
  Assignment best_;
};

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

std::unique_ptr<Partitioner> make_partitioner(const PartitionerSettings& settings, const SearchSpace& space,
                                              const Topology& topology) {
  if (settings.kind == PartitionerKind::memory_balanced) {
    return std::make_unique<MemoryBalancedPartitioner>(settings, space, topology);
  }
  return std::make_unique<GreedyPartitioner>(settings, space, topology);
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
