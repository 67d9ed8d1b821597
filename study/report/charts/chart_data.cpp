#include "study/report/charts/chart_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/published_iterations.h"
#include "study/report/sheets/result_sheets.h"

namespace shardsim {

namespace {

constexpr std::size_t kTimelineCases = 6;
constexpr std::size_t kSpansPerTimeline = 2500;
constexpr std::size_t kParetoCharts = 8;

void add_chart(std::vector<Chart>& charts, Chart chart) {
  if (!chart.data.front().rows.empty()) charts.push_back(std::move(chart));
}

// "8 to 15, 3 and 20" of rising ranks.
std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t at = 0; at < ranks.size();) {
    std::size_t last = at;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    runs.push_back(last == at ? fmt::format("{}", ranks[at]) : fmt::format("{} to {}", ranks[at], ranks[last]));
    at = last + 1;
  }
  if (runs.size() < 2) return join(runs);
  const std::string end = runs.back();
  runs.pop_back();
  return join(runs) + " and " + end;
}

// `data`: that of the chart, of which the second set are its lanes.
std::string timeline_caption(const CaseResult& item, const std::vector<DataSet>& data) {
  std::set<int> ranks;
  for (const auto& lane : data[1].rows) ranks.insert(static_cast<int>(std::get<double>(lane.front())));
  const std::string shown = ranks_text({ranks.begin(), ranks.end()});
  std::string text = fmt::format(
      "The fastest case of {}: everything that runs during one iteration of the steady state on GPUs {} of {}, "
      "with one lane per stream. What already belongs to a later iteration is paler, and hatched is a collective "
      "that waits for another GPU.",
      item.workload, shown, item.timeline.world_size);
  if (!data[2].rows.empty())
    text += " The line goes along the critical path: each of its steps made the next one start.";
  if (!data[3].rows.empty()) text += " Below are the links on the path and the busiest others.";
  return text;
}

void add_timelines(std::vector<Chart>& charts, const StudyResult& study) {
  std::vector<const CaseResult*> cases = timeline_cases(study);
  if (cases.size() > kTimelineCases) cases.resize(kTimelineCases);
  for (const CaseResult* item : cases) {
    Chart chart{fmt::format("timeline-{}", charts.size()),
                "timeline",
                "One iteration of " + item->name,
                "",
                item != cases.front(),
                timeline_spans(*item, kSpansPerTimeline)};
    chart.caption = timeline_caption(*item, chart.data);
    add_chart(charts, std::move(chart));
  }
}

void add_figure3(std::vector<Chart>& charts, const StudyResult& study) {
  const auto found =
      std::find_if(study.cases.begin(), study.cases.end(), [](const CaseResult& item) { return !item.pareto.empty(); });
  if (found == study.cases.end()) return;
  add_chart(charts,
            {"figure3", "figure3", "When is a row better replicated? (FlexShard, Figure 3)",
             fmt::format("Memory and communication time of a row that is replicated (data-parallel), divided by those "
                         "of a row that is held once (row-wise), plotted over how often a sample reads the row. Below "
                         "1, replicating is better. Batch {} per GPU, {} GPUs, the planner's default bandwidths.",
                         with_thousands(found->batch_per_gpu), found->world_size),
             false, figure3(*found)});
}

void add_figure5(std::vector<Chart>& charts, const StudyResult& study) {
  std::set<std::string> seen;
  for (const CaseResult& item : study.cases) {
    for (const ParetoFigure& figure : item.pareto) {
      const std::string name = item.workload + ", table " + figure.table;
      if (seen.size() >= kParetoCharts || !seen.insert(name).second) continue;
      add_chart(charts, {fmt::format("figure5-{}", seen.size()), "figure5", name,
                         fmt::format("{} rows. One dot per 0.1 % of the rows.",
                                     with_thousands(static_cast<std::int64_t>(figure.rows))),
                         false, figure5(figure)});
    }
  }
}

}  // namespace

std::string display_class(const std::string& name, std::string_view op_class) {
  static constexpr std::array<std::string_view, 5> kCollectives = {
      "global_all_to_all", "intra_node_all_to_all", "global_all_reduce", "cross_node_all_reduce", "input_all_to_all"};
  if (is_compute(op_class) || is_host(op_class)) return std::string(op_class);
  const bool known = std::find(kCollectives.begin(), kCollectives.end(), name) != kCollectives.end();
  return known ? name : "other_collective";
}

DataSet drawn_iterations(const StudyResult& study) {
  DataSet set{"iterations", {"case", "iteration", "time_ms", "mean_ms", "median_ms", "p5_ms", "p95_ms"}, {}};
  for (const CaseResult& item : study.cases) {
    if (!item.drawn) continue;
    const IterationSpread& spread = item.drawn->iteration_ms;
    double iteration = kIterationsBefore;
    for (const double ms : item.drawn->iterations_ms) {
      set.rows.push_back({item.name, iteration++, ms, spread.mean, spread.median, spread.p5, spread.p95});
    }
  }
  return set;
}

namespace {

// Iterations of several sources, on one chart each.
void add_sources(std::vector<Chart>& charts, const DataSet& points) {
  add_chart(
      charts,
      {"comparison",
       "published_iterations",
       "Predicted beside published iterations",
       "Each mark is one published iteration. On the diagonal the prediction is exact; the band is 10 % "
       "in both directions. Hollow diamonds were used to fit a constant of the whole or of a part, filled circles are "
       "predictions.",
       false,
       {points}});
  add_chart(charts, {"error",
                     "iteration_errors",
                     "How far off is each source?",
                     "The errors of the same iterations, one line per source and system. The dark bar is the median of "
                     "those that are predicted.",
                     false,
                     {points}});
}

void add_published(std::vector<Chart>& charts, const StudyResult& study) {
  if (const DataSet points = iteration_points(study); !points.rows.empty()) return add_sources(charts, points);
  const DataSet points = comparison_points(study);
  add_chart(charts,
            {"comparison",
             "predicted_vs_published",
             "Predicted beside published",
             accuracy_text(study) +
                 " Each mark is one published time. On the diagonal the prediction is exact; the band is 10 % in "
                 "both directions. Hollow marks were used to fit a constant, filled marks are predictions.",
             false,
             {points}});
  add_chart(charts, {"error",
                     "prediction_error",
                     "How far off is each prediction?",
                     "The errors of the same times, which look small on the logarithmic axes above. Marks with the "
                     "same error cover each other.",
                     false,
                     {points}});
}

std::string blocks_caption(const StudyResult& study) {
  return has_rank_blocks(study) ? " In large worlds neighbouring ranks share a bar, which shows the fullest of them."
                                : "";
}

std::size_t column_of(const DataSet& set, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(set.columns, name) - set.columns.begin());
}

// Of the fullest rank of all cases, beside the mean one.
double most_times_mean(const DataSet& loads) {
  const std::size_t column = column_of(loads, "times_mean");
  double most = 0;
  for (const std::vector<DataSet::Cell>& row : loads.rows) most = std::max(most, std::get<double>(row[column]));
  return most;
}

// Then strips of one colour tell nothing that a sentence does not.
bool is_nearly_even(const DataSet& loads) {
  constexpr double kNearlyEven = 1.05;
  return most_times_mean(loads) < kNearlyEven;
}

// Speaks of what is there to see: colours that differ, and triangles.
std::string loads_caption(const DataSet& loads) {
  const std::size_t waited_column = column_of(loads, "waited_for");
  const double most = most_times_mean(loads);
  const bool waited = std::ranges::any_of(
      loads.rows, [&](const auto& row) { return !std::get<std::string>(row[waited_column]).empty(); });
  std::string text = "The rows that each rank looks up in one iteration, compared with the mean rank.";
  if (is_nearly_even(loads))
    text += fmt::format(
        " All ranks look up nearly equally many, the fullest of all cases {} times the mean: so all "
        "strips have one colour.",
        fixed(most, 2));
  if (waited) text += " A triangle marks the rank that the others wait for longest, which need not be the fullest one.";
  return text + " Cases in which all owners of rows get equally many lookups are left out.";
}

void add_iterations(std::vector<Chart>& charts, const StudyResult& study) {
  add_chart(charts, {"breakdown",
                     "iteration_breakdown",
                     "What an iteration is made of",
                     "Compute, and the part of each collective that no compute hides (its exposed time), split into "
                     "transfer and waiting for GPUs that arrive later; mean over the GPUs. The parts add up to the "
                     "iteration.",
                     has_many_cases(study),
                     {breakdown_parts(study)}});
  add_chart(charts,
            {"path",
             "iteration_breakdown",
             "What the critical path is made of",
             "The operations on the critical path: each made the next one start, on whatever rank. An operation that "
             "is long above and short here runs at the same time as something else, and costs nothing.",
             true,
             {path_parts(study)}});
  add_chart(charts, {"drawn",
                     "drawn_iterations",
                     "How iterations of drawn batches differ",
                     "Each tick is a simulated iteration. The bar reaches from the 5th to the 95th percentile; the "
                     "dark line is the median, the diamond the mean.",
                     has_many_cases(study),
                     {drawn_iterations(study)}});
  const DataSet loads = rank_load_strips(study);
  add_chart(charts, {"loads",
                     "rank_loads",
                     is_nearly_even(loads) ? "Which rank is the fullest? All look up nearly equally many rows"
                                           : "Which rank is the fullest, and through which table?",
                     loads_caption(loads) + blocks_caption(study),
                     has_many_cases(study) || is_nearly_even(loads),
                     {loads}});
}

void add_memory(std::vector<Chart>& charts, const StudyResult& study) {
  add_chart(charts,
            {"memory",
             "memory",
             "Memory per GPU",
             "Memory of the fullest GPU of each plan, by the memory model and at the simulated peak. The red line is "
             "the capacity. A simulated bar beyond it is orange: the run would end with an out-of-memory error.",
             has_many_cases(study),
             {memory_bars(study)}});
  add_chart(
      charts,
      {"memory-at-peak",
       "memory_at_peak",
       "What memory holds at its peak",
       "Memory of the fullest GPU of each plan at the simulated peak, and below it by the memory model, which does "
       "not count the dense part. The red line is the capacity, less what is reserved; it is not drawn if no bar comes "
       "near it.",
       has_many_cases(study),
       {memory_at_peak(study)}});
}

}  // namespace

std::vector<Chart> charts_of(const StudyResult& study) {
  std::vector<Chart> charts;
  add_published(charts, study);
  add_iterations(charts, study);
  add_memory(charts, study);
  add_timelines(charts, study);
  add_figure3(charts, study);
  add_figure5(charts, study);
  return charts;
}

}  // namespace shardsim
