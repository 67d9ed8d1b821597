#include "validate/execute/machines/cpu_rows.h"

#include <cstring>

#include "base/rng.h"

namespace shardsim {
namespace {

std::uint32_t fill_bits(ElementType type, std::uint64_t at, std::uint64_t seed) {
  if (type == ElementType::fp16) return 0x3c00;  // 1
  const float value = static_cast<float>(mix(at, seed) >> 60);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return type == ElementType::bf16 ? bits >> 16 : bits;  // little-endian: the low bytes are copied
}

}  // namespace

void fill_rows(std::vector<std::byte>& arena, ElementType type, std::uint64_t seed) {
  const std::size_t size = static_cast<std::size_t>(element_bytes(type));
  for (std::size_t at = 0; at + size <= arena.size(); at += size) {
    const std::uint32_t bits = fill_bits(type, at, seed);
    std::memcpy(arena.data() + at, &bits, size);
  }
}

}  // namespace shardsim
