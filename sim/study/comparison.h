#pragma once

#include <optional>

#include "sim/study/result.h"

namespace shardsim {

// Fills `predicted` (and, where the published number belongs to an observed payload, the value there) of every
// published number of every case, from the figures that the cases hold already.
void compare_with_published(StudyResult& study, const Scenario& scenario);

}  // namespace shardsim
