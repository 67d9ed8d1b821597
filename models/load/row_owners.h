#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/access/row_hash.h"

namespace shardsim {

// The numbering of a table's rows: by a seeded permutation, or by falling frequency, with id 0 the hottest row.
enum class RowOrder { random, popularity };

// The cut of a placement's rows over its owners. `blocks`: ids in blocks of ceil(n / k), as TorchRec cuts them
// (torchrec/distributed/sharding/rw_sharding.py), so the last owners may have fewer rows or none. `modulo`: id mod k,
// as HugeCTR's keys. `hashed`: balanced blocks of a permutation of the placement's own, as tiers and flex are cut.
enum class RowCut { hashed, blocks, modulo };

std::string_view name_of(RowOrder order);
std::string_view name_of(RowCut cut);

// The inputs of a placement's permutations (docs/formats/plan.md, hash "feistel_splitmix/1").
struct RowHash {
  std::string table;
  std::uint64_t seed = 0;  // that of the plan
  int tier = 0;            // 0 in a table without tiers
  // Rows that joined the placement behind the others, after the hash had placed these: owners take turns with them, and
  // the others stay where they are.
  std::uint64_t joined = 0;
};

// Owners of rows, one after the other, in as many bytes each as their number takes. A model has hundreds of placements
// of which some hundred thousand rows are placed one by one, and memory that is touched for the first time costs more
// than their hash.
using OwnerList = std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::int32_t>>;

// Which of k owners holds which row of a placement of n rows, by offset in popularity order or by row id. No
// permutation is ever written down: a table of 10^12 rows costs what a small one costs.
class RowOwners {
 public:
  // `rows`, `owners` and `bucket_rows` 1 or more, else std::invalid_argument. With buckets, `blocks` are of whole ones:
  // the first owners have one more than the others. `hash.joined` counts where a hash places rows, and is less than
  // `rows`; else none have joined.
  RowOwners(std::uint64_t rows, int owners, RowOrder order, RowCut cut, const RowHash& hash,
            std::uint64_t bucket_rows = 1);

  std::uint64_t rows() const { return rows_ + joined_; }
  int owners() const { return owners_; }

  // `offset`, `id` in [0, rows), else std::out_of_range.
  RowOwner at(std::uint64_t offset) const;
  RowOwner of_id(std::uint64_t id) const;
  // The owners of the offsets below `count`, at most rows(): what at() says of each, at a fraction of the cost.
  std::vector<std::int32_t> of_first(std::uint64_t count) const;
  // The same, in fewer bytes where the owners are few.
  OwnerList list_first(std::uint64_t count) const;

  std::uint64_t rows_of(int owner) const;

  // True when owner j holds the offsets from block_begin(j) to block_begin(j + 1): everything that depends on them then
  // has a closed form.
  bool popularity_blocks() const { return order_ == RowOrder::popularity && cut_ == RowCut::blocks; }
  // True when a hash places the rows; else the place of every offset follows from its number.
  bool scattered() const { return order_ == RowOrder::random || cut_ == RowCut::hashed; }
  std::uint64_t block_begin(std::uint64_t owner) const;

 private:
  class Divisor;
  std::uint64_t block_rows() const { return (rows_ - 1) / static_cast<std::uint64_t>(owners_) + 1; }
  RowOwner bucket_owner(std::uint64_t id) const;
  RowOwner cut(std::uint64_t id) const;
  template <typename Owner>
  std::vector<Owner> first_owners(std::uint64_t count) const;
  // Asks `owner_of` with the number that decides about each of the offsets below `count`: row id, or place in the
  // permutation of the placement.
  template <typename Owner, typename OwnerOf>
  void fill_first(std::vector<Owner>& owners, std::uint64_t count, const OwnerOf& owner_of) const;

  RowOwner joined_owner(std::uint64_t turn) const;
  std::uint64_t placed_rows_of(int owner) const;

  std::uint64_t rows_;    // that the order and the cut place
  std::uint64_t joined_;  // behind them
  int owners_;
  RowOrder order_;
  RowCut cut_;
  std::uint64_t id_key_, owner_key_;
  std::uint64_t bucket_rows_;
};

}  // namespace shardsim
