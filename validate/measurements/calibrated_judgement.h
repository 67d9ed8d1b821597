#pragma once

#include <string>
#include <vector>

#include "validate/measurements/judgement.h"

namespace shardsim {

// How well rows are predicted by clusters that were calibrated on a few other rows of the same systems.
struct CalibratedJudgement {
  struct Pair {  // a system and one of its collectives
    std::string system;
    CollectiveKind kind = CollectiveKind::all_reduce;
    int used = 0, unused = 0;
  };

  Judgement judgement;  // of the rows that no fit used; rows out of the model are left out
  std::vector<Pair> pairs;
};

// Calibrates each system of the map on its own rows in the model, at most `rows_per_collective` of each collective,
// from the fit that did not see the system, and judges the rest. Errors (Failure::input): no row is left to judge; as
// judge().
CalibratedJudgement calibrated_judgement(const std::vector<MeasuredRow>& rows, const SystemMap& map,
                                         const LeftOutFits& fits, const std::string& measurements,
                                         int rows_per_collective = 4);

// Which rows were used and who has none left, in sentences.
std::string calibration_summary(const CalibratedJudgement& calibrated);

}  // namespace shardsim
