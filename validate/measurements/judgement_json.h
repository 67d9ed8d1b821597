#pragma once

#include <string>

#include "validate/measurements/judgement.h"

namespace shardsim {

// The result of `collective compare` as JSON (docs/formats.md, schema shardsim.collective_comparison/1). A figure of a
// size band without rows is null.
std::string judgement_json(const Judgement& judgement);

// Every row with its prediction as CSV: system, case, collective, nodes, gpus_per_node, groups_at_once, size_bytes,
// calls, measured_us, predicted_us, error_pct, algorithm, protocol, bottleneck, out_of_model.
std::string predictions_csv(const Judgement& judgement);

}  // namespace shardsim
