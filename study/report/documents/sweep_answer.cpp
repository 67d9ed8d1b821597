#include "study/report/documents/sweep_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/report/documents/sweep_document.h"
#include "study/report/wording.h"

namespace shardsim {
namespace {

// Those of most samples per second first, which somebody might choose.
std::string names_of_full(const SweepResult& result, const std::vector<std::size_t>& fastest) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const std::size_t point : fastest) {
    if (!result.at(point).runs_out_of_memory()) continue;
    names.size() < kNamed ? names.push_back(named_values(result, point)) : void(++more);
  }
  return join(names, "; ") + (more > 0 ? fmt::format("; and {} more", more) : "");
}

// Planners and `does_not_fit` go by the memory model, which may count less than an iteration needs.
std::string peak_warning(const SweepResult& result, const std::vector<std::size_t>& fastest) {
  const auto points = static_cast<std::size_t>(std::ranges::count_if(result.results, &PointResult::runs_out_of_memory));
  if (points == 0) return "";
  std::string text = fmt::format(
      " WARNING: {} would need more memory than a GPU has at the simulated peak (peak_gib in sweep.csv), so the run "
      "would end with an out-of-memory error, although the plan fits by the memory model: {}.",
      counted(points, "point"), names_of_full(result, fastest));
  if (!result.at(fastest.front()).runs_out_of_memory()) return text;
  text += " The point with the most samples per second is one of them";
  const auto fits = std::ranges::find_if(fastest, [&](std::size_t p) { return !result.at(p).runs_out_of_memory(); });
  return text + (fits == fastest.end() ? ", and no other point fits."
                                       : fmt::format("; the fastest that fits has {}.", named_values(result, *fits)));
}

// Says what the point that stands first, and that of most samples per second, keep in host memory: their GPUs are too
// few for the model, which no other column of the table shows.
std::string host_warning(const SweepResult& result, const std::vector<std::size_t>& fastest, std::size_t first) {
  std::vector<std::string> texts;
  for (const std::size_t point : std::set<std::size_t>{fastest.front(), first}) {
    if (result.at(point).host_bytes == 0) continue;
    texts.push_back(fmt::format("{} keeps {:.4g} GiB of rows in the host memory of a node", named_values(result, point),
                                static_cast<double>(result.at(point).host_bytes) / 0x1p30));
  }
  return texts.empty() ? "" : fmt::format(" NOT ALL IN GPU MEMORY: {}.", join(texts, "; "));
}

// Without a currency the text says once what the numbers are in.
std::string price_text(const SweepResult& result, double price) {
  const std::string currency = result.currency().value_or("");
  return fmt::format("{:.3g}{}", price, currency.empty() ? "" : " " + printable(currency));
}

std::string samples_text(const SweepResult& result, std::size_t point) {
  return with_thousands(std::llround(result.at(point).samples_per_s)) + " samples per second";
}

// The best point by the figure that points are sorted by: "Most samples per second: 737,339 at nodes 8 (177.8 ms".
// `mean`: " on average ..." where it is that of another point that is told with the best figure.
std::string best_by(const SweepResult& result, std::size_t point, SweepOrder order, std::string_view mean) {
  const PointResult& best = result.at(point);
  const std::string ms = fixed(best.iteration_ms, decimals_for(best.iteration_ms)) + " ms";
  const std::string at = named_values(result, point), samples = samples_text(result, point);
  switch (order) {
    case SweepOrder::iteration:
      return fmt::format("Shortest iteration{}: {} at {} ({}", mean, ms, at, samples);
    case SweepOrder::cost:
      return fmt::format("Least cost of a million samples{}: {} at {} ({}, {}", mean,
                         price_text(result, sorting_figure(result, point, order)), at, samples, ms);
    case SweepOrder::memory:
      return fmt::format("Least memory of the fullest GPU: {} GiB at {} ({}, {}",
                         fixed(static_cast<double>(best.peak_bytes) / 0x1p30, 2), at, samples, ms);
    case SweepOrder::samples:
      break;
  }
  return fmt::format("Most samples per second{}: {} at {} ({}", mean,
                     with_thousands(static_cast<std::int64_t>(std::llround(best.samples_per_s))), at, ms);
}

// Points of most samples per second first, those that run out of memory left out.
std::vector<std::size_t> those_that_fit(const SweepResult& result, std::vector<std::size_t> fastest) {
  std::erase_if(fastest, [&](std::size_t p) { return result.at(p).runs_out_of_memory(); });
  return fastest;
}

// True where a difference is rounding, or is not seen in what is printed: then neither point is the better one.
bool is_tie(double one, double other, const std::string& one_text, const std::string& other_text) {
  constexpr double kRounding = 1e-6;
  return one_text == other_text || std::abs(one - other) <= kRounding * std::max(one, other);
}

// Of the points whose figure is the least, or ties with it, the first in the order of the axes.
std::size_t least_of(const std::vector<std::size_t>& points, const auto& figure, const auto& text) {
  const std::size_t least = *std::ranges::min_element(points, {}, figure);
  std::size_t first = least;
  for (const std::size_t point : points)
    if (is_tie(figure(point), figure(least), text(point), text(least))) first = std::min(first, point);
  return first;
}

// Names the point with the least memory, where that is worth a choice.
std::string least_memory_text(const SweepResult& result, const std::vector<std::size_t>& fastest) {
  constexpr double kTelling = 0.95;
  const std::vector<std::size_t> fit = those_that_fit(result, fastest);
  if (fit.size() < 2) return "";
  const auto peak = [&](std::size_t p) { return static_cast<double>(result.at(p).peak_bytes); };
  const auto text_of = [&](std::size_t p) { return fixed(peak(p) / 0x1p30, 2); };
  const std::size_t best = fit.front(), least = least_of(fit, peak, text_of);
  if (peak(least) > kTelling * peak(best)) return "";
  return fmt::format("Least memory: {} GiB of the fullest GPU instead of {}, at {}, with {}.", text_of(least),
                     text_of(best), named_values(result, least), samples_text(result, least));
}

}  // namespace

std::string sweep_summary(const SweepResult& result, const std::vector<std::size_t>& fastest,
                          const std::vector<std::size_t>& sorted, SweepOrder order) {
  const std::size_t lost = result.without_result();
  std::string points = fmt::format("{} point{}", with_thousands(static_cast<std::int64_t>(result.results.size())),
                                   result.results.size() == 1 ? "" : "s");
  if (result.sweep->dimensions.size() > 1) points += " (" + result.sweep->shape() + ")";
  if (result.results.size() < result.sweep->product)
    points += fmt::format(", {} left out by conditions", result.sweep->product - result.results.size());
  if (lost > 0) points += fmt::format(", {} without a result", lost);
  points += ".";
  if (fastest.empty()) return points;
  const std::size_t first = sorted.front();
  const PointResult& best = result.at(first);
  const std::string_view mean = is_first_on_average(result, sorted, order)
                                    ? " on average over the placements of hot rows, of which one is shown"
                                    : "";
  const std::string within = ", " + counted(static_cast<std::size_t>(best.world_size), "GPU") +
                             (best.interval ? ", 80 % within " + interval_cell(*best.interval) : "");
  return fmt::format("{}{}, busiest: {}). {}", best_by(result, first, order, mean), within,
                     unit_in_words(best.limited_by), points) +
         peak_warning(result, fastest) + host_warning(result, fastest, first);
}

std::string sweep_cost_text(const SweepResult& result, const std::vector<std::size_t>& fastest, std::size_t first) {
  const std::vector<std::size_t> fit = those_that_fit(result, fastest);
  if (fit.size() < 2 || !result.currency()) return "";
  const auto price = [&](std::size_t p) {
    return result.cost_per_million_samples(p).value_or(std::numeric_limits<double>::infinity());
  };
  const auto text_of = [&](std::size_t p) { return price_text(result, price(p)); };
  const std::size_t best = fit.front(), least = least_of(fit, price, text_of);
  if (!std::isfinite(price(best))) return "";
  const bool ties = is_tie(price(best), price(least), text_of(best), text_of(least));
  const std::size_t cheapest = ties ? best : least;
  std::string text = best == first ? "A million samples cost "
                                   : fmt::format("The fastest point that fits is {}, with {}: a million samples cost ",
                                                 named_values(result, best), samples_text(result, best));
  text += fmt::format("{} there", price_text(result, price(best)));
  if (cheapest == best) {
    const auto as_cheap = [&](std::size_t p) { return is_tie(price(p), price(best), text_of(p), text_of(best)); };
    text +=
        std::ranges::count_if(fit, as_cheap) > 1 ? ", and at no other point less." : ", less than at any other point.";
  } else if (cheapest == first) {
    text += ".";
  } else {
    text += fmt::format(". They cost least at {}: {}, with {}.", named_values(result, cheapest), text_of(cheapest),
                        samples_text(result, cheapest));
  }
  return text + (result.currency()->empty() ? " Prices are in the currency of cost_per_gpu_hour." : "");
}

std::string sweep_alternatives_text(const SweepResult& result, const std::vector<std::size_t>& fastest,
                                    std::size_t first, SweepOrder order) {
  const std::string cheapest = sweep_cost_text(result, fastest, first),
                    least = order == SweepOrder::memory ? "" : least_memory_text(result, fastest);
  return cheapest + (cheapest.empty() || least.empty() ? "" : " ") + least;
}

std::string sweep_dedup_text(const SweepResult& result, SweepOrder order) {
  constexpr double kTelling = 10;  // % of the iteration, as for the advice of a run
  const std::vector<std::size_t> told = told_points(result, order);
  std::vector<std::string> texts;
  for (const std::size_t point : told) {
    const auto without = result.without_duplicates.find(point);
    if (without == result.without_duplicates.end()) continue;
    const double ms = result.at(point).iteration_ms, with = without->second.iteration_ms;
    if (100 * (1 - with / ms) < kTelling) continue;
    texts.push_back(fmt::format("the best point{} takes {} instead of {} ms ({} times fewer ids)",
                                point == told.front() ? "" : " that TorchRec can run", fixed(with, decimals_for(with)),
                                fixed(ms, decimals_for(ms)), fewer_text(without->second.fewer_ids)));
  }
  if (texts.empty()) return "";
  return fmt::format("With 'index_dedup: true' and its plan kept, {}; planned anew it may take less.",
                     join(texts, ", and "));
}

std::string sweep_doubt_sentence(const SweepResult& result, const std::vector<std::size_t>& points) {
  std::vector<const Interval*> intervals;
  for (const std::size_t point : points)
    if (result.at(point).interval) intervals.push_back(&*result.at(point).interval);
  return doubt_sentence(intervals, "with --details more");
}

std::string sweep_torchrec_warning(const SweepResult& result, const std::vector<std::size_t>& sorted) {
  if (sorted.empty() || result.at(sorted.front()).beyond_torchrec.empty()) return "";
  const auto other = first_of_torchrec(result, sorted);
  const std::string instead = !other ? "--torchrec-only plans without"
                                     : fmt::format("of these points it can run {}, with {}",
                                                   named_values(result, *other), samples_text(result, *other));
  return fmt::format("TorchRec cannot run the plan of {}, which has {}; {}.", named_values(result, sorted.front()),
                     result.at(sorted.front()).beyond_torchrec, instead);
}

}  // namespace shardsim
