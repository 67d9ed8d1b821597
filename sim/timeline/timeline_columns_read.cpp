#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "base/text.h"
#include "sim/timeline/timeline_columns.h"

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
  timeline.kind = in.text_attribute(root, "kind");
  if (timeline.kind != "predicted" && timeline.kind != "observed")
    in.refuse(fmt::format("attribute kind of {} is {}, neither predicted nor observed", root, excerpt(timeline.kind)));
  timeline.complete = flag_attribute(in, root, "complete");
  timeline.world_size = small_attribute(in, root, "world_size");
  timeline.ranks_per_node = small_attribute(in, root, "ranks_per_node");
  timeline.iterations_run = small_attribute(in, root, "iterations_run");
  timeline.steady = flag_attribute(in, root, "steady");
}

void read_ranks(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  const ColumnReader columns(in, root + "/rank", "rank");
  if (static_cast<std::int64_t>(columns.length()) != timeline.world_size)
    in.refuse(
        fmt::format("{}/rank/rank has {} values for a world of {} ranks", root, columns.length(), timeline.world_size));
  const std::vector<int> rank = columns.small_integers("rank");
  for (int i = 0; i < timeline.world_size; ++i)
    if (rank[static_cast<std::size_t>(i)] != i) in.refuse(root + "/rank/rank is not 0, 1, 2, ...");
  if (columns.has("hbm_bytes")) timeline.hbm_bytes = columns.integers("hbm_bytes");
  if (columns.has("bytes_out")) timeline.bytes_out = columns.integers("bytes_out");
  if (columns.has("bytes_in")) timeline.bytes_in = columns.integers("bytes_in");
}

void read_spans(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  const ColumnReader columns(in, root + "/spans", "span");
  const std::vector<double> start = columns.reals("start_us"), end = columns.reals("end_us");
  const std::vector<int> rank = columns.small_integers("rank"), stream = columns.small_integers("stream"),
                         op = columns.small_integers("op"), iteration = columns.small_integers("iteration");
  const std::vector<std::int64_t> bytes = columns.integers("bytes");
  for (std::size_t i = 0; i < columns.length(); ++i)
    timeline.spans.push_back({start[i], end[i], rank[i], stream[i], op[i], iteration[i], bytes[i]});
}

void read_ops(const Hdf5Reader& in, const std::string& root, Timeline& timeline) {
  const ColumnReader columns(in, root + "/op", "op");
  const std::vector<std::string> name = columns.texts("name"), op_class = columns.texts("class");
  for (std::size_t i = 0; i < columns.length(); ++i) timeline.ops.push_back({name[i], op_class[i]});
  const auto fill_texts = [&](const char* column, std::string Timeline::OpInfo::*field) {
    if (!columns.has(column)) return;
    const std::vector<std::string> values = columns.texts(column);
    for (std::size_t i = 0; i < values.size(); ++i) timeline.ops[i].*field = values[i];
  };
  fill_texts("group", &Timeline::OpInfo::group);
  fill_texts("dtype", &Timeline::OpInfo::dtype);
  fill_texts("algorithm", &Timeline::OpInfo::algorithm);
  if (!columns.has("alone_us")) return;
  const std::vector<double> alone = columns.reals("alone_us");
  for (std::size_t i = 0; i < alone.size(); ++i) timeline.ops[i].alone_us = alone[i];
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
  const std::string hosts = in.text_attribute(root, "hosts");
  if (!hosts.empty()) measured.hosts = split(hosts, ',');
  measured.device = in.text_attribute(root, "device");
  measured.driver = in.text_attribute(root, "driver");
  measured.cuda = in.text_attribute(root, "cuda");
  measured.nccl = in.text_attribute(root, "nccl");
  measured.transport = in.text_attribute(root, "transport");
  measured.clock_residual_us = in.real_attribute(root, "clock_residual_us");
  if (!std::isfinite(measured.clock_residual_us) || measured.clock_residual_us < 0)
    in.refuse(fmt::format("attribute clock_residual_us of {} is {}", root, measured.clock_residual_us));
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
  read_spans(in, root, timeline);
  read_ops(in, root, timeline);
  timeline.streams = ColumnReader(in, root + "/stream", "stream").texts("name");
  read_groups(in, root, timeline);
  read_flow(in, root + "/flow", timeline);
  read_measured(in, root + "/measured", timeline);
  return timeline;
}

}  // namespace shardsim
