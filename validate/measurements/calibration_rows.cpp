#include <algorithm>
#include <cmath>
#include <set>

#include "validate/measurements/overhead_fit.h"

namespace shardsim {
namespace {

constexpr double kMidFrom = 4 * kMiB, kMidTo = 32 * kMiB;  // where the time turns from latency to bandwidth

using Positions = std::vector<std::size_t>;

bool is_across(const MeasuredRow& row) {
  return row.nodes > 1;
}

int group_of(const MeasuredRow& row) {
  return row.nodes * row.gpus_per_node;
}

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
      if (is_across(rows_[i]) == across) found.push_back(i);
    return found;
  }

  Positions group(const Positions& from, bool largest) const {
    int wanted = group_of(rows_[from.front()]);
    for (std::size_t i : from)
      wanted = largest ? std::max(wanted, group_of(rows_[i])) : std::min(wanted, group_of(rows_[i]));
    Positions found;
    for (std::size_t i : from)
      if (group_of(rows_[i]) == wanted) found.push_back(i);
    return found;
  }

  double size(std::size_t position) const { return static_cast<double>(*rows_[position].bytes); }
  double smallest(const Positions& of) const {
    return size(*std::ranges::min_element(of, {}, [&](auto i) { return size(i); }));
  }
  double largest(const Positions& of) const {
    return size(*std::ranges::max_element(of, {}, [&](auto i) { return size(i); }));
  }

  // Of each wanted size the nearest row; no size twice.
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

  void take_reach(const Positions& from, int most, bool whole_curve) {
    if (most < 1) return;
    const Positions group_rows = group(from, true);
    take(group_rows, wanted_sizes(smallest(group_rows), largest(group_rows), most, whole_curve));
  }

  // One of the smallest group, the rest of the largest.
  void take_across(const Positions& from, int most) {
    const Positions few = group(from, false), many = group(from, true);
    if (few == many || most < 2) return take_reach(from, most, false);
    take(few, {largest(few)});
    take_reach(from, most - 1, false);
  }

  Positions chosen() const { return {chosen_.begin(), chosen_.end()}; }

 private:
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
