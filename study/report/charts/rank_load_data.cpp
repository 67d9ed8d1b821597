#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.h"
#include "study/report/case_groups.h"
#include "study/report/charts/chart_data.h"
#include "study/why/sentence.h"

namespace shardsim {
namespace {

constexpr std::size_t kBlocks = 256;  // of a case at most: about one for each two pixels

// Ranks from `first` to `last`.
struct RankBlock {
  std::size_t first = 0, last = 0;
};

std::vector<RankBlock> equal_neighbours(const std::vector<double>& lookups) {
  std::vector<RankBlock> blocks;
  for (std::size_t rank = 0; rank < lookups.size(); ++rank) {
    if (rank > 0 && lookups[rank] == lookups[rank - 1]) {
      blocks.back().last = rank;
    } else {
      blocks.push_back({rank, rank});
    }
    if (blocks.size() > kBlocks) return {};
  }
  return blocks;
}

std::vector<RankBlock> blocks_of_length(std::size_t length, std::size_t ranks) {
  std::vector<RankBlock> blocks;
  for (std::size_t first = 0; first < ranks; first += length)
    blocks.push_back({first, std::min(first + length, ranks) - 1});
  return blocks;
}

std::vector<RankBlock> blocks_of(const std::vector<double>& lookups) {
  if (!has_rank_blocks(lookups.size())) return blocks_of_length(1, lookups.size());
  std::vector<RankBlock> blocks = equal_neighbours(lookups);
  return blocks.empty() ? blocks_of_length((lookups.size() + kBlocks - 1) / kBlocks, lookups.size()) : blocks;
}

// One case, whose mean rank looks up `even` rows.
struct LoadStrip {
  const CaseResult& item;
  const RankLoads& loads;
  double even = 0;

  const RankLoads::OfTable& largest_table(std::size_t rank) const {
    return *std::ranges::max_element(loads.tables, {}, [&](const RankLoads::OfTable& of) { return of.lookups[rank]; });
  }
  std::vector<DataSet::Cell> table_cells(std::size_t rank) const {
    const RankLoads::OfTable& most = largest_table(rank);
    const double lookups = loads.lookups[rank];
    return {most.table.empty() ? "other tables" : most.table, lookups > 0 ? 100 * most.lookups[rank] / lookups : 0};
  }
  std::vector<DataSet::Cell> rank_row(std::size_t rank) const {
    std::vector<DataSet::Cell> row = {item.name, static_cast<double>(rank), loads.lookups[rank] / even};
    std::ranges::move(table_cells(rank), std::back_inserter(row));
    add_marks(row, {rank, rank}, rank);
    return row;
  }
  // Adds whether the block has the rank that looks up most, and the one that the others wait for.
  void add_marks(std::vector<DataSet::Cell>& row, const RankBlock& block, std::size_t fullest) const {
    const CollectivePart* const waiting = item.why ? longest_waiting(*item.why) : nullptr;
    const bool waited = waiting != nullptr && static_cast<std::size_t>(waiting->rank) >= block.first &&
                        static_cast<std::size_t>(waiting->rank) <= block.last;
    row.emplace_back(static_cast<int>(fullest) == loads.fullest ? "yes" : "no");
    row.emplace_back(waited ? fmt::format("rank {}", waiting->rank) : "");
  }
  std::vector<DataSet::Cell> block_row(const RankBlock& block) const {
    const auto begin = loads.lookups.begin() + static_cast<std::ptrdiff_t>(block.first);
    const auto end = loads.lookups.begin() + static_cast<std::ptrdiff_t>(block.last) + 1;
    const auto fullest = static_cast<std::size_t>(std::max_element(begin, end) - loads.lookups.begin());
    std::vector<DataSet::Cell> row = {item.name,
                                      static_cast<double>(block.first),
                                      static_cast<double>(block.last),
                                      loads.lookups[fullest] / even,
                                      *std::min_element(begin, end) / even,
                                      median({begin, end}) / even,
                                      static_cast<double>(fullest)};
    std::ranges::move(table_cells(fullest), std::back_inserter(row));
    add_marks(row, block, fullest);
    return row;
  }
};

std::vector<LoadStrip> strips_of(const StudyResult& study) {
  std::vector<LoadStrip> strips;
  for (const CaseResult& item : study.cases) {
    if (!item.loads) continue;
    const double even = mean(item.loads->lookups);
    if (even > 0) strips.push_back({item, *item.loads, even});  // else nobody looks up anything
  }
  return strips;
}

}  // namespace

bool has_rank_blocks(const StudyResult& study) {
  return std::ranges::any_of(
      study.cases, [](const CaseResult& item) { return item.loads && has_rank_blocks(item.loads->lookups.size()); });
}

DataSet rank_load_strips(const StudyResult& study) {
  const bool blocks = has_rank_blocks(study);
  DataSet set{"loads", {"case", "rank", "times_mean", "table", "share_pct", "fullest", "waited_for"}, {}};
  if (blocks) {
    set.columns = {"case",         "rank",  "last",      "times_mean", "least_times_mean", "median_times_mean",
                   "fullest_rank", "table", "share_pct", "fullest",    "waited_for"};
  }
  for (const LoadStrip& strip : strips_of(study)) {
    for (const RankBlock& block : blocks_of(strip.loads.lookups))
      set.rows.push_back(blocks ? strip.block_row(block) : strip.rank_row(block.first));
  }
  return set;
}

}  // namespace shardsim
