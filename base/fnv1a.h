#pragma once

#include <cstdint>
#include <string_view>

namespace shardsim {

// FNV-1a, 64 bits, over the bytes of `text`. To go on where an earlier part ended, give what that part gave as `hash`.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace shardsim
