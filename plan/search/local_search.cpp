#include "plan/search/local_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace shardsim::search {
namespace {

constexpr double kGain = 1e-6;     // relative; less is no gain
constexpr double kBalance = 0.02;  // weight of the even load of ranks, which decides between iterations of equal length
constexpr std::int64_t kAskToStop = 256;

}  // namespace

LocalSearch::LocalSearch(const Workload& workload, const Cluster& cluster, TableChoices& choices, IterationCost& cost,
                         LocalSearchLimits limits)
    : workload_(workload),
      cluster_(cluster),
      choices_(choices),
      cost_(cost),
      limits_(std::move(limits)),
      capacity_(static_cast<double>(cluster.memory_per_rank().count)),
      plan_(workload.tables.size()),
      moved_by_(workload.tables.size(), 0.0) {
  sort_by_weight();
}

void LocalSearch::begin(std::vector<Choice> plan) {
  plan_ = std::move(plan);
  rebuild_sums();
}

// Sums anew, so that nothing is left of what came and went.
void LocalSearch::rebuild_sums() {
  cost_.clear();
  memory_.assign(static_cast<std::size_t>(cluster_.world_size()), 0.0);
  host_.assign(static_cast<std::size_t>(cluster_.nodes()), 0.0);
  moved_ = everywhere_ = 0;
  for (std::size_t table = 0; table < plan_.size(); ++table) {
    put(table, 1);
    moved_by_[table] = moved_of(table, plan_[table]);
    moved_ += moved_by_[table];
  }
  now_ = score();
  busy_ = cost_.busy();
}

void LocalSearch::put(std::size_t table, int times) {
  for (const Piece& piece : plan_[table]) {
    const Shift shift = piece.shift(cluster_.ranks_per_node());
    cost_.add(piece.load->shares, shift, times);
    put_memory(*piece.load, shift, times);
  }
}

void LocalSearch::put_memory(const PieceLoad& load, const Shift& shift, int times) {
  everywhere_ += times * load.memory_all;
  for (const auto& [rank, bytes] : load.memory) memory_[static_cast<std::size_t>(rank + shift.rank)] += times * bytes;
  for (const auto& [node, bytes] : load.host) host_[static_cast<std::size_t>(node + shift.node)] += times * bytes;
}

double LocalSearch::moved_of(std::size_t table, const Choice& choice) const {
  if (!limits_.max_moved || choice.empty()) return 0;
  std::vector<Placement> placements;
  for (const Piece& piece : choice) placements.push_back(choices_.placement_of(table, piece));
  return moved_bytes(placements, limits_.before[table], workload_.tables[table]);
}

LocalSearch::Score LocalSearch::score() {
  ++evaluations_;
  if (evaluations_ % kAskToStop == 0 && limits_.stop && limits_.stop()) stopped_ = true;
  seconds_ = cost_.seconds();
  over_ = 0;
  for (const double bytes : memory_) over_ += std::max(std::ceil(bytes + everywhere_ - 0.01) - capacity_, 0.0);
  if (const auto& host = cluster_.spec().host.memory) {
    for (const double bytes : host_) over_ += std::max(bytes - static_cast<double>(host->count), 0.0);
  }
  double squares = 0;
  for (const double busy : cost_.busy()) squares += busy * busy;
  const double mean = std::sqrt(squares / static_cast<double>(memory_.size()));
  return {over_, seconds_ + kBalance * mean};
}

bool LocalSearch::better(const Score& now, const Score& before) const {
  if (now.over != before.over) return now.over < before.over;
  return now.value < before.value * (1 - kGain);
}

void LocalSearch::replace(std::size_t table, Choice choice) {
  put(table, -1);
  plan_[table] = std::move(choice);
  put(table, 1);
  if (!limits_.max_moved) return;
  moved_ -= moved_by_[table];
  moved_by_[table] = moved_of(table, plan_[table]);
  moved_ += moved_by_[table];
}

// The best of all ways to place the table; whether it is better than the present one.
bool LocalSearch::improve(std::size_t table, const std::vector<Strategy>& types) {
  const Choice before = plan_[table];
  const bool placed = !before.empty();
  const std::vector<Choice> ways = alternatives(table, types);
  Score best = now_;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < ways.size() && (!stopped_ || (!placed && !chosen)); ++i) {
    replace(table, ways[i]);
    if (!moves_within() && moved_by_[table] > 0) continue;
    const Score made = score();
    if ((!placed && !chosen) || better(made, best)) {
      best = made;
      chosen = i;
      busy_ = cost_.busy();
    }
  }
  replace(table, chosen ? ways[*chosen] : before);
  if (chosen) now_ = best;
  return chosen.has_value();
}

// Tables by how much they occupy the ranks that hold them, and memory.
void LocalSearch::sort_by_weight() {
  std::vector<double> weight;
  for (const Table& table : workload_.tables) {
    weight.push_back(table.distribution().total() * static_cast<double>(table.row_bytes()) *
                     static_cast<double>(workload_.batch_per_gpu));
  }
  heaviest_.resize(weight.size());
  std::iota(heaviest_.begin(), heaviest_.end(), std::size_t{0});
  std::ranges::stable_sort(heaviest_, std::greater<>(), [&](std::size_t table) { return weight[table]; });
}

void LocalSearch::rebuild(const std::vector<Strategy>& types) {
  begin(std::vector<Choice>(plan_.size()));
  for (const std::size_t table : heaviest_) {
    if (!improve(table, types)) improve(table, {});  // a type that this table may not have
  }
  rebuild_sums();
}

// Tables with a piece of their own on the busiest or the fullest rank, then all others.
std::vector<std::size_t> LocalSearch::on_busiest() const {
  const auto busiest = static_cast<int>(std::ranges::max_element(busy_) - busy_.begin());
  const auto fullest = static_cast<int>(std::ranges::max_element(memory_) - memory_.begin());
  std::vector<std::size_t> order = heaviest_;
  std::stable_partition(order.begin(), order.end(), [&](std::size_t table) {
    return std::ranges::any_of(plan_[table], [&](const Piece& piece) {
      return moves_alone(piece) && (piece.place == busiest || (over_ > 0 && piece.place == fullest));
    });
  });
  return order;
}

void LocalSearch::descend(const std::vector<Strategy>& types, std::int64_t evaluations) {
  const std::int64_t until = std::min(evaluations_ + evaluations, limits_.evaluations);
  for (bool better = true; better && !spent(until);) {
    const Score before = now_;
    for (const std::size_t table : on_busiest()) {
      if (spent(until)) break;
      improve(table, types);
    }
    rebuild_sums();
    swap_pieces(until);
    rebuild_sums();
    better = now_.over < before.over || now_.value < before.value * (1 - 1e-4);
  }
}

bool LocalSearch::try_swap(std::size_t one, std::size_t piece, std::size_t other, std::size_t with) {
  const Choice first = plan_[one], second = plan_[other];
  Choice a = first, b = second;
  std::swap(a[piece].place, b[with].place);
  const auto twice = [](const Choice& choice, std::size_t at) {
    return std::ranges::count(choice, choice[at].place, &Piece::place) > 1;
  };
  const auto leaves = [&](const Choice& choice, std::size_t at, int from) {
    return choice[at].strategy == Strategy::table_column_wise && choice.size() > 1 &&
           cluster_.node_of(from) != cluster_.node_of(choice[at].place);
  };
  if (twice(a, piece) || twice(b, with) || leaves(a, piece, first[piece].place) ||
      leaves(b, with, second[with].place)) {
    return false;
  }
  replace(one, a);
  replace(other, b);
  const Score made = score();
  if (better(made, now_) && moves_within()) {
    now_ = made;
    busy_ = cost_.busy();
    return true;
  }
  replace(one, first);
  replace(other, second);
  return false;
}

// Pieces of the busiest rank for lighter ones of others.
bool LocalSearch::swap_pieces(std::int64_t until) {
  bool any = false;
  for (bool better = true; better && !spent(until);) {
    better = false;
    const auto busiest = static_cast<int>(std::ranges::max_element(busy_) - busy_.begin());
    const std::vector<int> idle = idle_ranks();
    const std::size_t partners = std::min<std::size_t>(idle.size(), 4);
    for (std::size_t one = 0; one < plan_.size() && !better; ++one) {
      for (std::size_t piece = 0; piece < plan_[one].size() && !better; ++piece) {
        if (!moves_alone(plan_[one][piece]) || plan_[one][piece].place != busiest) continue;
        for (std::size_t other = 0; other < plan_.size() && !better; ++other) {
          if (other == one) continue;
          for (std::size_t with = 0; with < plan_[other].size() && !better; ++with) {
            if (!moves_alone(plan_[other][with])) continue;
            const auto at =
                std::find(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(partners), plan_[other][with].place);
            if (at == idle.begin() + static_cast<std::ptrdiff_t>(partners)) continue;
            if (spent(until)) return any;
            better = try_swap(one, piece, other, with);
          }
        }
      }
    }
    any = any || better;
  }
  return any;
}

}  // namespace shardsim::search
