#pragma once

#include <string>

#include "validate/measurements/judgement.h"

namespace shardsim {

// The tables of docs/accuracy.md about collectives: over all systems, each system against the bound of its collective,
// the rows out of the model, the fitted constants.
std::string judgement_markdown(const Judgement& judgement);

}  // namespace shardsim
