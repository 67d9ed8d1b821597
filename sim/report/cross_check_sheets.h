#pragma once

#include <string>
#include <vector>

#include "sim/report/sheet.h"
#include "sim/study/result.h"

namespace shardsim {

// TorchRec's estimates beside the simulation, as tables and sentences for terminal and report.

// Correlation and regret of one group, in a sentence or two.
std::string cross_check_text(const CrossCheck& check, const StudyResult& study);

// Which terms would bring the orders together; "" when they are alike.
std::string missing_text(const CrossCheck& check);

// The plans whose places differ most: estimate and simulation with their places, and the largest missing term.
Sheet worst_sheet(const StudyResult& study);
std::string worst_legend();

// Their effects in ms, what the plans that they changed places with have of each below them, and all plans on average
// with the correlation that knowing the effect would give.
Sheet effects_sheet(const StudyResult& study);

// What the columns of the effects mean.
std::string effects_legend();

}  // namespace shardsim
