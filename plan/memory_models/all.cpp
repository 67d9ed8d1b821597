#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/memory_model.h"
#include "plan/memory_models/factories.h"

namespace shardsim {
namespace {

constexpr std::array kTable = {
    MemoryModelEntry{"paper", "FlexShard paper: weights times a multiplier where replicated, copies of the activations",
                     make_paper_memory},
};

}  // namespace

std::span<const MemoryModelEntry> memory_models() {
  return kTable;
}

std::unique_ptr<MemoryModel> make_memory_model(const Tree& options) {
  MapReader reader(options, "memory_model");
  const std::string name = reader.text("name");
  std::vector<std::string> known;
  for (const MemoryModelEntry& entry : kTable) {
    known.emplace_back(entry.name);
    if (entry.name != name) continue;
    auto model = entry.make(reader);
    reader.finish();
    return model;
  }
  throw input_error(reader.place_of("name"), "unknown memory model '" + name + "'", known_names_hint(name, known));
}

}  // namespace shardsim
