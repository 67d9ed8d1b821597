#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "study/sweep/sweep_result.h"

namespace shardsim {

// The figure by which the points that are shown come first: most samples per second, shortest iteration, least cost of
// a million samples, least memory at the simulated peak.
enum class SweepOrder { samples, iteration, cost, memory };

// Their words, in that order.
const std::vector<std::string>& sweep_order_words();
SweepOrder sweep_order(const std::string& word);

// True when some point has a price.
bool has_cost(const SweepResult& result);

// Returns why points cannot be sorted by this: by cost where none has a price, or prices have several currencies. ""
// where they can.
std::string order_fault(const SweepResult& result, SweepOrder order);

// The figure by which points are sorted, the least first.
double sorting_figure(const SweepResult& result, std::size_t point, SweepOrder order);

// Points with a result, the best first, times on average over the placements of hot rows as choices have it; equal ones
// in the order of the axes. Equal to a float's seven digits: else the rounding of the last bits would recommend 500
// Gbit/s where 400 are as good.
std::vector<std::size_t> sorted_points(const SweepResult& result, SweepOrder order);

// The first of these points whose plan TorchRec has and that fits; nothing where there is none.
std::optional<std::size_t> first_of_torchrec(const SweepResult& result, const std::vector<std::size_t>& sorted);

// The points that a document tells of first, sorted by this: the best one that fits, and the best that TorchRec can
// run.
std::vector<std::size_t> told_points(const SweepResult& result, SweepOrder order);

// True where the first of these points is told with a worse figure than another one: in the placement of hot rows that
// is told, and not on average.
bool is_first_on_average(const SweepResult& result, const std::vector<std::size_t>& sorted, SweepOrder order);

// How many points, or choices, a document shows.
inline std::size_t most_shown(Medium medium) {
  return medium == Medium::page ? 50 : 10;
}

// "shortest iteration first".
std::string order_remark(SweepOrder order);

}  // namespace shardsim
