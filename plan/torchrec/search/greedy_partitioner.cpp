#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "plan/torchrec/search/partitioner.h"

namespace shardsim::torchrec {
namespace {

std::string bytes_text(const ShardingOption& option, const Storage& storage) {
  return fmt::format("({}, {} bytes)", name_of(option.type), storage.hbm + storage.ddr + storage.ssd);
}

}  // namespace

// Options that must be placed together: those of one dependency, else a single one.
struct Partitioner::Group {
  std::vector<std::size_t> options;  // positions in the proposal
  Storage storage;
  double perf = 0;         // ms over all shards
  int module_options = 0;  // how many options the first one's module has

  void add(const ShardingOption& option, std::size_t position) {
    options.push_back(position);
    storage += option.total;
    perf += option.sum;
  }
};

// All but the evenly spread ones, in the order in which they are placed: largest first, equal ones in the proposal's
// order.
std::vector<Partitioner::Group> Partitioner::grouped(const Proposal& proposal) const {
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> by_dependency;
  std::unordered_map<std::string, int> options_of;
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const ShardingOption& option = *proposal[i];
    const TableSpec& table = space_.table_of(option);
    if (settings_.balance_modules) ++options_of[table.module];
    if (option.partition == PartitionBy::uniform) continue;
    std::size_t place = groups.size();
    if (!table.dependency.empty()) place = by_dependency.try_emplace(table.dependency, place).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].add(option, i);
  }
  for (Group& group : groups) {
    if (settings_.balance_modules)
      group.module_options = options_of[space_.table_of(*proposal[group.options.front()]).module];
  }
  const bool by_perf = settings_.sort_by_perf || settings_.kind == PartitionerKind::memory_balanced;
  std::ranges::stable_sort(groups, [by_perf](const Group& a, const Group& b) {
    if (a.module_options != b.module_options) return a.module_options < b.module_options;
    return by_perf ? a.perf > b.perf : a.storage > b.storage;
  });
  return groups;
}

bool Partitioner::place(const Proposal& proposal, std::optional<std::int64_t> hbm_per_device) {
  pool_ = DevicePool(topology_, hbm_per_device);
  assignment_ = {};
  for (const ShardingOption* option : proposal) {
    assignment_.first.push_back(assignment_.first.back() + static_cast<std::size_t>(option->shards));
  }
  assignment_.ranks.assign(assignment_.first.back(), -1);
  return spread_evenly(proposal) &&
         std::ranges::all_of(grouped(proposal), [&](const Group& group) { return place_group(proposal, group); });
}

bool Partitioner::fail(const ShardingOption& option, const std::string& text) {
  failure_ = {};
  failure_.rule = option.partition;
  failure_.table = space_.table_of(option).name;
  failure_.text = text;
  return false;
}

bool Partitioner::blame(const ShardingOption& option, const Homeless& shard, const Storage& room) {
  fail(option, fmt::format("a shard of table '{}' {} finds no rank with room", space_.table_of(option).name,
                           bytes_text(option, shard.run->storage)));
  failure_.run = *shard.run;
  failure_.index = shard.index;
  failure_.shard = shard.run->storage;
  failure_.device = room;
  return false;
}

// Shard i of every evenly spread option on rank i.
bool Partitioner::spread_evenly(const Proposal& proposal) {
  bool even = true;
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const ShardingOption& option = *proposal[i];
    if (option.partition != PartitionBy::uniform) continue;
    if (option.shards != pool_.size()) {
      return fail(option, fmt::format("table '{}': {} shards for {} ranks", space_.table_of(option).name, option.shards,
                                      pool_.size()));
    }
    const Ranks ranks = assignment_.of(i);
    std::iota(ranks.begin(), ranks.end(), 0);
    even = even && option.even_perf;
  }
  return (even && spread_at_once(proposal)) || spread_one_by_one(proposal);
}

// Bytes of all options summed per rank first; every rank does the same work. False: something does not fit.
bool Partitioner::spread_at_once(const Proposal& proposal) {
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
  for (int rank = 0; rank < pool_.size(); ++rank) pool_.place(rank, change[static_cast<std::size_t>(rank)], work);
  return true;
}

bool Partitioner::spread_one_by_one(const Proposal& proposal) {
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const ShardingOption& option = *proposal[i];
    if (option.partition != PartitionBy::uniform) continue;
    const auto own_rank = [&](std::size_t shard, const Storage& storage) {
      const int rank = static_cast<int>(shard);
      return pool_.fits(rank, storage) ? rank : -1;
    };
    const auto failed = place_each(pool_, option, assignment_.of(i), own_rank);
    if (failed) return blame(option, *failed, pool_.room(static_cast<int>(failed->shard)));
  }
  return true;
}

bool Partitioner::place_group(const Proposal& proposal, const Group& group) {
  const std::size_t first = group.options.front();
  const ShardingOption& option = *proposal[first];
  if (option.partition == PartitionBy::host) return on_one_host(proposal, group);
  if (group.options.size() == 1) {
    const Ranks ranks = assignment_.of(first);
    if (option.partition != PartitionBy::device) return on_several_hosts(option, ranks);
    const bool apart = settings_.key_value_columns_apart && option.type == ShardingType::column_wise &&
                       option.kernel == ComputeKernel::key_value;
    return apart ? on_different_devices(option, ranks) : on_devices(option, ranks);
  }
  return fail(option, fmt::format("table '{}' depends on others, but {} cannot keep them together",
                                  space_.table_of(option).name, name_of(option.type)));
}

bool Partitioner::on_devices(const ShardingOption& option, Ranks ranks) {
  const auto failed = place_each(
      pool_, option, ranks, [&](std::size_t, const Storage& storage) { return pool_.least_busy_with_room(storage); });
  return !failed || blame(option, *failed, pool_.largest_room());
}

bool Partitioner::on_different_devices(const ShardingOption& option, Ranks ranks) {
  if (option.shards > pool_.size()) {
    return fail(option,
                fmt::format("table '{}': {} column shards of kernel key_value for {} ranks, each of which takes "
                            "one at most",
                            space_.table_of(option).name, option.shards, pool_.size()));
  }
  std::vector<bool> taken(static_cast<std::size_t>(pool_.size()));
  const auto failed = place_each(pool_, option, ranks, [&](std::size_t, const Storage& storage) {
    const int rank = pool_.least_busy_with_room(storage, &taken);
    if (rank >= 0) taken[static_cast<std::size_t>(rank)] = true;
    return rank;
  });
  return !failed || blame(option, *failed, pool_.largest_room());
}

bool Partitioner::on_one_host(const Proposal& proposal, const Group& group) {
  for (const int host : pool_.hosts_by_work()) {
    if (!group.storage.fits_in(pool_.host_room(host))) continue;
    const auto before = pool_.save(pool_.ranks_of({&host, 1}));
    if (in_host(proposal, group, host)) return true;
    pool_.restore(before);
  }
  const ShardingOption& option = *proposal[group.options.front()];
  fail(option, fmt::format("no host has room for table '{}' {}", space_.table_of(option).name,
                           bytes_text(option, group.storage)));
  failure_.shard = group.storage;
  return false;
}

bool Partitioner::in_host(const Proposal& proposal, const Group& group, int host) {
  const std::vector<int> targets = pool_.ranks_of({&host, 1});
  return std::ranges::all_of(group.options, [&](std::size_t position) {
    const ShardingOption& option = *proposal[position];
    if (option.type == ShardingType::table_row_wise) return place_on(pool_, option, assignment_.of(position), targets);
    const auto least_busy = [&](std::size_t, const Storage& storage) {
      return pool_.least_busy_in_host(host, storage);
    };
    return option.type == ShardingType::table_column_wise &&
           !place_each(pool_, option, assignment_.of(position), least_busy);
  });
}

// One host per column block, as far as there are hosts.
bool Partitioner::on_several_hosts(const ShardingOption& option, Ranks ranks) {
  const auto of_host = static_cast<std::size_t>(pool_.host_size());
  const std::size_t blocks = ranks.size() / of_host;
  std::vector<int> hosts = pool_.hosts_by_work();
  if (ranks.size() % of_host == 0 && blocks > 0 && !hosts.empty()) {
    for (std::size_t i = 0; hosts.size() < blocks; ++i) hosts.push_back(hosts[i]);  // round robin
    for (std::size_t i = 0; i + blocks <= hosts.size(); ++i) {
      if (in_hosts(option, ranks, std::span(hosts).subspan(i, blocks))) return true;
    }
  }
  return fail(option, fmt::format("no {} hosts have room for table '{}' {}", blocks, space_.table_of(option).name,
                                  bytes_text(option, option.total)));
}

bool Partitioner::in_hosts(const ShardingOption& option, Ranks ranks, std::span<const int> hosts) {
  const std::vector<int> targets = pool_.ranks_of(hosts);
  const auto before = pool_.save(targets);
  if (place_on(pool_, option, ranks, targets)) return true;
  pool_.restore(before);
  return false;
}

}  // namespace shardsim::torchrec
