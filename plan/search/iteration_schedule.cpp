// When the operations of an iteration run: in the lowering's order, with collectives that meet on links.

#include <algorithm>

#include "plan/search/iteration_cost.h"

namespace shardsim::search {
namespace {

constexpr double kMoved = 1e-12;  // seconds: what rounding leaves of a transfer

}  // namespace

// Resolves dependencies on operations that are not there: those behind such an operation wait for everything that it
// would wait for.
void IterationCost::connect() {
  connected_ = true;
  there_.clear();
  std::vector<std::vector<int>> behind(ops_.size());
  const auto resolved = [&](const std::vector<int>& ids) {
    std::vector<int> waits;
    for (const int id : ids) {
      const auto at = static_cast<std::size_t>(id);
      if (present(ops_[at])) {
        waits.push_back(id);
      } else {
        waits.insert(waits.end(), behind[at].begin(), behind[at].end());
      }
    }
    std::ranges::sort(waits);
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    return waits;
  };
  for (std::size_t i = 0; i < ops_.size(); ++i) behind[i] = resolved(ops_[i].after);
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (!present(ops_[i])) continue;
    there_.push_back(static_cast<int>(i));
    ops_[i].waits = behind[i];
    ops_[i].waits_previous = resolved(ops_[i].after_previous);
  }
}

double IterationCost::seconds() {
  if (!connected_) connect();
  for (Node& node : ops_) {
    if (node.stale) refresh(node);
  }
  if (workload_.dense.measured) hold_measured();
  std::ranges::fill(busy_, 0.0);
  for (const Node& node : ops_) {
    if (node.count == 0 || !node.op.seconds.empty()) continue;
    for (std::size_t rank = 0; rank < world_; ++rank) busy_[rank] += node.seconds[rank];
  }
  for (Node& node : ops_) node.delay = 0;
  const double alone = schedule(pipelined_ ? 2 : 1);
  if (!meets()) return alone;
  find_delays();
  return schedule(pipelined_ ? 2 : 1);
}

// True when collectives of several groups can meet on links: those of one group run one after the other.
bool IterationCost::meets() const {
  int stream = -1;
  for (const int id : there_) {
    const Node& node = ops_[static_cast<std::size_t>(id)];
    if (!node.op.collective || !node.op.seconds.empty()) continue;
    if (stream >= 0 && node.op.stream != stream) return true;
    stream = node.op.stream;
  }
  return false;
}

// The waiting transfer that begins next, when its stream has nothing else moving or waiting in front; none: their
// number.
std::size_t IterationCost::next_transfer() const {
  std::size_t next = waiting_.size();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const int stream = waiting_[i]->op.stream;
    const bool moves = std::ranges::any_of(sharing_, [&](const auto& each) { return each.first->op.stream == stream; });
    const bool behind = std::any_of(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Node* node) { return node->op.stream == stream; });
    if (!moves && !behind && (next == waiting_.size() || begin_of(*waiting_[i]) < begin_of(*waiting_[next]))) next = i;
  }
  return next;
}

// All that move share the link until `until`, or until the first of them has ended; returns when.
double IterationCost::share_until(double now, double until, double Node::*work) {
  const auto least = std::ranges::min_element(sharing_, {}, &std::pair<Node*, double>::second);
  const auto count = static_cast<double>(sharing_.size());
  const double step = std::min(least->second, (until - now) / count);
  now += step * count;
  for (auto& [node, left] : sharing_) {
    left -= step;
    if (left > kMoved) continue;
    double& late = late_[static_cast<std::size_t>(node->op.stream)];
    const double delay = std::max(0.0, now - node->moving - late - node->*work);
    node->delay = std::max(node->delay, delay);
    late += delay;
  }
  std::erase_if(sharing_, [](const auto& each) { return each.second <= kMoved; });
  return now;
}

// Transfers in the order in which they begin, each at an equal share of the link while it moves. One that others hold
// up holds up those behind it on its stream, which share nothing with it.
void IterationCost::share_links(double Node::*work) {
  waiting_.clear();
  for (const int id : there_) {
    Node& node = ops_[static_cast<std::size_t>(id)];
    if (node.op.collective && node.*work > 0) waiting_.push_back(&node);
  }
  std::ranges::stable_sort(waiting_, {}, &Node::moving);
  late_.assign(static_cast<std::size_t>(streams_), 0.0);
  double now = 0;
  while (!waiting_.empty() || !sharing_.empty()) {
    const std::size_t next = next_transfer();
    const bool any = next < waiting_.size();
    const double until = any ? std::max(now, begin_of(*waiting_[next])) : 1e300;
    if (!sharing_.empty()) {
      const std::size_t before = sharing_.size();
      now = share_until(now, until, work);
      if (sharing_.size() < before) continue;
    }
    now = until;
    sharing_.emplace_back(waiting_[next], waiting_[next]->*work);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
  }
}

void IterationCost::find_delays() {
  share_links(&Node::nic);
  share_links(&Node::local);
}

double IterationCost::schedule(int iterations) {
  for (auto& stream : free_) std::ranges::fill(stream, 0.0);
  double last = 0, end = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    last = end;
    for (const int id : there_) run(ops_[static_cast<std::size_t>(id)], iteration);
    for (const auto& stream : free_) end = std::max(end, *std::ranges::max_element(stream));
  }
  return end - last;
}

// An operation of the previous iteration that stands behind this one in the list has not been run again yet.
void IterationCost::run(Node& node, int iteration) {
  std::vector<double>& free = free_[static_cast<std::size_t>(node.op.stream)];
  std::copy(free.begin(), free.end(), start_.begin());
  double* const start = start_.data();
  const auto wait_for = [&](int id, std::vector<double> Node::*when) {
    const double* const ends = (ops_[static_cast<std::size_t>(id)].*when).data();
    for (std::size_t rank = 0; rank < world_; ++rank) start[rank] = std::max(start[rank], ends[rank]);
  };
  for (const int id : node.waits) wait_for(id, &Node::ends);
  if (iteration > 0) {
    for (const int id : node.waits_previous) {
      wait_for(id, &ops_[static_cast<std::size_t>(id)] < &node ? &Node::before : &Node::ends);
    }
  }
  if (pipelined_) node.before.swap(node.ends);
  if (node.op.collective) {
    run_collective(node, start_, free);
    return;
  }
  for (std::size_t rank = 0; rank < world_; ++rank) free[rank] = start[rank] + node.seconds[rank];
  std::copy(free.begin(), free.end(), node.ends.begin());
}

// All members of a group begin when the last one is there.
void IterationCost::run_collective(Node& node, std::vector<double>& start, std::vector<double>& free) {
  const LoadStep::Reach reach = node.step.reach;
  if (reach == LoadStep::Reach::world) {
    std::ranges::fill(start, *std::ranges::max_element(start));
  } else {
    const bool in_node = reach == LoadStep::Reach::in_node;
    const std::size_t groups = in_node ? nodes_ : per_node_, members = in_node ? per_node_ : nodes_;
    for (std::size_t group = 0; group < groups; ++group) {
      const auto rank = [&](std::size_t i) { return in_node ? group * per_node_ + i : i * per_node_ + group; };
      double last = 0;
      for (std::size_t i = 0; i < members; ++i) last = std::max(last, start[rank(i)]);
      for (std::size_t i = 0; i < members; ++i) start[rank(i)] = last;
    }
  }
  node.moving = *std::ranges::max_element(start) + node.longest - std::max(node.nic, node.local);
  for (std::size_t rank = 0; rank < world_; ++rank) free[rank] = start[rank] + node.seconds[rank] + node.delay;
  std::copy(free.begin(), free.end(), node.ends.begin());
}

}  // namespace shardsim::search
