#include "plan/column_shards/column_search.h"

#include <algorithm>
#include <numeric>

namespace shardsim {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

bool better(const PieceList& a, const PieceList& b) {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.over.all < b.over.all;
}

}  // namespace

ColumnSearch::ColumnSearch(PieceKinds& kinds, ShardCosts& shard_costs, PlanCosts& plan_costs,
                           std::vector<double> slowness, double memory, const ColumnSearchOptions& options)
    : kinds_(kinds),
      plan_costs_(plan_costs),
      grid_(shard_costs, std::move(slowness), options.grid),
      memory_(memory),
      options_(options) {}

PieceList ColumnSearch::best(std::vector<TablePiece> pieces, const std::function<void()>& check_stop) {
  std::vector<PieceList> kept(1, first_list(std::move(pieces)));
  evaluate(kept, check_stop);
  PieceList best = kept.front();
  for (int round = 0; round < options_.rounds; ++round) {
    std::vector<PieceList> children = children_of(kept);
    if (children.empty()) break;
    evaluate(children, check_stop);
    if (better(children.front(), best)) best = children.front();
    kept = std::move(children);
  }
  return best;
}

// Pieces are dealt by falling seconds, of equal ones the later one first.
bool ColumnSearch::costs_less(std::uint32_t a, std::uint32_t b, const PieceList& list) const {
  const double of_a = kinds_[list.pieces[a].kind].seconds, of_b = kinds_[list.pieces[b].kind].seconds;
  return of_a != of_b ? of_a > of_b : a > b;
}

PieceList ColumnSearch::first_list(std::vector<TablePiece> pieces) const {
  PieceList list;
  list.pieces = std::move(pieces);
  list.order.resize(list.pieces.size());
  std::iota(list.order.begin(), list.order.end(), 0U);
  std::ranges::sort(list.order, [&](std::uint32_t a, std::uint32_t b) { return costs_less(a, b, list); });
  return list;
}

PieceList ColumnSearch::child_of(const PieceList& parent, std::uint32_t halved) {
  PieceList child;
  const std::size_t count = parent.pieces.size();
  child.pieces.reserve(count + 1);
  child.pieces = parent.pieces;
  child.pieces[halved].kind = kinds_.half_of(parent.pieces[halved].kind);
  child.pieces.push_back(child.pieces[halved]);
  child.order.reserve(count + 1);
  std::ranges::copy_if(parent.order, std::back_inserter(child.order), [&](std::uint32_t i) { return i != halved; });
  for (const std::uint32_t half : {halved, static_cast<std::uint32_t>(count)}) {
    const auto less = [&](std::uint32_t a, std::uint32_t b) { return costs_less(a, b, child); };
    child.order.insert(std::ranges::lower_bound(child.order, half, less), half);
  }
  return child;
}

std::vector<std::uint32_t> ColumnSearch::by_bytes(const PieceList& list) const {
  std::vector<std::uint32_t> order(list.pieces.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const double of_a = kinds_[list.pieces[a].kind].bytes, of_b = kinds_[list.pieces[b].kind].bytes;
    return of_a != of_b ? of_a > of_b : a > b;
  });
  return order;
}

void ColumnSearch::pick(const std::vector<std::uint32_t>& from, const PieceList& list,
                        std::vector<std::uint32_t>& picked) const {
  std::vector<int> mine;  // kinds picked by this call
  std::size_t left = static_cast<std::size_t>(options_.candidates);
  for (auto i = from.begin(); i != from.end() && left > 0; ++i) {
    const int kind = list.pieces[*i].kind;
    if (options_.extended && std::ranges::find(mine, kind) != mine.end()) continue;
    mine.push_back(kind);
    --left;
    const bool known = std::ranges::any_of(picked, [&](std::uint32_t other) {
      return other == *i || (options_.extended && list.pieces[other].kind == kind);
    });
    if (!known) picked.push_back(*i);
  }
}

std::vector<std::uint32_t> ColumnSearch::candidates(const PieceList& list) const {
  std::vector<std::uint32_t> picked;
  pick(by_bytes(list), list, picked);
  pick(list.order, list, picked);
  std::erase_if(picked, [&](std::uint32_t i) { return !kinds_[list.pieces[i].kind].splits; });
  return picked;
}

std::vector<PieceList> ColumnSearch::children_of(const std::vector<PieceList>& kept) {
  std::vector<PieceList> children;
  for (const PieceList& parent : kept) {
    for (const std::uint32_t halved : candidates(parent)) children.push_back(child_of(parent, halved));
  }
  return children;
}

// Leaves the best `beam` lists, best first, with their plans.
void ColumnSearch::evaluate(std::vector<PieceList>& lists, const std::function<void()>& check_stop) {
  sharded_.clear();
  rank_pool_.clear();
  seconds_pool_.clear();
  if (list_kinds_.size() < lists.size()) list_kinds_.resize(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (check_stop) check_stop();
    deal(i, lists[i]);
  }
  judge(lists);
  std::vector<std::size_t> order(lists.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return better(lists[a], lists[b]); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(options_.beam)));
  std::vector<PieceList> kept;
  for (const std::size_t i : order) {
    PieceList& list = kept.emplace_back(std::move(lists[i]));
    if (list.seconds == kNone) continue;
    list.rank_of.resize(list.pieces.size());
    const auto first = rank_pool_.begin() + static_cast<std::ptrdiff_t>(sharded_[chosen_[i]].ranks);
    for (std::size_t p = 0; p < list.order.size(); ++p)
      list.rank_of[list.order[p]] = first[static_cast<std::ptrdiff_t>(p)];
  }
  lists = std::move(kept);
}

void ColumnSearch::shard(const PieceList& list) {
  const std::size_t count = list.order.size();
  sorted_.kinds.resize(count);
  sorted_.bytes.resize(count);
  sorted_.widths.resize(count);
  capacity_ = memory_;
  for (std::size_t i = 0; i < count; ++i) {
    const int number = list.pieces[list.order[i]].kind;
    const PieceKind& kind = kinds_[number];
    sorted_.kinds[i] = number;
    sorted_.bytes[i] = kind.bytes;
    sorted_.widths[i] = kind.width;
    capacity_ -= kind.everywhere;
  }
}

// The plans of one list.
void ColumnSearch::deal(std::size_t index, PieceList& list) {
  shard(list);
  list_kinds_[index] = sorted_.kinds;
  const std::size_t before = sharded_.size();
  grid_.try_scales(sorted_, capacity_, [&] { keep_plan(index); });
  if (sharded_.size() > before || !options_.extended) return;
  if (grid_.unbounded_pass(sorted_, capacity_)) {
    keep_plan(index);
  } else {
    list.over = grid_.overflow(sorted_, capacity_);
  }
}

void ColumnSearch::keep_plan(std::size_t list) {
  sharded_.push_back({list, rank_pool_.size(), seconds_pool_.size()});
  rank_pool_.insert(rank_pool_.end(), grid_.rank_of().begin(), grid_.rank_of().end());
  seconds_pool_.insert(seconds_pool_.end(), grid_.shard_seconds().begin(), grid_.shard_seconds().end());
}

void ColumnSearch::judge(std::vector<PieceList>& lists) {
  chosen_.assign(lists.size(), 0);
  best_done_.clear();
  const std::size_t batch = plan_costs_.batch();
  std::size_t judged = 0;  // lists
  for (std::size_t begin = 0; begin < sharded_.size(); begin += batch) {
    for (; judged < sharded_[begin].list; ++judged) note_judged(lists[judged].seconds);
    judge_batch(begin, std::min(begin + batch, sharded_.size()), lists);
  }
}

void ColumnSearch::note_judged(double seconds) {
  best_done_.insert(std::ranges::upper_bound(best_done_, seconds), seconds);
  if (best_done_.size() > static_cast<std::size_t>(options_.beam)) best_done_.pop_back();
}

// A plan is of no use unless it is better than its list's best so far and than the last list that a beam of those
// judged before would keep.
double ColumnSearch::limit_for(const PieceList& list) const {
  const bool full = best_done_.size() == static_cast<std::size_t>(options_.beam);
  return full ? std::min(list.seconds, best_done_.back()) : list.seconds;
}

void ColumnSearch::judge_batch(std::size_t begin, std::size_t end, std::vector<PieceList>& lists) {
  std::vector<ShardedPieces> plans;
  std::vector<double> limits, seconds(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    const Sharded& plan = sharded_[i];
    const std::vector<int>& kinds = list_kinds_[plan.list];
    plans.push_back(
        {kinds, {rank_pool_.data() + plan.ranks, kinds.size()}, {seconds_pool_.data() + plan.seconds, grid_.ranks()}});
    limits.push_back(limit_for(lists[plan.list]));
  }
  plan_costs_.seconds(plans, limits, seconds);
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t list = sharded_[i].list;
    if (!(seconds[i - begin] < std::min(limits[i - begin], lists[list].seconds))) continue;
    lists[list].seconds = seconds[i - begin];
    chosen_[list] = i;
  }
}

}  // namespace shardsim
