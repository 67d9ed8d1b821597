#pragma once

#include "base/tree/leaf.h"

namespace shardsim {

// As time_leaf(), of a key whose times are seconds and more: what is proposed where the unit is missing is in seconds.
LeafReader<Seconds> long_time_leaf();

}  // namespace shardsim
