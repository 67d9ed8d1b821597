#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/report/charts/chart_data.h"

namespace shardsim {

namespace {

constexpr int kSamples = 100;
constexpr double kPastB = 1.35;  // the curve is drawn to this many times the rows of point B

CostParameters parameters_of(const CaseResult& result) {
  CostParameters cost;
  cost.batch = static_cast<double>(result.batch_per_gpu);
  cost.world = result.world_size;
  if (result.timeline.ranks_per_node > 0) cost.per_node = result.timeline.ranks_per_node;
  return cost;
}

double memory_ratio(const CostParameters& cost, double p) {
  return (cost.static_multiplier + cost.dp_copies * cost.batch * p) /
         (1.0 / cost.world + cost.mp_copies * cost.batch * p);
}

double time_ratio(const CostParameters& cost, double p) {
  return cost.bandwidths.all_to_all_global / (cost.passes * cost.batch * p * cost.bandwidths.all_reduce_global);
}

DataSet ratios(const CostParameters& cost, double first, double last) {
  DataSet set{"ratios", {"p", "what", "ratio"}, {}};
  for (const bool memory : {true, false}) {
    for (int i = 0; i <= kSamples; ++i) {
      const double p = first * std::pow(last / first, static_cast<double>(i) / kSamples);
      set.rows.push_back({p, memory ? "memory" : "time", memory ? memory_ratio(cost, p) : time_ratio(cost, p)});
    }
  }
  return set;
}

struct NamedPoint {
  std::string name, meaning;
  ParetoPoint at;
};

std::vector<NamedPoint> named_points_of(const ParetoFigure& figure) {
  return {{"A", "least memory", figure.a},
          {"B", "no extra memory", figure.b},
          {"C", "least time", figure.c},
          {"D", "all rows replicated", figure.d}};
}

double percent_of_rows(const ParetoFigure& figure, std::uint64_t rows) {
  return figure.rows > 0 ? 100.0 * static_cast<double>(rows) / static_cast<double>(figure.rows) : 0;
}

// Room for the whole bend through A and B; what lies outside is told in words.
std::uint64_t last_drawn(const ParetoFigure& figure) {
  const std::uint64_t anchor = std::max(figure.a.rows, figure.b.rows);
  return anchor > 0 ? static_cast<std::uint64_t>(kPastB * static_cast<double>(anchor)) : figure.d.rows;
}

// The points to draw, A and B among them, wherever they lie between the dots: the line passes through both.
std::vector<ParetoPoint> drawn_curve(const ParetoFigure& figure, std::uint64_t last) {
  std::vector<ParetoPoint> curve = figure.curve;
  for (const ParetoPoint& named : {figure.a, figure.b})
    if (std::ranges::find(curve, named.rows, &ParetoPoint::rows) == curve.end()) curve.push_back(named);
  std::erase_if(curve, [&](const ParetoPoint& point) { return point.rows > last; });
  std::ranges::sort(curve, {}, &ParetoPoint::rows);
  return curve;
}

}  // namespace

std::vector<DataSet> figure3(const CaseResult& result) {
  const CostParameters cost = parameters_of(result);
  const double memory = cost.p_memory(), time = cost.p_comm();
  const bool drawable = cost.batch > 0 && cost.world > 1 && memory > 0 && time > 0;
  DataSet breakpoints{"breakpoints", {"p", "what", "label"}, {}};
  if (!drawable) return {{"ratios", {"p", "what", "ratio"}, {}}, breakpoints};
  breakpoints.rows.push_back({memory, "memory", fmt::format("equal memory at {:.3g}", memory)});
  breakpoints.rows.push_back({time, "time", fmt::format("equal time at {:.3g}", time)});
  const double first = std::pow(10.0, std::floor(std::min(-6.0, std::log10(std::min(memory, time)))));
  const double last = std::pow(10.0, std::ceil(std::max(-1.0, std::log10(std::max(memory, time)))));
  return {ratios(cost, first, last), breakpoints};
}

std::vector<DataSet> figure5(const ParetoFigure& figure) {
  DataSet curve{"curve", {"rows_pct", "time_ms", "memory_gib"}, {}};
  const std::uint64_t last = last_drawn(figure);
  for (const ParetoPoint& point : drawn_curve(figure, last)) {
    curve.rows.push_back({percent_of_rows(figure, point.rows), point.time_seconds * 1e3, point.memory_bytes / kGiB});
  }
  DataSet points{"points", {"point", "meaning", "rows", "rows_pct", "time_ms", "memory_gib", "label", "drawn"}, {}};
  for (const auto& [name, meaning, at] : named_points_of(figure)) {
    const double share = percent_of_rows(figure, at.rows), time = at.time_seconds * 1e3,
                 memory = at.memory_bytes / kGiB;
    points.rows.push_back({name, meaning, static_cast<double>(at.rows), share, time, memory,
                           fmt::format("{}: {}, {:.3g} % of rows, {:+.1f} ms, {:+.2f} GiB", name, meaning, share, time,
                                       std::abs(memory) < 0.005 ? 0.0 : memory),
                           at.rows <= last ? "yes" : "no"});
  }
  return {curve, points};
}

}  // namespace shardsim
