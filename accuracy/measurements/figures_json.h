#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "accuracy/measurements/judged_row.h"

namespace shardsim {

// Error figures as `collective compare` and `compute compare` write them.

// Three decimals of a percent: below that there is only noise. Nothing is null.
nlohmann::ordered_json percent_json(const std::optional<double>& value);

// A list of maps, one per size band in the order of kSizeBands.
nlohmann::ordered_json bands_json(const BandFigures& figures);

}  // namespace shardsim
