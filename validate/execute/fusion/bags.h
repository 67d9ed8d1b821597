#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.h"

namespace shardsim {

// Bags of one rank's batch in a pooled table: batch_per_rank x the sum of num_poolings over its features, rounded half
// up, as the lowering counts vectors. Bags lie feature after feature.
std::int64_t bags_per_rank(const Program& program, const Table& table);

// How many ids each bag of one rank has among the `ids` that the rank asks of piece `piece` (of `pieces`) of the
// table's rows: [bags_per_rank], in sum `ids`. Features share the ids in proportion to pooling_factor x bags, by
// largest remainder. Inside a feature with m ids and n bags, bag j begins at id floor(j m / n + piece / pieces): so the
// pieces of a row-wise table give the bags their extra ids in turn, and over all pieces of m ids each a bag has what an
// even split of pieces x m ids has (Hermite's identity).
std::vector<std::int64_t> bag_lengths(const Program& program, const Table& table, std::int64_t ids, int piece,
                                      int pieces);

}  // namespace shardsim
