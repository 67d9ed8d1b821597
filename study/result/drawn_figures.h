#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/statistics.h"

namespace shardsim {

// Further figures of a case whose batches are drawn: how its iterations differ.
struct DrawnFigures {
  std::uint64_t seed = 1;
  int kept = 0;                                    // number, from 0, of the iteration whose Timeline the result has
  std::vector<double> iterations_ms;               // of the iterations that count, in their order
  IterationSpread iteration_ms;                    // of these
  std::map<std::string, IterationSpread> figures;  // the others, by the keys that result.json has of one iteration
  bool operator==(const DrawnFigures&) const = default;
};

// Iterations in front of those that count: the first ones of a chain meet idle streams and ranks that start together.
inline constexpr int kIterationsBefore = 3;

}  // namespace shardsim
