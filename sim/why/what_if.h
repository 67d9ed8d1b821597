#pragma once

#include <string_view>
#include <vector>

#include "sim/why/change.h"

namespace shardsim {

// A supposition: something costs nothing, or is the same on all ranks. It shows how much of the iteration depends on it
// at most, whatever its rate is.
struct WhatIf {
  std::string_view key;   // "free_nics"
  std::string_view text;  // "if NICs were free"
  WorksEdit edit;
};

// Those that say something of this case. Free: bytes take no time, starts stay. Even: every rank computes for the mean
// time of all ranks that take part, and a collective's bytes are dealt evenly to the links of each kind that its
// members have.
std::vector<WhatIf> what_ifs(const Case& item);

}  // namespace shardsim
