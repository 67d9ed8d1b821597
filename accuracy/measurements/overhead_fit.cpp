#include "accuracy/measurements/overhead_fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "accuracy/measurements/least_squares.h"

namespace shardsim {
namespace {

constexpr double kRowSpread = 0.05;  // of ln(predicted / measured): rows of one setting repeat to some percent
constexpr double kSeenFrom = 1e-3;   // least change of ln(predicted) by which a row sees a parameter
constexpr double kMovedFrom = 1e-3;  // least logarithm of a factor that counts as a change
constexpr double kSlopeStep = 1e-4;
constexpr double kGain = 0.999;   // of the cost: what is worth going elsewhere
constexpr int kDigits = 4;        // of a fitted number
constexpr double kProven = 2;     // gain of the cost by a parameter that is two standard errors away from nothing
constexpr double kTelling = 0.9;  // of what a fit without a new cost per peer misses rows of other peers by

using Parameters = std::vector<CalibratedParameter>;
using Logarithms = std::vector<double>;
using Rows = std::vector<MeasuredRow>;

// A cost per peer that the file does not have. On many more peers than were measured it can be most of the time, so
// scatter must not make one.
bool is_new_peer_cost(const CalibratedParameter& parameter, const ClusterSpec& prior) {
  const CalibratedNumber& number = parameter.numbers.front();
  return number.key == CalibratedKey::per_remote_peer && number_in(prior, number) == 0;
}

int remote_peers(const MeasuredRow& row) {
  return (row.nodes - 1) * row.gpus_per_node;
}

// A cluster whose calls are timed by its constants alone. Where a calibration has been, calls are bounded by larger
// ones at each change of NCCL's choice (models/collective/algorithms/nccl.cpp), which costs several predictions for
// one, and hides the constants behind the bound.
ClusterSpec without_bounds(ClusterSpec spec, const Rows& rows) {
  for (const MeasuredRow& row : rows) {
    OverheadSpec& reach = overheads_of(spec, row.kind, row.nodes > 1);
    reach.before.reset();
    reach.held_out.reset();
  }
  return spec;
}

class OverheadFitting {
 public:
  OverheadFitting(const ClusterSpec& prior, const Rows& rows, FitScope scope, bool new_peer_costs)
      : prior_(prior),
        unbounded_(without_bounds(prior, rows)),
        predicted_(unbounded_, rows),
        parameters_(parameters_of(rows, prior)) {
    if (scope == FitScope::rates) std::erase_if(parameters_, is_cost);
    if (!new_peer_costs) std::erase_if(parameters_, [&](const auto& one) { return is_new_peer_cost(one, prior); });
    drop_unseen();
  }

  bool has_new_peer_costs() const {
    return std::ranges::any_of(parameters_, [&](const auto& one) { return is_new_peer_cost(one, prior_); });
  }

  // From the prior, and from the best of the places one spread away from it.
  Logarithms likeliest() const {
    const Logarithms middle(parameters_.size(), 0.0);
    Logarithms aside = middle;
    for (const Logarithms& at : places_around(middle, [](std::size_t) { return true; }))
      if (cost(at) < cost(aside)) aside = at;
    Logarithms best = near(middle);
    if (aside != middle) take_better(best, near(aside));
    while (finds_hidden(best)) continue;
    return best;
  }

  double cost(const Logarithms& at) const { return half_square_sum(residuals(at)); }

  OverheadFit fit_of(const Logarithms& found) const {
    OverheadFit fit{prior_, {}};
    const ClusterSpec best = scaled(prior_, parameters_, found);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      for (const CalibratedNumber& number : parameters_[i].numbers) {
        if (std::abs(found[i]) < kMovedFrom && !is_whole_start(number)) continue;
        set_number(fit.spec, number, number_text(number, number_in(best, number), kDigits));
        fit.changed.push_back(number);
      }
    }
    return fit;
  }

 private:
  static bool is_cost(const CalibratedParameter& parameter) {
    const CalibratedKey key = parameter.numbers.front().key;
    return key != CalibratedKey::efficiency && key != CalibratedKey::nic_efficiency;
  }

  // Where loads time the kind a fitted start stands for launch and latency too, so it is fitted or not as a whole.
  bool is_whole_start(const CalibratedNumber& number) const {
    return number.key == CalibratedKey::start && !timed_by_nccl(number.kind, prior_);
  }

  // ln(predicted / measured) of each row.
  std::vector<double> misses(const Logarithms& at) const {
    return predicted_.misses(scaled(unbounded_, parameters_, at));
  }

  std::vector<double> residuals(const Logarithms& at) const {
    std::vector<double> result = misses(at);
    for (double& miss : result) miss /= kRowSpread;
    for (std::size_t i = 0; i < at.size(); ++i) result.push_back(at[i] / parameters_[i].spread);
    return result;
  }

  bool is_seen(std::size_t parameter, const std::vector<double>& base) const {
    const auto is_it = [&](std::size_t i) { return i == parameter; };
    for (const Logarithms& at : places_around(Logarithms(parameters_.size(), 0.0), is_it)) {
      const std::vector<double> moved = misses(at);
      for (std::size_t row = 0; row < base.size(); ++row)
        if (std::abs(moved[row] - base[row]) > kSeenFrom) return true;
    }
    return false;
  }

  void drop_unseen() {
    const std::vector<double> base = misses(Logarithms(parameters_.size(), 0.0));
    Parameters seen;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (is_seen(i, base)) seen.push_back(parameters_[i]);
    parameters_ = std::move(seen);
  }

  Logarithms near(const Logarithms& start) const {
    return least_squares([this](const Logarithms& at) { return residuals(at); }, start);
  }

  // A bound that another one hides (the channels of a pair behind its NIC) has no slope: it is seen from aside only.
  bool finds_hidden(Logarithms& best) const {
    const std::vector<double> base = misses(best);
    const auto is_hidden = [&](std::size_t i) {
      Logarithms at = best;
      at[i] += kSlopeStep;
      return misses(at) == base;
    };
    bool found = false;
    for (const Logarithms& at : places_around(best, is_hidden))
      if (misses(at) != base) found = take_better(best, near(at)) || found;
    return found;
  }

  bool take_better(Logarithms& best, Logarithms other) const {
    if (!(cost(other) < kGain * cost(best))) return false;
    best = std::move(other);
    return true;
  }

  template <typename Test>
  std::vector<Logarithms> places_around(const Logarithms& middle, Test test) const {
    std::vector<Logarithms> places;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!test(i)) continue;
      for (const double side : {-1.0, 1.0}) {
        places.push_back(middle);
        places.back()[i] += side * parameters_[i].spread;
      }
    }
    return places;
  }

  const ClusterSpec& prior_;
  const ClusterSpec unbounded_;
  RepeatedPrediction predicted_;
  Parameters parameters_;
};

// The sum of the sizes of ln(predicted / measured) of rows with `peers` by a fit to the others.
double missed_without(int peers, const ClusterSpec& prior, const Rows& rows, FitScope scope, bool new_peer_costs) {
  Rows seen, unseen;
  for (const MeasuredRow& row : rows) (row.nodes > 1 && remote_peers(row) == peers ? unseen : seen).push_back(row);
  const OverheadFitting fitting(prior, seen, scope, new_peer_costs);
  const OverheadFit fit = fitting.fit_of(fitting.likeliest());
  double sum = 0;
  for (const JudgedRow& row : judged_on(fit.spec, unseen))
    sum += std::abs(std::log(row.predicted().value / row.measured.time->value));
  return sum;
}

// True when the rows prove a cost per peer. With three numbers of peers and more, each is predicted by a fit to the
// others, better with such a cost; two leave nothing to predict, and two standard errors decide.
bool proves_peer_costs(const ClusterSpec& prior, const Rows& rows, FitScope scope, double with, double without) {
  std::set<int> numbers;
  for (const MeasuredRow& row : rows)
    if (row.nodes > 1) numbers.insert(remote_peers(row));
  if (without < with + kProven) return false;
  if (numbers.size() < 3) return true;
  double missed_with = 0, missed = 0;
  for (const int peers : numbers) {
    missed_with += missed_without(peers, prior, rows, scope, true);
    missed += missed_without(peers, prior, rows, scope, false);
  }
  return missed_with < kTelling * missed;
}

}  // namespace

OverheadFit fit_overheads(const ClusterSpec& prior, const std::vector<MeasuredRow>& rows, FitScope scope) {
  const OverheadFitting with(prior, rows, scope, true);
  const Logarithms found = with.likeliest();
  if (!with.has_new_peer_costs()) return with.fit_of(found);
  const OverheadFitting without(prior, rows, scope, false);
  const Logarithms fewer = without.likeliest();
  const bool proven = proves_peer_costs(prior, rows, scope, with.cost(found), without.cost(fewer));
  return proven ? with.fit_of(found) : without.fit_of(fewer);
}

namespace {

constexpr double kMidFrom = 4 * kMiB, kMidTo = 32 * kMiB;  // where the time turns from latency to bandwidth

using Positions = std::vector<std::size_t>;

// `count` sizes from `low` to `high`, evenly in the logarithm; a single one lies in the middle.
std::vector<double> spread_sizes(double low, double high, int count) {
  if (count == 1) return {std::sqrt(low * high)};
  std::vector<double> sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(low * std::pow(high / low, i / (count - 1.0)));
  return sizes;
}

std::vector<double> wanted_sizes(double low, double high, int count, bool whole_curve) {
  if (!whole_curve || low >= kMiB || count < 3) return count < 2 ? std::vector{high} : spread_sizes(low, high, count);
  std::vector<double> sizes = spread_sizes(kMidFrom, kMidTo, count - 2);
  sizes.insert(sizes.begin(), low);
  sizes.push_back(high);
  return sizes;
}

class Chooser {
 public:
  explicit Chooser(const std::vector<MeasuredRow>& rows) : rows_(rows) {}

  Positions reach(bool across) const {
    Positions found;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if ((rows_[i].nodes > 1) == across) found.push_back(i);
    return found;
  }

  void take_reach(const Positions& from, int most, bool whole_curve) {
    if (most < 1) return;
    const Positions largest = group(from, true);
    const auto [low, high] = sizes_of(largest);
    take(largest, wanted_sizes(low, high, most, whole_curve));
  }

  // One of the smallest group, the rest of the largest.
  void take_across(const Positions& from, int most) {
    const Positions few = group(from, false);
    if (few == group(from, true) || most < 2) return take_reach(from, most, false);
    take(few, {sizes_of(few).second});
    take_reach(from, most - 1, false);
  }

  Positions chosen() const { return {chosen_.begin(), chosen_.end()}; }

 private:
  double size(std::size_t position) const { return static_cast<double>(*rows_[position].bytes); }

  std::pair<double, double> sizes_of(const Positions& of) const {
    const auto [low, high] = std::ranges::minmax(of, {}, [&](std::size_t i) { return size(i); });
    return {size(low), size(high)};
  }

  Positions group(const Positions& from, bool largest) const {
    const auto ranks = [&](std::size_t i) { return rows_[i].nodes * rows_[i].gpus_per_node; };
    const auto [few, many] = std::ranges::minmax(from, {}, ranks);
    const int wanted = ranks(largest ? many : few);
    Positions found;
    std::ranges::copy_if(from, std::back_inserter(found), [&](std::size_t i) { return ranks(i) == wanted; });
    return found;
  }

  // Takes the nearest row of each wanted size; no size twice.
  void take(const Positions& from, const std::vector<double>& wanted) {
    std::set<double> taken;
    for (double target : wanted) {
      const auto distance = [&](std::size_t i) {
        return taken.contains(size(i)) ? HUGE_VAL : std::abs(std::log(size(i) / target));
      };
      const std::size_t nearest = *std::ranges::min_element(from, {}, distance);
      if (taken.insert(size(nearest)).second) chosen_.insert(nearest);
    }
  }

  const std::vector<MeasuredRow>& rows_;
  std::set<std::size_t> chosen_;
};

}  // namespace

std::vector<std::size_t> rows_to_fit(const std::vector<MeasuredRow>& rows, int most) {
  Chooser chooser(rows);
  const Positions inside = chooser.reach(false), across = chooser.reach(true);
  if (inside.empty() || across.empty()) {
    if (!rows.empty()) chooser.take_reach(inside.empty() ? across : inside, most, true);
    return chooser.chosen();
  }
  chooser.take_reach(inside, most / 2, false);
  chooser.take_across(across, most - most / 2);
  return chooser.chosen();
}

}  // namespace shardsim
