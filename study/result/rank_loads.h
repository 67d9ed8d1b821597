#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace shardsim {

// A row lies on one rank (flex: of each replica group), which serves all of its lookups however the others are cut.
struct HotRow {
  std::string table;
  int owners = 0;               // that the rows of the table, or of its tier, are cut over
  double share = 0;             // of the lookups of these rows, 0 to 1
  double lookups = 0;           // of the one rank
  double least_times_mean = 0;  // over the mean rank's lookups: no cut by rows brings the fullest rank below this
  bool operator==(const HotRow&) const = default;
};

// The lookups of the ranks in one iteration, and the table that makes the fullest of them full.
struct RankLoads {
  // Lookups of one table, or of all others in one.
  struct OfTable {
    std::string table;            // "" for the others
    std::vector<double> lookups;  // [rank]
    bool operator==(const OfTable&) const = default;
  };

  std::vector<double> lookups;        // [rank]
  std::vector<double> distinct_rows;  // [rank] expected, over all tables
  std::vector<OfTable> tables;        // those that lift the fullest rank above the mean most, falling; then the others
  int fullest = 0;                    // the rank with most lookups; of several the first
  std::optional<HotRow> hottest_row;  // the one with most lookups on a rank, of rows that are cut; none: none are

  double times_mean() const;  // lookups of the fullest rank over those of the mean one
};

// Returns the loads of any plan.
RankLoads loads_of(const Program& program);

// The same; nothing where every owner of rows gets as many lookups as the others that hold rows of the table.
std::optional<RankLoads> rank_loads(const Program& program);

// [rank]: ids of an iteration that the exchanges of ids bring, the rank's own among them.
std::vector<double> ids_received(const Program& program);

}  // namespace shardsim
