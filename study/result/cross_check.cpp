#include "study/result/cross_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/statistics.h"
#include "study/result/result.h"

namespace shardsim {
namespace {

constexpr double kAlike = 0.99;         // a correlation that leaves nothing to explain
constexpr double kHelp = 0.005;         // more correlation than this is worth a term
constexpr double kTellingShare = 0.25;  // of the largest term: worth a sentence

// The two orders of one group, by position in it.
struct Orders {
  std::vector<double> estimated, simulated;  // ms
  std::vector<double> place_estimated, place_simulated;
  std::vector<EffectTimes> effects;
};

Orders orders_of(const std::vector<std::size_t>& cases, const StudyResult& study) {
  Orders orders;
  for (const std::size_t index : cases) {
    const CaseResult& item = study.cases[index];
    orders.estimated.push_back(item.torchrec->estimate.iteration_ms);
    orders.simulated.push_back(item.iteration_ms);
    orders.effects.push_back(item.torchrec->effects);
  }
  orders.place_estimated = ranks_of(orders.estimated);
  orders.place_simulated = ranks_of(orders.simulated);
  return orders;
}

void add(EffectTimes& sum, const EffectTimes& times, double factor) {
  for (std::size_t i = 0; i < kEffects; ++i) sum[i] += factor * times[i];
}

EffectTimes mean_of(const std::vector<EffectTimes>& times) {
  EffectTimes mean{};
  for (const EffectTimes& one : times) add(mean, one, 1 / static_cast<double>(times.size()));
  return mean;
}

std::vector<double> with(std::vector<double> estimated, std::size_t effect, const Orders& orders) {
  for (std::size_t i = 0; i < estimated.size(); ++i) estimated[i] += orders.effects[i][effect];
  return estimated;
}

EffectTimes correlations_with(const std::vector<double>& estimated, const Orders& orders) {
  EffectTimes correlations{};
  for (std::size_t effect = 0; effect < kEffects; ++effect) {
    correlations[effect] = spearman(with(estimated, effect, orders), orders.simulated);
  }
  return correlations;
}

std::vector<MissingTerm> missing_terms(const Orders& orders) {
  std::vector<MissingTerm> terms;
  std::vector<double> estimated = orders.estimated;
  double reached = spearman(estimated, orders.simulated);
  while (reached < kAlike && terms.size() < kEffects) {
    EffectTimes correlations = correlations_with(estimated, orders);
    for (const MissingTerm& term : terms) correlations[static_cast<std::size_t>(term.effect)] = -2;  // in already
    const auto best = std::max_element(correlations.begin(), correlations.end());
    if (*best < reached + kHelp) break;
    reached = *best;
    const auto effect = static_cast<std::size_t>(best - correlations.begin());
    estimated = with(estimated, effect, orders);
    terms.push_back({effect_at(effect), reached});
  }
  return terms;
}

// `error` 1: the estimate has the plan too good, -1: too bad.
std::vector<EffectTimes> of_changed_plans(std::size_t plan, double error, const Orders& orders) {
  std::vector<EffectTimes> changed;
  for (std::size_t i = 0; i < orders.effects.size(); ++i) {
    const double behind = error * (orders.estimated[i] - orders.estimated[plan]);
    const double before = error * (orders.simulated[plan] - orders.simulated[i]);
    if (behind >= 0 && before >= 0 && behind + before > 0) changed.push_back(orders.effects[i]);
  }
  return changed;
}

ExplainedPlan explained(std::size_t plan, std::size_t index, const Orders& orders) {
  ExplainedPlan result;
  result.index = index;
  result.place_estimated = orders.place_estimated[plan];
  result.place_simulated = orders.place_simulated[plan];
  const double error = result.too_good() ? 1 : -1;
  const std::vector<EffectTimes> changed = of_changed_plans(plan, error, orders);
  result.changed = changed.size();
  result.here = orders.effects[plan];
  result.others = mean_of(changed);
  return result;
}

std::vector<ExplainedPlan> worst_plans(const std::vector<std::size_t>& cases, const Orders& orders, std::size_t most) {
  std::vector<std::size_t> plans;
  const auto off = [&](std::size_t i) { return std::abs(orders.place_estimated[i] - orders.place_simulated[i]); };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (off(i) > 0) plans.push_back(i);
  }
  std::stable_sort(plans.begin(), plans.end(), [&](std::size_t a, std::size_t b) { return off(a) > off(b); });
  plans.resize(std::min(plans.size(), most));
  std::vector<ExplainedPlan> worst;
  for (const std::size_t plan : plans) worst.push_back(explained(plan, cases[plan], orders));
  return worst;
}

std::string ms_text(double ms) {
  return fmt::format("{:.{}f} ms", ms, std::abs(ms) < 100 ? 2 : 0);
}

std::string change_text(double ms) {
  return fmt::format("{} {}", ms_text(std::abs(ms)), ms < 0 ? "faster" : "slower");
}

CrossCheck check_group(const std::vector<std::size_t>& cases, const StudyResult& study, std::size_t worst) {
  const Orders orders = orders_of(cases, study);
  const auto least = [](const std::vector<double>& values) {
    return static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  };
  CrossCheck check;
  check.workload = study.cases[cases.front()].workload;
  check.cluster = study.cases[cases.front()].cluster;
  check.cases = cases;
  check.compared = cases.size();
  check.spearman = spearman(orders.estimated, orders.simulated);
  check.kendall = kendall_tau_b(orders.estimated, orders.simulated);
  check.estimates_choice = cases[least(orders.estimated)];
  check.fastest = cases[least(orders.simulated)];
  const double chosen_ms = study.cases[check.estimates_choice].iteration_ms;
  check.regret_pct = 100 * (chosen_ms / study.cases[check.fastest].iteration_ms - 1);
  check.mean_effects = mean_of(orders.effects);
  check.spearman_with = correlations_with(orders.estimated, orders);
  check.missing = missing_terms(orders);
  check.worst = worst_plans(cases, orders, worst);
  return check;
}

}  // namespace

std::vector<CrossCheck> cross_checks(const StudyResult& study, std::size_t worst) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::tuple<std::string, std::string, int, std::int64_t>, std::size_t> known;
  for (std::size_t index = 0; index < study.cases.size(); ++index) {
    const CaseResult& item = study.cases[index];
    if (!item.torchrec) continue;
    const auto key = std::make_tuple(item.workload, item.cluster, item.world_size, item.batch_per_gpu);
    const std::size_t group = known.try_emplace(key, groups.size()).first->second;
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(index);
  }
  std::vector<CrossCheck> checks;
  for (const std::vector<std::size_t>& cases : groups) {
    if (cases.size() >= kLeastChecked) checks.push_back(check_group(cases, study, worst));
  }
  return checks;
}

std::vector<Effect> ExplainedPlan::by_share() const {
  const double error = too_good() ? 1 : -1;
  std::vector<Effect> effects;
  for (std::size_t i = 0; i < kEffects; ++i) effects.push_back(effect_at(i));
  std::stable_sort(effects.begin(), effects.end(),
                   [&](Effect a, Effect b) { return error * excess(a) > error * excess(b); });
  return effects;
}

std::string explanation(const ExplainedPlan& plan, const StudyResult& study) {
  const CaseResult& item = study.cases[plan.index];
  const std::vector<Effect> effects = plan.by_share();
  const Effect largest = effects[0];
  const auto at = static_cast<std::size_t>(largest);
  std::string text = fmt::format(
      "{} looks too {}: number {:g} by the estimate ({}), number {:g} by the simulation ({}). The largest missing "
      "term is {}, which makes it {} than estimated, and the {} it changes places with {} on average: {}.",
      item.name, plan.too_good() ? "good" : "bad", plan.place_estimated, ms_text(item.torchrec->estimate.iteration_ms),
      plan.place_simulated, ms_text(item.iteration_ms), words(largest).name, change_text(plan.here[at]),
      plan.changed == 1 ? "plan" : fmt::format("{} plans", plan.changed), change_text(plan.others[at]),
      words(largest).meaning);
  const auto next = static_cast<std::size_t>(effects[1]);
  if (plan.excess(effects[1]) / plan.excess(largest) < kTellingShare) return text;
  return text + fmt::format(" Next is {}: {} here, {} there.", words(effects[1]).name, change_text(plan.here[next]),
                            change_text(plan.others[next]));
}

}  // namespace shardsim
