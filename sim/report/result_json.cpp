#include "sim/report/result_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/report/cross_check_json.h"
#include "sim/report/result_sheets.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kResultSchema = "shardsim.result/1";
constexpr double kPercent = 100;

// Of the fullest rank, part by part, beside the memory model's figures for it.
Json high_water_json(const CaseResult& result) {
  const MemoryProfile& profile = result.memory_profile;
  const std::size_t rank = profile.fullest();
  const MemoryPeak& peak = profile.ranks[rank];
  Json marks = Json::array(), parts;
  const std::int64_t over = peak.bytes() - result.memory_capacity;
  for (const MemoryPeak& each : profile.ranks) marks.push_back(each.bytes());
  for (std::size_t part = 0; part < kMemoryParts; ++part) parts[kMemoryPartNames[part]] = peak.amounts.bytes[part];
  const PlacementMemory& estimate = result.estimated_memory;
  Json json = {{"per_rank_bytes", marks},
               {"rank", rank},
               {"at_ms", peak.at_us * 1e-3},
               {"operation", operation_at(result, peak)},
               {"parts", parts},
               {"estimate",
                {{"at_rest_bytes", estimate.static_bytes},
                 {"optimizer_bytes", estimate.optimizer_bytes},
                 {"cache_bytes", estimate.cache_bytes},
                 {"buffer_bytes", estimate.dynamic_bytes}}}};
  if (over > 0 && result.memory_capacity > 0) json["over_capacity_bytes"] = over;
  return json;
}

Json memory_json(const CaseResult& result) {
  const auto& bytes = result.memory_per_rank;
  const bool fits =
      std::all_of(bytes.begin(), bytes.end(), [&](std::int64_t rank) { return rank <= result.memory_capacity; });
  Json json = {{"per_rank_bytes", bytes}, {"capacity_bytes", result.memory_capacity}, {"fits", fits}};
  if (!result.memory_profile.ranks.empty()) json["simulated"] = high_water_json(result);
  return json;
}

// The member that arrived last, for which most of the waiting was, and what it had been running until then.
Json waited_for_json(const NamedTime::WaitedFor& whom) {
  if (whom.rank < 0) return nullptr;
  return {{"rank", whom.rank}, {"operation", whom.operation}, {"waiting_ms", whom.ms}};
}

// total_ms: the calls by themselves, when nothing else runs; in_iteration_ms: as they ran, contention included;
// exposed_ms = transfer_ms + waiting_ms.
Json collectives_json(const std::vector<NamedTime>& times) {
  Json list = Json::array();
  for (const NamedTime& time : times) {
    if (!is_communication(time.op_class)) continue;
    list.push_back({{"name", time.name},
                    {"kind", time.op_class},
                    {"calls", time.calls},
                    {"total_ms", time.alone_ms},
                    {"exposed_ms", time.exposed_ms},
                    {"bytes_per_rank", time.bytes_per_rank},
                    {"in_iteration_ms", time.span_ms},
                    {"transfer_ms", time.transfer_ms()},
                    {"waiting_ms", time.waiting_ms},
                    {"waited_for", waited_for_json(time.waited_for)}});
  }
  return list;
}

Json compute_json(const std::vector<NamedTime>& times) {
  Json list = Json::array();
  for (const NamedTime& time : times) {
    if (is_communication(time.op_class)) continue;
    list.push_back({{"name", time.name}, {"class", time.op_class}, {"total_ms", time.span_ms}});
  }
  return list;
}

Json placements_json(const std::vector<PlacementSummary>& placements) {
  Json list = Json::array();
  for (const PlacementSummary& placement : placements)
    list.push_back({{"table", placement.table},
                    {"strategy", strategy_name(placement.strategy)},
                    {"rows", placement.rows},
                    {"access_share", placement.access_share},
                    {"ranks", placement.ranks}});
  return list;
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// `predicted` and `error_pct` are always there: null where the case has no such figure.
Json published_json(const Comparison& comparison) {
  const Published& published = comparison.published;
  Json json = {{"quantity", published.quantity},
               {"unit", published.unit},
               {"value", published.value},
               {"predicted", number_or_null(comparison.predicted)}};
  if (comparison.predicted_at_observed_payload) {
    json["predicted_at_observed_payload"] = *comparison.predicted_at_observed_payload;
    json["error_at_observed_payload_pct"] = number_or_null(comparison.error_at_observed_payload_pct());
  }
  json["error_pct"] = number_or_null(comparison.error_pct());
  json["role"] = published.fitted ? "fitted" : "predicted";
  json["source"] = published.source;
  return json;
}

Json job_json(const JobFigures& job, double iteration_ms) {
  return {{"fabric", job.fabric},
          {"nodes", job.nodes},
          {"start_ms", job.start_ms},
          {"alone_iteration_ms", job.alone_ms},
          {"slowdown_pct", job.slowdown_pct(iteration_ms)},
          {"measured_iterations", job.measured},
          {"shortest_iteration_ms", job.shortest_ms},
          {"longest_iteration_ms", job.longest_ms}};
}

Json case_json(const CaseResult& result) {
  Json json = {{"name", result.name}, {"iteration_ms", result.iteration_ms}, {"samples_per_s", result.samples_per_s}};
  if (!result.relative_to.empty()) json["relative_to"] = result.relative_to;
  if (result.iteration_ms_at_observed_payload)
    json["iteration_ms_at_observed_payload"] = *result.iteration_ms_at_observed_payload;
  if (result.job) json["job"] = job_json(*result.job, result.iteration_ms);
  json["estimate"] = {{"iteration_ms", result.estimate_iteration_ms}};
  if (result.torchrec) json["torchrec"] = torchrec_json(result);
  json["limited_by"] = {{"what", result.limit.what}, {"share_pct", kPercent * result.limit.share}};
  json["memory"] = memory_json(result);
  json["collectives"] = collectives_json(result.times);
  json["compute"] = compute_json(result.times);
  json["placements"] = placements_json(result.placements);
  json["published"] = Json::array();
  for (const Comparison& comparison : result.published) json["published"].push_back(published_json(comparison));
  json["notes"] = result.notes;
  return json;
}

// A fit that does not say how many rows it took would otherwise read as one on none.
Json constants_json(const std::vector<SourcedValue>& constants) {
  Json list = Json::array();
  for (const SourcedValue& constant : constants) {
    Json entry = {{"path", constant.path},
                  {"value", constant.value},
                  {"source", constant.source},
                  {"fitted_on", constant.fitted_on}};
    if (constant.rows_used > 0) entry["rows_used"] = constant.rows_used;
    list.push_back(std::move(entry));
  }
  return list;
}

// nlohmann writes what is not finite as null, which would hide a bug as a missing figure.
void check_finite(const Json& json, const std::string& path) {
  if (json.is_number_float() && !std::isfinite(json.get<double>()))
    throw std::logic_error(fmt::format("result.json: {} is not finite", path));
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items())
    check_finite(value, json.is_array() ? fmt::format("{}[{}]", path, key) : fmt::format("{}.{}", path, key));
}

}  // namespace

std::string result_to_json(const StudyResult& study) {
  Json json = {
      {"schema", kResultSchema}, {"scenario", study.scenario}, {"seed", study.seed}, {"version", study.version}};
  json["cases"] = Json::array();
  for (const CaseResult& result : study.cases) json["cases"].push_back(case_json(result));
  if (!study.cross_checks.empty()) json["cross_checks"] = cross_checks_json(study);
  json["fitted_constants"] = constants_json(study.fitted);
  check_finite(json, "$");
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
