#include "sim/engine/past_spans.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardsim {

PastSpans::PastSpans(const PastRun& run) : run_(run), spans_(run.iterations.size()), begins_(run.iterations.size()) {
  position_.assign(static_cast<std::size_t>(run.cluster.world_size()), kNone);
  for (int rank = 0; rank < run.cluster.world_size(); ++rank) {
    if (!run.classes.is_representative(run.cluster.node_of(rank))) continue;
    position_[static_cast<std::size_t>(rank)] = static_cast<int>(ranks_.size());
    ranks_.push_back(rank);
  }
  take_order();
  take_groups();
}

// Streams are in list order, and begin anew with every iteration.
void PastSpans::take_order() {
  before_.assign(ranks_.size() * ops(), kNone);
  after_ = before_;
  const std::size_t streams = run_.program.streams.size();
  std::vector<int> first(ranks_.size() * streams, kNone), last = first;
  const auto add = [&](int rank, const Op& op) {
    const std::size_t stream = static_cast<std::size_t>(rank) * streams + static_cast<std::size_t>(op.stream);
    if (first[stream] == kNone) first[stream] = last[stream] = op.id;
    before_[slot(rank, op.id)] = last[stream];
    after_[slot(rank, last[stream])] = op.id;
    before_[slot(rank, first[stream])] = op.id;
    after_[slot(rank, op.id)] = first[stream];
    last[stream] = op.id;
  };
  for (const Op& op : run_.program.ops) {
    for (std::size_t rank = 0; op.ranks.empty() && rank < ranks_.size(); ++rank) add(static_cast<int>(rank), op);
    for (const int number : op.ranks) {
      if (const int rank = position_[static_cast<std::size_t>(number)]; rank != kNone) add(rank, op);
    }
  }
}

void PastSpans::take_groups() {
  for (const Op& op : run_.program.ops) {
    group_of_.push_back(nullptr);
    const std::vector<OpWork::Call>& calls = run_.works.of_kind(0)[static_cast<std::size_t>(op.id)].calls;
    if (calls.empty()) continue;
    const auto [entry, added] = groups_.try_emplace(op.group);
    group_of_.back() = &entry->second;
    if (!added) continue;
    Group& group = entry->second;
    group.call_of.assign(ranks_.size(), kNone);
    group.members.resize(calls.size());
    for (std::size_t call = 0; call < calls.size(); ++call) {
      for (const int number : calls[call].ranks) {
        const int rank = position_[static_cast<std::size_t>(number)];
        if (rank == kNone) continue;
        group.call_of[static_cast<std::size_t>(rank)] = static_cast<int>(call);
        group.members[call].push_back(rank);
      }
      std::ranges::sort(group.members[call]);
    }
  }
  first_call_ = {0};
  for (const Group* const group : group_of_)
    first_call_.push_back(first_call_.back() + (group == nullptr ? 0 : group->members.size()));
}

const std::vector<int>& PastSpans::index(int iteration) const {
  std::vector<int>& spans = spans_[static_cast<std::size_t>(iteration)];
  if (!spans.empty()) return spans;
  spans.assign(ranks_.size() * ops(), kNone);
  const std::vector<Span>& of_iteration = run_.iterations[static_cast<std::size_t>(iteration)]->spans;
  for (std::size_t i = 0; i < of_iteration.size(); ++i) {
    const Span& span = of_iteration[i];
    spans[slot(position_[static_cast<std::size_t>(span.rank)], span.op)] = static_cast<int>(i);
  }
  return spans;
}

const PastSpans::Span* PastSpans::find(const Node& node) const {
  if (node.iteration < 0 || node.iteration >= static_cast<int>(spans_.size())) return nullptr;
  const int span = index(node.iteration)[slot(node.rank, node.op)];
  if (span == kNone) return nullptr;
  return &run_.iterations[static_cast<std::size_t>(node.iteration)]->spans[static_cast<std::size_t>(span)];
}

std::vector<PastSpans::Node> PastSpans::awaited(const Node& node) const {
  std::vector<Node> nodes;
  const auto add = [&](int op, int iteration) {
    if (const Node each{node.rank, op, iteration}; find(each) != nullptr) nodes.push_back(each);
  };
  const Op& op = run_.program.op(node.op);
  for (const int id : op.after) add(id, node.iteration);
  for (const int id : op.after_previous) add(id, node.iteration - 1);
  const int before = before_[slot(node.rank, node.op)];
  add(before, before < node.op ? node.iteration : node.iteration - 1);
  return nodes;
}

PastSpans::Node PastSpans::next_on_stream(const Node& node) const {
  const int after = after_[slot(node.rank, node.op)];
  return {node.rank, after, after > node.op ? node.iteration : node.iteration + 1};
}

PastSpans::Call PastSpans::call_of(int rank, int op) const {
  const Group* const group = group_of_[static_cast<std::size_t>(op)];
  if (group == nullptr) return {};
  const int call = group->call_of[static_cast<std::size_t>(rank)];
  return call == kNone ? Call{} : Call{call, &group->members[static_cast<std::size_t>(call)]};
}

double PastSpans::begin(const Call& call, int op, int iteration) const {
  if (iteration < 0 || iteration >= static_cast<int>(begins_.size())) return 0;
  std::vector<double>& known = begins_[static_cast<std::size_t>(iteration)];
  if (known.empty()) known.assign(first_call_.back(), std::numeric_limits<double>::quiet_NaN());
  double& last = known[first_call_[static_cast<std::size_t>(op)] + static_cast<std::size_t>(call.number)];
  if (!std::isnan(last)) return last;
  last = 0;
  for (const int member : *call.members) {
    if (const Span* const span = find({member, op, iteration})) last = std::max(last, span->start);
  }
  return last;
}

const OpWork& PastSpans::work(const Node& node) const {
  return run_.works.of(node.op, run_.iterations[static_cast<std::size_t>(node.iteration)]->iterations_run - 1);
}

}  // namespace shardsim
