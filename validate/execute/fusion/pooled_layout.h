#pragma once

#include <cstdint>
#include <vector>

#include "program/program.h"
#include "validate/execute/fusion/fusion.h"

namespace shardsim {

// Bags of one rank's batch in a pooled table: the sum of num_poolings x the batch over its features, rounded half
// up, the batch being batch_per_rank or the feature's own, as the lowering counts vectors. Bags lie feature after
// feature.
std::int64_t bags_per_rank(const Program& program, const Table& table);

// Returns how many ids each bag of one rank has among the `ids` that the rank asks of piece `piece` (of `pieces`) of
// the table's rows: [bags_per_rank], in sum `ids`. Features share the ids in proportion to pooling_factor x bags, by
// largest remainder. Inside a feature with m ids and n bags, bag j begins at id floor(j m / n + piece / pieces): so the
// pieces of a row-wise table give the bags their extra ids in turn, and over all pieces of m ids each a bag has what an
// even split of pieces x m ids has (Hermite's identity).
std::vector<std::int64_t> bag_lengths(const Program& program, const Table& table, std::int64_t ids, int piece,
                                      int pieces);

// The chunk of vectors that a rank sends back to one source of bags. Shards of one lookup whose tables have equally
// many bags lie together, as one call of the kernels writes them: [bags][sum of dims], and one such block after the
// other, in the order in which their first shards stand in the lookups. Elements, not bytes.
struct VectorChunk {
  struct Block {
    int lookup = 0;                   // operation
    std::int64_t bags = 0;            // of one source
    std::int64_t dim = 0;             // of a vector of all shards
    std::int64_t first_element = 0;   // of the chunk
    std::vector<int> shards;          // of Program::shards
    std::vector<std::int64_t> first;  // [shards] column of the vector at which each begins
    std::int64_t elements() const { return bags * dim; }
  };
  std::vector<Block> blocks;
  std::int64_t elements = 0;
};

// Chunks that rank `rank` fills: vectors of the shards that it holds, or partial sums of all shards that lie on the
// ranks that it adds up with.
VectorChunk chunk_of(const Program& program, const Fusion& fusion, int rank);

// The ranks whose bags `rank` serves, in the order of their chunks: that of the exchange of ids; where partial sums are
// added up, chunk after chunk of the reduce_scatter, and in a chunk in the order of the exchange that follows it. Empty
// for a rank outside.
std::vector<int> sources_of(const Program& program, const Fusion& fusion, int rank);

// The place of a shard's vectors in those that a rank gets back: bag b at first + b stride, `dim` elements.
struct ReturnedVectors {
  int shard = 0;
  std::int64_t first = 0, stride = 0, bags = 0, dim = 0;
};
// In the order of Fusion::shards. Chunks come from the ranks that Fusion::output joins, in its order; from the rank
// itself where the sums end there, or where nothing is exchanged.
std::vector<ReturnedVectors> returned_to(const Program& program, const Fusion& fusion, int rank);

}  // namespace shardsim
