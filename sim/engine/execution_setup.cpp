#include <algorithm>
#include <numeric>

#include "sim/engine/execution.h"

namespace shardsim {

// What an execution finds out once, before its first event.

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
  deal_ops();
  take_groups();
  for (std::size_t kind = 0; kind < works_.kinds(); ++kind) declare_loads(works_.of_kind(kind));
  count_unfinished();
}

void Execution::take_ranks() {
  const int most = until_ == Until::stopped ? kAhead : options_.iterations;
  for (int rank = 0; rank < cluster_.world_size(); ++rank) {
    if (!simulated(rank)) continue;
    index_of_rank_[rank] = static_cast<int>(ranks_.size());
    ranks_.push_back({rank, RankStreams(program_, most)});
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
  waiting_from_.assign(used_.size() + 1, 0);
  const auto for_each_link = [&](const auto& visit) {
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      for (const LinkId link : cluster_.links_of(ranks_[index].number)) {
        visit(static_cast<std::size_t>(used_index_[link]), static_cast<int>(index));
      }
    }
  };
  for_each_link([&](std::size_t used, int) { ++waiting_from_[used + 1]; });
  std::partial_sum(waiting_from_.begin(), waiting_from_.end(), waiting_from_.begin());
  waiting_ranks_.resize(waiting_from_.back());
  std::vector<std::size_t> next(waiting_from_.begin(), waiting_from_.end() - 1);
  for_each_link([&](std::size_t used, int index) { waiting_ranks_[next[used]++] = index; });
}

std::vector<char> Execution::leaves_in_use() const {
  std::vector<char> leaves(std::max(cluster_.leaves(), 1), 0);
  for (int node = 0; node < cluster_.nodes(); ++node) {
    if (classes_.is_representative(node)) leaves[cluster_.leaf_of(node)] = 1;
  }
  return leaves;
}

void Execution::deal_ops() {
  const auto deal = [&](std::size_t index, const Op& op) {
    ranks_[index].streams.add(op);
    ++spans_of_all_;
  };
  for (const Op& op : program_.ops) {
    for (std::size_t index = 0; op.ranks.empty() && index < ranks_.size(); ++index) deal(index, op);
    for (const int rank : op.ranks) {
      if (index_of_rank_[rank] >= 0) deal(static_cast<std::size_t>(index_of_rank_[rank]), op);
    }
  }
  for (Rank& rank : ranks_) rank.streams.share_orders(orders_);
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
    group_of_.back() = &entry->second;
  }
}

void Execution::declare_loads(const std::vector<OpWork>& works) {
  Loads& loads = loads_.emplace_back();
  for (const OpWork& work : works) {
    auto& of_calls = loads.emplace_back();
    for (const OpWork::Call& call : work.calls) {
      auto& of_call = of_calls.emplace_back();
      const auto counts = [&](const LinkLoad& load) { return used_index_[load.link] >= 0 && load.occupancy > 0; };
      of_call.reserve(static_cast<std::size_t>(std::ranges::count_if(call.loads.loads, counts)));
      for (const LinkLoad& load : call.loads.loads) {
        if (counts(load)) of_call.push_back({used_index_[load.link], route_of(load), load.occupancy});
      }
    }
  }
}

// One route per link and cap in use.
int Execution::route_of(const LinkLoad& load) {
  auto& known = used_[used_index_[load.link]].routes;
  const auto found = std::ranges::find(known, load.cap.bytes_per_second, &UsedLink::CapRoute::cap);
  if (found != known.end()) return found->route;
  known.push_back({load.cap.bytes_per_second, static_cast<int>(routes_.size())});
  routes_.push_back({{load.link}, load.cap});
  return known.back().route;
}

}  // namespace shardsim
