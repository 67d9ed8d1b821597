#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/load/row_curves.h"
#include "models/load/row_law.h"
#include "models/load/row_owners.h"

namespace shardsim {

// Most rows that are placed one by one.
inline constexpr std::uint64_t kMostHeadRows = 131'072;

// Bags whose first id decides the others, as in MLPerf's DLRM-DCNv2 data: a bag of `size` ids is a drawn first id and
// the size - 1 companions of it, a list that was drawn once per first id, uniformly over the table.
struct FirstIdBags {
  int size = 1;  // 1: every id is drawn for itself
  RowHash hash;  // of the table; lists do not depend on the tier
};

// The part of a placement's lookups that each of its k owners gets: shares of the accesses, and the number of different
// rows that they meet. The hottest rows are placed one by one, and the rest is spread by the rows that are left;
// popularity in blocks has a closed form. At most 131,072 rows are placed, in about 15 ms, so keep the object if you
// ask often. A placement without lookups has shares in proportion to its rows.
class RowShares {
 public:
  // `law` and `owners` of the same number of rows. `bags` of more than one id need a placement of all rows of the table
  // and a `law` of the first ids alone. Else std::invalid_argument.
  // `curves`: shared by placements of tables of one kind; none: its own. `most_head`: of the rows that are placed one
  // by one, 1 or more.
  RowShares(const RowLaw& law, const RowOwners& owners, const FirstIdBags& bags = {},
            std::shared_ptr<RowCurves> curves = nullptr, std::uint64_t most_head = kMostHeadRows);

  const std::vector<double>& shares() const { return shares_; }  // q_j, their sum is 1
  std::uint64_t rows_of(int owner) const { return owners_.rows_of(owner); }
  double max_over_mean() const;  // k times the largest share
  int hottest() const;           // the owner with the largest share; of several the first

  // True when the shares of the owners that have rows are equal within 1e-9: then loads are those of even shares.
  bool equal() const;

  std::uint64_t head_rows() const { return placed_; }    // K: how many rows were placed one by one
  std::uint64_t lists_placed() const { return lists_; }  // of how many first ids the companions were

  std::size_t bytes() const;  // that it takes in memory, roughly

  // t_j: expected different rows that each owner reads in `draws` lookups of the placement, from all sources together.
  std::vector<double> distinct(double draws) const;
  // The same without the rows that a cache of the owner's hottest rows holds: `load_factor` (0 to 1) of its rows.
  // The last answers are kept: plans of one case differ in few tables, and ask for the others again.
  std::vector<double> misses(double draws, double load_factor) const;

 private:
  std::vector<double> count_misses(double draws, double load_factor) const;
  std::vector<double> first_id_distinct(double draws, double load_factor) const;
  std::vector<double> block_distinct(double draws, double load_factor) const;
  // Expected rows of the positions [begin, end) that `draws` lookups of the placement meet.
  double met_rows(std::uint64_t begin, std::uint64_t end, double draws) const;
  std::vector<double> placed_distinct(double draws, double load_factor) const;
  void share_companions(const std::vector<double>& first_shares);
  std::vector<double> shares_of(const OwnerList& head, std::uint64_t rows) const;
  std::vector<double> placed_shares(const OwnerList& head, std::uint64_t rows) const;

  RowLaw law_;
  RowOwners owners_;
  FirstIdBags bags_;
  std::shared_ptr<RowCurves> curves_;
  std::uint64_t most_head_;
  std::uint64_t placed_;                  // rows
  OwnerList head_;                        // owner of each of them
  std::vector<std::uint64_t> head_rows_;  // how many of them each owner has
  std::uint64_t lists_ = 0;
  std::vector<double> shares_;

  struct Answer {
    double draws = 0, load_factor = 0;
    std::vector<double> rows;
  };
  mutable std::vector<Answer> answers_;  // the latest last
};

// V(K): bound of the variance that the rows behind the first `head` bring to a share when a hash places them.
double tail_variance(const RowLaw& law, std::uint64_t head);

}  // namespace shardsim
