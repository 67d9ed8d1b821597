#include "plan/column_shards/greedy_grid.h"

#include <algorithm>
#include <numeric>

namespace shardsim {
namespace {

constexpr std::uint32_t kMostGridShards = 1U << ShardMemory::kShardBits;
constexpr std::size_t kManyShards = 1U << 16U;

}  // namespace

std::size_t ShardMemory::place_of(std::uint64_t key) const {
  const std::size_t mask = others_.size() - 1;
  std::size_t place = first_place(key);
  while (others_[place].branch != 0 && others_[place].key() != key) place = (place + 1) & mask;
  return place;
}

std::optional<ShardMemory::Grown> ShardMemory::find(std::uint32_t shard, int kind) const {
  if (shard == kUnknown || !is_countable(kind)) return std::nullopt;
  const First& first = first_[shard];
  if (first.kind == kind) return Grown{first.leads_to, first.seconds};
  if (first.forks == 0) return std::nullopt;
  const Other& other = others_[place_of(key_of(shard, kind))];
  if (other.branch == 0) return std::nullopt;
  return Grown{other.leads_to(), other.seconds};
}

std::uint32_t ShardMemory::keep(std::uint32_t shard, int kind, double seconds) {
  if (shard == kUnknown || first_.size() >= kMostGridShards || !is_countable(kind)) return kUnknown;
  const auto grown = static_cast<std::uint32_t>(first_.size());
  if (first_[shard].kind < 0) {
    first_[shard].kind = kind;
    first_[shard].leads_to = grown & (kMostGridShards - 1);
    first_[shard].seconds = seconds;
  } else {
    first_[shard].forks = 1;
    keep_other(key_of(shard, kind), {grown, seconds});
  }
  make_room();
  first_.emplace_back();
  return grown;
}

void ShardMemory::keep_other(std::uint64_t key, const Grown& grown) {
  if (2 * ++other_count_ > others_.size()) {
    std::vector<Other> before(2 * others_.size());
    before.swap(others_);
    for (const Other& other : before) {
      if (other.branch != 0) others_[place_of(other.key())] = other;
    }
  }
  others_[place_of(key)] = {(key << kShardBits) | grown.shard, grown.seconds};
}

// Where there are many there may be as many as can be: room for them that nobody has touched costs nothing, and copies
// cost memory that has to be touched.
void ShardMemory::make_room() {
  if (first_.size() == first_.capacity() && first_.size() >= kManyShards) first_.reserve(kMostGridShards);
}

double SortedPieces::total_width() const {
  return std::accumulate(widths.begin(), widths.end(), 0.0);
}

GreedyGrid::GreedyGrid(ShardCosts& costs, std::vector<double> slowness, const GridOptions& options)
    : costs_(costs), slowness_(std::move(slowness)), options_(options) {
  costs_.clear(0);
  empty_seconds_ = costs_.seconds(0);
  shard_seconds_.resize(ranks());
}

void GreedyGrid::start(std::size_t pieces) {
  for (std::vector<double>* const numbers : {&shards_.seconds, &shards_.bytes, &shards_.widths})
    numbers->assign(ranks(), 0.0);
  shards_.order.resize(ranks());
  std::iota(shards_.order.begin(), shards_.order.end(), std::uint16_t{0});
  shards_.number.assign(ranks(), ShardMemory::kEmptyShard);
  shards_.held.assign(ranks(), 0);
  summed_.assign(ranks(), 0);
  pieces_ = pieces;
  if (members_.size() < ranks() * pieces) members_.resize(ranks() * pieces);
  rank_of_.resize(pieces);
  next_bound_ = kNoBound;
  shards_.placed = 0;
}

bool GreedyGrid::pass(const SortedPieces& pieces, double capacity, double bound, bool wider) {
  ++counts_.passes;
  if (!wider || !resume()) start(pieces.kinds.size());
  return place_all(pieces, capacity, bound, false);
}

// Until the bound of the last pass first kept a piece from a rank, one with a wider bound does the same, and every
// shard of it is known. False where the memory had no room for one of them.
bool GreedyGrid::resume() {
  if (!options_.caching || std::ranges::find(before_bound_.number, ShardMemory::kUnknown) != before_bound_.number.end())
    return false;
  shards_ = before_bound_;
  summed_.assign(ranks(), 0);
  next_bound_ = kNoBound;
  counts_.asked += shards_.placed;
  counts_.known += shards_.placed;
  return true;
}

// The same plan as the pass before: every shard of it is known.
void GreedyGrid::repeat_pass() {
  ++counts_.passes;
  counts_.asked += shards_.placed;
  counts_.known += shards_.placed;
}

bool GreedyGrid::unbounded_pass(const SortedPieces& pieces, double capacity) {
  start(pieces.kinds.size());
  return place_all(pieces, capacity, kNoBound, false);
}

GreedyGrid::Overflow GreedyGrid::overflow(const SortedPieces& pieces, double capacity) {
  start(pieces.kinds.size());
  place_all(pieces, capacity, kNoBound, true);
  Overflow over;
  for (const double bytes : shards_.bytes) {
    over.all += std::max(0.0, bytes - capacity);
    over.fullest = std::max(over.fullest, bytes - capacity);
  }
  return over;
}

bool GreedyGrid::place_all(const SortedPieces& pieces, double capacity, double bound, bool overfull) {
  for (auto i = static_cast<std::size_t>(shards_.placed); i < pieces_; ++i) {
    std::optional<std::size_t> place = feasible_place(pieces.bytes[i], pieces.widths[i], capacity, bound);
    if (!place && !overfull) return false;
    if (!place) place = emptiest_place();
    rank_of_[i] = shards_.order[*place];
    fetch_next(pieces, i, *place);
    assign(shards_.order[*place], pieces.kinds[i], pieces.bytes[i], pieces.widths[i]);
    reorder(*place);
  }
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    shard_seconds_[rank] = shards_.held[rank] > 0 ? shards_.seconds[rank] : empty_seconds_ * slowness_[rank];
  }
  return true;
}

// A rank that got a piece falls behind the next one in the order, which then gets the next piece: its entry is on its
// way while this one is looked up.
void GreedyGrid::fetch_next(const SortedPieces& pieces, std::size_t piece, std::size_t place) const {
  if (piece + 1 < pieces_ && place + 1 < shards_.order.size())
    memory_.fetch(shards_.number[shards_.order[place + 1]], pieces.kinds[piece + 1]);
}

std::size_t GreedyGrid::emptiest_place() const {
  const auto rank = static_cast<std::uint16_t>(std::ranges::min_element(shards_.bytes) - shards_.bytes.begin());
  return static_cast<std::size_t>(std::ranges::find(shards_.order, rank) - shards_.order.begin());
}

bool GreedyGrid::before(std::size_t a, std::size_t b) const {
  if (shards_.seconds[a] != shards_.seconds[b]) return shards_.seconds[a] < shards_.seconds[b];
  return shards_.bytes[a] != shards_.bytes[b] ? shards_.bytes[a] < shards_.bytes[b] : a < b;
}

// The first one in the order that a pass keeps. With a bound at which one of the ranks before it is allowed, the pass
// goes another way.
std::optional<std::size_t> GreedyGrid::feasible_place(double bytes, double width, double capacity, double bound) {
  for (std::size_t place = 0; place < shards_.order.size(); ++place) {
    const std::size_t rank = shards_.order[place];
    if (shards_.bytes[rank] + bytes > capacity) continue;
    if (shards_.widths[rank] + width <= bound) return place;
    if (next_bound_ == kNoBound) before_bound_ = shards_;
    next_bound_ = std::min(next_bound_, shards_.widths[rank] + width);
  }
  return std::nullopt;
}

// Brings the rank at `place`, whose shard has changed, to where it belongs among the others.
void GreedyGrid::reorder(std::size_t place) {
  const auto is_before = [this](std::size_t a, std::size_t b) { return before(a, b); };
  const std::uint16_t rank = shards_.order[place];
  const auto here = shards_.order.begin() + static_cast<std::ptrdiff_t>(place);
  const auto later = std::lower_bound(here + 1, shards_.order.end(), rank, is_before);
  if (later != here + 1) {
    *std::move(here + 1, later, here) = rank;
    return;
  }
  const auto earlier = std::lower_bound(shards_.order.begin(), here, rank, is_before);
  std::move_backward(earlier, here, here + 1);
  *earlier = rank;
}

void GreedyGrid::assign(std::size_t rank, int kind, double bytes, double width) {
  shards_.bytes[rank] += bytes;
  shards_.widths[rank] += width;
  members_[rank * pieces_ + static_cast<std::size_t>(shards_.held[rank]++)] = kind;
  shards_.seconds[rank] = grown(rank, kind) * slowness_[rank];
  ++shards_.placed;
}

// Seconds of the shard with its last piece, before the rank's slowness.
double GreedyGrid::grown(std::size_t rank, int kind) {
  ++counts_.asked;
  if (!options_.caching) return predicted(rank);
  if (const auto known = memory_.find(shards_.number[rank], kind)) {
    ++counts_.known;
    shards_.number[rank] = known->shard;
    memory_.fetch(known->shard);
    return known->seconds;
  }
  const double seconds = predicted(rank);
  shards_.number[rank] = memory_.keep(shards_.number[rank], kind, seconds);
  return seconds;
}

// Adds up what was not yet wanted of the shard, in its order.
double GreedyGrid::predicted(std::size_t rank) {
  ++counts_.predictions;
  const auto which = static_cast<int>(rank);
  if (summed_[rank] == 0) costs_.clear(which);
  for (; summed_[rank] < shards_.held[rank]; ++summed_[rank]) {
    costs_.add(which, members_[rank * pieces_ + static_cast<std::size_t>(summed_[rank])]);
  }
  return costs_.seconds(which);
}

}  // namespace shardsim
