#include "models/load/row_owners.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace shardsim {
namespace {

constexpr std::uint64_t kIdSalt = 1, kOwnerSalt = 2;  // of the first tier

}  // namespace

// Divides many numbers by one: of 32 bits each, a product says the quotient exactly (Lemire, Kaser and Kurz, "Faster
// remainder by direct computation"), at a fraction of the time of a division.
class RowOwners::Divisor {
 public:
  explicit Divisor(std::uint64_t by)
      : by_(by), reciprocal_(by > 1 && by <= kMost ? std::numeric_limits<std::uint64_t>::max() / by + 1 : 0) {}

  std::uint64_t quotient(std::uint64_t number) const {
    if (reciprocal_ == 0 || number > kMost) return number / by_;
    return static_cast<std::uint64_t>(static_cast<Product>(reciprocal_) * number >> 64);
  }

 private:
  __extension__ using Product = unsigned __int128;
  static constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();

  std::uint64_t by_, reciprocal_;
};

std::string_view name_of(RowOrder order) {
  return order == RowOrder::random ? "random" : "popularity";
}

std::string_view name_of(RowCut cut) {
  if (cut == RowCut::hashed) return "hashed";
  return cut == RowCut::blocks ? "blocks" : "modulo";
}

RowOwners::RowOwners(std::uint64_t rows, int owners, RowOrder order, RowCut cut, const RowHash& hash,
                     std::uint64_t bucket_rows)
    : rows_(rows),
      joined_(0),
      owners_(owners),
      order_(order),
      cut_(cut),
      id_key_(hash_key(hash.table, hash.seed, kIdSalt)),
      owner_key_(hash_key(hash.table, hash.seed, kOwnerSalt + static_cast<std::uint64_t>(hash.tier))),
      bucket_rows_(bucket_rows) {
  if (rows == 0 || owners < 1 || bucket_rows == 0)
    throw std::invalid_argument("RowOwners: no rows, no owners or no rows of a bucket");
  if (scattered() && hash.joined < rows) joined_ = hash.joined;
  rows_ -= joined_;
}

// `turn`: 0 for the first row that joined.
RowOwner RowOwners::joined_owner(std::uint64_t turn) const {
  const auto k = static_cast<std::uint64_t>(owners_);
  const int owner = static_cast<int>(turn % k);
  return {owner, placed_rows_of(owner) + turn / k};
}

std::uint64_t RowOwners::block_begin(std::uint64_t owner) const {
  if (bucket_rows_ == 1) return std::min(rows_, owner * block_rows());
  const auto k = static_cast<std::uint64_t>(owners_);
  const std::uint64_t buckets = (rows_ - 1) / bucket_rows_ + 1;
  return std::min(rows_, bucket_rows_ * (owner * (buckets / k) + std::min(owner, buckets % k)));
}

RowOwner RowOwners::bucket_owner(std::uint64_t id) const {
  const auto k = static_cast<std::uint64_t>(owners_);
  const std::uint64_t buckets = (rows_ - 1) / bucket_rows_ + 1, each = buckets / k, more = buckets % k;
  const std::uint64_t bucket = id / bucket_rows_, in_large = more * (each + 1);
  const std::uint64_t owner = bucket < in_large ? bucket / (each + 1) : more + (bucket - in_large) / each;
  return {static_cast<int>(owner), id - block_begin(owner)};
}

RowOwner RowOwners::cut(std::uint64_t id) const {
  if (cut_ == RowCut::blocks && bucket_rows_ > 1) return bucket_owner(id);
  const std::uint64_t size = cut_ == RowCut::blocks ? block_rows() : static_cast<std::uint64_t>(owners_);
  if (cut_ == RowCut::blocks) return {static_cast<int>(id / size), id % size};
  return {static_cast<int>(id % size), id / size};
}

RowOwner RowOwners::at(std::uint64_t offset) const {
  if (offset >= rows_ && offset < rows()) return joined_owner(offset - rows_);
  if (cut_ == RowCut::hashed) return owner_of(offset, rows_, owners_, owner_key_);
  if (order_ == RowOrder::random) return cut(permute(offset, rows_, id_key_));
  if (offset >= rows_) throw std::out_of_range("RowOwners: an offset outside the placement");
  return cut(offset);
}

RowOwner RowOwners::of_id(std::uint64_t id) const {
  if (id >= rows()) throw std::out_of_range("RowOwners: a row id outside the placement");
  if (id >= rows_) return joined_owner(id - rows_);
  if (cut_ != RowCut::hashed) return cut(id);
  return at(order_ == RowOrder::random ? unpermute(id, rows_, id_key_) : id);
}

std::vector<std::int32_t> RowOwners::of_first(std::uint64_t count) const {
  return first_owners<std::int32_t>(count);
}

OwnerList RowOwners::list_first(std::uint64_t count) const {
  if (owners_ <= 1 << 8) return first_owners<std::uint8_t>(count);
  if (owners_ <= 1 << 16) return first_owners<std::uint16_t>(count);
  return first_owners<std::int32_t>(count);
}

template <typename Owner>
std::vector<Owner> RowOwners::first_owners(std::uint64_t count) const {
  if (count > rows()) throw std::out_of_range("RowOwners: an offset outside the placement");
  std::vector<Owner> owners;
  owners.reserve(count);
  const std::uint64_t asked = std::exchange(count, std::min(count, rows_));
  const auto k = static_cast<std::uint64_t>(owners_);
  if (cut_ == RowCut::blocks && bucket_rows_ > 1) {
    fill_first(owners, count, [this](std::uint64_t id) { return bucket_owner(id).shard; });
  } else if (cut_ == RowCut::blocks) {
    fill_first(owners, count, [block = Divisor(block_rows())](std::uint64_t id) { return block.quotient(id); });
  } else if (cut_ == RowCut::modulo) {
    fill_first(owners, count, [k, all = Divisor(k)](std::uint64_t id) { return id - all.quotient(id) * k; });
  } else {  // as balanced_owner()
    const std::uint64_t small = rows_ / k, large_shards = rows_ % k, in_large = large_shards * (small + 1);
    const Divisor by_large(small + 1), by_small(std::max<std::uint64_t>(small, 1));
    fill_first(owners, count, [=](std::uint64_t row) {
      return row < in_large ? by_large.quotient(row) : large_shards + by_small.quotient(row - in_large);
    });
  }
  for (std::uint64_t offset = rows_; offset < asked; ++offset)
    owners.push_back(static_cast<Owner>(joined_owner(offset - rows_).shard));
  return owners;
}

// The list grows with what fills it: memory that is set to 0 as a whole is written twice.
template <typename Owner, typename OwnerOf>
void RowOwners::fill_first(std::vector<Owner>& owners, std::uint64_t count, const OwnerOf& owner_of) const {
  if (!scattered()) {
    for (std::uint64_t number = 0; number < count; ++number) owners.push_back(static_cast<Owner>(owner_of(number)));
    return;
  }
  permute_first(count, rows_, cut_ == RowCut::hashed ? owner_key_ : id_key_,
                [&](std::span<const std::uint64_t> numbers) {
                  const OwnerOf own = owner_of;  // of its own: bytes that are written might be anybody's
                  owners.resize(owners.size() + numbers.size());
                  std::ranges::transform(numbers, owners.end() - static_cast<std::ptrdiff_t>(numbers.size()),
                                         [&own](std::uint64_t number) { return static_cast<Owner>(own(number)); });
                });
}

std::uint64_t RowOwners::rows_of(int owner) const {
  const auto j = static_cast<std::uint64_t>(owner), k = static_cast<std::uint64_t>(owners_);
  return placed_rows_of(owner) + joined_ / k + (j < joined_ % k ? 1 : 0);
}

std::uint64_t RowOwners::placed_rows_of(int owner) const {
  const auto j = static_cast<std::uint64_t>(owner), k = static_cast<std::uint64_t>(owners_);
  if (cut_ != RowCut::blocks) return rows_ / k + (j < rows_ % k ? 1 : 0);
  return block_begin(j + 1) - block_begin(j);
}

}  // namespace shardsim
