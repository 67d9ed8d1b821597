#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "models/access/families/family.h"

namespace shardsim {

// The files beside this one define these.
FamilyMaker make_explicit, make_log_normal, make_piecewise_power_law, make_steps, make_uniform, make_zipf,
    make_zipf_mandelbrot;

std::span<const FamilyEntry> access_families() {
  static constexpr std::array<FamilyEntry, 8> kFamilies{{
      {"counts", make_explicit},
      {"explicit", make_explicit},
      {"log_normal", make_log_normal},
      {"piecewise_power_law", make_piecewise_power_law},
      {"steps", make_steps},
      {"uniform", make_uniform},
      {"zipf", make_zipf},
      {"zipf_mandelbrot", make_zipf_mandelbrot},
  }};
  return kFamilies;
}

FamilyPointer make_family(const FamilyInput& input) {
  std::vector<std::string> known;
  for (const FamilyEntry& entry : access_families()) {
    if (entry.name == input.spec.family) return entry.make(input);
    known.emplace_back(entry.name);
  }
  throw input_error(input.place, "unknown access family '" + input.spec.family + "'",
                    known_names_hint(input.spec.family, known));
}

}  // namespace shardsim
