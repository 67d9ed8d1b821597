#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/judgement/figures.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kComparisonSchema = "shardsim.comparison/1";

// Below a nanosecond of a millisecond there is only noise.
Json rounded(double value, double steps) {
  if (!std::isfinite(value)) throw std::logic_error("a figure of a comparison is not finite");
  return std::round(value * steps) / steps;
}
Json ms(double value) {
  return rounded(value, 1e6);
}

template <typename Item, typename Form>
Json list_of(const std::vector<Item>& items, const Form& form) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(form(item));
  return list;
}

Json time_json(const ComparedTime& time) {
  return {{"predicted_ms", ms(time.predicted_ms)},
          {"observed_min_ms", ms(time.observed_ms.min)},
          {"observed_median_ms", ms(time.observed_ms.median)},
          {"observed_max_ms", ms(time.observed_ms.max)},
          {"error_pct", percent_json(time.error_pct())}};
}

// null without a tolerance, and for what it does not bound.
Json within(const ComparedTime& time, bool judged, const std::optional<double>& tolerance) {
  if (!tolerance || !judged) return nullptr;
  const std::optional<double> error = time.error_pct();
  return error && std::abs(*error) <= *tolerance;
}

Json judged_time(Json head, const ComparedTime& time, bool judged, const std::optional<double>& tolerance) {
  head.update(time_json(time));
  head["within_tolerance"] = within(time, judged, tolerance);
  return head;
}

Json operation_json(const ComparedOperation& row, bool is_class, const std::optional<double>& tolerance) {
  Json json = is_class ? Json{{"class", row.op_class}} : Json{{"name", row.name}, {"class", row.op_class}};
  if (!is_class) json["matched_by"] = row.matched_by_class ? "class" : "name";
  json["predicted_names"] = row.predicted_names;
  json["observed_names"] = row.observed_names;
  json["share_pct"] = rounded(100 * row.share, 1e3);
  return judged_time(std::move(json), row.time, is_judged(row, is_class), tolerance);
}

Json alone_json(const TimelineComparison& comparison, bool predicted) {
  Json list = Json::array();
  for (const LoneOperation& lone : comparison.alone)
    if (lone.predicted == predicted)
      list.push_back({{"name", lone.name},
                      {"class", lone.op_class},
                      {"time_ms", ms(lone.ms)},
                      {"share_pct", rounded(100 * lone.share, 1e3)}});
  return list;
}

Json worst_json(const ComparedOperation& row) {
  return {{"name", row.name},
          {"class", row.op_class},
          {"error_ms", ms(row.time.predicted_ms - row.time.observed_ms.median)},
          {"error_pct", percent_json(row.time.error_pct())}};
}

Json bytes_json(const std::optional<std::int64_t>& bytes) {
  return bytes ? Json(*bytes) : Json(nullptr);
}

Json moved_json(const std::optional<ComparedRank::Moved>& moved, std::int64_t ComparedRank::Moved::*side) {
  return moved ? Json((*moved).*side) : Json(nullptr);
}

Json rank_json(const ComparedRank& rank) {
  using Moved = ComparedRank::Moved;
  return {{"rank", rank.rank},
          {"compute", time_json(rank.compute)},
          {"comm", time_json(rank.comm)},
          {"exposed", time_json(rank.exposed)},
          {"busy", time_json(rank.busy)},
          {"predicted_hbm_bytes", bytes_json(rank.predicted_bytes)},
          {"observed_hbm_bytes", bytes_json(rank.observed_bytes)},
          {"waiting", time_json(rank.waiting)},
          {"predicted_sent_bytes", moved_json(rank.sent, &Moved::predicted)},
          {"observed_sent_bytes", moved_json(rank.sent, &Moved::observed)},
          {"predicted_received_bytes", moved_json(rank.received, &Moved::predicted)},
          {"observed_received_bytes", moved_json(rank.received, &Moved::observed)}};
}

Json wait_json(const NamedTime& time) {
  const NamedTime::WaitedFor& whom = time.waited_for;
  return {{"exposed_ms", ms(time.exposed_ms)},
          {"waiting_ms", ms(time.waiting_ms)},
          {"rank", whom.rank < 0 ? Json(nullptr) : Json(whom.rank)},
          {"operation", whom.operation}};
}

Json compared_wait_json(const ComparedWait& wait) {
  return {
      {"name", wait.predicted.name}, {"predicted", wait_json(wait.predicted)}, {"observed", wait_json(wait.observed)}};
}

Json memory_json(const TimelineComparison& comparison) {
  Json error = nullptr;
  if (comparison.predicted_bytes && comparison.observed_bytes && *comparison.observed_bytes > 0)
    error = percent_json(
        percent_off(static_cast<double>(*comparison.predicted_bytes), static_cast<double>(*comparison.observed_bytes)));
  return {{"predicted_hbm_max_bytes", bytes_json(comparison.predicted_bytes)},
          {"observed_hbm_max_bytes", bytes_json(comparison.observed_bytes)},
          {"error_pct", error}};
}

Json measured_json(const Timeline::Measured& measured) {
  return {{"hosts", measured.hosts},
          {"device", measured.device},
          {"driver", measured.driver},
          {"cuda", measured.cuda},
          {"nccl", measured.nccl},
          {"transport", measured.transport},
          {"clock_residual_us", rounded(measured.clock_residual_us, 1e3)},
          {"clock_drift_us", rounded(measured.clock_drift_us, 1e3)},
          {"more", measured.more}};
}

Json spread_json(const ObservedSpread& spread) {
  return {{"iterations_pct", percent_json(spread.iterations_pct)}, {"ranks_pct", percent_json(spread.ranks_pct)}};
}

Json case_json(const TimelineComparison& comparison, const std::optional<double>& tolerance) {
  Json json{{"name", comparison.case_name},
            {"observed_name", comparison.observed_case},
            {"sides", {comparison.first, comparison.second}},
            {"world_size", comparison.world_size},
            {"iterations", comparison.iterations},
            {"complete", comparison.complete}};
  json["outside"] = tolerance ? Json(outside_tolerance(comparison, *tolerance)) : Json(nullptr);
  json["iteration"] = judged_time(Json::object(), comparison.iteration, true, tolerance);
  json["exposed_comm"] = time_json(comparison.exposed);
  json["exposed_waiting"] = time_json(comparison.waiting);
  json["waits"] = list_of(comparison.waits, compared_wait_json);
  json["memory"] = memory_json(comparison);
  json["worst_operations"] = list_of(worst_operations(comparison, kWorstOperations), worst_json);
  json["classes"] = list_of(comparison.classes, [&](const auto& row) { return operation_json(row, true, tolerance); });
  json["operations"] =
      list_of(comparison.operations, [&](const auto& row) { return operation_json(row, false, tolerance); });
  json["only_predicted"] = alone_json(comparison, true);
  json["only_observed"] = alone_json(comparison, false);
  json["ranks"] = list_of(comparison.ranks, rank_json);
  json["spread"] = spread_json(observed_spread(comparison));
  json["measured"] = measured_json(comparison.measured);
  json["notes"] = comparison.notes;
  return json;
}

}  // namespace

std::string comparison_json(const ComparisonReport& report) {
  Json root{{"schema", kComparisonSchema},
            {"version", version()},
            {"predicted", report.predicted},
            {"observed", report.observed}};
  root["tolerance_pct"] = report.tolerance_pct ? Json(*report.tolerance_pct) : Json(nullptr);
  root["within_tolerance"] = report.tolerance_pct ? Json(report.outside().empty()) : Json(nullptr);
  root["cases"] =
      list_of(report.cases, [&](const ComparedCase& item) { return case_json(item.comparison, report.tolerance_pct); });
  root["only_predicted_cases"] = report.only_predicted;
  root["only_observed_cases"] = report.only_observed;
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
