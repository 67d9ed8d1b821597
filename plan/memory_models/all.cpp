#include <array>

#include "base/tree/map_reader.h"
#include "plan/memory_model.h"

namespace shardsim {
namespace {

constexpr std::array kMemoryModels = {
    MemoryModelEntry{"paper", "FlexShard paper: weights times a multiplier where replicated, copies of the activations",
                     make_paper_memory},
    MemoryModelEntry{"torchrec", "TorchRec's storage estimate: tensor, optimizer, cache, buffers of the pipeline",
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
