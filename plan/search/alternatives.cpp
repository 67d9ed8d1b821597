// The ways to place one table that a descent tries.

#include <algorithm>
#include <iterator>
#include <numeric>

#include "plan/search/local_search.h"

namespace shardsim::search {
namespace {

constexpr std::size_t kPlaces = 3;  // ranks, or nodes, that a piece is tried on

}  // namespace

std::vector<int> LocalSearch::idle_ranks() const {
  std::vector<int> ranks = all_ranks(cluster_.world_size());
  std::ranges::stable_sort(ranks, {}, [&](int rank) { return busy_[static_cast<std::size_t>(rank)]; });
  return ranks;
}

std::vector<int> LocalSearch::idle_nodes() const {
  std::vector<double> busy(static_cast<std::size_t>(cluster_.nodes()), 0.0);
  for (int rank = 0; rank < cluster_.world_size(); ++rank) {
    double& most = busy[static_cast<std::size_t>(cluster_.node_of(rank))];
    most = std::max(most, busy_[static_cast<std::size_t>(rank)]);
  }
  std::vector<int> nodes(busy.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::ranges::stable_sort(nodes, {}, [&](int node) { return busy[static_cast<std::size_t>(node)]; });
  return nodes;
}

// Slices of equal width at these places, one after the other.
Choice LocalSearch::sliced(std::size_t table, Strategy type, int kernel, const std::vector<int>& places,
                           std::size_t slices) {
  const std::int64_t dim = workload_.tables[table].dim;
  const auto count = static_cast<std::int64_t>(slices);
  Choice choice;
  for (std::int64_t i = 0; i < count; ++i) {
    choice.push_back(choices_.piece(table, type, kernel, places[static_cast<std::size_t>(i) % places.size()],
                                    i * (dim / count), (i + 1) * (dim / count)));
  }
  return choice;
}

// Types that hold all columns together.
void LocalSearch::add_whole(std::size_t table, Strategy type, int kernel, std::vector<Choice>& made) {
  const std::int64_t dim = workload_.tables[table].dim;
  std::vector<int> places = {0};
  if (type == Strategy::table_wise) places = idle_ranks();
  if (type == Strategy::table_row_wise) places = idle_nodes();
  if (!choices_.can_slice(table, type, kernel, dim)) return;
  for (std::size_t i = 0; i < std::min(places.size(), kPlaces); ++i) {
    made.push_back({choices_.piece(table, type, kernel, places[i], 0, dim)});
  }
}

// Slices of 1, 2, 4 ... equal widths.
void LocalSearch::add_columns(std::size_t table, Strategy type, int kernel, std::vector<Choice>& made) {
  const std::int64_t dim = workload_.tables[table].dim, least = choices_.min_partition(table);
  const std::vector<int> ranks = idle_ranks(), nodes = idle_nodes();
  const bool by_node = type == Strategy::grid_shard, in_node = type == Strategy::table_column_wise;
  const std::size_t most = by_node   ? nodes.size()
                           : in_node ? static_cast<std::size_t>(cluster_.ranks_per_node())
                                     : ranks.size();
  for (std::size_t slices = by_node ? 2 : 1; slices <= most; slices *= 2) {
    const auto count = static_cast<std::int64_t>(slices);
    if (dim % count != 0 || (slices > 1 && (dim / count < least || dim / count % 4 != 0))) break;
    if (!choices_.can_slice(table, type, kernel, dim / count)) break;
    if (by_node) {
      made.push_back(sliced(table, type, kernel, nodes, slices));
    } else if (!in_node) {
      made.push_back(sliced(table, type, kernel, ranks, slices));
      if (slices < ranks.size()) {
        made.push_back(sliced(table, type, kernel, std::vector<int>(ranks.begin() + 1, ranks.end()), slices));
      }
    } else {
      for (std::size_t i = 0; i < std::min<std::size_t>(nodes.size(), 2); ++i) {
        std::vector<int> inside;
        std::ranges::copy_if(ranks, std::back_inserter(inside),
                             [&](int rank) { return cluster_.node_of(rank) == nodes[i]; });
        made.push_back(sliced(table, type, kernel, inside, slices));
      }
    }
  }
}

// One slice of several to an idle place.
void LocalSearch::add_moves(std::size_t table, std::vector<Choice>& made) {
  const Choice& now = plan_[table];
  if (now.size() < 2) return;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!moves_alone(now[i])) continue;
    for (const int rank : idle_ranks()) {
      const bool held = std::ranges::any_of(now, [&](const Piece& piece) { return piece.place == rank; });
      const bool elsewhere =
          now[i].strategy == Strategy::table_column_wise && cluster_.node_of(rank) != cluster_.node_of(now[i].place);
      if (held || elsewhere) continue;
      Choice moved = now;
      moved[i].place = rank;
      made.push_back(std::move(moved));
      break;
    }
  }
}

// Every shard gets a row.
bool LocalSearch::can_have(std::size_t table, Strategy type) const {
  const int shards = type == Strategy::row_wise ? cluster_.world_size() : cluster_.ranks_per_node();
  return !in_rows(type) || workload_.tables[table].rows >= static_cast<std::uint64_t>(shards);
}

std::vector<Choice> LocalSearch::alternatives(std::size_t table, const std::vector<Strategy>& types) {
  std::vector<Choice> made;
  for (const bool filled : {true, false}) {  // shards without rows only where there is nothing else
    for (const Strategy type : choices_.strategies(table)) {
      const bool asked = types.empty() || std::ranges::find(types, type) != types.end();
      if (!asked || (filled && !can_have(table, type))) continue;
      std::vector<int> kernels = choices_.kernels(table);
      if (replicated(type)) kernels = {0};
      for (const int kernel : kernels) {
        if (in_columns(type)) {
          add_columns(table, type, kernel, made);
        } else {
          add_whole(table, type, kernel, made);
        }
      }
    }
    if (!made.empty() || !types.empty()) break;
  }
  add_moves(table, made);
  if (types.empty()) std::ranges::copy(choices_.tiers_met(table), std::back_inserter(made));
  return made;
}

}  // namespace shardsim::search
