#include "plan/search/exchange_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/collective/collective.h"

namespace shardsim::search {
namespace {

constexpr std::int64_t kProbe = 1 << 20;  // bytes of a call that loads are read from
constexpr int kSteps = 4;                 // sizes of reductions per power of two

std::vector<int> node_ranks(const Cluster& cluster, int node) {
  std::vector<int> ranks(static_cast<std::size_t>(cluster.ranks_per_node()));
  std::iota(ranks.begin(), ranks.end(), node * cluster.ranks_per_node());
  return ranks;
}

// Every member sends `bytes` to the one at `position`, or gets them from it.
ByteMatrix to_one(std::size_t members, std::size_t position, std::int64_t bytes, bool returns) {
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::by_destination;
  matrix.units.assign(members, 0);
  matrix.units[position] = bytes;
  matrix.transposed = returns;
  return matrix;
}

}  // namespace

ExchangeTimes::ExchangeTimes(const Cluster& cluster)
    : cluster_(cluster),
      world_(cluster.world_size()),
      nodes_(cluster.nodes()),
      per_node_(cluster.ranks_per_node()),
      links_of_(static_cast<std::size_t>(per_node_)),
      occupied_(cluster.links().size(), 0.0) {
  links_ = static_cast<int>(std::ranges::count(cluster.links(), 0, &Link::node));
  for (const Link& link : cluster.links()) rate_.push_back(link.rate.bytes_per_second);
  for (int gpu = 0; gpu < per_node_; ++gpu) {
    for (const LinkId link : cluster.links_of(gpu)) {
      if (link < links_) links_of_[static_cast<std::size_t>(gpu)].push_back(link);
    }
  }
  for (int link = 0; link < links_; ++link) {
    const LinkKind kind = cluster.links()[static_cast<std::size_t>(link)].kind;
    is_nic_.push_back(kind == LinkKind::nic_in || kind == LinkKind::nic_out ? 1 : 0);
  }
  leaves_ = cluster.leaves() > 1 && cluster.leaf_up(0) >= 0;
}

std::vector<std::vector<int>> ExchangeTimes::groups(Reach reach) const {
  std::vector<std::vector<int>> sets;
  if (reach == Reach::world) {
    sets.emplace_back(static_cast<std::size_t>(world_));
    std::iota(sets.back().begin(), sets.back().end(), 0);
  } else if (reach == Reach::in_node) {
    for (int node = 0; node < nodes_; ++node) sets.push_back(node_ranks(cluster_, node));
  } else {
    for (int gpu = 0; gpu < per_node_; ++gpu) {
      std::vector<int>& set = sets.emplace_back();
      for (int node = 0; node < nodes_; ++node) set.push_back(node * per_node_ + gpu);
    }
  }
  return sets;
}

// The calls of all groups to the destination at each place of a node, as their loads lie on node 0, which has it, and
// on node 1. Across nodes the destinations are the ranks of node 0, all at once.
ExchangeTimes::PerByte ExchangeTimes::probe(Reach reach, bool returns) const {
  PerByte made;
  const auto links = static_cast<std::size_t>(links_);
  const std::size_t kinds = reach == Reach::across_nodes ? 1 : static_cast<std::size_t>(per_node_);
  made.home.assign(kinds, std::vector<double>(links, 0.0));
  made.away = made.home;
  const std::vector<std::vector<int>> sets = groups(reach);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    if (reach == Reach::in_node && set > 0) break;
    for (std::size_t kind = 0; kind < kinds && sets[set].size() > 1; ++kind) {
      const ByteMatrix matrix = to_one(sets[set].size(), reach == Reach::across_nodes ? 0 : kind, kProbe, returns);
      const CollectiveCall call{CollectiveKind::all_to_all, sets[set], &matrix, 0};
      for (const LinkLoad& load : expand_collective(call, cluster_, "direct").loads) {
        const double each = load.occupancy / static_cast<double>(kProbe);
        const Link& link = cluster_.links()[static_cast<std::size_t>(load.link)];
        const auto local = static_cast<std::size_t>(load.link % links_);
        if (link.node == 0) made.home[kind][local] += each;
        if (link.node == 1) made.away[kind][local] += each;
        if (link.kind == LinkKind::leaf_down || link.kind == LinkKind::leaf_up) {
          made.leaf = std::max(made.leaf, load.occupancy / std::max(load.bytes, 1.0));
        }
      }
    }
  }
  return made;
}

const ExchangeTimes::PerByte& ExchangeTimes::per_byte(Reach reach, bool returns) {
  const auto [entry, added] = per_byte_.try_emplace({reach, returns});
  if (added) entry->second = probe(reach, returns);
  return entry->second;
}

void ExchangeTimes::world_links(const std::vector<double>& bytes, const PerByte& rates) {
  const auto links = static_cast<std::size_t>(links_), gpus = static_cast<std::size_t>(per_node_);
  std::vector<double> away(links, 0.0);
  std::vector<double> all(gpus, 0.0);
  for (int rank = 0; rank < world_; ++rank) all[static_cast<std::size_t>(rank % per_node_)] += bytes[rank];
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const double* const per = rates.away[gpu].data();
    for (std::size_t link = 0; link < links; ++link) away[link] += per[link] * all[gpu];
  }
  for (int node = 0; node < nodes_; ++node) {
    double* const here = occupied_.data() + static_cast<std::size_t>(node) * links;
    std::copy(away.begin(), away.end(), here);
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      const double amount = bytes[static_cast<std::size_t>(node) * gpus + gpu];
      if (amount == 0) continue;
      const double *const home = rates.home[gpu].data(), *const other = rates.away[gpu].data();
      for (std::size_t link = 0; link < links; ++link) here[link] += (home[link] - other[link]) * amount;
    }
  }
}

void ExchangeTimes::node_links(const std::vector<double>& bytes, const PerByte& rates) {
  const auto links = static_cast<std::size_t>(links_);
  std::fill_n(occupied_.begin(), links, 0.0);
  for (std::size_t gpu = 0; gpu < bytes.size(); ++gpu) {
    for (std::size_t link = 0; link < links; ++link) occupied_[link] += rates.home[gpu][link] * bytes[gpu];
  }
  for (int node = 1; node < nodes_; ++node) {
    std::copy_n(occupied_.begin(), links, occupied_.begin() + static_cast<std::ptrdiff_t>(node) * links_);
  }
}

void ExchangeTimes::cross_links(const std::vector<double>& bytes, const PerByte& rates) {
  const auto links = static_cast<std::size_t>(links_);
  const double all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  for (int node = 0; node < nodes_; ++node) {
    for (std::size_t link = 0; link < links; ++link) {
      const double here = bytes[static_cast<std::size_t>(node)];
      occupied_[static_cast<std::size_t>(node) * links + link] =
          rates.home[0][link] * here + rates.away[0][link] * (all - here);
    }
  }
}

// Seconds that the links of a rank's leaf take for the bytes that leave or enter it, whichever are more.
double ExchangeTimes::leaf_seconds(const std::vector<double>& bytes, double per_byte, int rank) const {
  const int leaf = cluster_.leaf_of(cluster_.node_of(rank));
  double inside = 0, all = 0, ranks = 0;
  for (int other = 0; other < world_; ++other) {
    const bool here = cluster_.leaf_of(cluster_.node_of(other)) == leaf;
    inside += here ? bytes[static_cast<std::size_t>(other)] : 0;
    ranks += here ? 1 : 0;
    all += bytes[static_cast<std::size_t>(other)];
  }
  const double out = ranks * (all - inside), in = (world_ - ranks) * inside;
  return per_byte * std::max(out, in) / rate_[static_cast<std::size_t>(cluster_.leaf_up(leaf))];
}

// The time in which linear loads move, without a start; of each rank into `seconds`. Returns the longest.
double ExchangeTimes::moved(const std::vector<double>& bytes, Reach reach, bool returns, std::vector<double>& seconds) {
  const PerByte& rates = per_byte(reach, returns);
  if (reach == Reach::world) world_links(bytes, rates);
  if (reach == Reach::in_node) node_links(bytes, rates);
  if (reach == Reach::across_nodes) cross_links(bytes, rates);
  double most = 0;
  occupied_by_call_ = {};
  for (int rank = 0; rank < world_; ++rank) {
    const int first = rank / per_node_ * links_;
    double longest = 0;
    for (const int link : links_of_[static_cast<std::size_t>(rank % per_node_)]) {
      const auto at = static_cast<std::size_t>(first + link);
      const double busy = occupied_[at] / rate_[at];
      double& kind = is_nic_[static_cast<std::size_t>(link)] != 0 ? occupied_by_call_.nic : occupied_by_call_.local;
      kind = std::max(kind, busy);
      longest = std::max(longest, busy);
    }
    if (leaves_ && reach == Reach::world) longest = std::max(longest, leaf_seconds(bytes, rates.leaf, rank));
    seconds[static_cast<std::size_t>(rank)] = longest;
    most = std::max(most, longest);
  }
  return most;
}

ExchangeTimes::Size ExchangeTimes::measured_size(Reach reach, bool returns, int exponent) {
  const std::vector<std::vector<int>> sets = groups(reach);
  const auto members = static_cast<std::int64_t>(sets.front().size());
  ByteMatrix even;
  even.units = {std::max<std::int64_t>(members, static_cast<std::int64_t>(std::exp2(exponent)))};
  even.transposed = returns;
  std::vector<CollectiveLoads> loads;
  for (const std::vector<int>& set : sets) {
    loads.push_back(expand_collective({CollectiveKind::all_to_all, set, &even, 0}, cluster_, "direct"));
    if (reach == Reach::in_node) break;
  }
  double alone = 0;
  for (const CollectiveLoads& each : loads) alone = std::max(alone, (each.alone(cluster_) - each.start).value);
  std::vector<double> seconds(static_cast<std::size_t>(world_));
  const double part = static_cast<double>(even.units.front()) / static_cast<double>(members);
  const double linear = moved(std::vector<double>(static_cast<std::size_t>(members), part), reach, returns, seconds);
  const bool shared = reach == Reach::across_nodes;  // several groups may meet on a NIC, and then each takes less of it
  return {loads.front().start.value, linear > 0 && !shared ? std::max(alone / linear, 1e-3) : 1.0};
}

ExchangeTimes::Size ExchangeTimes::size(Reach reach, bool returns, double bytes) {
  const int exponent = bytes > 1 ? static_cast<int>(std::floor(std::log2(bytes))) : 0;
  const auto [entry, added] = sizes_.try_emplace({reach, returns, exponent});
  if (added) entry->second = measured_size(reach, returns, exponent);
  return entry->second;
}

void ExchangeTimes::all_to_all(const std::vector<double>& bytes, LoadStep::Reach reach, bool returns,
                               std::vector<double>& seconds) {
  occupied_by_call_ = {};
  if (bytes.size() < 2) {
    std::ranges::fill(seconds, 0.0);
    return;
  }
  const double all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  const double most = *std::ranges::max_element(bytes) * static_cast<double>(bytes.size());
  const Size size = this->size(reach, returns, std::max(all, most));
  moved(bytes, reach, returns, seconds);
  for (double& each : seconds) each = size.start + size.factor * each;
  occupied_by_call_.nic *= size.factor;
  occupied_by_call_.local *= size.factor;
}

ExchangeTimes::Reduction ExchangeTimes::measured_reduction(CollectiveKind kind, Reach reach, double bytes) const {
  std::vector<CollectiveLoads> loads;
  for (const std::vector<int>& set : groups(reach)) {
    loads.push_back(expand_collective({kind, set, nullptr, static_cast<std::int64_t>(bytes)}, cluster_, "auto"));
    if (reach == Reach::in_node) break;
  }
  std::vector<const CollectiveLoads*> calls;
  std::map<LinkId, double> busy;
  for (const CollectiveLoads& each : loads) {
    calls.push_back(&each);
    for (const LinkLoad& load : each.loads) {
      busy[load.link] += load.occupancy / rate_[static_cast<std::size_t>(load.link)];
    }
  }
  Reduction made{side_by_side(calls, cluster_).time.value, {}};
  for (const auto& [link, seconds] : busy) {
    const LinkKind kind_of = cluster_.links()[static_cast<std::size_t>(link)].kind;
    const bool nic = kind_of == LinkKind::nic_in || kind_of == LinkKind::nic_out;
    double& most = nic ? made.occupied.nic : made.occupied.local;
    most = std::max(most, seconds);
  }
  return made;
}

double ExchangeTimes::reduction(CollectiveKind kind, LoadStep::Reach reach, double bytes) {
  occupied_by_call_ = {};
  if (bytes <= 0) return 0;
  const double at = kSteps * std::log2(std::max(bytes, 1024.0));
  const int below = static_cast<int>(std::floor(at));
  const auto known = [&](int step) -> const Reduction& {
    const auto [entry, added] = reductions_.try_emplace({kind, reach, step});
    if (added) entry->second = measured_reduction(kind, reach, std::exp2(static_cast<double>(step) / kSteps));
    return entry->second;
  };
  const double low = std::exp2(static_cast<double>(below) / kSteps);
  const double high = std::exp2(static_cast<double>(below + 1) / kSteps);
  const double share = (std::max(bytes, 1024.0) - low) / (high - low);
  const Reduction &least = known(below), &most = known(below + 1);
  const auto between = [&](double from, double to) { return from + share * (to - from); };
  occupied_by_call_ = {between(least.occupied.nic, most.occupied.nic),
                       between(least.occupied.local, most.occupied.local)};
  return between(least.seconds, most.seconds);
}

}  // namespace shardsim::search
