#include "program/timeline/timeline_hdf5.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/text.h"
#include "program/timeline/named_times.h"
#include "program/timeline/timeline_fields.h"

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

// Reals of a Timeline have their place in its summary.
template <typename AnyField>
constexpr bool in_summary(const AnyField&) {
  return std::is_same_v<FieldValue<AnyField>, double>;
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

// The fields of one part as attributes of a group. Host names hold no comma (RFC 1123).
template <typename Value>
void write_attribute(Hdf5Writer& out, const std::string& root, const char* name, const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    out.text_attribute(root, name, value);
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    out.text_attribute(root, name, join(value, ","));
  } else if constexpr (std::is_same_v<Value, bool>) {
    out.attribute(root, name, std::int8_t{value});
  } else if constexpr (std::is_same_v<Value, int>) {
    out.attribute(root, name, std::int32_t{value});
  } else {
    out.attribute(root, name, value);
  }
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
  out.value<std::int64_t>(root + "/hbm_max_bytes", hbm, {"B", "device memory held, largest over ranks"});
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

// A number within int.
int narrow(const Hdf5Reader& in, const std::string& what, std::int64_t value) {
  if (!std::in_range<int>(value)) in.refuse(fmt::format("{} holds {}, too large a number", what, value));
  return static_cast<int>(value);
}

// Reads the columns of one group, all of one length.
class ColumnReader {
 public:
  ColumnReader(const Hdf5Reader& in, std::string group, const std::string& axis) : in_(in), group_(std::move(group)) {
    const std::vector<std::size_t> shape = in_.shape(group_ + "/" + axis);
    if (shape.size() != 1) in_.refuse(fmt::format("{}/{} is no list", group_, axis));
    length_ = shape[0];
  }

  std::size_t length() const { return length_; }
  bool has(const char* name) const { return in_.has(path(name)); }

  // One item a row, a member from the column of each field; what the file need not have stays as it is.
  template <typename Item, typename Fields>
  std::vector<Item> items(const Fields& fields) const {
    check_room(fields, sizeof(Item));
    std::vector<Item> result(length_);
    for_each_field(fields, [&](const auto& field) {
      if (!field.required && !has(field.name)) return;
      const auto values = column<FieldValue<std::remove_cvref_t<decltype(field)>>>(field.name);
      for (std::size_t i = 0; i < length_; ++i) result[i].*field.member = values[i];
    });
    return result;
  }

  template <typename Value>
  std::vector<Value> column(const char* name) const {
    check_length(name);
    if constexpr (std::is_same_v<Value, double>) {
      return in_.reals(path(name));
    } else if constexpr (std::is_same_v<Value, std::string>) {
      return in_.texts(path(name));
    } else if constexpr (std::is_same_v<Value, std::int64_t>) {
      return in_.integers(path(name));
    } else {
      std::vector<int> values;
      for (std::int64_t value : in_.integers(path(name))) values.push_back(narrow(in_, path(name), value));
      return values;
    }
  }

 private:
  std::string path(const char* name) const { return group_ + "/" + name; }

  void check_length(const char* name) const {
    const std::vector<std::size_t> shape = in_.shape(path(name));
    if (shape.size() != 1 || shape[0] != length_)
      in_.refuse(
          fmt::format("column {} has {} values where {} are due", path(name), shape.empty() ? 1 : shape[0], length_));
  }

  // Before there is an item: a length that the file does not hold must not take memory.
  template <typename Fields>
  void check_room(const Fields& fields, std::size_t item_bytes) const {
    std::vector<std::string> columns;
    for_each_field(fields, [&](const auto& field) {
      if (!field.required && !has(field.name)) return;
      check_length(field.name);
      columns.push_back(path(field.name));
    });
    in_.check_columns(columns, item_bytes);
  }

  const Hdf5Reader& in_;
  std::string group_;
  std::size_t length_ = 0;
};

template <typename Value>
void read_attribute(const Hdf5Reader& in, const std::string& root, const char* name, Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    value = in.text_attribute(root, name);
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    const std::string names = in.text_attribute(root, name);
    if (!names.empty()) value = split(names, ',');
  } else if constexpr (std::is_same_v<Value, double>) {
    value = in.real_attribute(root, name);
  } else {
    const std::int64_t number = in.integer_attribute(root, name);
    if (std::is_same_v<Value, bool> && number != 0 && number != 1)
      in.refuse(fmt::format("attribute {} of {} is {}, neither 0 nor 1", name, root, number));
    value = narrow(in, fmt::format("attribute {} of {}", name, root), number);
  }
}

void read_ranks(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  const ColumnReader columns(in, root + "/rank", "rank");
  if (static_cast<std::int64_t>(columns.length()) != timeline.world_size)
    in.refuse(
        fmt::format("{}/rank/rank has {} values for a world of {} ranks", root, columns.length(), timeline.world_size));
  const std::vector<int> rank = columns.column<int>("rank");
  for (int i = 0; i < timeline.world_size; ++i)
    if (rank[static_cast<std::size_t>(i)] != i) in.refuse(root + "/rank/rank is not 0, 1, 2, ...");
  for_each_field(kRankFields, [&](const auto& field) {
    if (columns.has(field.name)) timeline.*field.member = columns.column<std::int64_t>(field.name);
  });
}

void read_groups(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  if (!in.has(root + "/group/name")) return;
  const std::vector<std::string> names = ColumnReader(in, root + "/group", "group").column<std::string>("name");
  for (const std::string& name : names) timeline.groups[name];
  const ColumnReader members(in, root + "/group_member", "member");
  const std::vector<int> group = members.column<int>("group"), set = members.column<int>("set"),
                         rank = members.column<int>("rank");
  for (std::size_t i = 0; i < rank.size(); ++i) {
    if (group[i] < 0 || static_cast<std::size_t>(group[i]) >= names.size())
      in.refuse(fmt::format("{}/group_member/group names group {} of {}", root, group[i], names.size()));
    auto& sets = timeline.groups[names[static_cast<std::size_t>(group[i])]];
    const std::size_t position = set[i] < 0 ? sets.size() + 1 : static_cast<std::size_t>(set[i]);
    if (position > sets.size()) in.refuse(root + "/group_member/set is not in rising order");
    if (position == sets.size()) sets.emplace_back();
    sets[position].push_back(rank[i]);
  }
}

void read_flow(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  if (!in.has(root + "/bytes")) return;
  const auto ranks = static_cast<std::size_t>(timeline.world_size);
  if (in.shape(root + "/bytes") != std::vector<std::size_t>{ranks, ranks})
    in.refuse(fmt::format("{}/bytes is not {} x {}", root, ranks, ranks));
  timeline.flow = in.integers(root + "/bytes");
}

double read_iteration_ms(const Hdf5Reader& in, const std::string& root) {
  const std::string path = root + "/summary/iteration_ms";
  if (!in.shape(path).empty()) in.refuse(path + " is no single value");
  return in.reals(path).front();
}

}  // namespace

void write_timeline_columns(Hdf5Writer& out, const std::string& root, const Timeline& timeline,
                            const std::vector<RankTimes>* known) {
  if (const std::string wrong = timeline_fault(timeline).text; !wrong.empty())
    throw std::logic_error(root + ": a timeline that no reader would take: " + wrong);
  const std::vector<RankTimes> ranks = known != nullptr ? *known : rank_times(timeline);
  for_each_field(kHeadFields, [&](const auto& field) {
    if (!in_summary(field)) write_attribute(out, root, field.name, timeline.*field.member);
  });
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
  if (timeline.kind != "observed") return;
  for_each_field(kMeasuredFields, [&](const auto& field) {
    write_attribute(out, root + "/measured", field.name, timeline.measured.*field.member);
  });
}

Timeline read_timeline_columns(const Hdf5Reader& in, const std::string& root) {
  if (!in.has(root)) in.refuse(root + " is missing");
  Timeline timeline;
  for_each_field(kHeadFields, [&](const auto& field) {
    if (!in_summary(field)) read_attribute(in, root, field.name, timeline.*field.member);
  });
  timeline.iteration_ms = read_iteration_ms(in, root);
  read_ranks(in, root, timeline);
  timeline.spans = ColumnReader(in, root + "/spans", "span").items<Span>(kSpanFields);
  timeline.ops = ColumnReader(in, root + "/op", "op").items<Timeline::OpInfo>(kOpFields);
  timeline.streams = ColumnReader(in, root + "/stream", "stream").column<std::string>("name");
  read_groups(in, root, timeline);
  read_flow(in, root + "/flow", timeline);
  const std::string measured = root + "/measured";
  if (!in.has(measured)) return timeline;  // files of older programs have none
  for_each_field(kMeasuredFields,
                 [&](const auto& field) { read_attribute(in, measured, field.name, timeline.measured.*field.member); });
  return timeline;
}

}  // namespace shardsim
