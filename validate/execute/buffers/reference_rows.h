#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "validate/execute/buffers/data_check.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/pooled_layout.h"
#include "validate/execute/fusion/rank_rows.h"

// The rows and vectors that a Reference holds, and the ids that lead to them.
namespace shardsim {

// The chosen vectors of one rank that belong together, those of a shard or all rows of a sequence, one after the
// other, and how large their sums can be on the way.
struct ReferenceVectors {
  std::int64_t first = 0;                    // number of the first one among the rank's
  const Reference::Chosen* which = nullptr;  // of the rank's
  std::int64_t before = 0, some = 0;         // chosen ones before the first, and among these
  std::vector<float> sums;
  std::vector<double> sizes;

  ReferenceVectors() = default;
  ReferenceVectors(const Reference::Chosen& of, std::int64_t begin, std::int64_t count, std::int64_t dim)
      : first(begin), which(&of) {
    const auto number_of = [&](std::int64_t vector) {
      return of.all ? vector : std::ranges::lower_bound(of.numbers, vector) - of.numbers.begin();
    };
    before = number_of(begin);
    some = number_of(begin + count) - before;
    sums.resize(static_cast<std::size_t>(some * dim));
    sizes.resize(sums.size());
  }

  std::int64_t place(std::int64_t vector) const {
    if (which->all) return vector - first;
    const auto found = std::ranges::lower_bound(which->numbers, vector);
    return found == which->numbers.end() || *found != vector ? -1 : found - which->numbers.begin() - before;
  }
};

// One piece of a shard: the chosen of its rows, and what the iteration adds up for them. Copies on several ranks are
// one piece here, but for those of sharding groups, which differ between two averages.
struct ReferencePiece {
  std::int64_t dim = 0, held = 0;  // columns; rows, chosen or not
  std::uint64_t key = 0;
  std::int64_t first_column = 0;
  Reference::Chosen chosen;
  std::vector<float> rows, sums;
  std::vector<std::int64_t> reads;  // of each chosen row in this iteration

  // Returns the position of a row among the chosen ones; -1: it is none.
  std::int64_t place(std::int64_t local) const {
    if (chosen.all) return local;
    const auto found = std::ranges::lower_bound(chosen.numbers, local);
    return found == chosen.numbers.end() || *found != local ? -1 : found - chosen.numbers.begin();
  }
  std::int64_t count() const { return chosen.all ? held : static_cast<std::int64_t>(chosen.numbers.size()); }

  // The rows that were chosen, as they are at the start.
  void fill() {
    rows.resize(static_cast<std::size_t>(count() * dim));
    sums.assign(rows.size(), 0.0F);
    reads.assign(static_cast<std::size_t>(count()), 0);
    for (std::int64_t i = 0; i < count(); ++i) {
      const std::int64_t local = chosen.all ? i : chosen.numbers[static_cast<std::size_t>(i)];
      for (std::int64_t c = 0; c < dim; ++c) {
        rows[static_cast<std::size_t>(i * dim + c)] =
            first_value(key, static_cast<std::uint64_t>(local), first_column + c);
      }
    }
  }

  // Adds the row to a vector, if that was chosen.
  void add_row(std::int64_t row, ReferenceVectors& vectors, std::int64_t vector) const {
    const std::int64_t at = vectors.place(vector);
    if (at < 0) return;
    const float* const values = rows.data() + row * dim;
    const auto first = static_cast<std::size_t>(at * dim);
    for (std::int64_t c = 0; c < dim; ++c) {
      vectors.sums[first + static_cast<std::size_t>(c)] += values[c];
      vectors.sizes[first + static_cast<std::size_t>(c)] += std::abs(static_cast<double>(values[c]));
    }
  }

  void add_gradient(std::int64_t row, int rank, int lookup, std::int64_t vector) {
    for (std::int64_t c = 0; c < dim; ++c)
      sums[static_cast<std::size_t>(row * dim + c)] += gradient_value(rank, lookup, vector, c);
    ++reads[static_cast<std::size_t>(row)];
  }

  // Every row loses the sum of its gradients. `exact`: what fp32 holds of such numbers; errors (Failure::run): more.
  void update(double exact) {
    constexpr double kLargestGradient = 2;  // of gradient_value
    for (std::size_t row = 0; row < reads.size(); ++row) {
      const double largest = kLargestGradient * static_cast<double>(reads[row]);
      for (std::int64_t c = 0; c < dim; ++c) {
        const std::size_t at = row * static_cast<std::size_t>(dim) + static_cast<std::size_t>(c);
        if (std::abs(static_cast<double>(rows[at])) + largest >= exact) {
          throw run_error("a row was read so often that fp32 no longer holds the sum of its gradients exactly",
                          "Check fewer iterations, or a smaller batch.");
        }
        rows[at] -= sums[at];
      }
    }
    std::ranges::fill(sums, 0.0F);
    std::ranges::fill(reads, 0);
  }
};

template <typename Visit>
void visit_rows(const Program& program, const Program& now, const Fusion& fusion, int rank, int batch,
                const Visit& visit) {
  const IdBatch asked = draw_ids(now, fusion, rank, batch);
  std::int64_t request = 0;
  const std::vector<int> owners = set_of(program, fusion.ids, rank);
  for (std::size_t owner = 0; owner < asked.counts.size(); ++owner) {
    const RankRows held = rank_rows(program, fusion, owners[owner]);
    for (std::int64_t i = 0; i < asked.counts[owner]; ++i, ++request) {
      const std::int64_t id = asked.ids[static_cast<std::size_t>(request)];
      const RankRows::Part& part = held.part_of(id);
      visit(part, id - part.first_row, request);
    }
  }
}

// Returns the number of each shard's first vector, that of its first bag.
inline std::map<int, std::int64_t> first_vectors(const Program& program, const Fusion& fusion) {
  std::map<int, std::int64_t> firsts;
  std::int64_t first = 0;
  for (const int index : fusion.shards) {
    firsts[index] = first;
    first += bags_per_rank(program, program.table_of(index));
  }
  return firsts;
}

template <typename Visit>
void visit_bags(const Program& program, const Program& now, const Fusion& fusion, int rank, int batch,
                const Visit& visit) {
  const IdBatch asked = draw_ids(now, fusion, rank, batch);
  const PartShares shares(now, fusion);
  const std::vector<int> owners = set_of(program, fusion.ids, rank);
  const auto own = static_cast<std::size_t>(std::ranges::find(owners, rank) - owners.begin());
  const std::map<int, std::int64_t> firsts = first_vectors(program, fusion);
  const std::int64_t* id = asked.ids.data();
  for (std::size_t owner = 0; owner < asked.counts.size(); ++owner) {
    const RankRows held = rank_rows(program, fusion, owners[owner]);
    const std::vector<std::int64_t> counts = shares.split(held, own, asked.counts[owner]);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const RankRows::Part& part = held.parts[i];
      std::int64_t vector = firsts.at(part.shard);
      for (const std::int64_t length : bag_lengths(now, now.table_of(part.shard), counts[i], part.position,
                                                   row_shards(program.shard(part.shard)))) {
        for (std::int64_t k = 0; k < length; ++k) visit(part, *id++, vector);
        ++vector;
      }
    }
  }
}

// Calls `visit(part, local row, vector)` for every id of the rank's batch, in their order; a vector as gathered()
// numbers it. `now`: the Program of the iteration.
template <typename Visit>
void visit_ids(const Program& program, const Program& now, const Fusion& fusion, int rank, int batch,
               const Visit& visit) {
  fusion.pooled ? visit_bags(program, now, fusion, rank, batch, visit)
                : visit_rows(program, now, fusion, rank, batch, visit);
}

}  // namespace shardsim
