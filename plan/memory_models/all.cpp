#include <array>

#include "base/tree/map_reader.h"
#include "plan/memory_model.h"

namespace shardsim {

MemoryModelMaker make_paper_memory, make_torchrec_memory;  // of the files beside this one

namespace {

constexpr std::array kMemoryModels = {
    MemoryModelEntry{"paper",
                     "as the FlexShard paper: weights, times a multiplier where replicated, and copies of activations",
                     make_paper_memory},
    MemoryModelEntry{"torchrec",
                     "as TorchRec's storage estimate: weights, optimizer state, cache, buffers of the pipeline",
                     make_torchrec_memory},
};

}  // namespace

std::span<const MemoryModelEntry> memory_models() {
  return kMemoryModels;
}

std::unique_ptr<MemoryModel> make_memory_model(const Tree& options) {
  return make_named(memory_models(), options, "memory model");
}

}  // namespace shardsim
