#include "sim/timeline/timeline_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/timeline/timeline_fields.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

void require_finite(double value, const char* what) {
  if (!std::isfinite(value)) throw std::logic_error(std::string(what) + " is not finite");
}

// The fields of one part under their names, without those that are empty or 0 and need not be there.
template <typename Part, typename Fields>
Json fields_json(const Part& part, const Fields& fields, bool all) {
  Json json = Json::object();
  for_each_field(fields, [&](const auto& field) {
    const auto& value = part.*field.member;
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, double>) require_finite(value, field.name);
    if (all || field.required || value != Value{}) json[field.name] = value;
  });
  return json;
}

Json ops_json(const Timeline& timeline) {
  Json list = Json::array();
  for (const Timeline::OpInfo& op : timeline.ops) list.push_back(fields_json(op, kOpFields, false));
  return list;
}

Json spans_json(const std::vector<Span>& spans) {
  Json json = Json::object();
  for_each_field(kSpanFields, [&](const auto& field) {
    Json& list = json[field.name] = Json::array();
    for (const Span& span : spans) list.push_back(span.*field.member);
  });
  return json;
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

}  // namespace

std::string timeline_to_json(const Timeline& timeline, const std::string& case_name) {
  if (const std::string wrong = timeline_fault(timeline); !wrong.empty())
    throw std::logic_error(case_name + ": a timeline that no reader would take: " + wrong);
  Json root{{"schema", "shardsim.timeline_json/1"}, {"case", case_name}};
  root.update(fields_json(timeline, kHeadFields, true));
  root["streams"] = timeline.streams;
  root["ops"] = ops_json(timeline);
  if (!timeline.groups.empty()) root["groups"] = timeline.groups;
  root["rank"] = fields_json(timeline, kRankFields, false);
  root["spans"] = spans_json(timeline.spans);
  if (!timeline.flow.empty()) root["flow_bytes"] = timeline.flow;
  if (timeline.kind == "observed") root["measured"] = fields_json(timeline.measured, kMeasuredFields, true);
  return lines_of(root);
}

}  // namespace shardsim
