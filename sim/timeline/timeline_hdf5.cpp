#include "sim/timeline/timeline_hdf5.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/text.h"
#include "sim/timeline/timeline_fields.h"
#include "sim/timeline/timeline_figures.h"

namespace shardsim {
namespace {

constexpr const char* kOne = "1";

template <typename Value, typename Item, typename Field>
std::vector<Value> column(const std::vector<Item>& items, Field field) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const Item& item : items) values.push_back(std::invoke(field, item));
  return values;
}

// Writes the columns of one group along one axis.
class ColumnWriter {
 public:
  ColumnWriter(Hdf5Writer& out, std::string group, std::string axis, Hdf5Layout layout = Hdf5Layout::plain)
      : out_(out), group_(std::move(group)), axis_(group_ + "/" + std::move(axis)), layout_(layout) {}

  template <typename Number>
  ColumnWriter& scale(std::size_t length, const char* long_name) {
    out_.scale<Number>(axis_, length, {kOne, long_name}, layout_);
    return *this;
  }
  // A column of each field.
  template <typename Item, typename Fields>
  void fields(const std::vector<Item>& items, const Fields& list) {
    for_each_field(list, [&](const auto& field) {
      using Value = FieldValue<std::remove_cvref_t<decltype(field)>>;
      using Stored = std::conditional_t<std::is_same_v<Value, int>, std::int32_t, Value>;
      const std::vector<Stored> values = column<Stored>(items, field.member);
      if constexpr (std::is_same_v<Value, std::string>) {
        texts(field.name, values, field.long_name);
      } else {
        numbers(field.name, values, {field.unit, field.long_name});
      }
    });
  }
  template <typename Number>
  ColumnWriter& numbers(const char* name, const std::vector<Number>& values, const Hdf5Meaning& meaning) {
    out_.dataset<Number>(group_ + "/" + name, values, {axis_}, meaning, layout_);
    return *this;
  }
  ColumnWriter& texts(const char* name, const std::vector<std::string>& values, const char* long_name) {
    out_.texts(group_ + "/" + name, values, axis_, {"", long_name});
    return *this;
  }

 private:
  Hdf5Writer& out_;
  std::string group_, axis_;
  Hdf5Layout layout_;
};

// Texts, flags and small numbers; reals have their place in the summary.
void write_attributes(Hdf5Writer& out, const std::string& root, const Timeline& timeline) {
  for_each_field(kHeadFields, [&](const auto& field) {
    using Value = FieldValue<std::remove_cvref_t<decltype(field)>>;
    if constexpr (std::is_same_v<Value, std::string>) {
      out.text_attribute(root, field.name, timeline.*field.member);
    } else if constexpr (std::is_same_v<Value, bool>) {
      out.attribute(root, field.name, std::int8_t{timeline.*field.member});
    } else if constexpr (std::is_same_v<Value, int>) {
      out.attribute(root, field.name, std::int32_t{timeline.*field.member});
    }
  });
}

// Largest over mean of the ranks' compute time: 1 when all ranks compute equally long.
double imbalance(const std::vector<RankTimes>& ranks) {
  double largest = 0, sum = 0;
  for (const RankTimes& rank : ranks) {
    largest = std::max(largest, rank.compute_ms);
    sum += rank.compute_ms;
  }
  return sum > 0 ? largest * static_cast<double>(ranks.size()) / sum : 1;
}

void write_summary(Hdf5Writer& out, const std::string& root, const Timeline& timeline,
                   const std::vector<RankTimes>& ranks) {
  double exposed = 0;
  for (const RankTimes& rank : ranks) exposed = std::max(exposed, rank.exposed_ms);
  std::int64_t hbm = 0;
  for (std::int64_t bytes : timeline.hbm_bytes) hbm = std::max(hbm, bytes);
  out.value<double>(root + "/iteration_ms", timeline.iteration_ms, {"ms", "steady iteration time"});
  out.value<double>(root + "/exposed_comm_ms", exposed, {"ms", "exposed communication, largest over ranks"});
  out.value<std::int64_t>(root + "/hbm_max_bytes", hbm, {"B", "device memory, largest over ranks"});
  out.value<double>(root + "/imbalance", imbalance(ranks), {kOne, "compute time of the ranks, largest over mean"});
}

void write_ranks(Hdf5Writer& out, const std::string& root, const Timeline& timeline,
                 const std::vector<RankTimes>& ranks) {
  ColumnWriter columns(out, root, "rank");
  columns.scale<std::int32_t>(ranks.size(), "rank")
      .numbers("compute_ms", column<double>(ranks, &RankTimes::compute_ms), {"ms", "some compute operation running"})
      .numbers("comm_ms", column<double>(ranks, &RankTimes::comm_ms), {"ms", "some collective running"})
      .numbers("exposed_ms", column<double>(ranks, &RankTimes::exposed_ms),
               {"ms", "a collective and no compute running"})
      .numbers("waiting_ms", column<double>(ranks, &RankTimes::waiting_ms),
               {"ms", "of exposed_ms: some member of the collective's group had not arrived"});
  for_each_field(kRankFields, [&](const auto& field) {
    const std::vector<std::int64_t>& values = timeline.*field.member;
    if (!values.empty()) columns.numbers(field.name, values, {field.unit, field.long_name});
  });
}

void write_groups(Hdf5Writer& out, const std::string& root, const Timeline& timeline) {
  std::vector<std::string> names;
  std::vector<std::int32_t> group, set, rank;
  for (const auto& [name, sets] : timeline.groups) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      group.insert(group.end(), sets[i].size(), static_cast<std::int32_t>(names.size()));
      set.insert(set.end(), sets[i].size(), static_cast<std::int32_t>(i));
      rank.insert(rank.end(), sets[i].begin(), sets[i].end());
    }
    names.push_back(name);
  }
  ColumnWriter(out, root + "/group", "group")
      .scale<std::int32_t>(names.size(), "group")
      .texts("name", names, "group name");
  ColumnWriter(out, root + "/group_member", "member")
      .scale<std::int32_t>(rank.size(), "member of a rank set of a group")
      .numbers("group", group, {kOne, "group, an index of group/name"})
      .numbers("set", set, {kOne, "rank set within its group; the sets run side by side"})
      .numbers("rank", rank, {kOne, "rank"});
}

void write_flow(Hdf5Writer& out, const std::string& root, const Timeline& timeline) {
  if (timeline.flow.empty()) return;
  const auto ranks = static_cast<std::size_t>(timeline.world_size);
  out.scale<std::int32_t>(root + "/src_rank", ranks, {kOne, "source rank"});
  out.scale<std::int32_t>(root + "/dst_rank", ranks, {kOne, "destination rank"});
  out.dataset<std::int64_t>(root + "/bytes", timeline.flow, {root + "/src_rank", root + "/dst_rank"},
                            {"B", "bytes of one iteration"});
}

// Host names hold no comma (RFC 1123).
void write_measured(Hdf5Writer& out, const std::string& root, const Timeline& timeline) {
  const Timeline::Measured& measured = timeline.measured;
  if (timeline.kind != "observed") return;
  for_each_field(kMeasuredFields, [&](const auto& field) {
    using Value = FieldValue<std::remove_cvref_t<decltype(field)>>;
    if constexpr (std::is_same_v<Value, double>) {
      out.attribute(root, field.name, measured.*field.member);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      out.text_attribute(root, field.name, measured.*field.member);
    } else {
      out.text_attribute(root, field.name, join(measured.*field.member, ","));
    }
  });
}

}  // namespace

void write_timeline_columns(Hdf5Writer& out, const std::string& root, const Timeline& timeline) {
  if (const std::string wrong = timeline_fault(timeline).text; !wrong.empty())
    throw std::logic_error(root + ": a timeline that no reader would take: " + wrong);
  const std::vector<RankTimes> ranks = rank_times(timeline);
  write_attributes(out, root, timeline);
  write_summary(out, root + "/summary", timeline, ranks);
  write_ranks(out, root + "/rank", timeline, ranks);
  ColumnWriter(out, root + "/spans", "span", Hdf5Layout::packed)
      .scale<std::int64_t>(timeline.spans.size(), "span")
      .fields(timeline.spans, kSpanFields);
  ColumnWriter(out, root + "/op", "op")
      .scale<std::int32_t>(timeline.ops.size(), "operation")
      .fields(timeline.ops, kOpFields);
  ColumnWriter(out, root + "/stream", "stream")
      .scale<std::int32_t>(timeline.streams.size(), "stream")
      .texts("name", timeline.streams, "stream name");
  write_groups(out, root, timeline);
  write_flow(out, root + "/flow", timeline);
  write_measured(out, root + "/measured", timeline);
}

}  // namespace shardsim
