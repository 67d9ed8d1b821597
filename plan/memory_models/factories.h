#pragma once

#include <memory>

#include "plan/memory_model.h"

namespace shardsim {

// One maker per file of this folder; the table in all.cpp lists them.
std::unique_ptr<MemoryModel> make_paper_memory(MapReader& options);
std::unique_ptr<MemoryModel> make_torchrec_memory(MapReader& options);

}  // namespace shardsim
