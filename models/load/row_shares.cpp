#include "models/load/row_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/rng.h"
#include "models/load/id_counts.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kSmallPlacement = 16'384;  // rows up to which all are placed
constexpr std::uint64_t kSingleRows = 4096;        // whose different rows are counted one by one
constexpr double kShareError = 1e-3;               // of the mean share, where the place follows from the number
constexpr double kShareVariance = 4e-6;            // of the mean share, where a hash places the rows: 0.2 % squared
constexpr double kTie = 1e-12;
constexpr std::size_t kMostAnswers = 2;  // that are kept: a lowering may ask for a tenth more lookups, too
constexpr std::uint64_t kMostCompanions = 1ULL << 20;  // that are placed
constexpr std::uint64_t kCompanionSalt = 5000;         // of the hash

using Shares = std::vector<double>;
__extension__ using Factor = unsigned __int128;

// The smallest power of two that is enough, at most `most`.
template <typename Enough>
std::uint64_t smallest_head(std::uint64_t most, const Enough& enough) {
  std::uint64_t head = 1;
  while (head < most && !enough(head)) head *= 2;
  return std::min(head, most);
}

std::uint64_t head_of(const RowLaw& law, const RowOwners& owners, std::uint64_t most, RowCurves& curves) {
  const std::uint64_t n = law.rows();
  if (owners.popularity_blocks() || law.constant()) return 0;
  if (n <= std::min(kSmallPlacement, most)) return n;
  const double k = owners.owners();
  if (!owners.scattered()) {
    const auto enough = [&](std::uint64_t head) { return k * law.probability(head - 1) <= kShareError * law.total(); };
    return smallest_head(std::min(n, most), enough);
  }
  const auto enough = [&](std::uint64_t head) { return (k - 1) * tail_variance(law, head) <= kShareVariance; };
  return curves.head(law, owners.owners(), most, [&] { return smallest_head(std::min(n, most), enough); });
}

// The number of first ids whose companions are placed.
std::uint64_t lists_of(const RowLaw& law, int owners, int bag, std::uint64_t most_head) {
  const std::uint64_t most = std::min(kMostCompanions, most_head * static_cast<std::uint64_t>(bag));
  const auto enough = [&](std::uint64_t head) {
    return (owners - 1) * tail_variance(law, head) / bag <= kShareVariance ||
           head * static_cast<std::uint64_t>(bag) >= most;
  };
  return smallest_head(law.rows(), enough);
}

std::vector<std::uint64_t> count_by_owner(const OwnerList& head, int owners) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(owners), 0);
  std::visit(
      [&](const auto& of) {
        for (const auto owner : of) ++counts[static_cast<std::size_t>(owner)];
      },
      head);
  return counts;
}

// Adds to the part of each owner what `curve` says of its rows, from position `begin` on.
void add_curve(Shares& parts, const OwnerList& head, const std::vector<double>& curve, std::uint64_t begin) {
  const auto add = [&](const auto& of) {
    for (std::size_t x = begin; x < of.size(); ++x) parts[static_cast<std::size_t>(of[x])] += curve[x];
  };
  std::visit(add, head);
}

// Adds `amount`, spread over the owners by the rows that they have behind the head, to what they have already.
void spread_tail(Shares& parts, double amount, const RowOwners& owners, const std::vector<std::uint64_t>& head_rows) {
  const std::uint64_t head = std::accumulate(head_rows.begin(), head_rows.end(), std::uint64_t{0});
  if (head == owners.rows()) return;
  const double each = amount / static_cast<double>(owners.rows() - head);
  for (std::size_t j = 0; j < parts.size(); ++j)
    parts[j] += each * static_cast<double>(owners.rows_of(static_cast<int>(j)) - head_rows[j]);
}

// The same where no row was placed one by one.
void spread_by_rows(Shares& parts, double amount, const RowOwners& owners) {
  const double each = amount / static_cast<double>(owners.rows());
  for (std::size_t j = 0; j < parts.size(); ++j)
    parts[j] += each * static_cast<double>(owners.rows_of(static_cast<int>(j)));
}

Shares scaled(Shares parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  for (double& part : parts) part /= sum;
  return parts;
}

// The offsets [begin, end) of an owner of blocks in popularity order.
struct Block {
  std::uint64_t begin = 0, end = 0;
};

Block block_of(const RowOwners& owners, std::size_t owner) {
  const std::uint64_t begin = owners.block_begin(owner);
  return {begin, begin + owners.rows_of(static_cast<int>(owner))};
}

Shares block_shares(const RowLaw& law, const RowOwners& owners) {
  Shares parts(static_cast<std::size_t>(owners.owners()));
  for (std::size_t j = 0; j < parts.size(); ++j) {
    const Block block = block_of(owners, j);
    parts[j] = std::max(0.0, law.sum(block.begin, block.end));
  }
  return scaled(std::move(parts));
}

// Part of n rows that a cache holds.
std::uint64_t cached_rows(std::uint64_t n, double load_factor) {
  return std::min(n, static_cast<std::uint64_t>(load_factor * static_cast<double>(n)));
}

// Row id of companion `number`, 1 or more, of the first id at `position`, in a table of `rows` rows. `key`: of its
// table.
std::uint64_t companion(std::uint64_t key, std::uint64_t position, int number, std::uint64_t rows) {
  const std::uint64_t counter = (position << 20) + static_cast<std::uint64_t>(number);
  return static_cast<std::uint64_t>(static_cast<Factor>(rows) * mix(key, counter * kGolden) >> 64);
}

}  // namespace

double tail_variance(const RowLaw& law, std::uint64_t head) {
  const std::uint64_t n = law.rows();
  if (head >= n) return 0;
  double squares = 0;
  for (std::uint64_t begin = head; begin < n; begin *= 2) {
    const std::uint64_t end = std::min(n, 2 * begin);
    squares += law.sum(begin, end) * law.probability(begin);
  }
  const double tail = law.sum(head, n);
  return std::max(0.0, squares - tail * tail / static_cast<double>(n - head)) / (law.total() * law.total());
}

RowShares::RowShares(const RowLaw& law, const RowOwners& owners, const FirstIdBags& bags,
                     std::shared_ptr<RowCurves> curves, std::uint64_t most_head)
    : law_(law),
      owners_(owners),
      bags_(bags),
      curves_(curves ? std::move(curves) : std::make_shared<RowCurves>()),
      most_head_(most_head),
      placed_(0) {
  if (law.rows() != owners.rows() || bags.size < 1) throw std::invalid_argument("RowShares: another number of rows");
  if (bags.size > 1 && !law.whole_table()) throw std::invalid_argument("RowShares: companions need the whole table");
  placed_ = head_of(law, owners, most_head, *curves_);
  head_ = owners.list_first(placed_);
  head_rows_ = count_by_owner(head_, owners.owners());
  if (bags.size == 1) {
    shares_ = shares_of(head_, placed_);
    return;
  }
  lists_ = lists_of(law, owners.owners(), bags.size, most_head);
  const std::uint64_t placed = owners.popularity_blocks() ? 0 : lists_;
  share_companions(shares_of(owners.list_first(placed), placed));
}

// `head`: owners of the `rows` hottest ones, which are placed one by one.
std::vector<double> RowShares::shares_of(const OwnerList& head, std::uint64_t rows) const {
  if (!(law_.total() > 0)) {
    Shares by_rows(static_cast<std::size_t>(owners_.owners()), 0);
    spread_by_rows(by_rows, 1, owners_);
    return by_rows;
  }
  return owners_.popularity_blocks() ? block_shares(law_, owners_) : placed_shares(head, rows);
}

std::vector<double> RowShares::placed_shares(const OwnerList& head, std::uint64_t rows) const {
  Shares parts(static_cast<std::size_t>(owners_.owners()), 0);
  add_curve(parts, head, *curves_->probabilities(law_, rows), 0);
  const double tail = std::max(0.0, law_.sum(rows, law_.rows()));
  spread_tail(parts, tail, owners_, &head == &head_ ? head_rows_ : count_by_owner(head, owners_.owners()));
  return scaled(std::move(parts));
}

void RowShares::share_companions(const std::vector<double>& first_shares) {
  const std::uint64_t n = law_.rows();
  const std::uint64_t key = hash_key(bags_.hash.table, bags_.hash.seed, kCompanionSalt);
  Shares companions(first_shares.size(), 0);
  for (std::uint64_t i = 0; i < lists_; ++i) {
    const double p = law_.probability(i) / law_.total();
    for (int c = 1; c < bags_.size; ++c)
      companions[static_cast<std::size_t>(owners_.of_id(companion(key, i, c, n)).shard)] += p;
  }
  const double tail = (bags_.size - 1) * std::max(0.0, law_.sum(lists_, n)) / law_.total();
  spread_by_rows(companions, tail, owners_);
  for (std::size_t j = 0; j < companions.size(); ++j) companions[j] += first_shares[j];
  shares_ = scaled(std::move(companions));
}

double RowShares::max_over_mean() const {
  return static_cast<double>(shares_.size()) * *std::ranges::max_element(shares_);
}

int RowShares::hottest() const {
  // Shares that differ by rounding alone are the same.
  const double most = *std::ranges::max_element(shares_) * (1 - kTie);
  return static_cast<int>(std::ranges::find_if(shares_, [&](double q) { return q >= most; }) - shares_.begin());
}

bool RowShares::equal() const {
  const auto idle = [&](int owner) { return rows_of(owner) > 0 && !(shares_[static_cast<std::size_t>(owner)] > 0); };
  for (int owner = 0; owner < owners_.owners(); ++owner) {
    if (idle(owner)) return false;
  }
  return equal_shares(shares_);
}

std::size_t RowShares::bytes() const {
  const std::size_t head = std::visit([](const auto& of) { return of.size() * sizeof of.front(); }, head_);
  return sizeof *this + head + head_rows_.size() * sizeof(std::uint64_t) +
         (1 + kMostAnswers) * shares_.size() * sizeof(double);
}

std::vector<double> RowShares::distinct(double draws) const {
  return misses(draws, 0);
}

std::vector<double> RowShares::misses(double draws, double load_factor) const {
  if (!(draws > 0) || !(law_.total() > 0)) return Shares(shares_.size(), 0);
  const auto known = std::ranges::find_if(
      answers_, [&](const Answer& each) { return each.draws == draws && each.load_factor == load_factor; });
  if (known != answers_.end()) return known->rows;
  if (answers_.size() == kMostAnswers) answers_.erase(answers_.begin());
  answers_.push_back({draws, load_factor, count_misses(draws, load_factor)});
  return answers_.back().rows;
}

std::vector<double> RowShares::count_misses(double draws, double load_factor) const {
  if (bags_.size > 1) return first_id_distinct(draws, load_factor);
  return owners_.popularity_blocks() ? block_distinct(draws, load_factor) : placed_distinct(draws, load_factor);
}

std::vector<double> RowShares::block_distinct(double draws, double load_factor) const {
  Shares parts(shares_.size(), 0);
  for (std::size_t j = 0; j < parts.size(); ++j) {
    const Block block = block_of(owners_, j);
    parts[j] = met_rows(block.begin + cached_rows(block.end - block.begin, load_factor), block.end, draws);
  }
  return parts;
}

// The hottest rows are added one by one: what part of the lookups falls into an interval is taken as a number, which is
// too coarse where few rows have most of them.
double RowShares::met_rows(std::uint64_t begin, std::uint64_t end, double draws) const {
  const std::uint64_t single = law_.rows() <= kSmallPlacement ? law_.rows() : kSingleRows;
  double rows = 0;
  if (begin < single) {
    const RowCurves::Curve met = curves_->met(law_, single, draws);
    for (; begin < std::min(single, end); ++begin) rows += (*met)[begin];
  }
  return begin < end ? rows + law_.expected_distinct(begin, end, draws * law_.sum(begin, end) / law_.total()) : rows;
}

std::vector<double> RowShares::placed_distinct(double draws, double load_factor) const {
  Shares parts(shares_.size(), 0);
  const std::uint64_t begin = cached_rows(law_.rows(), load_factor);
  add_curve(parts, head_, *curves_->met(law_, placed_, draws), begin);
  const std::uint64_t tail = std::max<std::uint64_t>(placed_, begin);
  spread_tail(parts, curves_->met_behind(law_, tail, draws), owners_, head_rows_);
  return parts;
}

// Companions are uniform over the rows that are no first id of the batch.
std::vector<double> RowShares::first_id_distinct(double draws, double load_factor) const {
  const RowShares first_ids(law_, owners_, {}, curves_, most_head_);
  const double bags = draws / bags_.size, rows = static_cast<double>(law_.rows());
  const Shares all = first_ids.distinct(bags);
  const double drawn = std::accumulate(all.begin(), all.end(), 0.0);
  const double met_again = chance_to_meet(1 / rows, (bags_.size - 1) * drawn);
  Shares parts = first_ids.misses(bags, load_factor);
  for (std::size_t j = 0; j < parts.size(); ++j) {
    const std::uint64_t held = owners_.rows_of(static_cast<int>(j));
    parts[j] += (static_cast<double>(held - cached_rows(held, load_factor)) - parts[j]) * met_again;
  }
  return parts;
}

}  // namespace shardsim
