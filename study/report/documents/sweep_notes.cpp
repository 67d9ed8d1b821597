#include "study/report/documents/sweep_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "study/notes/notes.h"
#include "study/notes/slower_hardware.h"
#include "study/report/documents/sweep_charts.h"
#include "study/report/documents/sweep_document.h"
#include "study/result/hardware.h"
#include "study/sweep/point_cases.h"

namespace shardsim {
namespace {

constexpr std::size_t kFailuresShown = 20;
constexpr std::size_t kMostRivalPoints = 1000;  // whose clusters are read for a first screen

// The numbers of a point whose files are gone by now stand without notes.
std::vector<std::string> notes_of(PointCases& cases, std::size_t point) {
  try {
    return notes_for(Asker::sweep, {cases.at(point)});
  } catch (const Error&) {
    return {};
  }
}

// A point beside those that differ from it in their clusters alone.
struct PointRivalry {
  TimeOnHardware time;
  std::vector<std::size_t> rivals;
  std::vector<TimeOnHardware> times;  // of these
};

// Compares points of a sweep, each with the cluster that it stands for.
class PointRivals {
 public:
  PointRivals(const SweepResult& result, const std::vector<std::size_t>& points) : result_(result) {
    PointCases cases(*result.sweep);
    for (const std::size_t point : points)
      if (result.at(point).is_usable()) clusters_.emplace(point, cases.at(point).cluster);
  }

  bool has(std::size_t point) const { return clusters_.contains(point); }

  // `point`: one that it has, which are those that somebody may choose.
  PointRivalry of(std::size_t point) const {
    PointRivalry all{time_of(point), {}, {}};
    for (const auto& each : clusters_) {
      const std::size_t other = each.first;
      if (other == point || !differ_in_clusters_alone(*result_.sweep, point, other)) continue;
      all.rivals.push_back(other);
      all.times.push_back(time_of(other));
    }
    return all;
  }

 private:
  TimeOnHardware time_of(std::size_t point) const {
    return {named_values(result_, point), &clusters_.at(point), result_.at(point).iteration_ms};
  }

  const SweepResult& result_;
  std::map<std::size_t, ClusterSpec> clusters_;
};

bool has_axis_of_clusters(const Sweep& sweep) {
  return std::ranges::any_of(sweep.dimensions, [](const SweepDimension& dimension) {
    return std::ranges::all_of(dimension.axes, is_of_cluster);
  });
}

// Notes on points that beat others on hardware that is nowhere slower.
NoteList order_notes(const SweepResult& result, const std::vector<std::size_t>& points) {
  NoteList list;
  if (!has_axis_of_clusters(*result.sweep)) return list;
  const PointRivals rivals(result, points);
  for (const std::size_t point : points) {
    if (!rivals.has(point)) continue;
    const PointRivalry all = rivals.of(point);
    const std::vector<std::size_t> beaten = beaten_on_better_hardware(all.time, all.times);
    if (beaten.empty()) continue;
    list.notes.push_back({beaten_text(all.time, all.times, beaten) +
                              ": operations happen to run at other times, NCCL finds other channels, or the plan is "
                              "another one. Written as two cases of a scenario, 'shardsim run' says which.",
                          all.time.name});
  }
  return list;
}

// Plans of one workload that need the same memory may still be two: then the note says what else it may be.
bool have_unlike_plans(const PointResult& one, const PointResult& other) {
  return one.memory_bytes != other.memory_bytes || one.host_bytes != other.host_bytes ||
         one.beyond_torchrec != other.beyond_torchrec;
}

// The point that stands first, and those that differ from it in their clusters alone, where these are not too many.
std::vector<std::size_t> rivals_of_first(const SweepResult& result, std::size_t first) {
  std::vector<std::size_t> points = {first};
  for (std::size_t point = 0; point < result.results.size() && points.size() < kMostRivalPoints; ++point)
    if (point != first && differ_in_clusters_alone(*result.sweep, first, point)) points.push_back(point);
  return points;
}

// The values of a point on the dimensions on which it differs from another one.
std::string unlike_values(const SweepResult& result, std::size_t point, std::size_t other) {
  const auto at = result.sweep->coordinates(point), there = result.sweep->coordinates(other);
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < at.size(); ++d)
    if (at[d] != there[d]) dimensions.push_back(d);
  return point_text(result, point, dimensions);
}

std::string order_warning(const SweepResult& result, std::size_t first) {
  const PointRivals rivals(result, rivals_of_first(result, first));
  if (!rivals.has(first)) return "";
  const PointRivalry all = rivals.of(first);
  const std::vector<std::size_t> beaten = beaten_on_better_hardware(all.time, all.times);
  if (beaten.empty()) return "";
  TimeOnHardware slowest = all.times[beaten.front()];
  slowest.name = "at " + unlike_values(result, all.rivals[beaten.front()], first);
  std::string lead = lead_text(all.time, {slowest}, {0});
  if (beaten.size() > 1) lead += fmt::format(" and than at {} more", beaten.size() - 1);
  const bool unlike = have_unlike_plans(result.at(first), result.at(all.rivals[beaten.front()]));
  return fmt::format("It is {}, although nothing of its cluster is faster: that is no advice to take it. {}", lead,
                     unlike ? kAnotherPlan : "With --details a note says where it may come from.");
}

NoteList order_notes_of_known(const SweepResult& result, const std::vector<std::size_t>& points) {
  try {
    return order_notes(result, points);
  } catch (const Error&) {
    return {};
  }
}

// Notes on all points whose plans keep rows in host memory.
NoteList host_notes(const SweepResult& result) {
  std::int64_t most = 0;
  std::size_t points = 0;
  for (const PointResult& each : result.results) {
    most = std::max(most, each.host_bytes);
    points += each.host_bytes > 0 ? 1 : 0;
  }
  if (points == 0) return {};
  NoteList list;
  list.notes.push_back(
      {fmt::format(
           "Rows stand in host memory, up to {:.4g} GiB of a node (+host; host_gib in sweep.csv). The GiB of "
           "the table are of GPUs alone; lookups of such rows go over PCIe, and their time depends on the cache "
           "that a GPU has of them.",
           static_cast<double>(most) / 0x1p30),
       fmt::format("{} of {} points", points, result.results.size())});
  return list;
}

// The points with plans that TorchRec does not have, and the fastest of the others, where there is one.
NoteList torchrec_notes(const SweepResult& result) {
  std::size_t beyond = 0;
  const PointResult* first = nullptr;
  for (const PointResult& each : result.results)
    if (each.outcome == PointResult::Outcome::ok && !each.beyond_torchrec.empty() && beyond++ == 0) first = &each;
  if (first == nullptr) return {};
  std::string text = fmt::format(
      "TorchRec cannot run these plans (beyond_torchrec in sweep.csv), the first because it has {}; with "
      "--torchrec-only, planners keep to what TorchRec has.",
      first->beyond_torchrec);
  const auto fastest = first_of_torchrec(result, sorted_points(result, SweepOrder::samples));
  if (fastest)
    text += fmt::format(" Among the points that it can run, {} has the most samples per second.",
                        named_values(result, *fastest));
  NoteList list;
  list.notes.push_back({std::move(text), fmt::format("{} of {} points", beyond, result.results.size())});
  return list;
}

// The points whose notes are counted, those that are shown first: all, unless there are so many that reading them again
// takes longer than is worth.
std::vector<std::size_t> noted_points(const SweepResult& result, const std::vector<std::size_t>& shown) {
  constexpr std::size_t kMostNoted = 20'000;
  std::vector<std::size_t> points = shown;
  if (result.results.size() > kMostNoted) return points;
  std::vector<bool> known(result.results.size());
  for (const std::size_t point : shown) known[point] = true;
  for (std::size_t point = 0; point < known.size(); ++point)
    if (!known[point]) points.push_back(point);
  return points;
}

}  // namespace

Section sweep_notes(const SweepResult& result, const std::vector<std::size_t>& shown) {
  const std::vector<std::size_t> points = noted_points(result, shown);
  const bool all = points.size() == result.results.size();
  PointCases cases(*result.sweep);
  std::vector<std::pair<std::string, std::size_t>> notes;  // with the number of points
  for (const std::size_t point : points) {
    for (std::string& note : notes_of(cases, point)) {
      const auto known = std::ranges::find(notes, note, &std::pair<std::string, std::size_t>::first);
      if (known == notes.end()) {
        notes.emplace_back(std::move(note), 1);
      } else {
        ++known->second;
      }
    }
  }
  NoteList list;
  for (const auto& [note, number] : notes) {
    const std::string whole = all ? "all points" : fmt::format("all of the {} points shown", points.size());
    list.notes.push_back({note, number == points.size() ? whole
                                : all                   ? fmt::format("{} of {} points", number, points.size())
                                      : fmt::format("{} of the {} points shown", number, points.size())});
  }
  for (auto& note : order_notes_of_known(result, shown).notes) list.notes.push_back(std::move(note));
  for (auto& note : host_notes(result).notes) list.notes.push_back(std::move(note));
  for (auto& note : torchrec_notes(result).notes) list.notes.push_back(std::move(note));
  Section section{"Notes", {}};
  if (!list.notes.empty()) section.blocks.emplace_back(std::move(list));
  return section;
}

Section sweep_failures(const SweepResult& result) {
  std::map<std::string, std::vector<std::size_t>> by_message;
  for (std::size_t point = 0; point < result.results.size(); ++point)
    if (!result.ok(point)) by_message[result.at(point).message].push_back(point);
  std::map<std::size_t, const std::string*> messages;  // by their first point
  for (const auto& [message, points] : by_message) messages[points.front()] = &message;
  NoteList list;
  for (const auto& [point, message] : messages) {
    if (list.notes.size() == kFailuresShown) break;
    const std::size_t others = by_message[*message].size() - 1;
    const std::string first = named_values(result, point);
    list.notes.push_back({*message, others == 0 ? first : fmt::format("{} and {} more", first, others)});
  }
  Section section{"Points without a result", {}};
  if (!list.notes.empty()) section.blocks.emplace_back(std::move(list));
  return section;
}

std::string sweep_order_warning(const SweepResult& result, std::size_t first) {
  if (!has_axis_of_clusters(*result.sweep)) return "";
  try {
    return order_warning(result, first);
  } catch (const Error&) {  // files of the scenario are gone by now
    return "";
  }
}

std::string same_rest_sentence(const SweepResult& result, const std::vector<std::size_t>& points) {
  const auto batch_of = [&](std::size_t point) { return result.at(point).batch_per_gpu; };
  const auto is_first_batch = [&](std::size_t point) { return batch_of(point) == batch_of(points.front()); };
  if (std::ranges::all_of(points, is_first_batch)) return "";
  try {
    PointCases cases(*result.sweep);
    const auto& measured = cases.at(points.front()).workload.dense.measured;
    if (!measured || measured->batch != 0) return "";
    return fmt::format(
        "The measured rest of the iteration ('dense.measured') takes {:.4g} ms at every batch: large ones look better "
        "than they are.",
        measured->rest.ms());
  } catch (const Error&) {  // files of the scenario are gone by now
    return "";
  }
}

}  // namespace shardsim
