#include "plan/torchrec/search/greedy_partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace shardsim::torchrec {
namespace {

void add(OptionGroup& group, const ShardingOption& option, std::size_t position) {
  group.options.push_back(position);
  group.storage += option.total;
  group.perf += option.sum;
}

std::vector<OptionGroup> grouped(const Proposal& proposal, const SearchSpace& space) {
  std::vector<OptionGroup> groups;
  std::unordered_map<std::string, std::size_t> by_dependency;
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const ShardingOption& option = *proposal[i];
    if (option.partition == PartitionBy::uniform) continue;
    const std::string& dependency = space.table_of(option).dependency;
    std::size_t place = groups.size();
    if (!dependency.empty()) place = by_dependency.try_emplace(dependency, place).first->second;
    if (place == groups.size()) groups.emplace_back();
    add(groups[place], option, i);
  }
  return groups;
}

void count_modules(std::vector<OptionGroup>& groups, const Proposal& proposal, const SearchSpace& space) {
  std::map<std::string, int> counts;
  for (const ShardingOption* option : proposal) ++counts[space.table_of(*option).module];
  for (OptionGroup& group : groups) {
    group.module_options = counts[space.table_of(*proposal[group.options.front()]).module];
  }
}

}  // namespace

std::vector<OptionGroup> option_groups(const Proposal& proposal, const SearchSpace& space,
                                       const PartitionerSettings& settings) {
  std::vector<OptionGroup> groups = grouped(proposal, space);
  if (settings.balance_modules) count_modules(groups, proposal, space);
  const bool by_perf = settings.sort_by_perf;
  std::stable_sort(groups.begin(), groups.end(), [by_perf](const OptionGroup& a, const OptionGroup& b) {
    if (a.module_options != b.module_options) return a.module_options < b.module_options;
    return by_perf ? a.perf > b.perf : a.storage > b.storage;
  });
  return groups;
}

GreedyPartitioner::GreedyPartitioner(const PartitionerSettings& settings, const SearchSpace& space,
                                     const Topology& topology)
    : settings_(settings), space_(space), topology_(topology), pool_(topology) {}

bool GreedyPartitioner::partition(const Proposal& proposal, std::optional<std::int64_t> hbm_per_device) {
  pool_.reset(topology_, hbm_per_device);
  start(proposal);
  if (!spread_evenly(proposal)) return false;
  for (const OptionGroup& group : option_groups(proposal, space_, settings_)) {
    if (!place_group(proposal, group)) return false;
  }
  return true;
}

void GreedyPartitioner::start(const Proposal& proposal) {
  assignment_.first.assign(1, 0);
  for (const ShardingOption* option : proposal) {
    assignment_.first.push_back(assignment_.first.back() + static_cast<std::size_t>(option->shards));
  }
  assignment_.ranks.assign(assignment_.first.back(), -1);
}

GreedyPartitioner::Ranks GreedyPartitioner::ranks_of(std::size_t option) {
  const std::size_t first = assignment_.first[option];
  return Ranks(assignment_.ranks).subspan(first, assignment_.first[option + 1] - first);
}

bool GreedyPartitioner::fail(PartitionBy rule, const ShardingOption& option, const std::string& text) {
  failure_ = {};
  failure_.rule = rule;
  failure_.table = space_.table_of(option).name;
  failure_.text = text;
  return false;
}

void GreedyPartitioner::blame(const ShardingOption& option, const Homeless& shard, const Storage& room) {
  const ShardRun& run = *shard.run;
  failure_.rule = option.partition;
  failure_.table = space_.table_of(option).name;
  failure_.rows = run.rows;
  failure_.cols = run.cols;
  failure_.row_offset = run.row_offset_of(shard.index);
  failure_.col_offset = run.col_offset_of(shard.index);
  failure_.shard = run.storage;
  failure_.perf = run.perf;
  failure_.device = room;
  failure_.text = fmt::format("a shard of table '{}' ({}, {} bytes) finds no rank with room", failure_.table,
                              name_of(option.type), run.storage.hbm + run.storage.ddr);
}

// Every shard on the rank that `pick` names for it, by number and storage. The first for which it names none (-1).
template <typename Pick>
std::optional<GreedyPartitioner::Homeless> GreedyPartitioner::place_each(const ShardingOption& option, Ranks ranks,
                                                                         Pick pick) {
  std::size_t shard = 0;
  for (const ShardRun& run : option.runs) {
    for (int i = 0; i < run.count; ++i, ++shard) {
      const int rank = pick(shard, run.storage);
      if (rank < 0) return Homeless{&run, i, shard};
      pool_.place(rank, run.storage, run.perf);
      ranks[shard] = rank;
    }
  }
  return std::nullopt;
}

// Shard i of every evenly spread option on rank i.
bool GreedyPartitioner::spread_evenly(const Proposal& proposal) {
  bool even = true;
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const ShardingOption& option = *proposal[i];
    if (option.partition != PartitionBy::uniform) continue;
    if (option.shards != pool_.size()) {
      return fail(
          PartitionBy::uniform, option,
          fmt::format("table '{}': {} shards for {} ranks", space_.table_of(option).name, option.shards, pool_.size()));
    }
    const Ranks ranks = ranks_of(i);
    std::iota(ranks.begin(), ranks.end(), 0);
    even = even && option.even_perf;
  }
  return (even && spread_at_once(proposal)) || spread_one_by_one(proposal);
}

// Bytes of all options summed per rank first; every rank does the same work. False: something does not fit.
bool GreedyPartitioner::spread_at_once(const Proposal& proposal) {
  std::vector<Storage> change(static_cast<std::size_t>(pool_.size()) + 1);
  Perf work;
  for (const ShardingOption* option : proposal) {
    if (option->partition != PartitionBy::uniform) continue;
    work += option->runs.front().perf;
    std::size_t rank = 0;
    for (const ShardRun& run : option->runs) {
      change[rank] += run.storage;
      change[rank += static_cast<std::size_t>(run.count)] -= run.storage;
    }
  }
  Storage used;
  for (std::size_t rank = 0; rank + 1 < change.size(); ++rank) {
    change[rank] = used += change[rank];
    if (!pool_.fits(static_cast<int>(rank), used)) return false;
  }
  pool_.place_everywhere(change, work);
  return true;
}

bool GreedyPartitioner::spread_one_by_one(const Proposal& proposal) {
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const ShardingOption& option = *proposal[i];
    if (option.partition != PartitionBy::uniform) continue;
    const auto own_rank = [&](std::size_t shard, const Storage& storage) {
      const int rank = static_cast<int>(shard);
      return pool_.fits(rank, storage) ? rank : -1;
    };
    const auto failed = place_each(option, ranks_of(i), own_rank);
    if (!failed) continue;
    blame(option, *failed, pool_.room(static_cast<int>(failed->shard)));
    return false;
  }
  return true;
}

bool GreedyPartitioner::place_group(const Proposal& proposal, const OptionGroup& group) {
  const std::size_t first = group.options.front();
  const ShardingOption& option = *proposal[first];
  if (option.partition == PartitionBy::host) return on_one_host(proposal, group);
  if (group.options.size() == 1) {
    return option.partition == PartitionBy::device ? on_devices(option, ranks_of(first))
                                                   : on_several_hosts(option, ranks_of(first));
  }
  return fail(option.partition, option,
              fmt::format("table '{}' depends on others, but {} cannot keep them together",
                          space_.table_of(option).name, name_of(option.type)));
}

bool GreedyPartitioner::on_devices(const ShardingOption& option, Ranks ranks) {
  const auto failed = place_each(
      option, ranks, [&](std::size_t, const Storage& storage) { return pool_.least_busy_with_room(storage); });
  if (failed) blame(option, *failed, pool_.largest_room());
  return !failed;
}

bool GreedyPartitioner::on_one_host(const Proposal& proposal, const OptionGroup& group) {
  for (const int host : pool_.hosts_by_work()) {
    if (!group.storage.fits_in(pool_.host_room(host))) continue;
    const DevicePool::HostState before = pool_.save(host);
    if (in_host(proposal, group, host)) return true;
    pool_.restore(before);
  }
  const ShardingOption& option = *proposal[group.options.front()];
  fail(PartitionBy::host, option,
       fmt::format("no host has room for table '{}' ({}, {} bytes)", space_.table_of(option).name, name_of(option.type),
                   group.storage.hbm + group.storage.ddr));
  failure_.shard = group.storage;
  return false;
}

bool GreedyPartitioner::in_host(const Proposal& proposal, const OptionGroup& group, int host) {
  std::vector<int> targets(static_cast<std::size_t>(pool_.per_host()));
  std::iota(targets.begin(), targets.end(), host * pool_.per_host());
  for (const std::size_t position : group.options) {
    const ShardingOption& option = *proposal[position];
    const bool rows = option.type == ShardingType::table_row_wise;
    if (!rows && option.type != ShardingType::table_column_wise) return false;
    const bool placed =
        rows ? over_ranks(option, ranks_of(position), targets) : devices_of_host(option, ranks_of(position), host);
    if (!placed) return false;
  }
  return true;
}

// Shard i on the i-th of the ranks.
bool GreedyPartitioner::over_ranks(const ShardingOption& option, Ranks ranks, std::span<const int> targets) {
  if (ranks.size() != targets.size()) return false;
  return !place_each(option, ranks, [&](std::size_t shard, const Storage& storage) {
    return pool_.fits(targets[shard], storage) ? targets[shard] : -1;
  });
}

bool GreedyPartitioner::devices_of_host(const ShardingOption& option, Ranks ranks, int host) {
  return !place_each(option, ranks,
                     [&](std::size_t, const Storage& storage) { return pool_.least_busy_in_host(host, storage); });
}

// One host per column block, as far as there are hosts.
bool GreedyPartitioner::on_several_hosts(const ShardingOption& option, Ranks ranks) {
  const auto per_host = static_cast<std::size_t>(pool_.per_host());
  const std::size_t blocks = ranks.size() / per_host;
  const std::vector<int> hosts = pool_.hosts_by_work();
  if (ranks.size() % per_host == 0 && blocks > 0 && !hosts.empty()) {
    if (blocks >= hosts.size()) {
      std::vector<int> round_robin;
      for (std::size_t i = 0; i < blocks; ++i) round_robin.push_back(hosts[i % hosts.size()]);
      if (in_hosts(option, ranks, round_robin)) return true;
    } else {
      for (std::size_t i = 0; i + blocks <= hosts.size(); ++i) {
        if (in_hosts(option, ranks, std::span(hosts).subspan(i, blocks))) return true;
      }
    }
  }
  return fail(PartitionBy::multi_host, option,
              fmt::format("no {} hosts have room for table '{}' (grid_shard, {} bytes)", blocks,
                          space_.table_of(option).name, option.total.hbm + option.total.ddr));
}

bool GreedyPartitioner::in_hosts(const ShardingOption& option, Ranks ranks, std::span<const int> hosts) {
  std::vector<DevicePool::HostState> before;
  std::vector<int> targets;
  for (const int host : hosts) {
    before.push_back(pool_.save(host));
    for (int i = 0; i < pool_.per_host(); ++i) targets.push_back(host * pool_.per_host() + i);
  }
  if (over_ranks(option, ranks, targets)) return true;
  for (const DevicePool::HostState& state : before) pool_.restore(state);
  return false;
}

}  // namespace shardsim::torchrec
