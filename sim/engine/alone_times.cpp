#include "sim/engine/alone_times.h"

#include <algorithm>
#include <map>

namespace shardsim {
namespace {

constexpr double kMsOfUs = 1e-3;

// The spans of one name. Figures of a Timeline add them up one by one in its order, and so are these.
struct SpansOfName {
  struct Like {
    double start_us = 0, alone_us = 0;
    std::size_t count = 0;  // that are alike
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

// Adds them in order of their starts; nothing where spans of unlike length start together, of which ranks decide.
std::optional<double> sum_in_order(std::vector<SpansOfName::Like> spans) {
  std::ranges::stable_sort(spans, {}, &SpansOfName::Like::start_us);
  double sum = 0;
  for (std::size_t at = 0; at < spans.size(); ++at) {
    const SpansOfName::Like& each = spans[at];
    if (at > 0 && spans[at - 1].start_us == each.start_us && spans[at - 1].alone_us != each.alone_us)
      return std::nullopt;
    for (std::size_t one = 0; one < each.count; ++one) sum += each.alone_us;
  }
  return sum;
}

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

std::optional<std::vector<NamedTime>> alone_times(const Execution::Kept& kept, const Program& program,
                                                  const std::vector<OpWork>& works, const NodeClasses& classes,
                                                  const Cluster& cluster) {
  const Names names(program);
  std::vector<SpansOfName> spans = by_name(names, works);
  std::vector<std::size_t> like(static_cast<std::size_t>(cluster.nodes()), 0);  // [representative] nodes
  for (const int node : classes.representative) ++like[static_cast<std::size_t>(node)];
  for (SpansOfName& of_name : spans) of_name.has.resize(static_cast<std::size_t>(cluster.world_size()));
  for (const Execution::RawSpan& span : kept.spans) {
    SpansOfName& of_name = spans[names.of_op[static_cast<std::size_t>(span.op)]];
    const std::size_t count = like[static_cast<std::size_t>(cluster.node_of(span.rank))];
    of_name.all += count;
    if (of_name.several_lengths)
      of_name.spans.push_back(
          {(span.start - kept.origin) * 1e6, works[static_cast<std::size_t>(span.op)].alone.us(), count});
    if (of_name.has[static_cast<std::size_t>(span.rank)]) continue;
    of_name.has[static_cast<std::size_t>(span.rank)] = true;
    of_name.ranks += count;
  }
  std::vector<NamedTime> times;
  for (std::size_t name = 0; name < spans.size(); ++name) {
    SpansOfName& of_name = spans[name];
    const std::optional<double> sum =
        of_name.several_lengths ? sum_in_order(std::move(of_name.spans)) : sum_of_equal(of_name.alone_us, of_name.all);
    if (!sum) return std::nullopt;
    const Op& first = program.op(names.ops[name].front());
    NamedTime& time = times.emplace_back();
    time.name = first.name;
    time.op_class = op_class_name(first.op_class);
    time.alone_ms = *sum * kMsOfUs / static_cast<double>(std::max<std::size_t>(1, of_name.ranks));
  }
  return times;
}

}  // namespace shardsim
