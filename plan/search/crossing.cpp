#include "plan/search/crossing.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardsim::search {
namespace {

constexpr std::ptrdiff_t kHeavyPart = 4;  // one in four tables of a kind is a heavy one
constexpr double kCrossingGain = 1e-4;    // relative; less is not worth another crossing

using Group = std::vector<std::size_t>;  // tables

// Tables whose ways to be placed may come from different starts: those of a kind share exchanges, and few heavy ones
// are placed unlike many light ones.
std::vector<Group> crossed_groups(const LocalSearch& local, const Workload& workload) {
  std::vector<Group> groups;
  for (const TableKind kind : {TableKind::pooled, TableKind::sequence}) {
    Group tables;
    std::ranges::copy_if(local.heaviest(), std::back_inserter(tables),
                         [&](std::size_t table) { return workload.tables[table].kind == kind; });
    groups.push_back(tables);
    const auto heavy = tables.begin() + std::ssize(tables) / kHeavyPart;
    groups.emplace_back(tables.begin(), heavy);
    groups.emplace_back(heavy, tables.end());
  }
  std::erase_if(groups, [](const Group& group) { return group.empty(); });
  return groups;
}

// The plan with the ways of another one for some tables.
Found crossed(LocalSearch& local, const Found& best, const Found& other, const Group& group) {
  std::vector<Choice> plan = best.plan;
  for (const std::size_t table : group) plan[table] = other.plan[table];
  local.begin(std::move(plan));
  return {local.plan(), local.seconds(), local.fits(), other.from};
}

}  // namespace

bool is_before(const Found& a, const Found& b) {
  return a.fits != b.fits ? a.fits : a.seconds < b.seconds;
}

std::vector<Found> crossed_plans(LocalSearch& local, const Workload& workload, const std::vector<Found>& starts,
                                 std::int64_t evaluations) {
  std::vector<Found> made;
  if (starts.empty()) return made;
  const std::vector<Group> groups = crossed_groups(local, workload);
  Found best = *std::ranges::min_element(starts, is_before);
  for (bool better = groups.size() > 1; better && !local.stopped();) {
    better = false;
    for (const Group& group : groups) {
      for (const Found& start : starts) {
        if (local.evaluations() > evaluations) return made;
        made.push_back(crossed(local, best, start, group));
        const bool gains = made.back().seconds < best.seconds * (1 - kCrossingGain) || !best.fits;
        if (!gains || !is_before(made.back(), best)) continue;
        best = made.back();
        better = true;
      }
    }
  }
  return made;
}

std::vector<Found> best_of_planners(const std::vector<Found>& found, std::size_t most) {
  std::vector<Found> best;
  for (const Found& each : found)
    if (best.size() < most && std::ranges::find(best, each.from, &Found::from) == best.end()) best.push_back(each);
  return best;
}

}  // namespace shardsim::search
