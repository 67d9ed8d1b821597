#include "study/report/documents/result_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/json_fields.h"
#include "study/drift/resharding.h"
#include "study/report/documents/drift_document.h"
#include "study/result/cross_check.h"
#include "study/result/planner_fields.h"
#include "study/result/result_fields.h"
#include "study/why/why_fields.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/rank_set.h"

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

// The members of the result of a study as result.json has them; those of its cases are in result_fields.h.

// The fields of a study's cross-check. Cases stand in result.json by their names.
template <typename Visitor>
void check_fields(Visitor& visit, MaybeConst<CrossCheck> auto& check, MaybeConst<StudyResult> auto& study) {
  visit.field("workload", check.workload);
  visit.field("cluster", check.cluster);
  visit.field("cases", check.compared);
  visit.field("spearman", check.spearman);
  visit.field("kendall_tau_b", check.kendall);
  visit.index("choice_of_estimate", check.estimates_choice, study.cases);
  visit.index("fastest", check.fastest, study.cases);
  visit.field("regret_pct", check.regret_pct);
  effect_fields(visit, "mean_effects_ms", check.mean_effects);
  effect_fields(visit, "spearman_with", check.spearman_with);
  visit.list("missing", check.missing, [](auto& inner, auto& term) {
    inner.field("effect", term.effect);
    inner.field("spearman_with", term.spearman);
  });
  visit.list("worst", check.worst, [&](auto& inner, auto& plan) {
    inner.index("case", plan.index, study.cases);
    inner.field("place_estimated", plan.place_estimated);
    inner.field("place_simulated", plan.place_simulated);
    inner.field("changed_with", plan.changed);
    effect_fields(inner, "effects_ms", plan.here);
    effect_fields(inner, "effects_of_changed_ms", plan.others);
    inner.derived("largest", [&] { return plan.largest(); });
    inner.derived("explanation", [&] { return explanation(plan, study); });
  });
}

// A fit that does not say how many rows it took would otherwise read as one on none.
inline std::optional<std::int64_t> known_rows(const SourcedValue& constant) {
  return constant.rows_used > 0 ? std::optional(constant.rows_used) : std::nullopt;
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<SourcedValue> auto& constant) {
  visit.field("path", constant.path);
  visit.field("value", constant.value);
  visit.field("source", constant.source);
  visit.field("fitted_on", constant.fitted_on);
  visit.view("rows_used", constant, known_rows, [](SourcedValue& fit, std::int64_t rows) {
    fit.rows_used = rows;
    fit.fitted = true;
  });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Choice::Other> auto& other) {
  visit.field("case", other.name);
  visit.field("chance", other.chance);
  visit.field("regret_pct", other.regret_pct);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Choice> auto& choice) {
  visit.field("workload", choice.workload);
  visit.field("cluster", choice.cluster);
  visit.field("chosen", choice.chosen);
  visit.field("regret_pct", choice.regret_pct);
  visit.field("faster_than", choice.others);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<MachineOrder> auto& order) {
  visit.field("workload", order.workload);
  visit.field("faster", order.faster);
  visit.field("than", order.than);
  visit.field("chance", order.chance);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<StudyResult> auto& study) {
  visit.field("scenario", study.scenario);
  visit.field("seed", study.seed);
  visit.field("version", study.version);
  visit.field("cases", study.cases);
  visit.take("choices", study.choices);
  visit.take("machines", study.machines);
  visit.list(
      "cross_checks", study.cross_checks, [&](auto& inner, auto& check) { check_fields(inner, check, study); }, false);
  visit.list(
      "planner_comparisons", study.comparisons, [](auto& inner, auto& comparison) { fields(inner, comparison); },
      false);
  if (study.comparisons.size() > 1) {
    visit.derived("planner_totals", [&] { return totals_of(study.comparisons); });
  }
  visit.take("planning_cpu_s", study.planning_cpu_s);
  visit.field("fitted_constants", study.fitted);
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlain = "shardsim.result/1";
constexpr const char* kGrouped = "shardsim.result/2";  // the same, but some case is large

constexpr std::size_t kMostNumbers = 100'000'000;  // that few bytes of classes and rank sets may stand for

std::size_t ranks_in(const Tree& text) {
  return text.kind == Tree::Kind::scalar ? count_in_rank_sets(text.scalar, kMostRanks, text.place) : 0;
}

std::size_t ranks_in_classes(const Tree& item) {
  std::size_t count = 0;
  if (const Tree* const classes = item.find("rank_classes"))
    for (const Tree& text : classes->items) count += ranks_in(text);
  return count;
}

// Returns how many numbers the lists below `tree` have, for a world of so many ranks.
std::size_t listed_numbers(const Tree& tree, std::size_t world) {
  std::size_t count = 0;
  for (const auto& [key, value] : tree.fields) {
    if (key.ends_with(kByClass)) count += world;
    count += key == "rank_set" ? ranks_in(value) : listed_numbers(value, world);
  }
  for (const Tree& item : tree.items) count += listed_numbers(item, world);
  return count;
}

// A small file may say lists that no memory holds.
void check_lists(const Tree& tree) {
  const Tree* const cases = tree.find("cases");
  if (cases == nullptr) return;
  std::size_t count = 0;
  for (const Tree& item : cases->items) {
    const std::size_t world = ranks_in_classes(item);
    count += world + listed_numbers(item, world);
    if (count <= kMostNumbers) continue;
    throw input_error(item.place,
                      fmt::format("the cases up to this one list more than {} numbers of ranks", kMostNumbers),
                      "Is this a file as shardsim wrote it?");
  }
}

// Files are read to be believed.
void check_times(const StudyResult& study, const Tree& cases) {
  for (std::size_t i = 0; i < study.cases.size(); ++i) {
    if (study.cases[i].iteration_ms >= 0) continue;
    throw input_error(cases.items[i].find("iteration_ms")->place,
                      fmt::format("iteration_ms of case {} is below 0", excerpt(study.cases[i].name)),
                      "Is this a file as shardsim wrote it?");
  }
}

void check_rank(int rank, std::size_t ranks, const Tree& group, const char* key) {
  if (rank >= 0 && static_cast<std::size_t>(rank) < ranks) return;
  const Tree* const stated = group.find(key);
  throw input_error(stated != nullptr ? stated->place : group.place,
                    fmt::format("{} {} is none of the {} ranks", key, rank, ranks),
                    "Is this a file as shardsim wrote it?");
}

// The ranks that are singled out have figures of their own.
void check_ranks(const StudyResult& study, const Tree& cases) {
  for (std::size_t i = 0; i < study.cases.size(); ++i) {
    const CaseResult& item = study.cases[i];
    if (item.loads)
      check_rank(item.loads->fullest, item.loads->lookups.size(), *cases.items[i].find("rank_loads"), "fullest_rank");
    const Tree* const host = cases.items[i].find("host");
    if (item.host && host != nullptr)
      check_rank(item.host->rank, static_cast<std::size_t>(std::max(item.world_size, 0)), *host, "rank");
  }
}

}  // namespace

std::string result_to_json(const StudyResult& study) {
  const bool grouped = std::ranges::any_of(study.cases, is_large);
  Json json = {{"schema", grouped ? kGrouped : kPlain}};
  JsonWriter::write(JsonSlot(json), study);
  check_finite(json, "result.json");
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StudyResult result_from_tree(const Tree& tree) {
  JsonReader reader(tree, "", JsonReader::Keys::any);
  reader.reader().choice("schema", {kPlain, kGrouped});
  check_lists(tree);
  StudyResult study;
  fields(reader, study);
  if (const Tree* const cases = tree.find("cases")) {
    check_times(study, *cases);
    check_ranks(study, *cases);
  }
  return study;
}

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
