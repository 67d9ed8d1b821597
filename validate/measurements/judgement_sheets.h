#pragma once

#include <string>

#include "sim/report/sheet.h"
#include "validate/measurements/judgement.h"

namespace shardsim {

// Per system and collective, one row per size band that has measurements. Rows out of the model are quiet.
Sheet systems_sheet(const Judgement& judgement);

// Over all systems in the model, each weighing the same: per collective and over all, then with the rows out of the
// model.
Sheet overall_sheet(const Judgement& judgement);

// In a sentence: how many rows and systems, the median error from 1 MiB up, what was left out.
std::string judgement_summary(const Judgement& judgement);

// What stands above the tables, for who sees them first.
std::string figures_legend();

// All of it for a terminal.
std::string judgement_text(const Judgement& judgement, int width, bool colour);

}  // namespace shardsim
