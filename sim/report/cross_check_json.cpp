#include "sim/report/cross_check_json.h"

#include <nlohmann/json.hpp>

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

Json effects_json(const EffectTimes& times) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kEffects; ++i) json[std::string(effect_key(effect_at(i)))] = times[i];
  return json;
}

Json worst_json(const ExplainedPlan& plan, const StudyResult& study) {
  return {{"case", study.cases[plan.index].name},    {"place_estimated", plan.place_estimated},
          {"place_simulated", plan.place_simulated}, {"changed_with", plan.changed},
          {"effects_ms", effects_json(plan.here)},   {"effects_of_changed_ms", effects_json(plan.others)},
          {"largest", effect_key(plan.largest())},   {"explanation", explanation(plan, study)}};
}

Json check_json(const CrossCheck& check, const StudyResult& study) {
  Json json = {{"workload", check.workload},
               {"cluster", check.cluster},
               {"cases", check.cases.size()},
               {"spearman", check.spearman},
               {"kendall_tau_b", check.kendall},
               {"choice_of_estimate", study.cases[check.estimates_choice].name},
               {"fastest", study.cases[check.fastest].name},
               {"regret_pct", check.regret_pct},
               {"mean_effects_ms", effects_json(check.mean_effects)},
               {"spearman_with", effects_json(check.spearman_with)}};
  json["missing"] = Json::array();
  for (const MissingTerm& term : check.missing) {
    json["missing"].push_back({{"effect", effect_key(term.effect)}, {"spearman_with", term.spearman}});
  }
  json["worst"] = Json::array();
  for (const ExplainedPlan& plan : check.worst) json["worst"].push_back(worst_json(plan, study));
  return json;
}

}  // namespace

Json torchrec_json(const CaseResult& result) {
  const EstimatedCase& torchrec = *result.torchrec;
  const torchrec::IterationEstimate& estimate = torchrec.estimate;
  return {{"iteration_ms", estimate.iteration_ms},
          {"busiest_rank", estimate.busiest},
          {"mean_ms",
           {{"lookup", estimate.mean.lookup},
            {"update", estimate.mean.update},
            {"all_to_all", estimate.mean.all_to_all},
            {"reduce_scatter", estimate.mean.reduce_scatter},
            {"all_reduce", estimate.mean.all_reduce},
            {"copies", estimate.mean.copies},
            {"prefetch", estimate.mean.prefetch}}},
          {"simulated_without_ms",
           {{"contention", torchrec.removed.uncontended},
            {"overlap", torchrec.removed.serial},
            {"start_ups", torchrec.removed.without_starts},
            {"uneven_loads", torchrec.removed.even.total()}}},
          {"effects_ms", effects_json(torchrec.effects(result.iteration_ms))}};
}

Json cross_checks_json(const StudyResult& study) {
  Json json = Json::array();
  for (const CrossCheck& check : study.cross_checks) json.push_back(check_json(check, study));
  return json;
}

}  // namespace shardsim
