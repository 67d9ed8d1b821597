#include <fmt/core.h>

#include <limits>

#include "base/text.h"
#include "sim/timeline/timeline_fields.h"
#include "sim/timeline/timeline_hdf5.h"

namespace shardsim {
namespace {

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
    std::vector<Item> result(length_);
    for_each_field(fields, [&](const auto& field) {
      if (!field.required && !has(field.name)) return;
      const auto values = column(field.name, FieldValue<std::remove_cvref_t<decltype(field)>>{});
      for (std::size_t i = 0; i < length_; ++i) result[i].*field.member = values[i];
    });
    return result;
  }

  std::vector<double> reals(const char* name) const { return checked(name, &Hdf5Reader::reals); }
  std::vector<std::int64_t> integers(const char* name) const { return checked(name, &Hdf5Reader::integers); }
  std::vector<std::string> texts(const char* name) const { return checked(name, &Hdf5Reader::texts); }
  std::vector<int> small_integers(const char* name) const {
    std::vector<int> values;
    for (std::int64_t value : integers(name)) values.push_back(narrow(in_, path(name), value));
    return values;
  }

  static int narrow(const Hdf5Reader& in, const std::string& what, std::int64_t value) {
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
      in.refuse(fmt::format("{} holds {}, too large a number", what, value));
    return static_cast<int>(value);
  }

 private:
  std::string path(const char* name) const { return group_ + "/" + name; }

  std::vector<double> column(const char* name, double) const { return reals(name); }
  std::vector<int> column(const char* name, int) const { return small_integers(name); }
  std::vector<std::int64_t> column(const char* name, std::int64_t) const { return integers(name); }
  std::vector<std::string> column(const char* name, const std::string&) const { return texts(name); }

  template <typename Value>
  std::vector<Value> checked(const char* name, std::vector<Value> (Hdf5Reader::*read)(const std::string&) const) const {
    const std::vector<std::size_t> shape = in_.shape(path(name));
    if (shape.size() != 1 || shape[0] != length_)
      in_.refuse(
          fmt::format("column {} has {} values where {} are due", path(name), shape.empty() ? 1 : shape[0], length_));
    return (in_.*read)(path(name));
  }

  const Hdf5Reader& in_;
  std::string group_;
  std::size_t length_ = 0;
};

int small_attribute(const Hdf5Reader& in, const std::string& root, const std::string& name) {
  return ColumnReader::narrow(in, "attribute " + name + " of " + root, in.integer_attribute(root, name));
}

bool flag_attribute(const Hdf5Reader& in, const std::string& root, const std::string& name) {
  const std::int64_t value = in.integer_attribute(root, name);
  if (value != 0 && value != 1) in.refuse(fmt::format("attribute {} of {} is {}, neither 0 nor 1", name, root, value));
  return value == 1;
}

void read_attributes(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  for_each_field(kHeadFields, [&](const auto& field) {
    using Value = FieldValue<std::remove_cvref_t<decltype(field)>>;
    if constexpr (std::is_same_v<Value, std::string>) {
      timeline.*field.member = in.text_attribute(root, field.name);
    } else if constexpr (std::is_same_v<Value, bool>) {
      timeline.*field.member = flag_attribute(in, root, field.name);
    } else if constexpr (std::is_same_v<Value, int>) {
      timeline.*field.member = small_attribute(in, root, field.name);
    }
  });
}

void read_ranks(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  const ColumnReader columns(in, root + "/rank", "rank");
  if (static_cast<std::int64_t>(columns.length()) != timeline.world_size)
    in.refuse(
        fmt::format("{}/rank/rank has {} values for a world of {} ranks", root, columns.length(), timeline.world_size));
  const std::vector<int> rank = columns.small_integers("rank");
  for (int i = 0; i < timeline.world_size; ++i)
    if (rank[static_cast<std::size_t>(i)] != i) in.refuse(root + "/rank/rank is not 0, 1, 2, ...");
  for_each_field(kRankFields, [&](const auto& field) {
    if (columns.has(field.name)) timeline.*field.member = columns.integers(field.name);
  });
}

void read_groups(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  if (!in.has(root + "/group/name")) return;
  const std::vector<std::string> names = ColumnReader(in, root + "/group", "group").texts("name");
  for (const std::string& name : names) timeline.groups[name];
  const ColumnReader members(in, root + "/group_member", "member");
  const std::vector<int> group = members.small_integers("group"), set = members.small_integers("set"),
                         rank = members.small_integers("rank");
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

// Files of programs older than this group have none.
void read_measured(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  if (!in.has(root)) return;
  Timeline::Measured& measured = timeline.measured;
  for_each_field(kMeasuredFields, [&](const auto& field) {
    using Value = FieldValue<std::remove_cvref_t<decltype(field)>>;
    if constexpr (std::is_same_v<Value, double>) {
      measured.*field.member = in.real_attribute(root, field.name);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      measured.*field.member = in.text_attribute(root, field.name);
    } else if (const std::string names = in.text_attribute(root, field.name); !names.empty()) {
      measured.*field.member = split(names, ',');
    }
  });
}

double read_iteration_ms(const Hdf5Reader& in, const std::string& root) {
  const std::string path = root + "/summary/iteration_ms";
  if (!in.shape(path).empty()) in.refuse(path + " is no single value");
  return in.reals(path).front();
}

}  // namespace

Timeline read_timeline_columns(const Hdf5Reader& in, const std::string& root) {
  if (!in.has(root)) in.refuse(root + " is missing");
  Timeline timeline;
  read_attributes(in, root, timeline);
  timeline.iteration_ms = read_iteration_ms(in, root);
  read_ranks(in, root, timeline);
  timeline.spans = ColumnReader(in, root + "/spans", "span").items<Span>(kSpanFields);
  timeline.ops = ColumnReader(in, root + "/op", "op").items<Timeline::OpInfo>(kOpFields);
  timeline.streams = ColumnReader(in, root + "/stream", "stream").texts("name");
  read_groups(in, root, timeline);
  read_flow(in, root + "/flow", timeline);
  read_measured(in, root + "/measured", timeline);
  return timeline;
}

}  // namespace shardsim
