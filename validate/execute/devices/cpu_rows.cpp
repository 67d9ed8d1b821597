#include "validate/execute/devices/cpu_rows.h"

#include <algorithm>
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

std::vector<float> rows_of(const std::vector<std::byte>& arena, const RankRows& held, int shard) {
  const auto part = std::ranges::find(held.parts, shard, &RankRows::Part::shard);
  if (part == held.parts.end()) return {};
  std::vector<float> rows(static_cast<std::size_t>(part->rows * part->dim));
  std::memcpy(rows.data(), arena.data() + part->first_element * 4, rows.size() * sizeof(float));
  return rows;
}

void put_rows(std::vector<std::byte>& arena, const RankRows& held, int shard, const std::vector<float>& rows) {
  const auto part = std::ranges::find(held.parts, shard, &RankRows::Part::shard);
  if (part == held.parts.end()) return;
  std::memcpy(arena.data() + part->first_element * 4, rows.data(), rows.size() * sizeof(float));
}

void fill_rows(std::vector<std::byte>& arena, ElementType type, std::uint64_t seed) {
  const std::size_t size = static_cast<std::size_t>(element_bytes(type));
  for (std::size_t at = 0; at + size <= arena.size(); at += size) {
    const std::uint32_t bits = fill_bits(type, at, seed);
    std::memcpy(arena.data() + at, &bits, size);
  }
}

}  // namespace shardsim
