#pragma once

#include <string_view>
#include <vector>

#include "study/why/change.h"
#include "study/why/why.h"

namespace shardsim {

// A supposition: something costs nothing, is the same on all ranks, or is done in another way. A part that is free
// shows how much of the iteration depends on its rate at most, the plan and the kernels kept.
struct WhatIf {
  std::string_view key;  // "free_nics"
  std::string text;      // "if NICs were free"
  ChangedCase changed;
  double telling = 0;       // change of the iteration in shares of it, either way, below which there is nothing to say
  bool if_shorter = false;  // nor is there where the iteration gets longer
};

constexpr std::string_view kFp16Vectors = "fp16_vectors", kTf32Products = "tf32_products", kFreeHost = "free_host",
                           kIndexDedup = "index_dedup", kWithGraph = "with_graph",
                           kOtherModuleFirst = "other_module_first";

// True when GPUs exchange over PCIe on the path, so that its rate is a lever of its own.
bool exchanges_over_pcie(const Why& why);

// True of what is done in another way on the same machine: software, order, what is sent.
bool is_way(std::string_view key);

// Those that say something of this case. Free: bytes take no time, starts stay. Even: every rank computes for the mean
// time of all ranks that take part, and a collective's bytes are dealt evenly to the links of each kind that its
// members have. Only the host: GPUs and links take no time, where software is stated. Vectors as fp16: where some
// travel as fp32 and their exchanges are on the path of `why`. Products in TF32: where the dense part's are fp32, are
// not measured, and the GPU has a faster rate for it. Another order of modules: where there are two. The same
// software with a CUDA graph; ids of sequences exchanged once: where they are not.
// PCIe of the next generation: where slots or links of PCIe are on the path.
std::vector<WhatIf> what_ifs(const Case& item, const Why& why);

}  // namespace shardsim
