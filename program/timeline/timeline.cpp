#include "program/timeline/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "base/text.h"
#include "program/program.h"
#include "program/timeline/timeline_fields.h"

namespace shardsim {
namespace {

constexpr double kMostUs = 1e12;    // doubles cannot tell nanoseconds apart beyond it
constexpr double kLeastUs = 1e-12;  // of an iteration: less than light takes through an atom

bool is_length(double us) {
  return us >= 0 && us <= kMostUs;
}

TimelineFault fault_of_head(const Timeline& timeline) {
  if (timeline.kind != "predicted" && timeline.kind != "observed")
    return {fmt::format("kind is {}, neither predicted nor observed", excerpt(timeline.kind)), "kind"};
  if (timeline.world_size < 0 || timeline.world_size > kMostProgramRanks)
    return {fmt::format("the world has {} ranks", timeline.world_size), "world_size"};
  if (timeline.ranks_per_node < 0) return {"a node has fewer than 0 ranks", "ranks_per_node"};
  if (timeline.iteration_ms != 0 && !is_iteration_ms(timeline.iteration_ms))
    return {fmt::format("an iteration takes {} ms", timeline.iteration_ms), "iteration_ms"};
  for (const Timeline::OpInfo& op : timeline.ops)
    if (!is_length(op.alone_us)) return {fmt::format("op {} takes {} us alone", excerpt(op.name), op.alone_us), "ops"};
  if (!is_length(timeline.measured.clock_residual_us))
    return {fmt::format("clock_residual_us is {}", timeline.measured.clock_residual_us), "measured/clock_residual_us"};
  if (!is_length(timeline.measured.clock_drift_us))
    return {fmt::format("clock_drift_us is {}", timeline.measured.clock_drift_us), "measured/clock_drift_us"};
  for (const std::string& host : timeline.measured.hosts)
    if (host.empty() || host.find(',') != std::string::npos)
      return {excerpt(host) + " is no host name", "measured/hosts"};
  return {};
}

TimelineFault fault_of(const Timeline& timeline, const Span& span) {
  for (const auto& [us, part] : {std::pair(span.start_us, "spans/start_us"), {span.end_us, "spans/end_us"}}) {
    if (!std::isfinite(us)) return {"has a time that is not finite", part};
    if (std::abs(us) > kMostUs) return {fmt::format("has an impossible time: {} us", us), part};
  }
  if (span.end_us < span.start_us)
    return {fmt::format("ends at {} us, before its start at {} us", span.end_us, span.start_us), "spans/end_us"};
  if (span.rank < 0 || span.rank >= timeline.world_size)
    return {fmt::format("is on rank {}, outside the world of {} ranks", span.rank, timeline.world_size), "spans/rank"};
  if (span.op < 0 || static_cast<std::size_t>(span.op) >= timeline.ops.size())
    return {fmt::format("names op {}, outside the table of {} ops", span.op, timeline.ops.size()), "spans/op"};
  if (span.stream < 0 || static_cast<std::size_t>(span.stream) >= timeline.streams.size())
    return {fmt::format("names stream {}, outside the table of {} streams", span.stream, timeline.streams.size()),
            "spans/stream"};
  if (span.iteration < 0) return {fmt::format("is of iteration {}", span.iteration), "spans/iteration"};
  if (span.bytes < 0) return {fmt::format("moves {} bytes", span.bytes), "spans/bytes"};
  return {};
}

TimelineFault fault_of_columns(const Timeline& timeline) {
  const auto ranks = static_cast<std::size_t>(timeline.world_size);
  TimelineFault fault;
  for_each_field(kRankFields, [&](const auto& field) {
    const std::size_t size = (timeline.*field.member).size();
    if (size == 0 || size == ranks || !fault.text.empty()) return;
    fault.part = fmt::format("rank/{}", field.name);
    fault.text = fmt::format("column {} has {} values for {} ranks", fault.part, size, ranks);
  });
  const std::size_t flow = timeline.flow.size();
  if (flow == 0 || flow == ranks * ranks || !fault.text.empty()) return fault;
  return {fmt::format("flow/bytes has {} values, not {} x {}", flow, ranks, ranks), "flow_bytes"};
}

std::string fault_of_set(const Timeline& timeline, std::vector<int> members) {
  std::ranges::sort(members);
  for (const int rank : members)
    if (rank < 0 || rank >= timeline.world_size)
      return fmt::format("rank {}, outside the world of {} ranks", rank, timeline.world_size);
  const auto twice = std::ranges::adjacent_find(members);
  return twice == members.end() ? "" : fmt::format("rank {} twice in one of its sets", *twice);
}

TimelineFault fault_of_groups(const Timeline& timeline) {
  for (const auto& [name, sets] : timeline.groups)
    for (const auto& members : sets)
      if (const std::string fault = fault_of_set(timeline, members); !fault.empty())
        return {fmt::format("group {} holds {}", name, fault), "groups"};
  return {};
}

// The kinds of collectives of docs/formats/comparisons.md and the classes of docs/formats/program.md.
constexpr std::array<std::string_view, 7> kCollectiveKinds = {
    "all_gather", "all_reduce", "all_to_all", "all_to_all_v", "broadcast", "reduce_scatter", "send_recv"};

}  // namespace

std::vector<int> group_of(const Timeline& timeline, const Timeline::OpInfo& op, int rank) {
  const auto sets = timeline.groups.find(op.group);
  if (sets == timeline.groups.end()) return {};
  for (const auto& members : sets->second)
    if (std::find(members.begin(), members.end(), rank) != members.end()) return members;
  return {};
}

bool is_iteration_ms(double ms) {
  return ms * 1e3 >= kLeastUs && ms * 1e3 <= kMostUs;
}

void sort_spans(Timeline& timeline) {
  const auto key = [](const Span& span) { return std::tie(span.start_us, span.rank, span.stream, span.op); };
  std::stable_sort(timeline.spans.begin(), timeline.spans.end(),
                   [&](const Span& a, const Span& b) { return key(a) < key(b); });
}

TimelineFault timeline_fault(const Timeline& timeline) {
  for (const auto& look : {fault_of_head, fault_of_columns, fault_of_groups})
    if (TimelineFault fault = look(timeline); !fault.text.empty()) return fault;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    if (TimelineFault fault = fault_of(timeline, timeline.spans[i]); !fault.text.empty())
      return {fmt::format("span {} {}", i, fault.text), fault.part};
  return {};
}

std::string to_bytes(const Timeline& timeline) {
  return packed(timeline);
}

Timeline timeline_from_bytes(std::string_view bytes) {
  Timeline timeline = unpacked<Timeline>(bytes);
  if (const std::string wrong = timeline_fault(timeline).text; !wrong.empty()) {
    throw run_error("a worker process sent a broken timeline: " + wrong, "Run again");
  }
  return timeline;
}

bool is_communication(std::string_view op_class) {
  return std::find(kCollectiveKinds.begin(), kCollectiveKinds.end(), op_class) != kCollectiveKinds.end();
}

bool is_compute(std::string_view op_class) {
  return op_class == "lookup" || op_class == "update" || op_class == "dense";
}

bool is_host(std::string_view op_class) {
  return op_class == "host";
}

}  // namespace shardsim
