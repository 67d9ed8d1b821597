#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/map_reader.h"
#include "base/units.h"
#include "sim/timeline/timeline_fields.h"
#include "sim/timeline/timeline_json.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

constexpr const char* kRemedy = "The program that wrote the file has an error, or the file was changed";
constexpr std::int64_t kMostStreams = 1 << 16;
// Clocks of a run; beyond it doubles cannot tell nanoseconds apart.
constexpr double kMostUs = 1e12;

const std::vector<std::string>& op_classes() {
  static const std::vector<std::string> classes = {"lookup",       "update",     "dense",          "all_to_all",
                                                   "all_to_all_v", "all_reduce", "reduce_scatter", "all_gather",
                                                   "broadcast",    "send_recv"};
  return classes;
}

const std::vector<Tree>& list_of(const Tree& tree, const std::string& name) {
  if (tree.kind == Tree::Kind::list) return tree.items;
  throw input_error(tree.place, fmt::format("{}: a list is due here, and this is a {}", name, kind_name(tree.kind)),
                    "Write [A, B, ...]");
}

const std::string& number_text(const Tree& tree) {
  const std::string& text = scalar_text(tree, "a number");
  if (!tree.quoted) return text;
  throw input_error(tree.place, "a number is due here, and this is the text " + excerpt(text),
                    "Write it without quotes");
}

std::int64_t whole(const Tree& tree, std::int64_t most) {
  const std::int64_t value = parse_count(number_text(tree), tree.place);
  if (value <= most) return value;
  throw input_error(tree.place, fmt::format("{} is more than {}", value, most), kRemedy);
}

double real(const Tree& tree) {
  const double value = parse_real(number_text(tree), tree.place);
  if (std::abs(value) <= kMostUs) return value;
  throw input_error(tree.place, fmt::format("{} is absurd", value), kRemedy);
}

class TimelineReader {
 public:
  explicit TimelineReader(const Tree& tree) : reader_(tree, "") {}

  NamedTimeline read() {
    reader_.choice("schema", {"shardsim.timeline_json/1"});
    NamedTimeline named;
    named.case_name = reader_.text("case");
    read_header();
    for (const Tree& op : reader_.list("ops")) read_op(op);
    read_groups();
    read_ranks();
    read_spans();
    read_streams();
    if (const Tree* flow = reader_.value("flow_bytes")) timeline_.flow = bytes_of(*flow, "flow_bytes");
    read_measured();
    reader_.finish();
    check_spans();
    if (const std::string wrong = timeline_fault(timeline_); !wrong.empty())
      throw input_error(reader_.tree().place, wrong, kRemedy);
    sort_spans(timeline_);
    named.timeline = std::move(timeline_);
    return named;
  }

 private:
  void read_header() {
    timeline_.kind = reader_.choice("kind", {"predicted", "observed"});
    reader_.required("complete");
    timeline_.complete = reader_.flag("complete", false);
    timeline_.world_size = static_cast<int>(whole(reader_.required("world_size"), kMostRanks));
    if (const Tree* tree = reader_.value("ranks_per_node"))
      timeline_.ranks_per_node = static_cast<int>(whole(*tree, kMostRanks));
    if (const Tree* tree = reader_.value("iterations_run"))
      timeline_.iterations_run = static_cast<int>(whole(*tree, 1 << 30));
    timeline_.steady = reader_.flag("steady", true);
    if (const Tree* tree = reader_.value("iteration_ms")) timeline_.iteration_ms = not_negative(*tree);
  }

  static double not_negative(const Tree& tree) {
    const double value = real(tree);
    if (value >= 0) return value;
    throw input_error(tree.place, fmt::format("{} is below 0", value), kRemedy);
  }

  template <typename AnyField>
  static void read_field(MapReader& reader, const AnyField& field, std::string& text) {
    text = field.required ? reader.text(field.name) : reader.text(field.name, "");
  }
  template <typename AnyField>
  static void read_field(MapReader& reader, const AnyField& field, double& value) {
    if (const Tree* tree = reader.value(field.name)) value = not_negative(*tree);
  }
  template <typename AnyField>
  static void read_field(MapReader& reader, const AnyField& field, std::vector<std::string>& texts) {
    texts = reader.texts(field.name);
  }

  void read_op(const Tree& tree) {
    MapReader reader(tree, fmt::format("ops.{}", timeline_.ops.size()));
    Timeline::OpInfo op;
    for_each_field(kOpFields, [&](const auto& field) { read_field(reader, field, op.*field.member); });
    op.op_class = reader.choice("class", op_classes());
    reader.finish();
    timeline_.ops.push_back(std::move(op));
  }

  void read_groups() {
    const Tree* groups = reader_.value("groups");
    if (groups == nullptr) return;
    if (groups->kind != Tree::Kind::map)
      throw input_error(groups->place, "groups: a map is due here", "Write {NAME: [[RANK, ...], ...]}");
    for (const auto& [name, sets] : groups->fields)
      for (const Tree& set : list_of(sets, "groups." + name)) read_members(name, set);
  }

  void read_members(const std::string& name, const Tree& set) {
    std::vector<int>& members = timeline_.groups[name].emplace_back();
    for (const Tree& rank : list_of(set, "groups." + name)) members.push_back(rank_of(rank));
  }

  int rank_of(const Tree& tree) const { return index_of(tree, timeline_.world_size, "the world of {} ranks"); }

  // A place in a table of `size`.
  static int index_of(const Tree& tree, std::int64_t size, fmt::format_string<std::int64_t&> table) {
    const std::int64_t value = whole(tree, std::numeric_limits<int>::max());
    if (value < size) return static_cast<int>(value);
    throw input_error(tree.place, fmt::format("{} is outside {}", value, fmt::format(table, size)), kRemedy);
  }

  static std::vector<std::int64_t> bytes_of(const Tree& tree, const std::string& name) {
    std::vector<std::int64_t> values;
    for (const Tree& item : list_of(tree, name)) values.push_back(whole(item, std::int64_t{1} << 53));
    return values;
  }

  void read_ranks() {
    reader_.required("rank");
    MapReader ranks = reader_.map("rank");
    for_each_field(kRankFields, [&](const auto& field) {
      const Tree* tree = ranks.value(field.name);
      if (tree == nullptr) return;
      const std::vector<std::int64_t> values = bytes_of(*tree, field.name);
      if (static_cast<std::int64_t>(values.size()) != timeline_.world_size)
        throw input_error(tree->place,
                          fmt::format("{} values in rank.{} for a world of {} ranks", values.size(), field.name,
                                      timeline_.world_size),
                          kRemedy);
      timeline_.*field.member = values;
    });
    ranks.finish();
  }

  // The columns of `spans`, all as long as the first.
  const std::vector<Tree>& column(MapReader& spans, const char* key) {
    const std::vector<Tree>& items = spans.list(key);
    if (std::string_view(key) == "start_us") timeline_.spans.resize(items.size());
    if (items.size() == timeline_.spans.size()) return items;
    throw input_error(
        spans.place_of(key),
        fmt::format("column spans.{} has {} values, and start_us has {}", key, items.size(), timeline_.spans.size()),
        kRemedy);
  }

  void read_spans() {
    reader_.required("spans");
    MapReader spans = reader_.map("spans");
    for_each_field(kSpanFields, [&](const auto& field) {
      const std::vector<Tree>& items = column(spans, field.name);
      if (std::string_view(field.name) == "end_us") end_places_ = &items;
      for (std::size_t i = 0; i < items.size(); ++i) set(timeline_.spans[i].*field.member, field.name, items[i]);
    });
    spans.finish();
  }

  static void set(double& us, std::string_view, const Tree& tree) { us = real(tree); }
  static void set(std::int64_t& bytes, std::string_view, const Tree& tree) {
    bytes = whole(tree, std::int64_t{1} << 53);
  }
  void set(int& number, std::string_view name, const Tree& tree) const {
    if (name == "rank") {
      number = rank_of(tree);
    } else if (name == "stream") {
      number = index_of(tree, kMostStreams, "the {} streams allowed");
    } else if (name == "op") {
      number = index_of(tree, static_cast<std::int64_t>(timeline_.ops.size()), "the table of {} ops");
    } else {
      number = static_cast<int>(whole(tree, 1 << 30));
    }
  }

  // Without names the streams are called by their number.
  void read_streams() {
    timeline_.streams = reader_.texts("streams");
    if (reader_.has("streams")) return;
    int last = -1;
    for (const Span& span : timeline_.spans) last = std::max(last, span.stream);
    for (int stream = 0; stream <= last; ++stream) timeline_.streams.push_back(fmt::format("stream {}", stream));
  }

  void read_measured() {
    if (!reader_.has("measured")) return;
    MapReader reader = reader_.map("measured");
    Timeline::Measured& measured = timeline_.measured;
    for_each_field(kMeasuredFields, [&](const auto& field) {
      if (reader.has(field.name)) read_field(reader, field, measured.*field.member);
    });
    for (const std::string& host : measured.hosts)
      if (host.empty() || host.find(',') != std::string::npos)
        throw input_error(reader.place_of("hosts"), excerpt(host) + " is no host name", kRemedy);
    reader.finish();
  }

  // At the line of the value; what is left for timeline_fault has no better place than the file.
  void check_spans() const {
    const auto streams = static_cast<int>(timeline_.streams.size());
    for (std::size_t i = 0; i < timeline_.spans.size(); ++i) {
      const Span& span = timeline_.spans[i];
      if (span.end_us < span.start_us)
        throw input_error(
            (*end_places_)[i].place,
            fmt::format("span {} ends at {} us, before its start at {} us", i, span.end_us, span.start_us), kRemedy);
      if (span.stream >= streams)
        throw input_error(
            reader_.place_of("spans"),
            fmt::format("span {} names stream {}, outside the table of {} streams", i, span.stream, streams), kRemedy);
    }
  }

  MapReader reader_;
  Timeline timeline_;
  const std::vector<Tree>* end_places_ = nullptr;
};

}  // namespace

NamedTimeline timeline_from_tree(const Tree& tree) {
  return TimelineReader(tree).read();
}

NamedTimeline timeline_from_json(std::string_view text, const std::string& source) {
  return timeline_from_tree(parse_json(text, source));
}

NamedTimeline read_timeline_json(const std::filesystem::path& path) {
  return timeline_from_tree(read_json_file(path.string()));
}

}  // namespace shardsim
