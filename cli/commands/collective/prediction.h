#pragma once

#include <string>
#include <vector>

#include "cli/commands/collective/request.h"
#include "models/collective/collective_prediction.h"

namespace shardsim {

// One for each size of the request.
std::vector<CollectivePrediction> predictions_of(const CollectiveRequest& request, const Cluster& cluster);

// Notes to print beside these predictions: hints about the cluster, rates above those of NICs, channels and choices
// that were forced, fits that do not hold.
std::vector<std::string> notes_of(const CollectiveRequest& request,
                                  const std::vector<CollectivePrediction>& predictions, const Cluster& cluster);

}  // namespace shardsim
