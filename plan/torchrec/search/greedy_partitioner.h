#pragma once

#include <vector>

#include "plan/torchrec/search/device_pool.h"
#include "plan/torchrec/search/partitioner.h"

namespace shardsim::torchrec {

// Options that must be placed together: those of one dependency, else a single one.
struct OptionGroup {
  std::vector<std::size_t> options;  // positions in the proposal
  Storage storage;
  double perf = 0;         // ms over all shards
  int module_options = 0;  // how many options the first one's module has
};

// All but the evenly spread ones, in the order in which they are placed: largest first, equal ones in the proposal's
// order.
std::vector<OptionGroup> option_groups(const Proposal& proposal, const SearchSpace& space,
                                       const PartitionerSettings& settings);

// GreedyPerfPartitioner: evenly spread options first; then groups, largest first, each to the least busy rank or host.
class GreedyPartitioner : public Partitioner {
 public:
  GreedyPartitioner(const PartitionerSettings& settings, const SearchSpace& space, const Topology& topology);

  bool partition(const Proposal& proposal) override { return partition(proposal, std::nullopt); }
  // With every rank's device memory taken as `hbm_per_device`.
  bool partition(const Proposal& proposal, std::optional<std::int64_t> hbm_per_device);
  const Assignment& assignment() const override { return assignment_; }
  const PlacementFailure& failure() const override { return failure_; }

 private:
  using Ranks = std::span<int>;
  struct Homeless {  // a shard that found no rank
    const ShardRun* run;
    int index;          // in the run
    std::size_t shard;  // in the option
  };

  void start(const Proposal& proposal);
  Ranks ranks_of(std::size_t option);
  bool spread_evenly(const Proposal& proposal);
  bool spread_at_once(const Proposal& proposal);
  bool spread_one_by_one(const Proposal& proposal);
  bool place_group(const Proposal& proposal, const OptionGroup& group);
  bool on_devices(const ShardingOption& option, Ranks ranks);
  bool on_one_host(const Proposal& proposal, const OptionGroup& group);
  bool in_host(const Proposal& proposal, const OptionGroup& group, int host);
  bool over_ranks(const ShardingOption& option, Ranks ranks, std::span<const int> targets);
  bool devices_of_host(const ShardingOption& option, Ranks ranks, int host);
  bool on_several_hosts(const ShardingOption& option, Ranks ranks);
  bool in_hosts(const ShardingOption& option, Ranks ranks, std::span<const int> hosts);
  bool fail(PartitionBy rule, const ShardingOption& option, const std::string& text);
  void blame(const ShardingOption& option, const Homeless& shard, const Storage& room);
  template <typename Pick>
  std::optional<Homeless> place_each(const ShardingOption& option, Ranks ranks, Pick pick);

  PartitionerSettings settings_;
  const SearchSpace& space_;
  const Topology& topology_;
  DevicePool pool_;
  Assignment assignment_;
  PlacementFailure failure_;
};

}  // namespace shardsim::torchrec
