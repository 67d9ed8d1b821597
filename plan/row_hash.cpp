#include "plan/row_hash.h"

#include <bit>
#include <stdexcept>

#include "base/rng.h"

namespace shardsim {
namespace {

constexpr int kRounds = 4;

// One pass of a balanced Feistel network over numbers of 2 * half_bits bits.
std::uint64_t feistel(std::uint64_t i, int half_bits, std::uint64_t key) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = i >> half_bits;
  std::uint64_t right = i & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t next = left ^ (mix(right, key + round * kGolden) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits) | right;
}

}  // namespace

std::uint64_t fnv1a(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return hash;
}

std::uint64_t hash_key(std::string_view table, std::uint64_t seed, std::uint64_t salt) {
  return mix(fnv1a(table), seed * kGolden + salt);
}

std::uint64_t permute(std::uint64_t i, std::uint64_t n, std::uint64_t key) {
  // A start outside [0, n) may sit on a cycle that never enters it.
  if (i >= n) throw std::out_of_range("permute: position outside the range");
  const int bits = n <= 2 ? 1 : static_cast<int>(std::bit_width(n - 1));
  const int half_bits = (bits + 1) / 2;
  do {
    i = feistel(i, half_bits, key);
  } while (i >= n);
  return i;
}

std::uint64_t row_id(std::string_view table, std::uint64_t seed, std::uint64_t position, std::uint64_t rows) {
  return permute(position, rows, hash_key(table, seed, 1));
}

RowOwner owner_of(std::uint64_t offset, std::uint64_t rows, int shards, std::uint64_t key) {
  const std::uint64_t row = permute(offset, rows, key);
  const auto count = static_cast<std::uint64_t>(shards);
  const std::uint64_t small = rows / count;
  const std::uint64_t large_shards = rows % count;
  const std::uint64_t in_large = large_shards * (small + 1);
  if (row < in_large) return {static_cast<int>(row / (small + 1)), row % (small + 1)};
  return {static_cast<int>(large_shards + (row - in_large) / small), (row - in_large) % small};
}

}  // namespace shardsim
