#pragma once

#include <string>
#include <vector>

#include "study/result/effects.h"

namespace shardsim {

struct StudyResult;

// A plan whose place among the others the estimate gets wrong.
struct ExplainedPlan {
  std::size_t index = 0;                            // of the study's cases
  double place_estimated = 0, place_simulated = 0;  // from 1, the fastest; equal times share the mean
  // Plans that stand on the other side of it in the simulation than in the estimate, in the direction of its error.
  std::size_t changed = 0;
  EffectTimes here{};    // its own effects
  EffectTimes others{};  // those of the plans that it changed places with, mean

  // Its part of the error. All parts together are above 0 for a plan that looks too good, below for one too bad.
  double excess(Effect effect) const {
    return here[static_cast<std::size_t>(effect)] - others[static_cast<std::size_t>(effect)];
  }
  // The effects by how much of the error they make, the most first; those that lessen it last.
  std::vector<Effect> by_share() const;
  Effect largest() const { return by_share().front(); }
  bool too_good() const { return place_estimated < place_simulated; }  // to the estimate
};

// A step of putting into the estimate what it lacks.
struct MissingTerm {
  Effect effect = Effect::contention;
  double spearman = 0;  // with this term and those before it
};

// TorchRec's estimates beside the simulation, over all cases of one workload on one cluster.
struct CrossCheck {
  std::string workload, cluster;
  std::vector<std::size_t> cases;  // of the study, in its order; none where a result.json was read, which has none
  std::size_t compared = 0;        // how many
  double spearman = 0, kendall = 0;
  std::size_t estimates_choice = 0, fastest = 0;  // of the study's cases; of equal ones the first
  double regret_pct = 0;                          // how much longer the estimate's choice takes than the fastest
  EffectTimes mean_effects{};
  EffectTimes spearman_with{};  // [effect] correlation if the estimate knew this effect of every plan
  // The effects that, known to the estimate, would bring its order nearest to the simulation's: each time the one that
  // helps most, until the correlation is 0.99 or no term adds 0.005.
  std::vector<MissingTerm> missing;
  std::vector<ExplainedPlan> worst;  // largest difference of places first
};

// One per workload and cluster with enough estimated cases; at most `worst` plans explained in each, none that stands
// in the same place in both orders.
std::vector<CrossCheck> cross_checks(const StudyResult& study, std::size_t worst);

// Says in a sentence made of its figures which term is missing.
std::string explanation(const ExplainedPlan& plan, const StudyResult& study);

}  // namespace shardsim
