#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace shardsim {

// True when the largest share is at most (1 + 1e-9) times the smallest one above 0: then everything is done as with
// even shares.
bool equal_shares(const std::vector<double>& shares);

// Numbers of ids of one placement that each of m sources sends to each of k owners in one iteration, without storing a
// matrix. They are whole, and those of one source add up to its ids exactly.
class IdCounts {
 public:
  enum class Rule {
    even,            // over the whole group: owner d gets one more from source s where (d - s) mod m < ids mod m
    by_destination,  // all sources alike: the ids split over the owners by largest remainder
    two_sided,       // column totals by largest remainder; every cell is the floor or the ceiling of total / m
  };

  // `ids` of one source, 0 or more; `shares` of the owners, their sum 1; `owners_are_group`: the owners are the
  // sources, all of them, in this order. Else than `sources` of 1 or more and one owner or more: std::invalid_argument.
  IdCounts(std::int64_t ids, const std::vector<double>& shares, int sources, bool owners_are_group);

  // As that of uneven shares from which `received` came: what each owner gets from all `sources`, of `ids` of each.
  static IdCounts from_received(std::int64_t ids, std::vector<std::int64_t> received, int sources);

  Rule rule() const { return rule_; }
  int owners() const { return static_cast<int>(cells_.size()); }
  int sources() const { return sources_; }
  std::int64_t sent(int source, int owner) const;
  // Where a source sends the owner more or fewer ids than the source before it: a column is its first cell and these.
  struct Change {
    int source = 0;       // 1 or more
    std::int64_t by = 0;  // 0: no change
  };
  std::array<Change, 2> changes(int owner) const;
  std::int64_t received(int owner) const;  // from all sources: c_j, the lookups of the owner

 private:
  IdCounts(Rule rule, std::int64_t ids, int sources) : rule_(rule), ids_(ids), sources_(sources) {}
  void sum_up();

  Rule rule_;
  std::int64_t ids_;
  int sources_;
  std::vector<std::int64_t> cells_;   // by_destination: of each source; two_sided: column totals
  std::vector<std::int64_t> before_;  // two_sided: C_j, the column totals before j
};

}  // namespace shardsim
