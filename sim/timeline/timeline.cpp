#include "sim/timeline/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/timeline/timeline_fields.h"

namespace shardsim {
namespace {

std::string fault_of(const Timeline& timeline, const Span& span) {
  if (!std::isfinite(span.start_us) || !std::isfinite(span.end_us)) return "has a time that is not finite";
  if (span.end_us < span.start_us)
    return fmt::format("ends at {} us, before its start at {} us", span.end_us, span.start_us);
  if (span.rank < 0 || span.rank >= timeline.world_size)
    return fmt::format("is on rank {}, outside the world of {} ranks", span.rank, timeline.world_size);
  if (span.op < 0 || static_cast<std::size_t>(span.op) >= timeline.ops.size())
    return fmt::format("names op {}, outside the table of {} ops", span.op, timeline.ops.size());
  if (span.stream < 0 || static_cast<std::size_t>(span.stream) >= timeline.streams.size())
    return fmt::format("names stream {}, outside the table of {} streams", span.stream, timeline.streams.size());
  if (span.bytes < 0) return fmt::format("moves {} bytes", span.bytes);
  return "";
}

std::string fault_of_columns(const Timeline& timeline) {
  const auto ranks = static_cast<std::size_t>(timeline.world_size);
  const auto wrong = [](std::size_t size, std::size_t due) { return size != 0 && size != due; };
  const std::vector<std::pair<const char*, std::size_t>> columns = {{"hbm_bytes", timeline.hbm_bytes.size()},
                                                                    {"bytes_out", timeline.bytes_out.size()},
                                                                    {"bytes_in", timeline.bytes_in.size()}};
  for (const auto& [name, size] : columns)
    if (wrong(size, ranks)) return fmt::format("column rank/{} has {} values for {} ranks", name, size, ranks);
  if (wrong(timeline.flow.size(), ranks * ranks))
    return fmt::format("flow/bytes has {} values, not {} x {}", timeline.flow.size(), ranks, ranks);
  return "";
}

std::string fault_of_groups(const Timeline& timeline) {
  for (const auto& [name, sets] : timeline.groups)
    for (const auto& members : sets)
      for (int rank : members)
        if (rank < 0 || rank >= timeline.world_size)
          return fmt::format("group {} holds rank {}, outside the world of {} ranks", name, rank, timeline.world_size);
  return "";
}

}  // namespace

std::vector<int> group_of(const Timeline& timeline, const Timeline::OpInfo& op, int rank) {
  const auto sets = timeline.groups.find(op.group);
  if (sets == timeline.groups.end()) return {};
  for (const auto& members : sets->second)
    if (std::find(members.begin(), members.end(), rank) != members.end()) return members;
  return {};
}

void sort_spans(Timeline& timeline) {
  const auto key = [](const Span& span) { return std::tie(span.start_us, span.rank, span.stream, span.op); };
  std::stable_sort(timeline.spans.begin(), timeline.spans.end(),
                   [&](const Span& a, const Span& b) { return key(a) < key(b); });
}

std::string timeline_fault(const Timeline& timeline) {
  if (timeline.world_size < 0) return fmt::format("the world has {} ranks", timeline.world_size);
  if (std::string wrong = fault_of_columns(timeline); !wrong.empty()) return wrong;
  if (std::string wrong = fault_of_groups(timeline); !wrong.empty()) return wrong;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    if (std::string wrong = fault_of(timeline, timeline.spans[i]); !wrong.empty())
      return fmt::format("span {} {}", i, wrong);
  return "";
}

std::string to_bytes(const Timeline& timeline) {
  return packed(timeline);
}

Timeline timeline_from_bytes(std::string_view bytes) {
  Timeline timeline = unpacked<Timeline>(bytes);
  if (const std::string wrong = timeline_fault(timeline); !wrong.empty()) {
    throw run_error("a worker process sent a broken timeline: " + wrong, "Run again");
  }
  return timeline;
}

}  // namespace shardsim
