#pragma once

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

// Returns why points cannot be sorted by this: by cost where none has a price, or prices have several currencies. ""
// where they can.
std::string order_fault(const SweepResult& result, SweepOrder order);

// Points with a result, the best first; equal ones in the order of the axes. Equal to a float's seven digits: else the
// rounding of the last bits would recommend 500 Gbit/s where 400 are as good.
std::vector<std::size_t> sorted_points(const SweepResult& result, SweepOrder order);

// "rate 500 Gbit/s, batch_per_gpu 4096".
std::string named_values(const SweepResult& result, std::size_t point);

// How many points, or choices, a document shows.
inline std::size_t most_shown(Medium medium) {
  return medium == Medium::page ? 50 : 10;
}

// The document of a sweep: how many points, the first of them, what failed; on a page the heat map of two axes, the
// best per cell, the Pareto front and how it scales besides.
Document sweep_document(const SweepResult& result, Medium medium, SweepOrder order = SweepOrder::samples);

// As report.html.
std::string sweep_html(const SweepResult& result, SweepOrder order = SweepOrder::samples);

}  // namespace shardsim
