#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "study/confidence/evidence.h"
#include "study/notes/slower_hardware.h"
#include "study/report/documents/sweep_charts.h"
#include "study/report/documents/sweep_notes.h"
#include "study/report/wording.h"
#include "study/result/hardware.h"
#include "study/sweep/point_cases.h"

namespace shardsim {
namespace {

// The plan to choose for each combination of values of the other axes.
Sheet choices_sheet(const SweepResult& result, std::size_t shown) {
  const std::vector<bool> of_plans = plan_dimensions(*result.sweep);
  std::vector<std::size_t> plans, others;
  for (std::size_t d = 0; d < of_plans.size(); ++d) (of_plans[d] ? plans : others).push_back(d);
  Sheet sheet;
  sheet.spelt_out = true;
  if (!others.empty()) sheet.columns.push_back({"for", false});
  sheet.columns.push_back({"chosen", false});
  sheet.columns.push_back({"chance %"});
  sheet.columns.push_back({"faster than", false});
  sheet.columns.push_back({"regret %"});
  sheet.columns.push_back({"to", false});
  for (const PointChoice& choice : std::span(result.plans.choices).first(shown)) {
    Sheet::Row row;
    if (!others.empty()) row.cells.push_back(point_text(result, choice.best, others));
    row.cells.push_back(point_text(result, choice.best, plans));
    row.cells.push_back(chance_cell(choice.chance));
    row.cells.push_back(point_text(result, choice.runner_up, plans));
    row.cells.push_back(regret_cell(choice.regret_pct));
    row.cells.push_back(point_text(result, choice.loses_to, plans));
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

// Notes on the parts of the points that nobody has measured, each once, with the number of points.
NoteList outside_notes(const SweepResult& result) {
  std::map<std::string, std::vector<std::size_t>> points;  // by sentence
  for (const PointResult& each : result.results) {
    if (!each.interval || each.interval->outside.empty()) continue;
    points[outside_sentence(each.interval->outside)].push_back(each.point);
  }
  NoteList list;
  for (const auto& [sentence, of_points] : points)
    list.notes.push_back(
        {sentence, of_points.size() == result.results.size() ? "all points" : counted(of_points.size(), "point")});
  return list;
}

// The clusters of these points; two of one name are told apart by their NICs.
std::vector<ComparedCluster> compared_clusters(const SweepResult& result, const std::vector<std::size_t>& points) {
  PointCases cases(*result.sweep);
  std::vector<ComparedCluster> clusters;
  for (const std::size_t point : points) {
    if (!result.at(point).interval) continue;
    const ClusterSpec spec = cases.at(point).cluster;
    const std::string nics = spec.nics && spec.nodes > 1 ? fmt::format(" (NICs of {})", to_text(spec.nics->rate)) : "";
    ComparedCluster cluster{spec.name + nics, spec.nodes > 1, {}};
    std::ranges::copy_if(spec.sources, std::back_inserter(cluster.fitted), &SourcedValue::fitted);
    if (std::ranges::find(clusters, cluster) == clusters.end()) clusters.push_back(std::move(cluster));
  }
  return clusters;
}

NoteList evidence_notes(const SweepResult& result, const std::vector<std::size_t>& points) {
  NoteList list;
  for (std::string& text : unlike_evidence(compared_clusters(result, points), "`fits: none` in each of these clusters"))
    list.notes.push_back({std::move(text), ""});
  return list;
}

// A note on how far where hot rows lie moves points apart.
NoteList placement_notes(const SweepResult& result) {
  double most = 0;
  for (const PointResult& each : result.results)
    if (each.interval) most = std::max(most, each.interval->placement_scale());
  NoteList list;
  if (most < kTellingPlacement || result.results.size() < 2) return list;
  list.notes.push_back(
      {fmt::format(
           "Where its hot rows lie moves the time of a point by up to {:.2g} % (standard deviation). Each is told "
           "with the placement that is typical of it, for the next point maybe another: `--set load.draw=N`, of 1 "
           "to 32, gives all points the same one.",
           100 * most),
       ""});
  return list;
}

// Nobody who reads a cost should overlook this: axes that change the machine, where none changes the price of its GPU
// hour.
std::vector<std::string> price_texts(const SweepResult& result) {
  const auto has_price = [](const PointResult& each) { return each.cost_per_hour.has_value(); };
  std::vector<std::string> machines;
  for (const SweepDimension& dimension : result.sweep->dimensions) {
    for (const Axis& axis : dimension.axes) {
      if (axis.path == "cluster.cost_per_gpu_hour") return {};
      if (axis.tells_machines() && axis.path != "cluster") machines.push_back(axis.path);
    }
  }
  std::vector<std::string> texts;
  if (std::ranges::none_of(result.results, has_price)) return texts;
  for (const std::string& path : machines)
    texts.push_back(
        fmt::format("A GPU hour has one price for all values of {0}: what a faster machine costs more is in no cost "
                    "here. 'zip: {{{0}: [...], cluster.cost_per_gpu_hour: [...]}}' states it.",
                    path));
  return texts;
}

// Returns the first point of each cluster, of points in order, `most` at most.
std::vector<std::size_t> first_of_clusters(const Sweep& sweep, const std::vector<std::size_t>& points,
                                           std::size_t most) {
  std::set<std::vector<std::size_t>> known;
  std::vector<std::size_t> first;
  for (const std::size_t point : points) {
    std::vector<std::size_t> at = sweep.coordinates(point);
    for (std::size_t d = 0; d < at.size(); ++d)
      if (std::ranges::none_of(sweep.dimensions[d].axes, is_of_cluster)) at[d] = 0;
    if (first.size() < most && known.insert(std::move(at)).second) first.push_back(point);
  }
  return first;
}

// By what points stand in order; nothing where no error is known of it, or prices cannot be compared.
std::optional<ComparedBy> compared_by(const SweepResult& result, SweepOrder order) {
  if (order == SweepOrder::memory || !order_fault(result, order).empty()) return std::nullopt;
  if (order == SweepOrder::cost) return ComparedBy::cost;
  return order == SweepOrder::iteration ? ComparedBy::iteration : ComparedBy::sample;
}

std::string_view better_words(ComparedBy figure) {
  switch (figure) {
    case ComparedBy::iteration:
      return "shorter iterations";
    case ComparedBy::cost:
      return "less cost of a sample";
    case ComparedBy::sample:
      break;
  }
  return "more samples per second";
}

// The best point on each cluster beside that on the next, and of which pairs no chance is stated.
struct MachinePairs {
  Sheet sheet;
  std::vector<std::string> on_slower_hardware;  // what is better so comes of the order of operations
  std::size_t without_interval = 0, without_price = 0;
};

// The better first, on average over where hot rows may lie, as chances have it; those without an interval stay behind.
std::vector<std::size_t> by_mean_of_placements(const SweepResult& result, std::vector<std::size_t> points,
                                               ComparedBy figure) {
  const auto unknown = std::stable_partition(points.begin(), points.end(), [&](std::size_t point) {
    const PointResult& here = result.at(point);
    return here.interval && (figure != ComparedBy::cost || here.cost_per_hour);
  });
  std::stable_sort(points.begin(), unknown, [&](std::size_t a, std::size_t b) {
    return difference_in(figure, result.at(a), result.at(b)).log_ratio > 0;
  });
  return points;
}

// True for all values of a single axis of numbers from the first of these points, in order, to the last.
bool is_range(const SweepResult& result, const std::vector<std::size_t>& points) {
  const Sweep& sweep = *result.sweep;
  const auto first = sweep.coordinates(points.front()), last = sweep.coordinates(points.back());
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < first.size(); ++d) {
    if (first[d] == last[d]) continue;
    if (axis || !sweep.dimensions[d].axes.front().values.front().amount) return false;
    axis = d;
  }
  if (!axis || last[*axis] - first[*axis] + 1 != points.size()) return false;
  return std::ranges::all_of(points, [&](std::size_t point) {
    auto at = sweep.coordinates(point);
    at[*axis] = first[*axis];
    return at == first;
  });
}

// "400 Gbit/s to 800 Gbit/s, 4096" of points that are equal; one by one where they are no range.
std::string equal_points_text(const SweepResult& result, std::vector<std::size_t> points) {
  std::ranges::sort(points);
  std::vector<std::string> texts;
  if (points.size() > 1 && is_range(result, points)) {
    for (std::size_t d = 0; d < result.sweep->dimensions.size(); ++d) {
      const std::string from = point_text(result, points.front(), {d}), to = point_text(result, points.back(), {d});
      texts.push_back(from == to ? from : fmt::format("{} to {}", from, to));
    }
    return join(texts);
  }
  std::vector<std::size_t> all(result.sweep->dimensions.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t point : points) texts.push_back(point_text(result, point, all));
  return join(texts, "; ");
}

// A row for points that are equal: two beside each other, more as one.
Sheet::Row equal_row(const SweepResult& result, std::vector<std::size_t> points) {
  std::ranges::sort(points);
  if (points.size() == 2)
    return {{equal_points_text(result, {points[0]}), equal_points_text(result, {points[1]}), std::string(kEqual)}};
  return {{equal_points_text(result, points), "each other", std::string(kEqual)}};
}

// Whether something is known of both that can be compared; nothing is a share of what costs nothing.
bool are_comparable(const PointResult& first, const PointResult& next, ComparedBy figure) {
  const auto has_price = [](const PointResult& point) { return point.cost_per_hour.value_or(0) > 0; };
  if (!first.interval || !next.interval) return false;
  return figure != ComparedBy::cost || (has_price(first) && has_price(next));
}

// The points in their order, those together that are equal to the one before.
std::vector<std::vector<std::size_t>> equal_together(const SweepResult& result, const std::vector<std::size_t>& points,
                                                     ComparedBy figure) {
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t point : points) {
    const PointResult* const before = groups.empty() ? nullptr : &result.at(groups.back().back());
    if (before != nullptr && are_comparable(*before, result.at(point), figure) &&
        is_equal(difference_in(figure, *before, result.at(point)))) {
      groups.back().push_back(point);
    } else {
      groups.push_back({point});
    }
  }
  return groups;
}

MachinePairs machine_pairs(const SweepResult& result, const std::vector<std::size_t>& best, ComparedBy figure) {
  MachinePairs pairs;
  pairs.sheet.columns = {{std::string(better_words(figure)), false}, {"than", false}, {"chance %"}};
  pairs.sheet.spelt_out = true;
  PointCases cases(*result.sweep);
  const std::vector<std::vector<std::size_t>> groups = equal_together(result, best, figure);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string names = equal_points_text(result, groups[i]);
    if (groups[i].size() > 1) pairs.sheet.rows.push_back(equal_row(result, groups[i]));
    if (i + 1 == groups.size()) break;
    const std::size_t first = groups[i].back(), next = groups[i + 1].front();
    const std::string next_names = equal_points_text(result, groups[i + 1]);
    if (!are_comparable(result.at(first), result.at(next), figure)) {
      ++(result.at(first).interval && result.at(next).interval ? pairs.without_price : pairs.without_interval);
    } else if (differ_in_clusters_alone(*result.sweep, first, next) &&
               is_slower_hardware(cases.at(first).cluster, cases.at(next).cluster)) {
      pairs.on_slower_hardware.push_back(fmt::format("{} before {}", names, next_names));
    } else {
      const Difference difference = difference_in(figure, result.at(first), result.at(next));
      pairs.sheet.rows.push_back({{names, next_names, chance_cell(difference.first_is_faster())}});
    }
  }
  return pairs;
}

constexpr std::size_t kNamedPairs = 3;

// " Left out: 2 pairs whose better point is on slower hardware (a before b; c before d), 1 pair without an interval."
std::string left_out_text(const MachinePairs& pairs) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", counted(count, "pair"), what));
  };
  const std::vector<std::string>& slower = pairs.on_slower_hardware;
  const std::vector<std::string> named(
      slower.begin(), slower.begin() + static_cast<std::ptrdiff_t>(std::min(slower.size(), kNamedPairs)));
  add(slower.size(), fmt::format("whose better point is on slower hardware ({}{})", join(named, "; "),
                                 slower.size() > kNamedPairs ? "; ..." : ""));
  add(pairs.without_interval, "without an interval");
  add(pairs.without_price, "without a price");
  return parts.empty() ? "" : fmt::format(" Left out: {}.", join(parts));
}

// Empty for points whose files are gone by now.
MachinePairs pairs_of_known(const SweepResult& result, const std::vector<std::size_t>& points, ComparedBy figure) {
  try {
    return machine_pairs(result, by_mean_of_placements(result, points, figure), figure);
  } catch (const Error&) {
    return {};
  }
}

void add_machines(Section& section, const SweepResult& result, SweepOrder order, Medium medium) {
  const auto figure = compared_by(result, order);
  if (!figure) return;
  const std::vector<std::size_t> best =
      first_of_clusters(*result.sweep, sorted_points(result, order), most_shown(medium));
  MachinePairs pairs = pairs_of_known(result, best, *figure);
  const std::string left_out = left_out_text(pairs);
  if (pairs.sheet.rows.empty()) {
    if (!left_out.empty()) section.blocks.emplace_back(Paragraph{"Between machines no chance is stated." + left_out});
    return;
  }
  section.blocks.emplace_back(table_section(
      "Between machines",
      "The best point on each cluster beside that on the next one, on average over where hot rows may lie. chance: "
      "the probability that it is really better, leaving out errors that affect both; equal: neighbours differ by "
      "less than a ten-thousandth. None is stated for what is better on slower hardware." +
          left_out,
      std::move(pairs.sheet)));
}

// Notes on points that differ in their clusters alone, and come out equal.
NoteList alike_notes(const SweepResult& result, const std::vector<std::size_t>& points) {
  std::vector<TimeOnCluster> times;
  for (const std::size_t point : points) {
    const PointResult& here = result.at(point);
    if (!here.interval) continue;
    std::string others = fmt::format("{}", here.world_size);
    const std::vector<std::size_t> at = result.sweep->coordinates(point);
    for (std::size_t d = 0; d < at.size(); ++d)
      for (const Axis& axis : result.sweep->dimensions[d].axes)
        if (!axis.path.starts_with("cluster")) others += "\n" + axis.values[at[d]].text;
    const IterationSetting& setting = here.interval->setting;
    times.push_back({setting.cluster, setting.transport, others, here.iteration_ms, here.interval->is_set_by_host()});
  }
  NoteList list;
  for (std::string& text : alike_clusters(times)) list.notes.push_back({std::move(text), ""});
  return list;
}

// A section of a single section is that one, for no heading stands above another without a word between them.
Section without_bare_heading(Section section) {
  if (section.blocks.size() != 1 || !std::holds_alternative<Section>(section.blocks.front())) return section;
  Section only = std::move(std::get<Section>(section.blocks.front()));
  only.remark = std::exchange(only.heading, section.heading);
  only.remark.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(only.remark.front())));
  return only;
}

}  // namespace

std::string sweep_evidence_sentence(const SweepResult& result, const std::vector<std::size_t>& points) {
  return unlike_evidence_in_short(compared_clusters(result, points));
}

Section sweep_how_sure(const SweepResult& result, const std::vector<std::size_t>& points, Medium medium,
                       SweepOrder order) {
  const std::size_t all = result.plans.choices.size();
  const std::size_t shown = std::min(all, most_shown(medium));
  std::string legend =
      "chance: the probability that the chosen plan is really faster than the second fastest, leaving out errors that "
      "affect both. regret: expected; how much time the choice loses to the plan to which it loses most, on average "
      "over all outcomes; where the choice is the faster one, that is nothing.";
  if (shown < all) legend += fmt::format(" The first {} of {}; sweep.csv and sweep.h5 have the others.", shown, all);
  Section section = table_section("How sure", legend, choices_sheet(result, shown));
  for (std::string& text : price_texts(result))
    section.blocks.emplace_back(Paragraph{std::move(text), Paragraph::Role::notice});
  for (NoteList notes : {evidence_notes(result, points), alike_notes(result, points), placement_notes(result)})
    if (!notes.notes.empty()) section.blocks.emplace_back(std::move(notes));
  if (NoteList outside = outside_notes(result); !outside.notes.empty()) section.blocks.emplace_back(std::move(outside));
  add_machines(section, result, order, medium);
  return without_bare_heading(std::move(section));
}

}  // namespace shardsim
