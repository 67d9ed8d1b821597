#pragma once

#include <string>

#include "validate/measurements/judgement.h"

namespace shardsim {

// One self-contained HTML file: the figures over all systems, for each system a chart of predicted against measured
// times (plots/predicted_vs_measured.vg.json), the figures of each system. Errors: as fill_chart().
std::string judgement_html(const Judgement& judgement);

}  // namespace shardsim
