#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "models/compute_model.h"
#include "models/compute_models/roofline.h"

namespace shardsim {

std::span<const ComputeModelEntry> compute_models() {
  static constexpr std::array<ComputeModelEntry, 1> kModels{{
      {"roofline", "kernel start plus the slowest of memory traffic, arithmetic and lookup issue", make_roofline},
  }};
  return kModels;
}

std::unique_ptr<ComputeModel> make_compute_model(const Tree& options) {
  MapReader reader(options, "compute_model");
  const std::string name = reader.text("name");
  std::vector<std::string> known;
  for (const ComputeModelEntry& entry : compute_models()) {
    if (entry.name == name) {
      std::unique_ptr<ComputeModel> model = entry.make(reader);
      reader.finish();
      return model;
    }
    known.emplace_back(entry.name);
  }
  throw input_error(reader.place_of("name"), "unknown compute model '" + name + "'", known_names_hint(name, known));
}

}  // namespace shardsim
