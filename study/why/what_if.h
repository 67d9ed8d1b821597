#pragma once

#include <string_view>
#include <vector>

#include "study/why/change.h"
#include "study/why/why.h"

namespace shardsim {

// A supposition: something costs nothing, is the same on all ranks, or is done in another way. A part that is free
// shows how much of the iteration depends on its rate at most, the plan and the kernels kept.
struct WhatIf {
  std::string_view key;   // "free_nics"
  std::string_view text;  // "if NICs were free"
  ChangedCase changed;
  double telling = 0;  // change of the iteration in shares of it, either way, below which there is nothing to say
};

constexpr std::string_view kFp16Vectors = "fp16_vectors", kFreeHost = "free_host";

// Those that say something of this case. Free: bytes take no time, starts stay. Even: every rank computes for the mean
// time of all ranks that take part, and a collective's bytes are dealt evenly to the links of each kind that its
// members have. Vectors as fp16: where some travel as fp32 and their exchanges are on the path of `why`. Another order
// of modules: where there are two.
std::vector<WhatIf> what_ifs(const Case& item, const Why& why);

}  // namespace shardsim
