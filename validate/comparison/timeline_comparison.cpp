#include "validate/comparison/timeline_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/judgement/pair.h"
#include "base/statistics.h"
#include "base/text.h"
#include "validate/comparison/compared_side.h"

namespace shardsim {
namespace {

ComparedTime compared(const std::vector<double>& predicted, const std::vector<double>& observed) {
  return {spread_of(predicted).median, spread_of(observed)};
}

// A profiler's marks say how long its steps are. Of these the middle one is taken, as import and why do: a step that
// was there, where a median may lie between two. Nothing where there are no marks.
std::optional<std::size_t> middle_step(const std::vector<double>& steps) {
  if (steps.empty()) return std::nullopt;
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t step) { return steps[step]; });
  return order[(order.size() - 1) / 2];
}

double share_of(double ms, double iteration_ms) {
  return iteration_ms > 0 ? ms / iteration_ms : 0;
}

// An incomplete run ended somewhere in its last iteration.
Timeline usable_part(const Timeline& observed, std::vector<std::string>& notes) {
  Timeline part = observed;
  if (observed.complete || observed.spans.empty()) return part;
  std::set<int> iterations;
  for (const Span& span : observed.spans) iterations.insert(span.iteration);
  if (iterations.size() < 2) {
    notes.push_back(
        "the observed run ended early, within its only measured iteration: its times cover only a part of it");
    return part;
  }
  std::erase_if(part.spans, [&](const Span& span) { return span.iteration == *iterations.rbegin(); });
  notes.push_back(fmt::format("the observed run ended early: its last iteration is left out, {} remain{}",
                              iterations.size() - 1, iterations.size() == 2 ? "s" : ""));
  return part;
}

class Comparer {
 public:
  Comparer(const Timeline& predicted, const Timeline& observed, const std::vector<double>& steps_ms,
           TimelineComparison& result)
      : predicted_(predicted, common_ranks(predicted, observed)),
        observed_(observed),
        predicted_times_(named_times(predicted_.timeline)),
        observed_times_(named_times(observed_.timeline)),
        steps_ms_(steps_ms),
        middle_(middle_step(steps_ms)),
        result_(result) {}

  void run() {
    result_.world_size = predicted_.timeline.world_size;
    result_.iterations = static_cast<int>(observed_.windows.size());
    result_.iteration = of_iteration(predicted_.iterations_ms(), middle_ ? steps_ms_ : observed_.iterations_ms());
    name_sides();
    result_.exposed = most_exposed(&RankTimes::exposed_ms);
    result_.waiting = most_exposed(&RankTimes::waiting_ms);
    compare_classes();
    compare_names();
    compare_ranks();
    compare_waits();
    result_.predicted_bytes = most_of(predicted_.timeline.hbm_bytes);
    result_.observed_bytes = most_of(observed_.timeline.hbm_bytes);
    add_notes();
  }

 private:
  using Indices = OperationTimes::Indices;

  void name_sides() {
    const std::string &first = predicted_.timeline.kind, &second = observed_.timeline.kind;
    result_.first = first == second ? "first" : first;
    result_.second = first == second ? "second" : second;
  }

  ComparedTime most_exposed(double RankTimes::*figure) const {
    return of_iteration(predicted_.most_exposed_ms(figure), observed_.most_exposed_ms(figure));
  }

  // A figure of a whole iteration: that of the middle step, so that they belong together, else the median.
  ComparedTime of_iteration(const std::vector<double>& predicted, const std::vector<double>& observed) const {
    ComparedTime time = compared(predicted, observed);
    if (middle_ && observed.size() == steps_ms_.size()) time.observed_ms.median = observed[*middle_];
    return time;
  }

  void compare_waits() {
    std::map<std::string, NamedTime> theirs;
    for (const NamedTime& time : observed_times_) theirs.try_emplace(time.name, time);
    for (const NamedTime& ours : predicted_times_) {
      const auto partner = theirs.find(ours.name);
      if (partner == theirs.end()) continue;
      const bool telling =
          ours.waits_tellingly(predicted_.iteration_ms) || partner->second.waits_tellingly(observed_.iteration_ms);
      if (telling) result_.waits.push_back({ours, partner->second});
    }
  }

  static std::optional<std::int64_t> most_of(const std::vector<std::int64_t>& bytes) {
    if (bytes.empty()) return std::nullopt;
    return *std::max_element(bytes.begin(), bytes.end());
  }

  static std::vector<std::string> names_of(const ComparedSide& side, const Indices& indices) {
    std::vector<std::string> names;
    for (const std::size_t i : indices) names.push_back(side.times.names()[i].name);
    return names;
  }

  ComparedOperation together(const std::string& name, const std::string& op_class, const Indices& predicted,
                             const Indices& observed) const {
    ComparedOperation row{name, op_class, compared(predicted_.times.ms(predicted), observed_.times.ms(observed)),
                          names_of(predicted_, predicted), names_of(observed_, observed)};
    row.share = std::max(share_of(row.time.predicted_ms, predicted_.iteration_ms),
                         share_of(row.time.observed_ms.median, observed_.iteration_ms));
    if (is_communication(op_class))
      row.exposed_off_ms =
          std::abs(exposed_ms(predicted_times_, row.predicted_names) - exposed_ms(observed_times_, row.observed_names));
    return row;
  }

  static double exposed_ms(const std::vector<NamedTime>& times, const std::vector<std::string>& names) {
    double ms = 0;
    for (const NamedTime& time : times)
      if (std::ranges::find(names, time.name) != names.end()) ms += time.exposed_ms;
    return ms;
  }

  void compare_classes() {
    for (const std::string& op_class : predicted_.times.classes()) {
      const Indices& observed = observed_.times.of_class(op_class);
      if (!observed.empty())
        result_.classes.push_back(together(op_class, op_class, predicted_.times.of_class(op_class), observed));
    }
  }

  // Those that both sides have, where the second has only some of the ranks that the first has; else none: all count.
  static std::set<int> common_ranks(const Timeline& predicted, const Timeline& observed) {
    std::set<int> ours, theirs, common;
    for (const Span& span : predicted.spans) ours.insert(span.rank);
    for (const Span& span : observed.spans) theirs.insert(span.rank);
    std::ranges::set_intersection(ours, theirs, std::inserter(common, common.begin()));
    return common.size() < ours.size() ? common : std::set<int>{};
  }

  // By name and class first; what is left of a role on both sides, together, and then what is left of a class.
  void compare_names() {
    const std::vector<OperationName>&ours = predicted_.times.names(), &theirs = observed_.times.names();
    std::vector<bool> matched(theirs.size(), false);
    Indices left;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (const auto partner = observed_.times.index_of(ours[i])) {
        matched[*partner] = true;
        result_.operations.push_back(together(ours[i].name, ours[i].op_class, {i}, {*partner}));
      } else {
        left.push_back(i);
      }
    }
    left = match_rest(left, matched, [](const OperationName& of) { return operation_role(of.name, of.op_class); });
    left = match_rest(left, matched, [](const OperationName& of) { return "the rest of " + of.op_class; });
    for (const std::size_t i : left) add_lone(predicted_, i, true);
    for (std::size_t i = 0; i < theirs.size(); ++i)
      if (!matched[i]) add_lone(observed_, i, false);
  }

  // Joins what has one role, or "", none; returns what has no partner.
  template <typename Role>
  Indices match_rest(const Indices& ours, std::vector<bool>& matched, const Role& role_of) {
    std::vector<std::string> roles;  // in order of appearance
    Indices alone;
    const auto key = [&](const OperationName& of) { return of.op_class + "/" + role_of(of); };
    for (const std::size_t i : ours) {
      const OperationName& name = predicted_.times.names()[i];
      if (!role_of(name).empty() && std::ranges::find(roles, key(name)) == roles.end()) roles.push_back(key(name));
      if (role_of(name).empty()) alone.push_back(i);
    }
    for (const std::string& role : roles) {
      Indices mine, theirs;
      for (const std::size_t i : ours)
        if (key(predicted_.times.names()[i]) == role) mine.push_back(i);
      for (std::size_t i = 0; i < matched.size(); ++i)
        if (!matched[i] && key(observed_.times.names()[i]) == role) theirs.push_back(i);
      if (theirs.empty()) {
        alone.insert(alone.end(), mine.begin(), mine.end());
        continue;
      }
      for (const std::size_t i : theirs) matched[i] = true;
      const OperationName& first = predicted_.times.names()[mine.front()];
      result_.operations.push_back(together(role_of(first), first.op_class, mine, theirs));
      result_.operations.back().matched_by_class = true;
    }
    std::ranges::sort(alone);
    return alone;
  }

  void add_lone(const ComparedSide& side, std::size_t index, bool predicted) {
    const OperationName& name = side.times.names()[index];
    const double ms = spread_of(side.times.ms({index})).median;
    result_.alone.push_back({name.name, name.op_class, predicted, ms, share_of(ms, side.iteration_ms)});
  }

  static std::vector<bool> ranks_with_spans(const Timeline& timeline) {
    std::vector<bool> seen(static_cast<std::size_t>(timeline.world_size), false);
    for (const Span& span : timeline.spans) seen[static_cast<std::size_t>(span.rank)] = true;
    return seen;
  }

  void compare_ranks() {
    const std::vector<bool> ours = ranks_with_spans(predicted_.timeline), theirs = ranks_with_spans(observed_.timeline);
    int missing = 0;
    for (std::size_t rank = 0; rank < ours.size(); ++rank) {
      if (ours[rank] && theirs[rank]) {
        result_.ranks.push_back(compared_rank(rank));
      } else if (ours[rank] != theirs[rank]) {
        ++missing;
      }
    }
    if (missing > 0)
      result_.notes.push_back(fmt::format("{} of {} ranks appear on only one of the two sides and are not in the table",
                                          missing, result_.world_size));
  }

  ComparedRank compared_rank(std::size_t rank) const {
    const auto of = [&](double (*figure)(const RankTimes&)) {
      return of_iteration(predicted_.rank_ms(rank, figure), observed_.rank_ms(rank, figure));
    };
    ComparedRank row{static_cast<int>(rank),
                     of([](const RankTimes& times) { return times.compute_ms; }),
                     of([](const RankTimes& times) { return times.comm_ms; }),
                     of([](const RankTimes& times) { return times.exposed_ms; }),
                     of([](const RankTimes& times) { return times.compute_ms + times.exposed_ms; }),
                     of([](const RankTimes& times) { return times.waiting_ms; }),
                     {},
                     {},
                     moved(&Timeline::bytes_out, rank),
                     moved(&Timeline::bytes_in, rank)};
    if (!predicted_.timeline.hbm_bytes.empty()) row.predicted_bytes = predicted_.timeline.hbm_bytes[rank];
    if (!observed_.timeline.hbm_bytes.empty()) row.observed_bytes = observed_.timeline.hbm_bytes[rank];
    return row;
  }

  std::optional<ComparedRank::Moved> moved(std::vector<std::int64_t> Timeline::*bytes, std::size_t rank) const {
    const auto &ours = predicted_.timeline.*bytes, &theirs = observed_.timeline.*bytes;
    if (ours.empty() || theirs.empty()) return std::nullopt;
    return ComparedRank::Moved{ours[rank], theirs[rank]};
  }

  void add_notes() {
    if (!predicted_.timeline.steady)
      result_.notes.push_back(fmt::format("the {} had not become steady",
                                          result_.first == "predicted" ? "prediction" : result_.first + " timeline"));
    // A steady prediction has no spread.
    if (result_.iterations == 1 && observed_.timeline.kind != "predicted")
      result_.notes.push_back("only one iteration was observed, so its variation is not known");
    if (observed_.timeline.kind == "predicted" && !observed_.timeline.steady)
      result_.notes.push_back(fmt::format("the {} had not become steady",
                                          result_.second == "predicted" ? "prediction" : result_.second + " timeline"));
    const double residual_ms = observed_.timeline.measured.clock_residual_us * 1e-3;
    if (residual_ms > 0.01 * observed_.iteration_ms)
      result_.notes.push_back(fmt::format("the clocks of two nodes may differ by {:.3g} ms", residual_ms));
  }

  ComparedSide predicted_, observed_;
  std::vector<NamedTime> predicted_times_, observed_times_;
  const std::vector<double>& steps_ms_;
  const std::optional<std::size_t> middle_;  // of steps_ms_
  TimelineComparison& result_;
};

void require_spans(const Timeline& timeline, const Place& place, const std::string& case_name) {
  if (!timeline.spans.empty()) return;
  throw input_error(
      place, "case " + excerpt(case_name) + " holds no operation that ran",
      timeline.complete ? "Run it again" : "The run ended before its first measured iteration: run it again");
}

bool is_collective_op(const Timeline::OpInfo& op) {
  return is_communication(op.op_class);
}

// A trace of one rank of many beside a prediction of one rank that stands alone, as an imported trace is.
std::optional<Timeline> as_only_rank(const Timeline& predicted, const Timeline& observed,
                                     std::vector<std::string>& notes) {
  if (predicted.world_size != 1 || observed.world_size == 1) return std::nullopt;
  const int rank = observed.spans.front().rank;
  if (std::ranges::any_of(observed.spans, [&](const Span& span) { return span.rank != rank; })) return std::nullopt;
  Timeline alone = observed;
  alone.world_size = alone.ranks_per_node = 1;
  alone.groups.clear();
  alone.flow.clear();
  for (std::vector<std::int64_t>* const of : {&alone.hbm_bytes, &alone.bytes_out, &alone.bytes_in})
    if (!of->empty()) *of = {(*of)[static_cast<std::size_t>(rank)]};
  for (Span& span : alone.spans) span.rank = 0;
  notes.push_back(fmt::format("rank {} of {} was observed; it is compared with the only rank of the prediction", rank,
                              observed.world_size));
  return alone;
}

void require_same_world(const Timeline& predicted, const Timeline& observed, const ComparedPair& of) {
  if (predicted.world_size == observed.world_size) return;
  throw input_error(of.observed,
                    fmt::format("case {}: observed on {} ranks, and {} predicts {}", excerpt(of.observed_case),
                                observed.world_size, of.predicted.source, predicted.world_size),
                    "Simulate the cluster that was measured, e.g. with --set cluster.nodes=N");
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  const auto [least, most] = std::ranges::minmax(values);
  return {least, median(std::move(values)), most};
}

double ComparedRank::Moved::error_pct() const {
  if (observed == 0) return predicted == 0 ? 0 : HUGE_VAL;
  return percent_off(static_cast<double>(predicted), static_cast<double>(observed));
}

double ComparedTime::off_ms() const {
  return std::abs(predicted_ms - observed_ms.median);
}

std::optional<double> ComparedTime::error_against(double observed) const {
  if (observed <= 0) return std::nullopt;
  return percent_off(predicted_ms, observed);
}

TimelineComparison compare_timelines(const Timeline& predicted, const Timeline& observed, const ComparedPair& of) {
  TimelineComparison result;
  result.case_name = of.case_name;
  result.observed_case = of.observed_case;
  result.complete = observed.complete;
  result.measured = observed.measured;
  require_spans(predicted, of.predicted, of.case_name);
  require_spans(observed, of.observed, of.observed_case);
  const std::optional<Timeline> alone = as_only_rank(predicted, observed, result.notes);
  const Timeline& seen = alone ? *alone : observed;
  result.others_in_dense = alone && std::ranges::none_of(predicted.ops, is_collective_op);
  if (result.others_in_dense)
    result.notes.push_back(
        "the prediction has no exchanges: those of the observation, its copies and its waiting are in the dense "
        "part of the prediction, which is not judged");
  require_same_world(predicted, seen, of);
  require_comparable(predicted, of.predicted);
  require_comparable(seen, of.observed);
  const Timeline used = usable_part(seen, result.notes);
  Comparer(predicted, used, of.steps_ms, result).run();
  if (result.classes.empty())
    throw input_error(of.observed,
                      fmt::format("case {}: no operation in common with {}, which has {}, while this has {}",
                                  excerpt(of.observed_case), of.predicted.source,
                                  join(OperationTimes(predicted).classes()), join(OperationTimes(observed).classes())),
                      "Give the prediction of the same scenario and case");
  return result;
}

}  // namespace shardsim
