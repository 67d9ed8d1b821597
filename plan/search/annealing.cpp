#include <algorithm>
#include <cmath>

#include "plan/search/local_search.h"

namespace shardsim::search {
namespace {

constexpr double kHot = 3e-3, kCold = 1e-6;  // temperatures, as parts of the iteration
constexpr std::size_t kConverted = 32;       // most tables that change their type at once
constexpr std::uint64_t kConversions = 4;    // of 32 changes
constexpr std::int64_t kAnew = 2048;         // evaluations between sums that are made anew

template <typename Value>
const Value& any_of_them(const std::vector<Value>& values, Rng& rng) {
  return values[static_cast<std::size_t>(rng.below(values.size()))];
}

}  // namespace

// The least busy ones half of the time, else any.
std::vector<int> LocalSearch::random_places(const std::vector<int>& idle, std::size_t count, Rng& rng) const {
  std::vector<int> places = idle;
  const std::size_t pool = rng.below(2) == 0 ? std::min(places.size(), count + 2) : places.size();
  for (std::size_t i = 0; i < std::min(count, places.size()); ++i) {
    std::swap(places[i], places[i + static_cast<std::size_t>(rng.below(pool - i))]);
  }
  places.resize(std::min(count, places.size()));
  return places;
}

Choice LocalSearch::random_choice(std::size_t table, Strategy type, Rng& rng) {
  const std::int64_t dim = workload_.tables[table].dim;
  const int kernel = replicated(type) ? 0 : any_of_them(choices_.kernels(table), rng);
  if (!in_columns(type)) {
    std::vector<int> places = {0};
    if (type == Strategy::table_wise) places = random_places(idle_ranks(), 1, rng);
    if (type == Strategy::table_row_wise) places = random_places(idle_nodes(), 1, rng);
    return {choices_.piece(table, type, kernel, places.front(), 0, dim)};
  }
  std::vector<int> idle = type == Strategy::grid_shard ? idle_nodes() : idle_ranks();
  if (type == Strategy::table_column_wise) {
    const int node = random_places(idle_nodes(), 1, rng).front();
    std::erase_if(idle, [&](int rank) { return cluster_.node_of(rank) != node; });
  }
  std::vector<std::size_t> counts = {1};
  for (std::size_t count = 2; count <= idle.size(); count *= 2) {
    const auto slices = static_cast<std::int64_t>(count);
    if (dim % slices != 0 || dim / slices < choices_.min_partition(table) || dim / slices % 4 != 0) break;
    if (!choices_.can_slice(table, type, kernel, dim / slices)) break;
    counts.push_back(count);
  }
  const std::size_t slices = any_of_them(counts, rng);
  return sliced(table, type, kernel, random_places(idle, slices, rng), slices);
}

bool LocalSearch::place_at_random(std::size_t table, std::optional<Strategy> type, Rng& rng, std::vector<Undo>& undo) {
  if (!type) type = any_of_them(choices_.strategies(table), rng);
  if (!can_have(table, *type)) return false;
  Choice choice = random_choice(table, *type, rng);
  undo.push_back({table, plan_[table]});
  replace(table, std::move(choice));
  return true;
}

bool LocalSearch::move_at_random(std::size_t table, Rng& rng, std::vector<Undo>& undo) {
  Choice choice = plan_[table];
  Piece& piece = choice[static_cast<std::size_t>(rng.below(choice.size()))];
  if (!moves_alone(piece)) return false;
  const int to = random_places(idle_ranks(), 1, rng).front();
  const bool held = std::ranges::any_of(choice, [&](const Piece& each) { return each.place == to; });
  const bool leaves = piece.strategy == Strategy::table_column_wise && choice.size() > 1 &&
                      cluster_.node_of(to) != cluster_.node_of(piece.place);
  if (held || leaves) return false;
  piece.place = to;
  undo.push_back({table, plan_[table]});
  replace(table, std::move(choice));
  return true;
}

// Some tables of one type get another one together: a type that no table has yet pays for its exchange only so, and an
// exchange that many small tables share ends only when nearly all of them have left it.
bool LocalSearch::convert_at_random(Rng& rng, std::vector<Undo>& undo) {
  const auto first = static_cast<std::size_t>(rng.below(plan_.size()));
  const Strategy from = plan_[first].front().strategy, to = any_of_them(choices_.strategies(first), rng);
  const std::size_t most = 2 + static_cast<std::size_t>(rng.below(kConverted));
  for (std::size_t i = 0; i < plan_.size() && undo.size() < most; ++i) {
    const std::size_t table = heaviest_[(first + i) % plan_.size()];
    const std::vector<Strategy>& types = choices_.strategies(table);
    if (plan_[table].front().strategy != from || std::ranges::find(types, to) == types.end()) continue;
    place_at_random(table, to, rng, undo);
  }
  return !undo.empty();
}

bool LocalSearch::change_at_random(Rng& rng, std::vector<Undo>& undo) {
  const double drawn = rng.uniform();
  const double place = rng.below(2) == 0 ? drawn * drawn : drawn;  // heavy ones more often
  const std::size_t table = heaviest_[static_cast<std::size_t>(place * static_cast<double>(plan_.size()))];
  const auto kind = rng.below(32);
  if (kind < kConversions) return convert_at_random(rng, undo);
  if (kind < 12) return move_at_random(table, rng, undo);
  if (kind < 26) return place_at_random(table, {}, rng, undo);
  const std::size_t other = heaviest_[static_cast<std::size_t>(rng.below(plan_.size()))];
  if (other == table) return false;
  return move_at_random(table, rng, undo) && move_at_random(other, rng, undo);
}

void LocalSearch::anneal(std::int64_t evaluations, Rng& rng) {
  const std::int64_t from = evaluations_, until = std::min(from + evaluations, limits_.evaluations);
  std::vector<Choice> best = plan_;
  Score least = now_;
  std::int64_t anew = evaluations_ + kAnew;
  while (!spent(until)) {
    const double share = static_cast<double>(evaluations_ - from) / static_cast<double>(until - from);
    const double heat = now_.value * kHot * std::pow(kCold / kHot, share);
    std::vector<Undo> undo;
    if (!change_at_random(rng, undo)) ++evaluations_;  // no change, yet a step: the search must end
    if (undo.empty()) continue;
    const Score made = score();
    const bool kept = made.over < now_.over ||
                      (made.over == now_.over && made.value < now_.value - heat * std::log(1 - rng.uniform()));
    if (kept && moves_within()) {
      now_ = made;
      busy_ = cost_.busy();
      if (now_ < least) {
        least = now_;
        best = plan_;
      }
    } else {
      for (std::size_t i = undo.size(); i-- > 0;) replace(undo[i].table, std::move(undo[i].choice));
    }
    if (evaluations_ < anew) continue;
    rebuild_sums();
    anew = evaluations_ + kAnew;
  }
  begin(std::move(best));
}

}  // namespace shardsim::search
