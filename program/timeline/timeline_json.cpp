#include "program/timeline/timeline_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/case_name.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/json_fields.h"
#include "program/timeline/named_times.h"
#include "program/timeline/timeline_fields.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;
using Places = std::map<std::string, Place>;  // as timeline_fault names parts

constexpr const char* kRemedy = "The program that wrote the file has an error, or the file was changed";

// The fields of one part under their names. Optional fields with their default value are left out, unless `all` is
// true.
template <typename Part>
void part_fields(auto& map, Part& part, const auto& fields, bool all, const std::string& prefix, Places& places) {
  const std::remove_const_t<Part> absent{};
  for_each_field(fields, [&](const auto& field) {
    places[prefix + field.name] = map.place_of(field.name);
    if (field.required) map.must_have(field.name);
    map.take(field.name, part.*field.member, all || field.required, absent.*field.member);
  });
}

// A column of each field, all as long as the first.
template <typename Map>
void span_columns(Map& map, auto& spans, Places& places) {
  for_each_field(kSpanFields, [&](const auto& field) {
    std::vector<FieldValue<std::remove_cvref_t<decltype(field)>>> values;
    for (const Span& span : spans) values.push_back(span.*field.member);
    map.field(field.name, values);
    if constexpr (Map::kReads) {
      if (std::string_view(field.name) == "start_us") spans.resize(values.size());
      if (values.size() != spans.size()) {
        throw input_error(
            map.place_of(field.name),
            fmt::format("column spans.{} has {} values, and start_us has {}", field.name, values.size(), spans.size()),
            kRemedy);
      }
      places["spans/" + std::string(field.name)] = map.place_of(field.name);
      for (std::size_t i = 0; i < values.size(); ++i) spans[i].*field.member = values[i];
    }
  });
}

void check_class(const Place& place, const std::string& op_class) {
  if (is_compute(op_class) || is_communication(op_class) || is_host(op_class)) return;
  throw input_error(place, excerpt(op_class) + " is no class of operations",
                    "Write lookup, update, dense, host, or the kind of the collective");
}

void check_case(const Place& place, const std::string& name) {
  if (const std::string fault = case_name_fault(name); !fault.empty())
    throw input_error(place, "the case name " + excerpt(name) + " " + fault, kCaseNameRemedy);
}

// All keys of a run, for writing and for reading.
void run_fields(auto& map, auto& case_name, auto& timeline, Places& places) {
  map.constant("schema", "shardsim.timeline_json/1");
  map.field("case", case_name);
  if constexpr (std::remove_cvref_t<decltype(map)>::kReads) check_case(map.place_of("case"), case_name);
  part_fields(map, timeline, kHeadFields, true, "", places);
  map.take("streams", timeline.streams, true);
  map.list("ops", timeline.ops, [&](auto& inner, auto& op) {
    part_fields(inner, op, kOpFields, false, "ops.", places);
    check_class(inner.place_of("class"), op.op_class);
  });
  places["groups"] = map.place_of("groups");
  map.take("groups", timeline.groups);
  map.must_have("rank");
  map.group("rank", [&](auto& inner) { part_fields(inner, timeline, kRankFields, false, "rank/", places); });
  map.must_have("spans");
  map.group("spans", [&](auto& inner) { span_columns(inner, timeline.spans, places); });
  map.take("flow_bytes", timeline.flow);
  if (map.there("measured", timeline.kind == "observed")) {
    map.group("measured",
              [&](auto& inner) { part_fields(inner, timeline.measured, kMeasuredFields, true, "measured/", places); });
  }
}

// Names from elsewhere may hold broken UTF-8; a file with a replacement character beats none.
std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// One key a line, and one column a line, so that a message with a line number says which.
std::string lines_of(const Json& root) {
  std::string text = "{";
  for (const auto& [key, value] : root.items()) {
    text += (text.size() > 1 ? ",\n " : "") + compact(key) + ": ";
    if (key != "spans" && key != "ops") {
      text += compact(value);
      continue;
    }
    const bool is_list = value.is_array();
    std::string inner;
    for (const auto& [name, item] : value.items())
      inner += (inner.empty() ? "\n  " : ",\n  ") + (is_list ? "" : compact(name) + ": ") + compact(item);
    text += (is_list ? "[" : "{") + inner + (is_list ? "]" : "}");
  }
  return text + "}\n";
}

// Without names the streams are called by their number.
void name_streams(Timeline& timeline) {
  constexpr int kMostStreams = 1 << 16;
  int last = -1;
  for (const Span& span : timeline.spans) last = std::max(last, span.stream);
  for (int stream = 0; stream <= std::min(last, kMostStreams); ++stream)
    timeline.streams.push_back(fmt::format("stream {}", stream));
}

}  // namespace

std::string timeline_to_json(const Timeline& timeline, const std::string& case_name) {
  if (const TimelineFault fault = timeline_fault(timeline); !fault.text.empty())
    throw std::logic_error(case_name + ": a timeline that no reader would take: " + fault.text);
  Json root;
  JsonWriter map{JsonSlot(root)};
  Places places;
  run_fields(map, case_name, timeline, places);
  return lines_of(root);
}

NamedTimeline timeline_from_tree(const Tree& tree) {
  NamedTimeline named;
  Places places;
  JsonReader map(tree, "", JsonReader::Keys::known);
  run_fields(map, named.case_name, named.timeline, places);
  map.finish();
  if (!map.has("streams")) name_streams(named.timeline);
  if (const TimelineFault fault = timeline_fault(named.timeline); !fault.text.empty()) {
    const auto known = places.find(fault.part);
    throw input_error(known == places.end() ? tree.place : known->second, fault.text, kRemedy);
  }
  sort_spans(named.timeline);
  return named;
}

NamedTimeline read_timeline_json(const std::filesystem::path& path) {
  return timeline_from_tree(read_json_file(path.string()));
}

}  // namespace shardsim
