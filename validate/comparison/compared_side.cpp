#include "validate/comparison/compared_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace shardsim {
namespace {

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string role_of_dense(std::string_view name) {
  if (name.starts_with("dense_forward")) return "dense forward";
  if (name.starts_with("dense_backward")) return "dense backward";
  if (name.starts_with("dense_optimizer")) return "dense optimizer";
  if (name == "h2d_copy") return "copies of inputs";
  if (name == "copy" || name == "memset") return "other copies";
  return name == "dense" ? "" : "passes over ids and vectors";
}

OperationName name_of(const Timeline::OpInfo& op) {
  return {op.name, op.op_class == "all_to_all_v" ? "all_to_all" : op.op_class};
}

// The most rank iterations for which figures are kept.
constexpr std::int64_t kMostRankIterations = 20'000'000;

void require_moderate_size(const Timeline& timeline, const Place& place) {
  std::set<int> iterations;
  for (const Span& span : timeline.spans) iterations.insert(span.iteration);
  if (static_cast<std::int64_t>(iterations.size()) * timeline.world_size <= kMostRankIterations) return;
  throw input_error(
      place, fmt::format("{} iterations of {} ranks are too many to compare", iterations.size(), timeline.world_size),
      "Keep fewer iterations");
}

// An operation may run on into the iterations after its own, as of a pipeline; where nearly all run through nearly all
// iterations, the parts to look at are as many as both multiplied, and no iteration has a beginning.
void require_ends(const Timeline& timeline, const Place& place) {
  constexpr std::size_t kMostWindowsEach = 16, kFew = 1'000'000;
  const std::vector<IterationWindow> windows = iteration_windows(timeline);
  std::size_t parts = 0;
  for (const Span& span : timeline.spans) {
    const auto first = std::ranges::upper_bound(windows, span.start_us, {}, &IterationWindow::end_us);
    const auto last = std::ranges::lower_bound(windows, span.end_us, {}, &IterationWindow::begin_us);
    parts += static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, last - first));
  }
  if (parts <= kFew + kMostWindowsEach * timeline.spans.size()) return;
  throw input_error(place,
                    fmt::format("its {} operations run through {} iterations each", timeline.spans.size(),
                                parts / timeline.spans.size()),
                    "Correct 'iteration' and the times of its spans");
}

}  // namespace

std::string operation_role(std::string_view name, std::string_view op_class) {
  if (op_class == "lookup") return "lookups";
  if (op_class == "update") return "updates";
  if (op_class == "dense") return role_of_dense(name);
  if (op_class == "all_to_all" || op_class == "all_to_all_v") {
    if (name.starts_with("input_")) return "exchange of ids";
    return says(name, "grad") ? "exchange of gradients" : "exchange of vectors";
  }
  return "";
}

OperationTimes::OperationTimes(const Timeline& timeline, const std::set<int>& ranks) {
  std::set<int> ran;
  const auto counts = [&](const Span& span) { return ranks.empty() || ranks.contains(span.rank); };
  for (const Span& span : timeline.spans)
    if (counts(span)) ran.insert(span.op);
  std::map<int, std::size_t> name_of_op;
  for (const int op : ran) name_of_op[op] = known_index(name_of(timeline.ops.at(static_cast<std::size_t>(op))));
  us_.resize(names_.size());
  for (const Span& span : timeline.spans)
    if (counts(span)) us_[name_of_op.at(span.op)][{span.iteration, span.rank}] += span.end_us - span.start_us;
}

std::size_t OperationTimes::known_index(const OperationName& name) {
  const auto [entry, fresh] = index_.try_emplace(name, names_.size());
  if (!fresh) return entry->second;
  names_.push_back(name);
  Indices& of_it = of_class_[name.op_class];
  if (of_it.empty()) classes_.push_back(name.op_class);
  of_it.push_back(entry->second);
  return entry->second;
}

std::optional<std::size_t> OperationTimes::index_of(const OperationName& name) const {
  const auto known = index_.find(name);
  return known == index_.end() ? std::nullopt : std::optional(known->second);
}

const OperationTimes::Indices& OperationTimes::of_class(const std::string& op_class) const {
  static const Indices kNone;
  const auto known = of_class_.find(op_class);
  return known == of_class_.end() ? kNone : known->second;
}

std::vector<double> OperationTimes::ms(const Indices& operations) const {
  std::map<std::pair<int, int>, double> sums;
  for (const std::size_t operation : operations)
    for (const auto& [where, us] : us_[operation]) sums[where] += us;
  std::map<int, double> slowest;
  for (const auto& [where, us] : sums) {
    double& most = slowest[where.first];
    most = std::max(most, us);
  }
  std::vector<double> result;
  for (const auto& [iteration, us] : slowest) result.push_back(us * kMsPerUs);
  return result;
}

ComparedSide::ComparedSide(const Timeline& of, const std::set<int>& traced)
    : timeline(of), times(of, traced), windows(iteration_windows(of)), ranks(static_cast<std::size_t>(of.world_size)) {
  iteration_ms = spread_of(iterations_ms()).median;
  add_figures(traced);
}

void ComparedSide::add_figures(const std::set<int>& traced) {
  for (std::vector<RankTimes>& rank : ranks) rank.reserve(windows.size());
  most_exposed.reserve(windows.size());
  for (std::vector<RankTimes>& window : window_rank_times(timeline, windows)) {
    const RankTimes* most = nullptr;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks[rank].push_back(window[rank]);
      if (!traced.empty() && !traced.contains(static_cast<int>(rank))) continue;
      if (most == nullptr || window[rank].exposed_ms > most->exposed_ms) most = &window[rank];
    }
    most_exposed.push_back(most == nullptr ? RankTimes{} : *most);  // none: no rank of it was traced
    std::vector<RankTimes>().swap(window);                          // or all figures are in memory twice
  }
}

std::vector<double> ComparedSide::iterations_ms() const {
  if (windows.size() == 1 && timeline.iteration_ms > 0) return {timeline.iteration_ms};
  std::vector<double> values;
  for (const IterationWindow& window : windows) values.push_back(window.ms());
  return values;
}

std::vector<double> ComparedSide::rank_ms(std::size_t rank, double (*figure)(const RankTimes&)) const {
  std::vector<double> values;
  values.reserve(windows.size());
  for (const RankTimes& window : ranks[rank]) values.push_back(figure(window));
  return values;
}

std::vector<double> ComparedSide::most_exposed_ms(double RankTimes::*figure) const {
  std::vector<double> values;
  for (const RankTimes& window : most_exposed) values.push_back(window.*figure);
  return values;
}

void require_comparable(const Timeline& timeline, const Place& place) {
  require_moderate_size(timeline, place);
  require_ends(timeline, place);
}

}  // namespace shardsim
