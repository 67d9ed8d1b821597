// Even memory: nearly as fast a plan that leaves more room on the fullest rank.

#include <algorithm>

#include "plan/search/local_search.h"

namespace shardsim::search {
namespace {

constexpr std::size_t kEmptiest = 4;  // ranks that a piece is tried on
constexpr double kEven = 1.05;        // of the mean rank: no room worth looking for
constexpr double kEased = 1e-3;       // relative; less is no relief

}  // namespace

void LocalSearch::leave_room(double bytes) {
  capacity_ -= bytes;
  rebuild_sums();
}

// The table's ways to lie, and its pieces of the fullest rank on the emptiest ones, one by one.
std::vector<Choice> LocalSearch::roomier(std::size_t table, int fullest) {
  std::vector<int> emptiest = all_ranks(cluster_.world_size());
  std::ranges::stable_sort(emptiest, {}, [&](int rank) { return memory_[static_cast<std::size_t>(rank)]; });
  emptiest.resize(std::min(emptiest.size(), kEmptiest));
  std::vector<Choice> ways = alternatives(table, {});
  const Choice& now = plan_[table];
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!moves_alone(now[i]) || now[i].place != fullest) continue;
    for (const int rank : emptiest) {
      const bool held = std::ranges::any_of(now, [&](const Piece& piece) { return piece.place == rank; });
      const bool leaves =
          now[i].strategy == Strategy::table_column_wise && cluster_.node_of(rank) != cluster_.node_of(fullest);
      if (held || leaves) continue;
      Choice moved = now;
      moved[i].place = rank;
      ways.push_back(std::move(moved));
    }
  }
  return ways;
}

// The way to place the table that leaves the fullest rank of all with least; whether there is one.
bool LocalSearch::relieve_one(std::size_t table, std::size_t fullest, double seconds) {
  const Choice before = plan_[table];
  const double most = memory_[fullest] + everywhere_;
  double least = most * (1 - kEased);
  std::optional<Choice> best;
  for (Choice& way : roomier(table, static_cast<int>(fullest))) {
    if (stopped_) break;
    replace(table, way);
    score();
    const double highest = std::ranges::max(memory_) + everywhere_;
    const bool eases = memory_[fullest] + everywhere_ < least && highest <= most;
    if (!eases || over_ > 0 || seconds_ > seconds || !moves_within()) continue;
    least = memory_[fullest] + everywhere_;
    best = std::move(way);
  }
  replace(table, best.value_or(before));
  now_ = score();
  busy_ = cost_.busy();
  return best.has_value();
}

void LocalSearch::relieve(double seconds, std::int64_t evaluations) {
  const std::int64_t until = std::min(evaluations_ + evaluations, limits_.evaluations);
  for (bool eased = true; eased && !spent(until);) {
    eased = false;
    const auto fullest = static_cast<std::size_t>(std::ranges::max_element(memory_) - memory_.begin());
    double mean = 0;
    for (const double bytes : memory_) mean += bytes / static_cast<double>(memory_.size());
    if (memory_[fullest] + everywhere_ < kEven * (mean + everywhere_)) break;
    for (std::size_t table = 0; table < plan_.size() && !eased && !spent(until); ++table) {
      const bool there = std::ranges::any_of(plan_[table], [&](const Piece& piece) {
        return moves_alone(piece) && piece.place == static_cast<int>(fullest);
      });
      if (there) eased = relieve_one(table, fullest, seconds);
    }
  }
  rebuild_sums();
}

}  // namespace shardsim::search
