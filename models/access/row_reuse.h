#pragma once

#include <array>
#include <cstdint>

#include "models/access/access_distribution.h"

namespace shardsim {

// A row that more lookups than this want is a long run of sorted lookups, of which FBGEMM makes pieces of at most so
// many (pytorch/FBGEMM at 71d6f8b22, embedding_backward_split_template.cu).
inline constexpr int kShortRun = 32, kLongestPiece = 1024;

// How often lookups come back to rows that were read before, in expectation: what kernels of embeddings need to know of
// an access law. All 0: nobody asked.
struct RowReuse {
  double lookups = 0;       // that the other figures are of
  double distinct = 0;      // different rows among them
  double long_lookups = 0;  // of rows that more than kShortRun of them want
  double long_rows = 0;     // those rows
  double long_pieces = 0;   // of at most kLongestPiece lookups, into which these are cut
  double largest = 0;       // lookups of the row that most of them want
  // Lookups that a cache of 4, 16, 64 ... rows misses when it drops the row that was not used for longest (Che's
  // approximation), with a cache that holds nothing at first; never fewer than different rows.
  static constexpr int kCaches = 12;
  std::array<double, kCaches> missed{};

  // Misses of a cache of `rows` rows, between the sizes above in proportion to its logarithm. The table's lookups may
  // be those of `parts` owners that share the rows evenly: all figures are then those of all together.
  double missed_by(double rows) const;
  bool operator==(const RowReuse&) const = default;
};

// The figures of `draws` accesses that fall into the rows [first, end). Costs some 50 us.
RowReuse row_reuse(const AccessDistribution& access, std::uint64_t first, std::uint64_t end, double draws);

}  // namespace shardsim
