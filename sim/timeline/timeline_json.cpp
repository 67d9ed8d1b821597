#include "sim/timeline/timeline_json.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

void require_finite(double value, const char* what) {
  if (!std::isfinite(value)) throw std::logic_error(std::string(what) + " is not finite");
}

Json op_json(const Timeline::OpInfo& op) {
  Json json{{"name", op.name}, {"class", op.op_class}};
  require_finite(op.alone_us, "alone_us of an operation");
  if (op.alone_us != 0) json["alone_us"] = op.alone_us;
  if (!op.group.empty()) json["group"] = op.group;
  if (!op.dtype.empty()) json["dtype"] = op.dtype;
  if (!op.algorithm.empty()) json["algorithm"] = op.algorithm;
  return json;
}

Json ops_json(const Timeline& timeline) {
  Json list = Json::array();
  for (const Timeline::OpInfo& op : timeline.ops) list.push_back(op_json(op));
  return list;
}

Json ranks_json(const Timeline& timeline) {
  Json json = Json::object();
  if (!timeline.hbm_bytes.empty()) json["hbm_bytes"] = timeline.hbm_bytes;
  if (!timeline.bytes_out.empty()) json["bytes_out"] = timeline.bytes_out;
  if (!timeline.bytes_in.empty()) json["bytes_in"] = timeline.bytes_in;
  return json;
}

template <typename Field>
Json column(const std::vector<Span>& spans, Field field) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(std::invoke(field, span));
  return list;
}

Json spans_json(const std::vector<Span>& spans) {
  return {{"start_us", column(spans, &Span::start_us)},
          {"end_us", column(spans, &Span::end_us)},
          {"rank", column(spans, &Span::rank)},
          {"stream", column(spans, &Span::stream)},
          {"op", column(spans, &Span::op)},
          {"iteration", column(spans, &Span::iteration)},
          {"bytes", column(spans, &Span::bytes)}};
}

Json measured_json(const Timeline::Measured& measured) {
  require_finite(measured.clock_residual_us, "clock_residual_us");
  return {{"hosts", measured.hosts},
          {"device", measured.device},
          {"driver", measured.driver},
          {"cuda", measured.cuda},
          {"nccl", measured.nccl},
          {"transport", measured.transport},
          {"clock_residual_us", measured.clock_residual_us}};
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
  require_finite(timeline.iteration_ms, "iteration_ms");
  Json root{{"schema", "shardsim.timeline_json/1"},
            {"case", case_name},
            {"kind", timeline.kind},
            {"complete", timeline.complete},
            {"world_size", timeline.world_size},
            {"ranks_per_node", timeline.ranks_per_node},
            {"iteration_ms", timeline.iteration_ms},
            {"iterations_run", timeline.iterations_run},
            {"steady", timeline.steady},
            {"streams", timeline.streams},
            {"ops", ops_json(timeline)}};
  if (!timeline.groups.empty()) root["groups"] = timeline.groups;
  root["rank"] = ranks_json(timeline);
  root["spans"] = spans_json(timeline.spans);
  if (!timeline.flow.empty()) root["flow_bytes"] = timeline.flow;
  if (timeline.kind == "observed") root["measured"] = measured_json(timeline.measured);
  return lines_of(root);
}

}  // namespace shardsim
