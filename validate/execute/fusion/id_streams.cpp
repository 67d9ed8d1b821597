#include "validate/execute/fusion/id_streams.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/rng.h"
#include "models/access/access_distribution.h"
#include "models/access/row_hash.h"
#include "models/collective/byte_matrix.h"
#include "program/program.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kDrawSalt = 1000;  // of the keys that draw: beyond those of row ids and tiers

// The ids that one rank asks of one owner's part, in the order drawn, and how many they must be.
struct Bucket {
  std::size_t owner = 0;
  std::int64_t first = 0;  // id of the part's first row
  std::vector<std::int64_t> ids;
  std::int64_t quota = 0;

  // Trimmed, or repeated from the start; the first row where none was drawn.
  void append_to(std::vector<std::int64_t>& all) const {
    for (std::int64_t i = 0; i < quota; ++i) {
      const auto drawn = static_cast<std::int64_t>(ids.size());
      all.push_back(drawn > 0 ? ids[static_cast<std::size_t>(i % drawn)] : first);
    }
  }
};

// The buckets of one rank's batch: by owner, then by shard.
class Buckets {
 public:
  Buckets(const Program& program, const Fusion& fusion, const std::vector<int>& owners, const PartShares& shares,
          const std::vector<std::int64_t>& counts, std::size_t source)
      : program_(program) {
    for (std::size_t owner = 0; owner < owners.size(); ++owner) {
      const RankRows held = rank_rows(program, fusion, owners[owner]);
      const std::vector<std::int64_t> quotas = shares.split(held, source, counts[owner]);
      for (std::size_t i = 0; i < quotas.size(); ++i) {
        const RankRows::Part& part = held.parts[i];
        if (part.rows == 0) continue;
        where_[{part.shard, part.position}] = buckets_.size();
        buckets_.push_back({owner, fusion.pooled ? 0 : part.first_row, {}, quotas[i]});
      }
    }
  }

  void put(int index, std::uint64_t position) {
    const RowOwner owner = row_owner(program_, program_.shard(index), position);
    Bucket& bucket = buckets_[where_.at({index, owner.shard})];
    bucket.ids.push_back(bucket.first + static_cast<std::int64_t>(owner.local_row));
  }

  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> all;
    for (const Bucket& bucket : buckets_) bucket.append_to(all);
    return all;
  }

  std::vector<std::int64_t> drawn(std::size_t owners) const {
    std::vector<std::int64_t> counts(owners, 0);
    for (const Bucket& bucket : buckets_) counts[bucket.owner] += static_cast<std::int64_t>(bucket.ids.size());
    return counts;
  }

 private:
  const Program& program_;
  std::vector<Bucket> buckets_;
  std::map<std::pair<int, int>, std::size_t> where_;  // of a shard's piece
};

// Popularity positions of one shard, one after the other: the same ones for all column shards of a table.
class Draws {
 public:
  Draws(const Program& program, const Program::Shard& shard, int rank, int b, std::int64_t draws)
      : access_(program.tables[static_cast<std::size_t>(shard.table)].distribution()),
        first_(shard.row_begin),
        last_(shard.row_end - 1),
        before_(access_.prefix(shard.row_begin)),
        mass_(access_.sum(shard.row_begin, shard.row_end)),
        search_(access_, before_, before_ + mass_, draws) {
    const std::string& table = program.tables[static_cast<std::size_t>(shard.table)].name;
    key_ = hash_key(table, program.seed, kDrawSalt + static_cast<std::uint64_t>(std::max(shard.tier, 0)));
    const auto world = static_cast<std::uint64_t>(program.world_size);
    count_ = (static_cast<std::uint64_t>(b) * world + static_cast<std::uint64_t>(rank)) << 32;
  }

  std::uint64_t next() {
    const double u = static_cast<double>(mix(key_, count_++ * kGolden) >> 11) * 0x1.0p-53;
    return std::clamp(search_.position_at(before_ + u * mass_), first_, last_);
  }

 private:
  AccessDistribution access_;
  std::uint64_t first_, last_;
  double before_, mass_;
  PositionSearch search_;
  std::uint64_t key_ = 0, count_ = 0;
};

}  // namespace

PartShares::PartShares(const Program& program, const Fusion& fusion) : program_(program), shards_(fusion.shards) {
  for (const int index : shards_) {
    items_.push_back(items_of(program, program.shard(index)));  // as lowering counts
  }
  const auto uneven = [&](int index) { return !program.shard(index).lookups.empty(); };
  if (fusion.ids < 0 || !std::ranges::any_of(shards_, uneven)) return;
  const int matrix = program.op(fusion.ids).matrix.index;
  drawn_ = program.matrices[static_cast<std::size_t>(matrix)].bytes.kind == ByteMatrix::Kind::dense;
  const std::size_t members = program.groups.at(program.op(fusion.ids).group).front().size();
  for (const int index : shards_) counts_.emplace(index, counts_of(index, static_cast<int>(members)));
}

// As lowering counts them.
IdCounts PartShares::counts_of(int index, int members) const {
  const Program::Shard& shard = program_.shard(index);
  const std::int64_t ids = std::llround(items(index));
  if (!shard.lookups.empty()) return IdCounts::from_received(ids, shard.lookups, members);
  std::vector<double> shares;
  for (int piece = 0; piece < row_shards(shard); ++piece) shares.push_back(row_shard_rows(shard, piece) > 0 ? 1 : 0);
  return {ids, shares, members, static_cast<int>(shares.size()) == members};
}

double PartShares::items(int shard) const {
  return items_.at(static_cast<std::size_t>(std::ranges::find(shards_, shard) - shards_.begin()));
}

std::vector<std::int64_t> PartShares::split(const RankRows& owner, std::size_t source, std::int64_t count) const {
  if (counts_.empty()) return split_evenly(owner, count);
  std::vector<std::int64_t> all;
  for (const RankRows::Part& part : owner.parts) {
    all.push_back(part.rows > 0 ? counts_.at(part.shard).sent(static_cast<int>(source), part.position) : 0);
  }
  const std::int64_t sum = std::accumulate(all.begin(), all.end(), std::int64_t{0});
  if (sum == count) return all;
  if (drawn_) return split_by_largest_remainder(count, {all.begin(), all.end()});
  throw input_error({program_.scenario},
                    fmt::format("an exchange asks an owner for {} rows, and its rows for {}", count, sum),
                    "Lower the scenario again: the access distributions are not those of the matrices");
}

std::vector<std::int64_t> PartShares::split_evenly(const RankRows& owner, std::int64_t count) const {
  std::vector<double> weights;
  for (const RankRows::Part& part : owner.parts) {
    if (part.rows > 0) weights.push_back(items(part.shard) / row_shards(program_.shard(part.shard)));
  }
  const std::vector<std::int64_t> of_rows = split_by_largest_remainder(count, weights);
  std::vector<std::int64_t> all;
  auto next = of_rows.begin();
  for (const RankRows::Part& part : owner.parts) all.push_back(part.rows > 0 ? *next++ : 0);
  return all;
}

std::vector<std::int64_t> PartShares::per_shard(std::int64_t total) const {
  return split_by_largest_remainder(total, items_);
}

std::vector<std::int64_t> id_counts(const Program& program, const Fusion& fusion, int rank, bool served) {
  if (!takes_part(program, program.op(fusion.lookup), rank)) return {};
  std::vector<std::int64_t> counts;
  if (fusion.ids < 0) {
    counts.push_back(0);
    for (const Fusion::Part& part : fusion.parts) {
      const Op& lookup = program.op(part.lookup);
      counts.back() += std::llround(value_on(program, lookup, lookup.lookups, rank));
    }
    return counts;
  }
  const Seat seat = seat_of(program, program.op(fusion.ids), rank);
  const ByteMatrix matrix = resolve_matrix(program, program.op(fusion.ids).matrix, seat.set);
  const int members = static_cast<int>(seat.ranks.size()), own = seat.position;
  for (int other = 0; other < members; ++other) {
    counts.push_back(served ? matrix.units_between(other, own, members) : matrix.units_between(own, other, members));
  }
  return counts;
}

namespace {

// The ids of one rank's batch as they were drawn.
Buckets draw_buckets(const Program& program, const Fusion& fusion, int rank, int b,
                     const std::vector<std::int64_t>& counts) {
  const PartShares shares(program, fusion);
  const std::vector<int> asked = set_of(program, fusion.ids, rank);
  const auto own = static_cast<std::size_t>(std::ranges::find(asked, rank) - asked.begin());
  Buckets buckets(program, fusion, asked, shares, counts, own);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::vector<std::int64_t> draws = shares.per_shard(total);
  for (std::size_t i = 0; i < fusion.shards.size(); ++i) {
    Draws positions(program, program.shard(fusion.shards[i]), rank, b, draws[i]);
    for (std::int64_t draw = 0; draw < draws[i]; ++draw) buckets.put(fusion.shards[i], positions.next());
  }
  return buckets;
}

}  // namespace

IdBatch draw_ids(const Program& program, const Fusion& fusion, int rank, int b) {
  IdBatch batch;
  batch.counts = id_counts(program, fusion, rank, false);
  if (!batch.counts.empty()) batch.ids = draw_buckets(program, fusion, rank, b, batch.counts).ids();
  return batch;
}

std::vector<std::int64_t> drawn_counts(const Program& program, const Fusion& fusion, int rank, int b) {
  const std::vector<std::int64_t> counts = id_counts(program, fusion, rank, false);
  if (counts.empty()) return {};
  return draw_buckets(program, fusion, rank, b, counts).drawn(counts.size());
}

}  // namespace shardsim
