#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/text.h"

namespace shardsim {

// Maps a popularity position to a row id, a shard and a row of that shard: hash "feistel_splitmix/1"
// (docs/formats/plan.md). A hash spreads the hot rows evenly, as the FlexShard paper assumes of its shards.

// The key of one table's permutation. Salt 1: row ids; salt 2 + t: owners inside tier t (0, 1, 2 ...).
std::uint64_t hash_key(std::string_view table, std::uint64_t seed, std::uint64_t salt);

// A bijection of [0, n), and its inverse. Both throw std::out_of_range when i >= n.
std::uint64_t permute(std::uint64_t i, std::uint64_t n, std::uint64_t key);
std::uint64_t unpermute(std::uint64_t i, std::uint64_t n, std::uint64_t key);

// permute() of each of them, in place: the same numbers, several times as fast.
void permute_all(std::span<std::uint64_t> positions, std::uint64_t n, std::uint64_t key);

// Calls `visit` with permute() of 0, 1, ... below `count`, some thousands at a time, in this order: no list of all of
// them is made. std::out_of_range when count > n.
void permute_first(std::uint64_t count, std::uint64_t n, std::uint64_t key,
                   const std::function<void(std::span<const std::uint64_t>)>& visit);

// Row id of popularity position `position` of a table of `rows` rows.
std::uint64_t row_id(std::string_view table, std::uint64_t seed, std::uint64_t position, std::uint64_t rows);

struct RowOwner {
  int shard = 0;
  std::uint64_t local_row = 0;
  bool operator==(const RowOwner&) const = default;
};

// The balanced block that holds row `row` of `rows` rows cut over `shards`: the first rows mod shards shards hold one
// row more.
RowOwner balanced_owner(std::uint64_t row, std::uint64_t rows, int shards);

// Who holds the row `offset` positions into a tier of `rows` rows, whose permutation is cut into balanced blocks.
RowOwner owner_of(std::uint64_t offset, std::uint64_t rows, int shards, std::uint64_t key);

}  // namespace shardsim
