#include "validate/execute/fusion/id_streams.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/rng.h"
#include "models/collective/byte_matrix.h"
#include "plan/row_hash.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kDrawSalt = 1000;  // of the keys that draw: beyond those of row ids and tiers

// Expected items of one rank's batch in the shard's rows, rounded half up, as the lowering counts them.
double planned_items(const Program& program, const Program::Shard& shard, const AccessDistribution& access) {
  const double per_sample = access.sum(shard.row_begin, shard.row_end);
  return std::floor(static_cast<double>(program.batch_per_rank) * per_sample + 0.5);
}

std::vector<double> planned_items(const Program& program, const Fusion& fusion) {
  std::vector<double> items;
  for (const int index : fusion.shards) {
    const Program::Shard& shard = program.shard(index);
    const Table& table = program.tables[static_cast<std::size_t>(shard.table)];
    items.push_back(planned_items(program, shard, table.distribution()));
  }
  return items;
}

// Ids of the own batch, of all lookups of the fusion.
std::int64_t own_lookups(const Program& program, const Fusion& fusion, int rank) {
  std::vector<int> lookups{fusion.lookup};
  for (std::size_t i = 1; i < fusion.parts.size(); ++i) lookups.push_back(fusion.parts[i].lookup);
  std::int64_t count = 0;
  for (const int id : lookups) {
    const Op& lookup = program.ops[static_cast<std::size_t>(id)];
    const std::vector<int> ranks = program.ranks_of(lookup);
    const auto place = std::ranges::find(ranks, rank);
    if (place != ranks.end()) count += std::llround(lookup.lookups.at(static_cast<std::size_t>(place - ranks.begin())));
  }
  return count;
}

// How many ids the rank asks of each owner.
std::vector<std::int64_t> counts_of(const Program& program, const Fusion& fusion, const std::vector<int>& owners,
                                    int rank) {
  const std::vector<int> ranks = program.ranks_of(program.ops[static_cast<std::size_t>(fusion.lookup)]);
  if (std::ranges::find(ranks, rank) == ranks.end() || owners.empty()) return {};
  if (fusion.ids < 0) return {own_lookups(program, fusion, rank)};
  const ByteMatrix matrix = resolve_matrix(program, program.ops[static_cast<std::size_t>(fusion.ids)].matrix);
  const int members = static_cast<int>(owners.size());
  const int source = static_cast<int>(std::ranges::find(owners, rank) - owners.begin());
  std::vector<std::int64_t> counts;
  for (int owner = 0; owner < members; ++owner) counts.push_back(matrix.units_between(source, owner, members));
  return counts;
}

// What one rank asks of one owner's part, in the order drawn, and how many it must be.
struct Bucket {
  RankRows::Part part;
  std::vector<std::int64_t> ids;
  std::int64_t quota = 0;

  // Trimmed, or repeated from the start; the first row where none was drawn.
  void append_to(std::vector<std::int64_t>& all) const {
    for (std::int64_t i = 0; i < quota; ++i) {
      const auto drawn = static_cast<std::int64_t>(ids.size());
      all.push_back(drawn > 0 ? ids[static_cast<std::size_t>(i % drawn)] : part.first_row);
    }
  }
};

// The buckets of one rank's batch: by owner, then by shard.
class Buckets {
 public:
  Buckets(const Program& program, const Fusion& fusion, const std::vector<int>& owners,
          const std::vector<std::int64_t>& counts)
      : program_(program) {
    const PartShares shares(program, fusion);
    for (std::size_t owner = 0; owner < owners.size(); ++owner) {
      const RankRows held = rank_rows(program, fusion, owners[owner]);
      const std::vector<std::int64_t> quotas = shares.split(held, counts[owner]);
      for (std::size_t i = 0; i < quotas.size(); ++i) {
        const RankRows::Part& part = held.parts[i];
        if (part.rows == 0) continue;
        where_[{part.shard, part.position}] = buckets_.size();
        buckets_.push_back({part, {}, quotas[i]});
      }
    }
  }

  void put(int index, std::uint64_t position) {
    const RowOwner owner = row_owner(program_, program_.shard(index), position);
    Bucket& bucket = buckets_[where_.at({index, owner.shard})];
    bucket.ids.push_back(bucket.part.first_row + static_cast<std::int64_t>(owner.local_row));
  }

  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> all;
    for (const Bucket& bucket : buckets_) bucket.append_to(all);
    return all;
  }

 private:
  const Program& program_;
  std::vector<Bucket> buckets_;
  std::map<std::pair<int, int>, std::size_t> where_;  // of a shard's piece
};

// Popularity positions of one shard, one after the other: the same ones for all column shards of a table.
class Draws {
 public:
  Draws(const Program& program, const Program::Shard& shard, int rank, int b)
      : access_(program.tables[static_cast<std::size_t>(shard.table)].distribution()),
        first_(shard.row_begin),
        last_(shard.row_end - 1),
        before_(access_.prefix(shard.row_begin)),
        mass_(access_.sum(shard.row_begin, shard.row_end)) {
    const std::string& table = program.tables[static_cast<std::size_t>(shard.table)].name;
    key_ = hash_key(table, program.seed, kDrawSalt + static_cast<std::uint64_t>(std::max(shard.tier, 0)));
    const auto world = static_cast<std::uint64_t>(program.world_size);
    count_ = (static_cast<std::uint64_t>(b) * world + static_cast<std::uint64_t>(rank)) << 32;
  }

  std::uint64_t next() {
    const double u = static_cast<double>(mix(key_, count_++ * kGolden) >> 11) * 0x1.0p-53;
    return std::clamp(access_.position_at(before_ + u * mass_), first_, last_);
  }

 private:
  AccessDistribution access_;
  std::uint64_t first_, last_;
  double before_, mass_;
  std::uint64_t key_ = 0, count_ = 0;
};

}  // namespace

std::vector<int> owners_of(const Program& program, const Fusion& fusion, int rank) {
  if (fusion.ids < 0) return {rank};
  for (const std::vector<int>& set : program.groups.at(program.ops[static_cast<std::size_t>(fusion.ids)].group)) {
    if (std::ranges::find(set, rank) != set.end()) return set;
  }
  return {};
}

PartShares::PartShares(const Program& program, const Fusion& fusion)
    : program_(program), shards_(fusion.shards), items_(planned_items(program, fusion)) {}

double PartShares::items(int shard) const {
  return items_.at(static_cast<std::size_t>(std::ranges::find(shards_, shard) - shards_.begin()));
}

std::vector<std::int64_t> PartShares::split(const RankRows& owner, std::int64_t count) const {
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

std::vector<std::int64_t> ids_by_source(const Program& program, const Fusion& fusion, int rank) {
  if (fusion.ids < 0) return {own_lookups(program, fusion, rank)};
  const std::vector<int> members = owners_of(program, fusion, rank);
  const auto own = static_cast<int>(std::ranges::find(members, rank) - members.begin());
  const ByteMatrix matrix = resolve_matrix(program, program.ops[static_cast<std::size_t>(fusion.ids)].matrix);
  std::vector<std::int64_t> counts;
  for (int source = 0; source < static_cast<int>(members.size()); ++source) {
    counts.push_back(matrix.units_between(source, own, static_cast<int>(members.size())));
  }
  return counts;
}

std::vector<std::int64_t> ids_per_shard(const Program& program, const Fusion& fusion, std::int64_t total) {
  return split_by_largest_remainder(total, planned_items(program, fusion));
}

IdBatch draw_ids(const Program& program, const Fusion& fusion, int rank, int b) {
  const std::vector<int> owners = owners_of(program, fusion, rank);
  IdBatch batch;
  batch.counts = counts_of(program, fusion, owners, rank);
  if (batch.counts.empty()) return batch;
  Buckets buckets(program, fusion, owners, batch.counts);
  const std::int64_t total = std::accumulate(batch.counts.begin(), batch.counts.end(), std::int64_t{0});
  const std::vector<std::int64_t> draws = ids_per_shard(program, fusion, total);
  for (std::size_t i = 0; i < fusion.shards.size(); ++i) {
    Draws positions(program, program.shard(fusion.shards[i]), rank, b);
    for (std::int64_t draw = 0; draw < draws[i]; ++draw) buckets.put(fusion.shards[i], positions.next());
  }
  batch.ids = buckets.ids();
  return batch;
}

}  // namespace shardsim
