#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/engine/execution.h"

namespace shardsim {
namespace {

// Routes, one per link in use and cap.
class RoutesByLink {
 public:
  RoutesByLink(std::size_t links, std::vector<TransferRoute>& routes) : last_(links, -1), routes_(routes) {}

  int of(int used, const LinkLoad& load) {
    int route = last_[used];
    while (route >= 0 && routes_[route].cap != load.cap) route = before_[route];
    if (route >= 0) return route;
    before_.push_back(std::exchange(last_[used], static_cast<int>(routes_.size())));
    routes_.push_back({{load.link}, load.cap});
    return last_[used];
  }

 private:
  std::vector<int> last_;    // [link in use], -1: none
  std::vector<int> before_;  // [route] that of the same link before it, -1: none
  std::vector<TransferRoute>& routes_;
};

}  // namespace

// An execution finds these out once, before its first event.

Execution::Execution(const Program& program, const Cluster& cluster, IterationWorks works, const NodeClasses& classes,
                     const EngineOptions& options, Until until, Keep keep)
    : program_(program),
      cluster_(cluster),
      works_(std::move(works)),
      classes_(classes),
      options_(options),
      until_(until),
      keep_(keep),
      index_of_rank_(cluster.world_size(), -1),
      used_index_(cluster.links().size(), -1) {
  take_ranks();
  take_links();
  take_groups();
  declare_loads();
  count_unfinished();
}

void Execution::take_ranks() {
  std::vector<int> numbers;
  for (int rank = 0; rank < cluster_.world_size(); ++rank) {
    if (!simulated(rank)) continue;
    index_of_rank_[rank] = static_cast<int>(numbers.size());
    numbers.push_back(rank);
  }
  deal_ops(numbers);
}

// Ranks that take part in the same operations begin as copies of each other, as neighbours mostly do.
void Execution::deal_ops(const std::vector<int>& numbers) {
  std::vector<int> of_all, own, dealt;
  std::vector<std::vector<int>> of_some(numbers.size());  // [simulated rank] operations that not all take part in
  for (const Op& op : program_.ops) {
    if (op.ranks.empty()) of_all.push_back(op.id);
    for (const int rank : op.ranks) {
      if (index_of_rank_[rank] >= 0) of_some[index_of_rank_[rank]].push_back(op.id);
    }
  }
  const int most = until_ == Until::stopped ? kAhead : options_.iterations;
  ranks_.reserve(numbers.size());
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    own.clear();
    std::ranges::merge(of_all, of_some[index], std::back_inserter(own));
    const bool alike = index > 0 && own == dealt;
    ranks_.push_back(
        {numbers[index], 0, 0, {}, alike ? ranks_.back().streams : RankStreams(program_, most, own, orders_)});
    spans_of_all_ += own.size();
    dealt.swap(own);
  }
}

// Links of simulated nodes, and of leaves above them.
void Execution::take_links() {
  const std::vector<char> leaves = leaves_in_use();
  int in_use = 0;
  for (std::size_t id = 0; id < used_index_.size(); ++id) {
    const Link& link = cluster_.links()[id];
    if (link.node >= 0 ? classes_.is_representative(link.node) : leaves[link.leaf]) used_index_[id] = in_use++;
  }
  used_.reserve(static_cast<std::size_t>(in_use));
  for (std::size_t id = 0; id < used_index_.size(); ++id) {
    if (used_index_[id] >= 0) used_.push_back({static_cast<LinkId>(id)});
  }
  const auto for_each_waiting = [&](const auto& visit) {
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      for (const LinkId link : cluster_.links_of(ranks_[index].number)) {
        visit(used_[used_index_[link]], static_cast<int>(index));
      }
    }
  };
  for_each_waiting([](UsedLink& used, int) { ++used.waiting; });
  int waiting = 0;
  for (UsedLink& used : used_) {
    used.first_waiting = waiting;
    waiting += std::exchange(used.waiting, 0);
  }
  waiting_ranks_.resize(static_cast<std::size_t>(waiting));
  for_each_waiting([&](UsedLink& used, int index) { waiting_ranks_[used.first_waiting + used.waiting++] = index; });
}

std::vector<char> Execution::leaves_in_use() const {
  std::vector<char> leaves(std::max(cluster_.leaves(), 1), 0);
  for (int node = 0; node < cluster_.nodes(); ++node) {
    if (classes_.is_representative(node)) leaves[cluster_.leaf_of(node)] = 1;
  }
  return leaves;
}

void Execution::take_groups() {
  const std::vector<OpWork>& works = works_.of_kind(0);
  for (std::size_t op = 0; op < works.size(); ++op) {
    group_of_.push_back(nullptr);
    first_call_.push_back(current_.size());
    current_.resize(current_.size() + works[op].calls.size());
    if (!works[op].is_collective()) continue;
    const auto [entry, added] =
        groups_.try_emplace(program_.ops[op].group, works[op].calls, index_of_rank_, ranks_.size());
    if (added) entry->second.seat_links(used_.size(), [&](std::size_t link) { return waiting_for(used_[link]); });
    group_of_.back() = &entry->second;
  }
}

void Execution::declare_loads() {
  RoutesByLink routes(used_.size(), routes_);
  const auto counts = [&](const LinkLoad& load) { return used_index_[load.link] >= 0 && load.occupancy > 0; };
  const auto loads_of = [&](const OpWork::Call& call) {
    std::vector<Load> loads;
    loads.reserve(static_cast<std::size_t>(std::ranges::count_if(call.loads.loads, counts)));
    for (const LinkLoad& load : call.loads.loads) {
      const int used = used_index_[load.link];
      if (counts(load)) loads.push_back({used, routes.of(used, load), load.occupancy});
    }
    return loads;
  };
  for (std::size_t kind = 0; kind < works_.kinds(); ++kind) {
    Loads& of_kind = loads_.emplace_back();
    for (const OpWork& work : works_.of_kind(kind)) {
      auto& of_calls = of_kind.emplace_back();
      for (const OpWork::Call& call : work.calls) of_calls.push_back(loads_of(call));
    }
  }
}

}  // namespace shardsim
