#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "models/load/id_counts.h"
#include "program/program.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {

// The ids that one rank asks for through one lookup, drawn from the workload's access distribution with the plan's row
// placement (docs/formats/program.md, indices drawn by the executor). Sizes never change: the matrix fixes how
// many each owner is asked for. Same program, same ids, on every machine.
struct IdBatch {
  // By owner position in the exchange group, back to back; without an exchange, of the own arena. The ids of one owner
  // lie by shard, in the order of Fusion::shards.
  std::vector<std::int64_t> ids;  // as on the wire: running row numbers at the owner (RankRows); pooled: in the piece
  std::vector<std::int64_t> counts;  // per owner position; one entry without an exchange
};

// Batch b of rank `rank`: b in [0, index_batches). Empty for a rank that does not run the lookup. `fusion` comes from
// fusions_of. Cost: one draw per row looked up (a search of the distribution), and the holders of
// the shards once per owner.
IdBatch draw_ids(const Program& program, const Fusion& fusion, int rank, int b);

// Returns for the same batch how many ids fell to each owner position before they were made to fit the matrix.
std::vector<std::int64_t> drawn_counts(const Program& program, const Fusion& fusion, int rank, int b);

// The spread of the ids that one rank asks of one owner over the shards there, which both sides know beforehand.
class PartShares {
 public:
  PartShares(const Program& program, const Fusion& fusion);
  double items(int shard) const;  // expected of one rank's batch, half up; the shard is of the fusion
  std::vector<std::int64_t> per_shard(std::int64_t total) const;  // those items, made to add up to `total`
  // Returns how many fall to each part, of `count` ids that the rank at position `source` of the exchange group asks
  // for: [parts of the owner], 0 for a part without rows. Where a batch was drawn, whose matrix says every pair of
  // ranks, they spread as expected ids do. Errors: Failure::input where rows that are not even would have another
  // number of them in an expected batch.
  std::vector<std::int64_t> split(const RankRows& owner, std::size_t source, std::int64_t count) const;

 private:
  IdCounts counts_of(int shard, int members) const;
  std::vector<std::int64_t> split_evenly(const RankRows& owner, std::int64_t count) const;

  const Program& program_;
  std::vector<int> shards_;
  std::vector<double> items_;         // [shards_]
  std::map<int, IdCounts> counts_{};  // by shard, where one of them has uneven owners
  bool drawn_ = false;
};

// Returns how many ids `rank` asks of each member of its exchange group, by position, or (`served`) each of them asks
// of it; one entry without an exchange. Empty for a rank that does not run the lookup.
std::vector<std::int64_t> id_counts(const Program& program, const Fusion& fusion, int rank, bool served);

}  // namespace shardsim
