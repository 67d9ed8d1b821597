#include "sim/lower/draws/row_draws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "models/workload/workload.h"
#include "plan/plan.h"
#include "plan/sharding_groups.h"
#include "sim/lower/known_shares.h"
#include "topology/graph/cluster.h"

namespace shardsim {
namespace {

// Bytes that all owners of one set of holders move for one placement together, of those that follow their shares.
struct OwnerBytes {
  double memory = 0;    // rows and their gradients; as bytes of device memory that take as long
  double asked = 0;     // that owners receive: ids, and gradients of sequences
  double answered = 0;  // that owners send: vectors of sequences. Partial sums of bags are as many whatever the shares
};

// The same of each rank for all placements.
struct OwnedByRank {
  struct Exchange {
    std::vector<double> asked, answered;  // [rank]
  };
  std::vector<double> memory;                                      // [rank]
  std::map<std::pair<Strategy, TableKind>, Exchange> exchanges{};  // of each fusion group
};

// How long the parts of an iteration take that depend on where rows lie, in one number that tells placements of rows
// apart (sim/lower/draws/row_draws.h): lookups take as long as on the fullest rank, and the exchange of each fusion
// group as long as at its busiest port. In bytes of device memory that take as long, at the same ratio of memory,
// NVLink and NICs for every cluster: so clusters that differ in rates are compared with their rows in the same places.
class IterationLoad {
 public:
  // The shape of the cluster alone counts: nodes, and GPUs of a node.
  explicit IterationLoad(const Cluster& cluster) : nodes_(cluster.nodes()), per_node_(cluster.ranks_per_node()) {}

  // `lookups`: that all owners of a set have, of the batches of all whom the set serves.
  OwnerBytes of(const Placement& placement, const Workload& workload, double lookups) const;
  // Returns what these bytes are worth if one owner had them all.
  double worth(const OwnerBytes& bytes, Strategy strategy) const;

  OwnedByRank none() const;
  double load(const OwnedByRank& bytes) const;

 private:
  int world() const { return nodes_ * per_node_; }
  double weight_in_node() const;
  double weight_between() const;
  double busiest_node(const std::vector<double>& bytes) const;

  int nodes_, per_node_;
};

// Device memory, of which GPUs from V100 to B200 have 6 to 9 times the rate of their NVLink ports in one direction and
// 67 to 80 times that of one NIC for each GPU; links to the host are about as fast as NICs (data sheets,
// scenarios/clusters).
constexpr double kOverNvlink = 7, kOverNic = 70, kOverHost = 60;

// How often the bytes of a row pass through memory for each lookup of it: it is read, and so is its gradient; a
// sequence has its vectors written, too. Updates go by different rows, of which an owner has about as many wherever the
// hottest ones lie.
constexpr double kPassesOfBags = 2, kPassesOfSequences = 3;

OwnerBytes IterationLoad::of(const Placement& placement, const Workload& workload, double lookups) const {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  const bool sequence = table.kind == TableKind::sequence;
  const double values = lookups * static_cast<double>(placement.columns());
  const double slower = placement.compute_kernel == "fused_uvm" ? kOverHost : 1;
  OwnerBytes bytes;
  bytes.memory =
      values * static_cast<double>(dtype_bytes(table.dtype)) * slower * (sequence ? kPassesOfSequences : kPassesOfBags);
  if (placement.strategy == Strategy::data_parallel || world() < 2) return bytes;
  const auto vectors = [&](Dtype wire) { return sequence ? values * least_wire_bytes(wire) : 0; };
  bytes.asked = lookups * static_cast<double>(workload.id_bytes) + vectors(backward_wire(workload, table));
  bytes.answered = vectors(forward_wire(workload, table));
  return bytes;
}

double IterationLoad::weight_in_node() const {
  return kOverNvlink * (per_node_ - 1) / per_node_;
}

// Belongs to an exchange of all ranks. NVLink carries its share meanwhile.
double IterationLoad::weight_between() const {
  return nodes_ > 1 ? kOverNic * (nodes_ - 1) / nodes_ : weight_in_node();
}

double IterationLoad::worth(const OwnerBytes& bytes, Strategy strategy) const {
  const double weight = strategy == Strategy::flex ? weight_in_node() : weight_between();
  return bytes.memory + weight * (bytes.asked + bytes.answered);
}

OwnedByRank IterationLoad::none() const {
  return {std::vector<double>(static_cast<std::size_t>(world()), 0.0)};
}

// Mean over the ranks of that node.
double IterationLoad::busiest_node(const std::vector<double>& bytes) const {
  double busiest = 0;
  for (auto first = bytes.begin(); first != bytes.end(); first += per_node_)
    busiest = std::max(busiest, std::accumulate(first, first + per_node_, 0.0));
  return busiest / per_node_;
}

// An owner receives by its own NIC. All that it sends to other nodes leaves by the NICs of all who asked, which
// are those of the whole node (PXN).
double IterationLoad::load(const OwnedByRank& bytes) const {
  double load = std::ranges::max(bytes.memory);
  for (const auto& [group, exchange] : bytes.exchanges) {
    const bool within = group.first == Strategy::flex || nodes_ == 1;
    const double answered = within ? std::ranges::max(exchange.answered) : busiest_node(exchange.answered);
    load += (within ? weight_in_node() : weight_between()) * (std::ranges::max(exchange.asked) + answered);
  }
  return load;
}

// The share of a rank's load that may be left to chance, in rows that are not placed one by one.
constexpr double kLoadError = 5e-3;
// Rows of a placement that are placed one by one in a draw that is tried: those behind them change shares by less than
// kLoadError of a rank's load together (tests/sim/lower/row_draws_test.cpp).
constexpr std::uint64_t kMostTriedHead = HotRows::kMostPlaced;

using GroupKey = std::pair<Strategy, TableKind>;

// A placement whose rows a hash scatters, and its hottest rows.
struct Scattered {
  const Placement* placement = nullptr;
  GroupKey group;
  std::shared_ptr<const HotRows> rows;
  OwnerBytes bytes;          // of all owners of one set
  std::uint64_t placed = 0;  // rows
};

class LoadDraws {
 public:
  LoadDraws(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options)
      : workload_(workload), options_(options), world_(cluster.world_size()), rule_(cluster), fixed_(rule_.none()) {
    known_ = options.known ? options.known : std::make_shared<KnownShares>();
    for (std::size_t index = 0; index < plan.placements.size(); ++index)
      add(plan.placements[index], tier_of(plan, index));
    place_heads();
  }

  std::vector<double> loads() const {
    std::vector<double> loads;
    if (scattered_.empty()) return loads;
    for (int draw = 1; draw <= kRowDraws; ++draw) loads.push_back(load_of(draw));
    return loads;
  }

 private:
  void add(const Placement& placement, int tier) {
    const Table& table = workload_.tables[static_cast<std::size_t>(placement.table)];
    const RowCut cut = cut_of(placement, table, options_.load);
    const std::shared_ptr<const HotRows> rows = known_->hot_rows(placement, table, cut, tier);
    const auto sets = static_cast<double>(placement.holders.size());
    const OwnerBytes bytes = rule_.of(placement, workload_, lookups_of_rank(*rows, table) * world_ / sets);
    all_ += rule_.worth(bytes, placement.strategy) * sets;
    const GroupKey group{placement.strategy, table.kind};
    if (is_scattered(placement, table, cut)) scattered_.push_back({&placement, group, rows, bytes});
    add_fixed(placement, table, cut, bytes);
  }

  // Returns the lookups of the batch of one rank.
  double lookups_of_rank(const HotRows& rows, const Table& table) const {
    const double lookups = rows.lookups_per_sample() * batch_of(table, workload_.batch_per_gpu);
    return table.index_dedup ? rows.different(lookups) : lookups;
  }

  // Where every rank asks for an id once, a hot row is no more than another one.
  bool is_scattered(const Placement& placement, const Table& table, RowCut cut) const {
    if (options_.load.row_shares == LoadOptions::RowShares::even || placement.shards() < 2 || table.index_dedup)
      return false;
    return table.row_order == RowOrder::random || cut == RowCut::hashed;
  }

  // Adds what ranks get of a placement whatever is drawn: of scattered rows the mean, of replicated ones what their own
  // batch asks for.
  void add_fixed(const Placement& placement, const Table& table, RowCut cut, const OwnerBytes& bytes) {
    OwnedByRank::Exchange& exchange = fixed_.exchanges[{placement.strategy, table.kind}];
    exchange.asked.resize(fixed_.memory.size());
    exchange.answered.resize(fixed_.memory.size());
    for (const std::vector<int>& set : placement.holders) {
      const std::vector<double> shares = shares_of(placement, table, cut, set.size());
      for (std::size_t i = 0; i < set.size(); ++i) {
        const auto rank = static_cast<std::size_t>(set[i]);
        fixed_.memory[rank] += bytes.memory * shares[i];
        exchange.asked[rank] += bytes.asked * shares[i];
        exchange.answered[rank] += bytes.answered * shares[i];
      }
    }
  }

  std::vector<double> shares_of(const Placement& placement, const Table& table, RowCut cut, std::size_t holders) const {
    const bool even = options_.load.row_shares == LoadOptions::RowShares::even || placement.shards() < 2;
    if (even || table.index_dedup || is_scattered(placement, table, cut))
      return std::vector<double>(holders, 1.0 / static_cast<double>(holders));
    return known_->of(placement, table, cut, {table.name, 0, 0}, options_.observed_payload)->shares();
  }

  void place_heads() {
    const double variance =
        std::pow(kLoadError * all_ / world_, 2) / static_cast<double>(std::max<std::size_t>(1, scattered_.size()));
    for (Scattered& each : scattered_)
      each.placed = each.rows->needed(rule_.worth(each.bytes, each.placement->strategy), variance);
    std::erase_if(scattered_, [](const Scattered& each) { return each.placed == 0; });
  }

  double load_of(int draw) const {
    OwnedByRank bytes = fixed_;
    for (const Scattered& each : scattered_) {
      OwnedByRank::Exchange& exchange = bytes.exchanges.at(each.group);
      for (const std::vector<int>& set : each.placement->holders) {
        each.rows->add_to(bytes.memory, set, each.bytes.memory, draw, each.placed);
        each.rows->add_to(exchange.asked, set, each.bytes.asked, draw, each.placed);
        if (each.bytes.answered > 0) each.rows->add_to(exchange.answered, set, each.bytes.answered, draw, each.placed);
      }
    }
    return rule_.load(bytes);
  }

  const Workload& workload_;
  const LoweringOptions& options_;
  double world_;
  IterationLoad rule_;
  std::shared_ptr<KnownShares> known_;
  double all_ = 0;  // of all ranks and placements, as load() counts it
  OwnedByRank fixed_;
  std::vector<Scattered> scattered_;
};

}  // namespace

RowDraws::RowDraws(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options)
    : world_size_(cluster.world_size()), stated_(options.load.draw) {
  if (options.load.placement) return;                       // nothing is left to be drawn
  const auto groups = GroupedWorld::of(workload, cluster);  // in each of them rows lie as in the others
  loads_ = groups ? LoadDraws(groups->of_group(plan), workload, groups->cluster(), options).loads()
                  : LoadDraws(plan, workload, cluster, options).loads();
  const double middle = median(loads_);
  for (double& load : loads_) load /= middle;
}

double RowDraws::spread() const {
  double squares = 0;
  for (const double load : loads_) squares += (load - 1) * (load - 1);
  return any() ? std::sqrt(squares / static_cast<double>(loads_.size())) : 0;
}

LoweringOptions RowDraws::tried(LoweringOptions options, int draw) {
  options.row_draw = draw;
  options.most_head = kMostTriedHead;
  return options;
}

std::vector<double> RowDraws::log_times(const std::function<double(int draw)>& time,
                                        const std::function<double()>& moved) const {
  std::vector<double> times;
  if (spread() < kLeastRowSpread) return times;
  const auto load_of = [this](int draw) { return loads_[static_cast<std::size_t>(draw - 1)]; };
  if (world_size_ > kMostTried) {
    const double share = moved();
    for (const double load : loads_) times.push_back(std::log1p(share * (load / load_of(typical()) - 1)));
    return times;
  }
  for (int draw = 1; draw <= kRowDraws; ++draw) times.push_back(std::log(time(draw)));
  const double typical_time = times[static_cast<std::size_t>(typical() - 1)];
  for (double& each : times) each -= typical_time;
  return times;
}

int RowDraws::typical() const {
  if (stated_) return *stated_;
  const auto far = [](double load) { return std::abs(load - 1); };
  return any() ? 1 + static_cast<int>(std::ranges::min_element(loads_, {}, far) - loads_.begin()) : 1;
}

LoweringOptions RowDraws::placed(LoweringOptions options) const {
  if (!options.load.placement && !options.row_draw) options.row_draw = typical();
  return options;
}

LoweringOptions with_placed_rows(LoweringOptions options, const Plan& plan, const Workload& workload,
                                 const Cluster& cluster) {
  if (options.load.placement || options.row_draw) return options;
  LoweringOptions planned = options;
  planned.observed_payload = false;  // what is observed of a plan does not move its rows
  return RowDraws(plan, workload, cluster, planned).placed(std::move(options));
}

}  // namespace shardsim
