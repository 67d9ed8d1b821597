#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "validate/execute/buffers/data_check.h"

// The rows and vectors that a Reference holds.
namespace shardsim {

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
};

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

}  // namespace shardsim
