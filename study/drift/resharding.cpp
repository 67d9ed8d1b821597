#include "study/drift/resharding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/tree/json.h"
#include "models/collective/collective.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "study/confidence/faster.h"
#include "study/confidence/interval.h"
#include "study/drift/drifted_workload.h"
#include "study/planning/prepared_case.h"

namespace shardsim {
namespace {

const DriftDay& on_day(const DriftResult& result, int day) {
  return result.days[static_cast<std::size_t>(day)];
}

std::optional<int> first_day(const DriftResult& result, bool DriftDay::*is_so) {
  const auto day = std::ranges::find(result.days, false, is_so);
  return day == result.days.end() ? std::nullopt : std::optional(day->day);
}

constexpr double kCoinToss = 0.55;  // by definition: with a chance up to this nobody moves rows

// True when the age of the kept plan costs more on that day than what is noise between plans, or runs, of one age, and
// the errors of the two predictions leave more than a coin toss.
bool is_telling(const DriftResult& result, const DriftDay& day) {
  const double noise = day.searched ? search_spread(result.tables) : kRepeatScale;
  return day.aged_share() > noise / (1 + noise) && day.chance > kCoinToss;
}

double lost_to_age(const DriftResult& result, int days) {
  double lost = 0;
  for (int day = 0; day < days; ++day) lost += on_day(result, day).aged_s;
  return lost;
}

double cost_of_new_plan(const DriftResult& result, int day, Seconds pause) {
  return on_day(result, day).moving_s + pause.value;
}

// True of a day on which there is another plan to go to. Where the kept one is the best nothing moves, so that a change
// would seem cheap, and is none. Where it no longer fits any other one is.
bool has_reason(const DriftResult& result, const DriftDay& day) {
  return day.has_new_plan() && (!day.frozen_fits || is_telling(result, day));
}

std::optional<int> next_new_plan(const DriftResult& result, int from, int until) {
  for (int day = from; day <= until; ++day)
    if (has_reason(result, on_day(result, day))) return day;
  return std::nullopt;
}

bool pays_by_age(const DriftResult& result, int last, Seconds pause) {
  for (auto day = next_new_plan(result, 1, last); day; day = next_new_plan(result, *day + 1, last)) {
    if (lost_to_age(result, *day + 1) > cost_of_new_plan(result, *day, pause)) return true;
  }
  return false;
}

// Only days on which there is another plan count.
std::optional<int> least_costly_interval(const DriftResult& result, int longest, Seconds pause) {
  const auto lost_per_day = [&](int days) { return loss_of_period(result, days, pause)->all() / days; };
  std::optional<int> best = next_new_plan(result, 1, longest);
  for (auto days = best; days; days = next_new_plan(result, *days + 1, longest)) {
    if (lost_per_day(*days) < lost_per_day(*best)) best = days;
  }
  return best;
}

constexpr int kDenseMoves = 256;  // ranks up to which every pair is counted

// [rank] the share of a row that it holds.
std::vector<double> holdings(const Placement& placement, std::size_t ranks) {
  std::vector<double> held(ranks);
  for (const std::vector<int>& group : placement.holders)
    for (const int rank : group) held[static_cast<std::size_t>(rank)] = 1.0 / placement.shards();
  return held;
}

double overlap(double begin, double end, double other_begin, double other_end) {
  return std::max(0.0, std::min(end, other_end) - std::max(begin, other_begin));
}

// Bytes of the rows that are in one placement before and in another one after.
double bytes_of_both(const Placement& from, const Placement& to, const Table& table, const std::string& optimizer,
                     double stays) {
  const auto real = [](auto number) { return static_cast<double>(number); };
  const auto columns = static_cast<std::int64_t>(
      overlap(real(from.column_begin), real(from.column_end), real(to.column_begin), real(to.column_end)));
  if (columns == 0) return 0;
  const double same = overlap(real(from.row_begin), real(from.row_end), real(to.row_begin), real(to.row_end));
  const double any = real(from.rows()) * real(to.rows()) / real(table.rows);
  const double rows = stays * same + (1 - stays) * any;
  return rows * real(columns * dtype_bytes(table.dtype) + optimizer_row_bytes(optimizer, columns));
}

}  // namespace

bool searches(const Tree& planner) {
  const Tree* const name = planner.find("name");
  const std::string& own = name != nullptr ? name->scalar : planner.scalar;
  const Tree* const tables = own == "per_table" ? planner.find("tables") : nullptr;
  if (tables == nullptr) return own == "search";
  return std::ranges::any_of(tables->fields, [](const auto& part) { return searches(part.second); });
}

std::vector<Tree> planners_of_days(const Case& item, const DriftOptions& options) {
  if (!options.planners.empty() || !item.plan_file.empty()) return options.planners;
  return {item.planner};
}

std::vector<LaterPlan> later_plans(const std::vector<DayOutcome>& outcomes, const Case& item,
                                   const DriftOptions& options) {
  constexpr std::size_t kMostLater = 8;  // each is simulated
  std::vector<const DayOutcome*> found;
  for (const DayOutcome& each : outcomes)
    if (!each.new_plan.empty() && each.day.is_choice()) found.push_back(&each);
  const auto gain = [](const DayOutcome* each) { return each->day.frozen_ms / each->day.best_ms; };
  std::ranges::stable_sort(found, std::greater<>(), gain);
  std::vector<LaterPlan> later;
  const Cluster cluster = cluster_of(item);
  for (const DayOutcome* const each : found) {
    if (later.size() == kMostLater) break;
    const Workload workload = workload_on(item.workload, options, each->day.day);
    const Plan plan = plan_from_tree(parse_json(each->new_plan, "plan"), workload, cluster);
    Plan at_start = kept_plan(plan, workload, item.workload);
    if (std::ranges::find(later, at_start.placements, [](const LaterPlan& other) { return other.plan.placements; }) ==
        later.end())
      later.push_back({each->day.day, each->day.best, each->day.searched, std::move(at_start)});
  }
  return later;
}

std::optional<PeriodLoss> loss_of_period(const DriftResult& result, int days, Seconds pause) {
  if (days < 1 || !on_day(result, days).has_new_plan()) return std::nullopt;
  return PeriodLoss{lost_to_age(result, days), cost_of_new_plan(result, days, pause)};
}

int Resharding::last_chance() const {
  return out_of_memory_day && out_of_memory_day != no_plan_day ? *out_of_memory_day : last_day;
}

Resharding resharding_of(const DriftResult& result, Seconds pause) {
  Resharding found;
  found.out_of_memory_day = first_day(result, &DriftDay::frozen_fits);
  found.no_plan_day = first_day(result, &DriftDay::best_fits);
  found.last_day = found.out_of_memory_day.value_or(static_cast<int>(result.days.size())) - 1;
  if (pays_by_age(result, found.last_day, pause))
    found.every_days = least_costly_interval(result, found.last_chance(), pause);
  found.better_from_start = result.days.front().gains_tellingly();
  return found;
}

double MovedBytes::all() const {
  return std::accumulate(to.begin(), to.end(), 0.0);
}

MovedBytes moved_bytes(const Plan& from, const Plan& to, const Workload& workload, double stays, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  MovedBytes moved;
  moved.to.resize(count);
  if (ranks <= kDenseMoves) moved.pairs.assign(count, std::vector<double>(count, 0.0));
  for (const Placement& before : from.placements) {
    for (const Placement& after : to.placements) {
      if (before.table != after.table) continue;
      const Table& table = workload.tables[static_cast<std::size_t>(before.table)];
      const double bytes = bytes_of_both(before, after, table, workload.optimizer, stays);
      if (bytes <= 0) continue;
      const std::vector<double> held = holdings(before, count), wanted = holdings(after, count);
      const double all = std::accumulate(held.begin(), held.end(), 0.0);
      for (std::size_t rank = 0; rank < count; ++rank) {
        const double more = wanted[rank] - held[rank], others = all - held[rank];
        if (more <= 0 || others <= 0) continue;
        moved.to[rank] += bytes * more;
        for (std::size_t source = 0; source < moved.pairs.size(); ++source)
          if (source != rank) moved.pairs[source][rank] += bytes * more * held[source] / others;
      }
    }
  }
  return moved;
}

double moving_seconds(const MovedBytes& moved, const Cluster& cluster) {
  const int ranks = cluster.world_size();
  if (moved.all() < 1 || ranks < 2) return 0;
  const auto whole = [](double bytes) { return static_cast<std::int64_t>(std::llround(bytes)); };
  ByteMatrix matrix;
  matrix.kind = moved.pairs.empty() ? ByteMatrix::Kind::by_destination : ByteMatrix::Kind::dense;
  for (const std::vector<double>& line : moved.pairs) {
    std::vector<std::int64_t>& of_source = matrix.dense.emplace_back();
    std::ranges::transform(line, std::back_inserter(of_source), whole);
  }
  if (moved.pairs.empty())
    for (const double bytes : moved.to) matrix.units.push_back(whole(bytes / ranks));
  const std::vector<int> all = all_ranks(ranks);
  return expand_collective({CollectiveKind::all_to_all, all, &matrix, 0}, cluster, "auto").alone(cluster).value;
}

}  // namespace shardsim
