#include "plan/torchrec/search/partitioner.h"

#include <algorithm>

#include "plan/torchrec/search/memory_balanced.h"

namespace shardsim::torchrec {
namespace {

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
