#include "study/report/documents/answer_json.h"

#include <nlohmann/json.hpp>

#include "base/tree/json.h"
#include "base/tree/json_fields.h"
#include "study/drift/resharding.h"
#include "study/report/documents/drift_document.h"
#include "study/why/why_fields.h"

namespace shardsim {
namespace {

std::string text_of(const nlohmann::ordered_json& json, const char* file) {
  check_finite(json, file);
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Null is what nobody can choose between, or have.
nlohmann::ordered_json day_json(const DriftDay& day) {
  const auto if_fits = [](bool fits, const auto& value) {
    return fits ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  return {{"day", day.day},
          {"frozen_ms", day.frozen_ms},
          {"frozen_low_ms", day.frozen_low_ms},
          {"frozen_high_ms", day.frozen_high_ms},
          {"frozen_bytes", day.frozen_bytes},
          {"frozen_fits", day.frozen_fits},
          {"best_fits", day.best_fits},
          {"best_ms", if_fits(day.best_fits, day.best_ms)},
          {"best_low_ms", if_fits(day.best_fits, day.best_low_ms)},
          {"best_high_ms", if_fits(day.best_fits, day.best_high_ms)},
          {"best_bytes", if_fits(day.best_fits, day.best_bytes)},
          {"best", if_fits(day.best_fits, day.best_name())},
          {"chance", if_fits(day.is_choice(), day.chance)},
          {"unlike_pct", if_fits(day.is_choice(), 100 * day.unlike)},
          {"regret_pct", if_fits(day.is_choice(), day.regret_pct)},
          {"frozen_regret_pct", if_fits(day.is_choice(), day.frozen_regret_pct)},
          {"moved_bytes", if_fits(day.best_fits, day.moved_bytes)},
          {"moving_s", if_fits(day.best_fits, day.moving_s)},
          {"ahead_at_start_pct", if_fits(day.is_choice(), 100 * day.ahead_at_start)},
          {"aged_s", day.aged_s},
          {"saved_s", day.saved_s}};
}

}  // namespace

std::string why_json(const ExplainedCase& explained, const Scenario& scenario, const Case& item) {
  nlohmann::ordered_json json = {
      {"schema", "shardsim.why/1"}, {"scenario", scenario.path}, {"case", item.name}, {"seed", scenario.seed}};
  nlohmann::ordered_json body;
  JsonWriter::write(JsonSlot(body), explained.why);
  json.update(body);
  if (explained.help) JsonWriter::write(JsonSlot(json["help"]), *explained.help);
  json["notes"] = explained.notes;
  return text_of(json, "why.json");
}

std::string drift_json(const DriftResult& result, const DriftOptions& options, const Scenario& scenario) {
  nlohmann::ordered_json json{{"schema", "shardsim.drift/1"}, {"scenario", scenario.path}, {"case", result.name}};
  const auto optional = [](const auto& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  const Resharding found = resharding_of(result, options.pause);
  json["answer"] = resharding_text(result, options);
  json["reshard_every_days"] = optional(found.every_days);
  json["out_of_memory_day"] = optional(found.out_of_memory_day);
  json["no_plan_day"] = optional(found.no_plan_day);
  json["break_even_day"] = optional(result.break_even_day);
  if (options.monitor) json["train_again_day"] = optional(result.train_again_day);
  json["outside"] = outside_of(result);
  for (const DriftDay& day : result.days) {
    json["days"].push_back(day_json(day));
    if (options.monitor) json["days"].back()["cost_error_pct"] = 100 * day.cost_error;
  }
  return text_of(json, "drift.json");
}

}  // namespace shardsim
