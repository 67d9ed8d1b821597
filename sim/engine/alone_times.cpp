#include "sim/engine/alone_times.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace shardsim {
namespace {

constexpr double kMsOfUs = 1e-3;

// The spans of one name. Figures of a Timeline add them up one by one in its order, and so are these.
struct SpansOfName {
  struct Like {
    double start_us = 0, alone_us = 0;
    std::size_t count = 0;  // that are alike
    int rank = 0, op = 0;
  };
  std::vector<Like> spans;  // where they are not all as long as the first
  double alone_us = 0;      // of the first
  std::size_t all = 0;      // that are as long
  std::size_t ranks = 0;    // that have any
  std::vector<bool> has;    // [rank]
  bool several_lengths = false;
};

// For each name in the order of first appearance, the operations; and the name of each operation.
struct Names {
  explicit Names(const Program& program) {
    std::map<std::string, std::size_t> known;
    for (const Op& op : program.ops) {
      const auto [entry, fresh] = known.try_emplace(op.name, ops.size());
      if (fresh) ops.emplace_back();
      ops[entry->second].push_back(op.id);
      of_op.push_back(entry->second);
    }
  }
  std::vector<std::vector<int>> ops;  // [name]
  std::vector<std::size_t> of_op;
};

// The nodes that each simulated one stands for.
class NodesByClass {
 public:
  NodesByClass(const NodeClasses& classes, const Cluster& cluster)
      : cluster_(cluster), nodes_of_(static_cast<std::size_t>(cluster.nodes())) {
    for (int node = 0; node < cluster.nodes(); ++node)
      nodes_of_[static_cast<std::size_t>(classes.representative[static_cast<std::size_t>(node)])].push_back(node);
  }

  std::size_t count(int rank) const { return nodes_of(rank).size(); }

  // visit(rank) for the rank itself and those like it.
  template <typename Visit>
  void for_each(int rank, const Visit& visit) const {
    for (const int node : nodes_of(rank)) visit(node * cluster_.ranks_per_node() + cluster_.gpu_of(rank));
  }

 private:
  const std::vector<int>& nodes_of(int rank) const {
    return nodes_of_[static_cast<std::size_t>(cluster_.node_of(rank))];
  }

  const Cluster& cluster_;
  std::vector<std::vector<int>> nodes_of_;  // [representative]
};

// Adds spans of unlike length in the order of a Timeline. Of those that start together the rank decides who is first,
// then the stream and the operation: such spans are repeated for all nodes, and no others.
class SumInOrder {
 public:
  SumInOrder(const Program& program, const NodesByClass& nodes) : program_(program), nodes_(nodes) {}

  double of(std::vector<SpansOfName::Like> spans) {
    std::ranges::stable_sort(spans, {}, &SpansOfName::Like::start_us);
    double sum = 0;
    for (std::size_t first = 0, last = 0; first < spans.size(); first = last) {
      bool alike = true;
      for (last = first; last < spans.size() && spans[last].start_us == spans[first].start_us; ++last)
        alike = alike && spans[last].alone_us == spans[first].alone_us;
      const std::span<const SpansOfName::Like> together(&spans[first], last - first);
      alike ? add_alike(together, sum) : add_unlike(together, sum);
    }
    return sum;
  }

 private:
  struct Placed {
    int rank = 0, stream = 0, op = 0;
    double alone_us = 0;
  };

  static void add_alike(std::span<const SpansOfName::Like> spans, double& sum) {
    for (const SpansOfName::Like& each : spans)
      for (std::size_t one = 0; one < each.count; ++one) sum += each.alone_us;
  }

  void add_unlike(std::span<const SpansOfName::Like> spans, double& sum) {
    placed_.clear();
    for (const SpansOfName::Like& each : spans) {
      const int stream = program_.ops[static_cast<std::size_t>(each.op)].stream;
      nodes_.for_each(each.rank, [&](int rank) { placed_.push_back({rank, stream, each.op, each.alone_us}); });
    }
    std::ranges::sort(placed_, {}, [](const Placed& each) { return std::tuple(each.rank, each.stream, each.op); });
    for (const Placed& each : placed_) sum += each.alone_us;
  }

  const Program& program_;
  const NodesByClass& nodes_;
  std::vector<Placed> placed_;
};

double sum_of_equal(double value, std::size_t count) {
  double sum = 0;
  for (std::size_t one = 0; one < count; ++one) sum += value;
  return sum;
}

std::vector<SpansOfName> by_name(const Names& names, const std::vector<OpWork>& works) {
  std::vector<SpansOfName> result(names.ops.size());
  for (std::size_t name = 0; name < result.size(); ++name) {
    const auto alone_us = [&](int op) { return works[static_cast<std::size_t>(op)].alone.us(); };
    result[name].alone_us = alone_us(names.ops[name].front());
    result[name].several_lengths =
        std::ranges::any_of(names.ops[name], [&](int op) { return alone_us(op) != result[name].alone_us; });
  }
  return result;
}

}  // namespace

std::vector<NamedTime> alone_times(const Execution::Kept& kept, const Program& program,
                                   const std::vector<OpWork>& works, const NodeClasses& classes,
                                   const Cluster& cluster) {
  const Names names(program);
  std::vector<SpansOfName> spans = by_name(names, works);
  const NodesByClass nodes(classes, cluster);
  for (SpansOfName& of_name : spans) of_name.has.resize(static_cast<std::size_t>(cluster.world_size()));
  for (const Execution::RawSpan& span : kept.spans) {
    SpansOfName& of_name = spans[names.of_op[static_cast<std::size_t>(span.op)]];
    const std::size_t count = nodes.count(span.rank);
    of_name.all += count;
    if (of_name.several_lengths)
      of_name.spans.push_back({(span.start - kept.origin) * 1e6, works[static_cast<std::size_t>(span.op)].alone.us(),
                               count, span.rank, span.op});
    if (of_name.has[static_cast<std::size_t>(span.rank)]) continue;
    of_name.has[static_cast<std::size_t>(span.rank)] = true;
    of_name.ranks += count;
  }
  std::vector<NamedTime> times;
  SumInOrder sum_in_order(program, nodes);
  for (std::size_t name = 0; name < spans.size(); ++name) {
    SpansOfName& of_name = spans[name];
    const double sum = of_name.several_lengths ? sum_in_order.of(std::move(of_name.spans))
                                               : sum_of_equal(of_name.alone_us, of_name.all);
    const Op& first = program.op(names.ops[name].front());
    NamedTime& time = times.emplace_back();
    time.name = first.name;
    time.op_class = op_class_name(first.op_class);
    time.alone_ms = sum * kMsOfUs / static_cast<double>(std::max<std::size_t>(1, of_name.ranks));
  }
  return times;
}

}  // namespace shardsim
