#include "study/report/documents/sweep_order.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"
#include "study/sweep/axis.h"

namespace shardsim {
namespace {

// Memory does not depend on where hot rows lie; of an iteration that is told, a time is this many times as long on
// average.
double mean_over_placements(const PointResult& point, SweepOrder order) {
  if (order == SweepOrder::memory || !point.interval) return 1;
  const double mean = point.interval->expected(1);
  return order == SweepOrder::samples ? 1 / mean : mean;
}

float mean_figure(const SweepResult& result, std::size_t point, SweepOrder order) {
  return static_cast<float>(sorting_figure(result, point, order) * mean_over_placements(result.at(point), order));
}

}  // namespace

double sorting_figure(const SweepResult& result, std::size_t point, SweepOrder order) {
  const PointResult& here = result.at(point);
  switch (order) {
    case SweepOrder::iteration:
      return here.iteration_ms;
    case SweepOrder::cost:
      return result.cost_per_million_samples(point).value_or(std::numeric_limits<double>::infinity());
    case SweepOrder::memory:
      return static_cast<double>(here.peak_bytes);
    case SweepOrder::samples:
      break;
  }
  return -here.samples_per_s;
}

const std::vector<std::string>& sweep_order_words() {
  static const std::vector<std::string> words = {"samples", "iteration", "cost", "memory"};
  return words;
}

SweepOrder sweep_order(const std::string& word) {
  const auto found = std::ranges::find(sweep_order_words(), word);
  return static_cast<SweepOrder>(found - sweep_order_words().begin());
}

bool has_cost(const SweepResult& result) {
  return std::ranges::any_of(result.results, [](const PointResult& each) { return each.cost_per_hour.has_value(); });
}

std::string order_fault(const SweepResult& result, SweepOrder order) {
  if (order != SweepOrder::cost) return "";
  if (!has_cost(result)) return "no point has a price (cost_per_gpu_hour of the cluster)";
  return result.currency() ? "" : "prices have several currencies";
}

std::vector<std::size_t> sorted_points(const SweepResult& result, SweepOrder order) {
  std::vector<std::size_t> points;
  for (std::size_t point = 0; point < result.results.size(); ++point)
    if (result.ok(point)) points.push_back(point);
  std::ranges::stable_sort(points, {}, [&](std::size_t point) { return mean_figure(result, point, order); });
  return points;
}

std::optional<std::size_t> first_of_torchrec(const SweepResult& result, const std::vector<std::size_t>& sorted) {
  const auto found = std::ranges::find_if(sorted, [&](std::size_t point) {
    return result.at(point).beyond_torchrec.empty() && !result.at(point).runs_out_of_memory();
  });
  return found == sorted.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::size_t> told_points(const SweepResult& result, SweepOrder order) {
  const std::vector<std::size_t> sorted = sorted_points(result, order);
  std::vector<std::size_t> points;
  const auto first = std::ranges::find_if(sorted, [&](std::size_t point) { return result.at(point).is_usable(); });
  if (first != sorted.end()) points.push_back(*first);
  const std::optional<std::size_t> of_torchrec = first_of_torchrec(result, sorted);
  if (of_torchrec && *of_torchrec != points.front()) points.push_back(*of_torchrec);
  return points;
}

bool is_first_on_average(const SweepResult& result, const std::vector<std::size_t>& sorted, SweepOrder order) {
  const auto told = [&](std::size_t point) { return static_cast<float>(sorting_figure(result, point, order)); };
  return std::ranges::any_of(sorted, [&](std::size_t point) { return told(point) < told(sorted.front()); });
}

std::string order_remark(SweepOrder order) {
  switch (order) {
    case SweepOrder::iteration:
      return "shortest iteration first";
    case SweepOrder::cost:
      return "least cost of a million samples first";
    case SweepOrder::memory:
      return "least memory first";
    case SweepOrder::samples:
      break;
  }
  return "most samples per second first";
}

}  // namespace shardsim
