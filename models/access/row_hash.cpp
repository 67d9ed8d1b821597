#include "models/access/row_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <utility>
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

// What a round of feistel() adds to one half of a number, by its other half.

// Looked up: a round depends on half of the bits alone, so of many numbers most ask what another one has asked before.
// In two bytes an entry where halves are that short.
template <typename Half>
class LookedUp {
 public:
  LookedUp(int half_bits, std::uint64_t key) : half_bits_(half_bits), added_(std::size_t{kHashRounds} << half_bits) {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
    for (std::uint64_t at = 0; at < added_.size(); ++at) {
      added_[at] = static_cast<Half>(mix(at & mask, key + (at >> half_bits) * kGolden) & mask);
    }
  }

  auto of_round(std::uint64_t number) const {
    return [added = added_.data() + (number << half_bits_)](std::uint64_t half) { return added[half]; };
  }

 private:
  int half_bits_;
  std::vector<Half> added_;  // [round][half]
};

// Computed, where numbers ask fewer times than a table has entries.
class Mixed {
 public:
  Mixed(int half_bits, std::uint64_t key) : mask_((std::uint64_t{1} << half_bits) - 1), key_(key) {}

  auto of_round(std::uint64_t number) const {
    return [key = key_ + number * kGolden, mask = mask_](std::uint64_t half) {
      return static_cast<std::uint32_t>(mix(half, key) & mask);
    };
  }

 private:
  std::uint64_t mask_, key_;
};

// The numbers that walk together: with them and the table of a round a processor's nearest cache is full.
constexpr std::size_t kTogether = 2048;
constexpr std::uint64_t kFew = 16;  // numbers that rather walk by themselves

// walk() of at most kTogether numbers, pass by pass, and each round for all of them. A loop that does one thing keeps a
// processor busy, and of tables it asks for one alone, which the nearest cache holds.
template <typename Half, typename Rounds>
class WalkTogether {
 public:
  WalkTogether(std::uint64_t n, int half_bits, Rounds rounds)
      : n_(n), half_bits_(half_bits), mask_((std::uint64_t{1} << half_bits) - 1), rounds_(std::move(rounds)) {}

  void of(std::span<std::uint64_t> part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      left_[i] = static_cast<Half>(part[i] >> half_bits_);
      right_[i] = static_cast<Half>(part[i] & mask_);
    }
    add_round(0, right_, left_, part.size());
    finish(part);
  }

  // Of `first` and those behind it. Their low halves rise by one, so the first round reads its table from end to end.
  void of_run(std::uint64_t first, std::span<std::uint64_t> part) {
    const auto adds = rounds_.of_round(0);
    for (std::size_t begin = 0; begin < part.size();) {
      const std::uint64_t high = (first + begin) >> half_bits_, low = (first + begin) & mask_;
      const std::size_t run = std::min<std::uint64_t>(part.size() - begin, mask_ - low + 1);
      Half* const left = left_.data() + begin;
      Half* const right = right_.data() + begin;
      for (std::size_t i = 0; i < run; ++i) left[i] = static_cast<Half>(high ^ adds(low + i));
      for (std::size_t i = 0; i < run; ++i) right[i] = static_cast<Half>(low + i);
      begin += run;
    }
    finish(part);
  }

 private:
  using Halves = std::array<Half, kTogether>;

  void add_round(std::uint64_t number, const Halves& from_halves, Halves& to_halves, std::size_t count) const {
    const auto adds = rounds_.of_round(number);
    const Half* __restrict const from = from_halves.data();
    Half* __restrict const to = to_halves.data();
    for (std::size_t i = 0; i < count; ++i) to[i] ^= adds(from[i]);
  }

  // From the second round of the first pass on. The number of passes that one takes is unpredictable, so no branch
  // depends on it: those that have to go on are moved to the front.
  void finish(std::span<std::uint64_t> part) {
    static_assert(kHashRounds == 4);
    std::iota(place_.begin(), place_.begin() + static_cast<std::ptrdiff_t>(part.size()), std::uint16_t{0});
    for (std::size_t walking = part.size(); walking > 0; add_round(0, right_, left_, walking)) {
      add_round(1, left_, right_, walking);
      add_round(2, right_, left_, walking);
      walking = end_pass(part, walking);
    }
  }

  // Returns how many have to go on.
  std::size_t end_pass(std::span<std::uint64_t> part, std::size_t walking) {
    const auto adds = rounds_.of_round(3);
    const std::uint64_t n = n_;
    const int half_bits = half_bits_;
    std::size_t still = 0;
    for (std::size_t i = 0; i < walking; ++i) {
      const Half high = left_[i], low = static_cast<Half>(right_[i] ^ adds(high));
      const std::uint16_t at = place_[i];
      const std::uint64_t passed = std::uint64_t{high} << half_bits | low;
      part[at] = passed;
      left_[still] = high;
      right_[still] = low;
      place_[still] = at;
      still += passed >= n ? 1 : 0;
    }
    return still;
  }

  std::uint64_t n_;
  int half_bits_;
  std::uint64_t mask_;
  Rounds rounds_;
  Halves left_, right_;
  std::array<std::uint16_t, kTogether> place_;
};

class WalkAlone {
 public:
  WalkAlone(std::uint64_t n, std::uint64_t key) : n_(n), key_(key) {}

  void of(std::span<std::uint64_t> part) const {
    for (std::uint64_t& number : part) number = walk(number, n_, key_, feistel);
  }
  void of_run(std::uint64_t first, std::span<std::uint64_t> part) const {
    std::iota(part.begin(), part.end(), first);
    of(part);
  }

 private:
  std::uint64_t n_, key_;
};

// Calls `work` with what lets up to kTogether numbers walk, in the way that is fastest for `count` of them.
template <typename Work>
void with_walk(std::uint64_t count, std::uint64_t n, std::uint64_t key, const Work& work) {
  const int half_bits = half_bits_of(n);
  if (count < kFew) {
    work(WalkAlone(n, key));
  } else if (count < n >> half_bits) {  // a number takes 4^half_bits / n passes on average
    work(WalkTogether<std::uint32_t, Mixed>(n, half_bits, {half_bits, key}));
  } else if (half_bits <= 16) {
    work(WalkTogether<std::uint16_t, LookedUp<std::uint16_t>>(n, half_bits, {half_bits, key}));
  } else {
    work(WalkTogether<std::uint32_t, LookedUp<std::uint32_t>>(n, half_bits, {half_bits, key}));
  }
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
  with_walk(positions.size(), n, key, [&](auto walk) {
    for (std::size_t first = 0; first < positions.size(); first += kTogether)
      walk.of(positions.subspan(first, std::min(kTogether, positions.size() - first)));
  });
}

void permute_first(std::uint64_t count, std::uint64_t n, std::uint64_t key,
                   const std::function<void(std::span<const std::uint64_t>)>& visit) {
  if (count == 0) return;
  check_position(count - 1, n);
  std::array<std::uint64_t, kTogether> numbers;
  with_walk(count, n, key, [&](auto walk) {
    for (std::uint64_t first = 0; first < count; first += kTogether) {
      const std::span<std::uint64_t> part(numbers.data(), std::min<std::uint64_t>(kTogether, count - first));
      walk.of_run(first, part);
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
