#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace shardsim::golden {

// Bytes of an element of the type that a golden file names. Throws std::runtime_error for a name that it does not know.
inline double dtype_bytes(const std::string& name) {
  constexpr std::pair<const char*, double> kKnown[] = {{"fp32", 4},  {"fp16", 2}, {"bf16", 2},   {"int8", 1},
                                                       {"uint8", 1}, {"nfp8", 1}, {"int4", 0.5}, {"int2", 0.25}};
  for (const auto& [known, bytes] : kKnown) {
    if (known == name) return bytes;
  }
  throw std::runtime_error(fmt::format("unknown dtype '{}'", name));
}

}  // namespace shardsim::golden
