#pragma once

#include <optional>
#include <string>

namespace shardsim {

// One file of the plots folder (a chart, the style sheet, the drawing script), of the data folder or of the build.
// Errors: Failure::run naming the file when it is nowhere.
std::string report_asset(const std::string& name);

// The joined Vega script, or nothing when this program was built without charts.
std::optional<std::string> vega_script();

}  // namespace shardsim
