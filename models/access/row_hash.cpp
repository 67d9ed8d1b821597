#include "models/access/row_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/rng.h"

namespace shardsim {
namespace {

constexpr int kHashRounds = 4;

// One pass of a balanced Feistel network over numbers of 2 * half_bits bits.
inline std::uint64_t feistel(std::uint64_t i, int half_bits, std::uint64_t key) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = i >> half_bits;
  std::uint64_t right = i & mask;
  for (std::uint64_t round = 0; round < kHashRounds; ++round) {
    const std::uint64_t next = left ^ (mix(right, key + round * kGolden) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits) | right;
}

// The same rounds backwards.
std::uint64_t unfeistel(std::uint64_t i, int half_bits, std::uint64_t key) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = i >> half_bits;
  std::uint64_t right = i & mask;
  for (std::uint64_t round = kHashRounds; round-- > 0;) {
    const std::uint64_t before = right ^ (mix(left, key + round * kGolden) & mask);
    right = left;
    left = before;
  }
  return (left << half_bits) | right;
}

int half_bits_of(std::uint64_t n) {
  const int bits = n <= 2 ? 1 : static_cast<int>(std::bit_width(n - 1));
  return (bits + 1) / 2;
}

// A start outside [0, n) may sit on a cycle that never enters it.
void check_position(std::uint64_t i, std::uint64_t n) {
  if (i >= n) throw std::out_of_range("permute: position outside the range");
}

// Repeats `pass` over the numbers of half_bits twice until one of [0, n) comes out: a bijection of that range.
template <typename Pass>
std::uint64_t walk(std::uint64_t i, std::uint64_t n, std::uint64_t key, const Pass& pass) {
  check_position(i, n);
  const int half_bits = half_bits_of(n);
  do {
    i = pass(i, half_bits, key);
  } while (i >= n);
  return i;
}

// The rounds of feistel() looked up: a round depends on half of the bits alone, so of many numbers most ask what
// another one has asked before. In two bytes an entry where halves are that short, which a processor's nearest cache
// then holds.
template <typename Half>
class RoundTables {
 public:
  RoundTables(int half_bits, std::uint64_t key)
      : half_bits_(half_bits), mask_((std::uint64_t{1} << half_bits) - 1), added_(kHashRounds << half_bits) {
    for (std::uint64_t at = 0; at < added_.size(); ++at) {
      added_[at] = static_cast<Half>(mix(at & mask_, key + (at >> half_bits) * kGolden) & mask_);
    }
  }

  // One pass. It holds all by value: what a caller writes is none of it, so that it stays in registers.
  auto pass() const {
    const std::uint64_t rows = mask_ + 1;
    const Half* const a = added_.data();
    return [bits = half_bits_, mask = mask_, a, b = a + rows, c = a + 2 * rows, d = a + 3 * rows](std::uint64_t i) {
      const std::uint64_t first = (i >> bits) ^ a[i & mask];
      const std::uint64_t second = (i & mask) ^ b[first];
      const std::uint64_t third = first ^ c[second];
      return third << bits | (second ^ d[third]);
    };
  }

 private:
  static_assert(kHashRounds == 4);
  int half_bits_;
  std::uint64_t mask_;
  std::vector<Half> added_;  // [round][right half], to the left one by exclusive or
};

// The numbers that walk together: a processor's cache holds so many.
constexpr std::size_t kTogether = 4096;

// walk() of each of at most kTogether numbers: pass by pass, so that a processor works on several numbers at a time.
// The number of passes that one takes is unpredictable, so no branch depends on it.
template <typename Pass>
void walk_together(std::span<std::uint64_t> part, std::uint64_t n, const Pass pass) {
  std::array<std::uint16_t, kTogether> outside;
  const auto pass_each = [&](std::size_t count, const auto& place) {
    std::size_t still = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = place(i);
      const std::uint64_t passed = pass(part[at]);
      part[at] = passed;
      outside[still] = static_cast<std::uint16_t>(at);
      still += passed >= n ? 1 : 0;
    }
    return still;
  };
  std::size_t left = pass_each(part.size(), [](std::size_t i) { return i; });
  while (left > 0) left = pass_each(left, [&](std::size_t i) { return std::size_t{outside[i]}; });
}

// Calls `work` with the pass that is fastest for `count` numbers.
template <typename Work>
void with_pass(std::uint64_t count, std::uint64_t n, std::uint64_t key, const Work& work) {
  const int half_bits = half_bits_of(n);
  if (count < std::uint64_t{1} << half_bits) return work([=](std::uint64_t i) { return feistel(i, half_bits, key); });
  if (half_bits <= 16) {
    const RoundTables<std::uint16_t> rounds(half_bits, key);
    return work(rounds.pass());
  }
  const RoundTables<std::uint32_t> rounds(half_bits, key);
  work(rounds.pass());
}

}  // namespace

std::uint64_t hash_key(std::string_view table, std::uint64_t seed, std::uint64_t salt) {
  return mix(fnv1a(table), seed * kGolden + salt);
}

std::uint64_t permute(std::uint64_t i, std::uint64_t n, std::uint64_t key) {
  return walk(i, n, key, feistel);
}

std::uint64_t unpermute(std::uint64_t i, std::uint64_t n, std::uint64_t key) {
  return walk(i, n, key, unfeistel);
}

void permute_all(std::span<std::uint64_t> positions, std::uint64_t n, std::uint64_t key) {
  for (const std::uint64_t i : positions) check_position(i, n);
  with_pass(positions.size(), n, key, [&](const auto& pass) {
    for (std::size_t first = 0; first < positions.size(); first += kTogether)
      walk_together(positions.subspan(first, std::min(kTogether, positions.size() - first)), n, pass);
  });
}

void permute_first(std::uint64_t count, std::uint64_t n, std::uint64_t key,
                   const std::function<void(std::span<const std::uint64_t>)>& visit) {
  if (count == 0) return;
  check_position(count - 1, n);
  std::vector<std::uint64_t> numbers(std::min<std::uint64_t>(kTogether, count));
  with_pass(count, n, key, [&](const auto& pass) {
    for (std::uint64_t first = 0; first < count; first += kTogether) {
      const std::span<std::uint64_t> part(numbers.data(), std::min<std::uint64_t>(kTogether, count - first));
      std::iota(part.begin(), part.end(), first);
      walk_together(part, n, pass);
      visit(part);
    }
  });
}

std::uint64_t row_id(std::string_view table, std::uint64_t seed, std::uint64_t position, std::uint64_t rows) {
  return permute(position, rows, hash_key(table, seed, 1));
}

RowOwner balanced_owner(std::uint64_t row, std::uint64_t rows, int shards) {
  const auto count = static_cast<std::uint64_t>(shards);
  const std::uint64_t small = rows / count;
  const std::uint64_t large_shards = rows % count;
  const std::uint64_t in_large = large_shards * (small + 1);
  if (row < in_large) return {static_cast<int>(row / (small + 1)), row % (small + 1)};
  return {static_cast<int>(large_shards + (row - in_large) / small), (row - in_large) % small};
}

RowOwner owner_of(std::uint64_t offset, std::uint64_t rows, int shards, std::uint64_t key) {
  return balanced_owner(permute(offset, rows, key), rows, shards);
}

}  // namespace shardsim
