#include <algorithm>
#include <map>
#include <numeric>

#include "plan/torchrec/search/partitioner.h"

namespace shardsim::torchrec {
namespace {

template <typename Value>
void shuffle(std::vector<Value>& values, Rng& rng) {
  for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[rng.below(left)]);
}

bool uncut(const ShardingOption& option, const TableSpec& table) {
  return in_columns(option.type) && option.runs.front().cols == table.dim;
}

Proposal worth_drawing(const Proposal& options, const SearchSpace& space) {
  Proposal cut;
  for (const ShardingOption* option : options) {
    if (!uncut(*option, space.table_of(*option))) cut.push_back(option);
  }
  return cut.empty() ? options : cut;
}

// Types in random order, the kernels of each in random order.
Proposal shuffled(const Proposal& options, Rng& rng) {
  std::map<ShardingType, Proposal> by_type;
  for (const ShardingOption* option : options) by_type[option->type].push_back(option);
  std::vector<Proposal> types;
  for (auto& [type, kernels] : by_type) types.push_back(std::move(kernels));
  shuffle(types, rng);
  Proposal result;
  for (Proposal& kernels : types) {
    shuffle(kernels, rng);
    result.insert(result.end(), kernels.begin(), kernels.end());
  }
  return result;
}

// Finds a place for the shards of an option among the ranks with room, any as likely as another.
class Drawer {
 public:
  Drawer(const Topology& topology, Rng& rng) : pool_(topology), rng_(rng) {}

  // Ranks of the shards, or none where no place has room.
  std::optional<std::vector<int>> place(const ShardingOption& option) {
    const DevicePool before = pool_;
    std::vector<int> ranks(static_cast<std::size_t>(option.shards));
    if (placed(option, ranks)) return ranks;
    pool_ = before;
    return std::nullopt;
  }

 private:
  bool placed(const ShardingOption& option, std::span<int> ranks) {
    switch (option.partition) {
      case PartitionBy::uniform:
        return place_on(pool_, option, ranks, everyone());
      case PartitionBy::device:
        return scatter(option, ranks, everyone());
      case PartitionBy::host:
        return in_one_host(option, ranks);
      case PartitionBy::multi_host:
        break;
    }
    return over_hosts(option, ranks);
  }

  std::vector<int> everyone() const {
    std::vector<int> ranks(static_cast<std::size_t>(pool_.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  std::vector<int> shuffled_hosts() {
    std::vector<int> shuffled_hosts = pool_.all_hosts();
    shuffle(shuffled_hosts, rng_);
    return shuffled_hosts;
  }

  // Every shard on any of the targets that has room.
  bool scatter(const ShardingOption& option, std::span<int> ranks, const std::vector<int>& targets) {
    return !place_each(pool_, option, ranks, [&](std::size_t, const Storage& storage) {
      std::vector<int> free = targets;
      std::erase_if(free, [&](int rank) { return !pool_.fits(rank, storage); });
      return free.empty() ? -1 : free[rng_.below(free.size())];
    });
  }

  bool in_one_host(const ShardingOption& option, std::span<int> ranks) {
    const DevicePool before = pool_;
    for (const int host : shuffled_hosts()) {
      const std::vector<int> targets = pool_.ranks_of({&host, 1});
      const bool rows = option.type == ShardingType::table_row_wise;
      if (rows ? place_on(pool_, option, ranks, targets) : scatter(option, ranks, targets)) return true;
      pool_ = before;
    }
    return false;
  }

  // A host per block of columns, one after the other where there are more blocks than hosts.
  bool over_hosts(const ShardingOption& option, std::span<int> ranks) {
    std::vector<int> hosts = shuffled_hosts();
    const auto blocks =
        (ranks.size() + static_cast<std::size_t>(pool_.host_size()) - 1) / static_cast<std::size_t>(pool_.host_size());
    for (std::size_t i = 0; hosts.size() < blocks; ++i) hosts.push_back(hosts[i]);
    hosts.resize(blocks);
    return place_on(pool_, option, ranks, pool_.ranks_of(hosts));
  }

  DevicePool pool_;
  Rng& rng_;
};

// One of the options with the ranks of its shards; `first` null where none has room.
std::pair<const ShardingOption*, std::vector<int>> place_any(const Proposal& options, Drawer& drawer) {
  for (const ShardingOption* option : options) {
    if (const auto ranks = drawer.place(*option)) return {option, *ranks};
  }
  return {nullptr, {}};
}

std::int64_t least_bytes(const Proposal& options) {
  const auto bytes = [](const ShardingOption* option) { return option->total.hbm + option->total.ddr; };
  return bytes(*std::ranges::min_element(options, {}, bytes));
}

}  // namespace

RandomDraw::RandomDraw(const SearchSpace& space, const Topology& topology) : space_(space), topology_(topology) {
  std::vector<std::int64_t> bytes;
  for (const Proposal& options : options_by_table(proposal_of(space.options))) {
    tables_.push_back(worth_drawing(options, space));
    bytes.push_back(least_bytes(options));
  }
  order_.resize(tables_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
}

std::optional<Candidate> RandomDraw::next(Rng& rng) {
  Drawer drawer(topology_, rng);
  std::vector<const ShardingOption*> chosen(tables_.size());
  std::vector<std::vector<int>> ranks(tables_.size());
  for (const std::size_t table : order_) {
    auto [option, places] = place_any(shuffled(tables_[table], rng), drawer);
    if (option == nullptr) {
      failed_ = space_.table_of(*tables_[table].front()).name;
      return std::nullopt;
    }
    chosen[table] = option;
    ranks[table] = std::move(places);
  }
  Candidate draw;
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    draw.plan.push_back(*chosen[table]);
    draw.assignment.add(ranks[table]);
  }
  return draw;
}

}  // namespace shardsim::torchrec
