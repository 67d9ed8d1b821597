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
  return column_type(option.type) && option.runs.front().cols == table.dim;
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

// What is left of every rank while one draw goes on.
class Rooms {
 public:
  Rooms(const Topology& topology, Rng& rng)
      : rooms_(topology.devices), hosts_(topology.hosts()), per_host_(topology.local_world_size), rng_(rng) {}

  // Ranks of the shards, or none where no place has room.
  std::optional<std::vector<int>> place(const ShardingOption& option) {
    const std::vector<Storage> before = rooms_;
    std::vector<int> ranks;
    bool placed = false;
    switch (option.partition) {
      case PartitionBy::uniform:
        placed = spread(option, all_ranks(), ranks);
        break;
      case PartitionBy::device:
        placed = scatter(option, all_ranks(), ranks);
        break;
      case PartitionBy::host:
        placed = in_one_host(option, ranks);
        break;
      case PartitionBy::multi_host:
        placed = over_hosts(option, ranks);
        break;
    }
    if (placed) return ranks;
    rooms_ = before;
    return std::nullopt;
  }

 private:
  std::vector<int> all_ranks() const {
    std::vector<int> ranks(rooms_.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  std::vector<int> ranks_of(int host) const {
    std::vector<int> ranks(static_cast<std::size_t>(per_host_));
    std::iota(ranks.begin(), ranks.end(), host * per_host_);
    return ranks;
  }

  std::vector<int> shuffled_hosts() {
    std::vector<int> hosts(static_cast<std::size_t>(hosts_));
    std::iota(hosts.begin(), hosts.end(), 0);
    shuffle(hosts, rng_);
    return hosts;
  }

  bool take(int rank, const Storage& storage) {
    Storage& room = rooms_[static_cast<std::size_t>(rank)];
    if (!storage.fits_in(room)) return false;
    room -= storage;
    return true;
  }

  // Shard i on the i-th of the targets.
  bool spread(const ShardingOption& option, const std::vector<int>& targets, std::vector<int>& ranks) {
    if (static_cast<std::size_t>(option.shards) != targets.size()) return false;
    for (const ShardRun& run : option.runs) {
      for (int i = 0; i < run.count; ++i) {
        const int rank = targets[ranks.size()];
        if (!take(rank, run.storage)) return false;
        ranks.push_back(rank);
      }
    }
    return true;
  }

  // Every shard on any of the targets that has room.
  bool scatter(const ShardingOption& option, const std::vector<int>& targets, std::vector<int>& ranks) {
    for (const ShardRun& run : option.runs) {
      for (int i = 0; i < run.count; ++i) {
        std::vector<int> free = targets;
        std::erase_if(free, [&](int rank) { return !run.storage.fits_in(rooms_[static_cast<std::size_t>(rank)]); });
        if (free.empty()) return false;
        ranks.push_back(free[rng_.below(free.size())]);
        take(ranks.back(), run.storage);
      }
    }
    return true;
  }

  bool in_one_host(const ShardingOption& option, std::vector<int>& ranks) {
    const std::vector<Storage> before = rooms_;
    for (const int host : shuffled_hosts()) {
      const std::vector<int> targets = ranks_of(host);
      const bool rows = option.type == ShardingType::table_row_wise;
      if (rows ? spread(option, targets, ranks) : scatter(option, targets, ranks)) return true;
      rooms_ = before;
      ranks.clear();
    }
    return false;
  }

  // A host per block of columns, one after the other where there are more blocks than hosts.
  bool over_hosts(const ShardingOption& option, std::vector<int>& ranks) {
    const std::vector<int> hosts = shuffled_hosts();
    std::vector<int> targets;
    for (std::size_t block = 0; targets.size() < static_cast<std::size_t>(option.shards); ++block) {
      const std::vector<int> host = ranks_of(hosts[block % hosts.size()]);
      targets.insert(targets.end(), host.begin(), host.end());
    }
    return spread(option, targets, ranks);
  }

  std::vector<Storage> rooms_;
  int hosts_, per_host_;
  Rng& rng_;
};

// One of the options with the ranks of its shards; `first` null where none has room.
std::pair<const ShardingOption*, std::vector<int>> place_any(const Proposal& options, Rooms& rooms) {
  for (const ShardingOption* option : options) {
    if (const auto ranks = rooms.place(*option)) return {option, *ranks};
  }
  return {nullptr, {}};
}

std::int64_t least_bytes(const Proposal& options) {
  std::int64_t least = options.front()->total.hbm + options.front()->total.ddr;
  for (const ShardingOption* option : options) least = std::min(least, option->total.hbm + option->total.ddr);
  return least;
}

}  // namespace

RandomDraw::RandomDraw(const SearchSpace& space, const Topology& topology) : space_(space), topology_(topology) {
  std::vector<std::int64_t> bytes;
  for (const Proposal& options : options_by_table(space.options)) {
    tables_.push_back(worth_drawing(options, space));
    bytes.push_back(least_bytes(options));
  }
  order_.resize(tables_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
}

std::optional<Draw> RandomDraw::next(Rng& rng) {
  Rooms rooms(topology_, rng);
  std::vector<const ShardingOption*> chosen(tables_.size());
  std::vector<std::vector<int>> ranks(tables_.size());
  for (const std::size_t table : order_) {
    auto [option, places] = place_any(shuffled(tables_[table], rng), rooms);
    if (option == nullptr) {
      failed_ = space_.table_of(*tables_[table].front()).name;
      return std::nullopt;
    }
    chosen[table] = option;
    ranks[table] = std::move(places);
  }
  Draw draw;
  draw.assignment.first = {0};
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    draw.options.push_back(*chosen[table]);
    draw.assignment.ranks.insert(draw.assignment.ranks.end(), ranks[table].begin(), ranks[table].end());
    draw.assignment.first.push_back(draw.assignment.ranks.size());
  }
  return draw;
}

}  // namespace shardsim::torchrec
