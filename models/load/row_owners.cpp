#include "models/load/row_owners.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace shardsim {
namespace {

constexpr std::uint64_t kIdSalt = 1, kOwnerSalt = 2;  // of the first tier

}  // namespace

std::string_view name_of(RowOrder order) {
  return order == RowOrder::random ? "random" : "popularity";
}

std::string_view name_of(RowCut cut) {
  if (cut == RowCut::hashed) return "hashed";
  return cut == RowCut::blocks ? "blocks" : "modulo";
}

RowOwners::RowOwners(std::uint64_t rows, int owners, RowOrder order, RowCut cut, const RowHash& hash)
    : rows_(rows),
      owners_(owners),
      order_(order),
      cut_(cut),
      id_key_(hash_key(hash.table, hash.seed, kIdSalt)),
      owner_key_(hash_key(hash.table, hash.seed, kOwnerSalt + static_cast<std::uint64_t>(hash.tier))) {
  if (rows == 0 || owners < 1) throw std::invalid_argument("RowOwners: no rows or no owners");
}

RowOwner RowOwners::cut(std::uint64_t id) const {
  const std::uint64_t size = cut_ == RowCut::blocks ? block_rows() : static_cast<std::uint64_t>(owners_);
  if (cut_ == RowCut::blocks) return {static_cast<int>(id / size), id % size};
  return {static_cast<int>(id % size), id / size};
}

RowOwner RowOwners::at(std::uint64_t offset) const {
  if (cut_ == RowCut::hashed) return owner_of(offset, rows_, owners_, owner_key_);
  if (order_ == RowOrder::random) return cut(permute(offset, rows_, id_key_));
  if (offset >= rows_) throw std::out_of_range("RowOwners: an offset outside the placement");
  return cut(offset);
}

RowOwner RowOwners::of_id(std::uint64_t id) const {
  if (id >= rows_) throw std::out_of_range("RowOwners: a row id outside the placement");
  if (cut_ != RowCut::hashed) return cut(id);
  return at(order_ == RowOrder::random ? unpermute(id, rows_, id_key_) : id);
}

std::vector<std::int32_t> RowOwners::of_first(std::uint64_t count) const {
  if (count > rows_) throw std::out_of_range("RowOwners: an offset outside the placement");
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  if (scattered()) permute_all(numbers, rows_, cut_ == RowCut::hashed ? owner_key_ : id_key_);
  std::vector<std::int32_t> owners(count);
  std::ranges::transform(numbers, owners.begin(), [this](std::uint64_t number) {
    return cut_ == RowCut::hashed ? balanced_owner(number, rows_, owners_).shard : cut(number).shard;
  });
  return owners;
}

std::uint64_t RowOwners::rows_of(int owner) const {
  const auto j = static_cast<std::uint64_t>(owner), k = static_cast<std::uint64_t>(owners_);
  if (cut_ != RowCut::blocks) return rows_ / k + (j < rows_ % k ? 1 : 0);
  const std::uint64_t first = std::min(rows_, j * block_rows());
  return std::min(rows_ - first, block_rows());
}

}  // namespace shardsim
