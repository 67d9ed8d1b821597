#include "study/report/documents/sweep_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "study/notes/notes.h"
#include "study/notes/slower_hardware.h"
#include "study/report/documents/sweep_document.h"
#include "study/result/hardware.h"
#include "study/sweep/point_cases.h"

namespace shardsim {
namespace {

constexpr std::size_t kFailuresShown = 20;

// The numbers of a point whose files are gone by now stand without notes.
std::vector<std::string> notes_of(PointCases& cases, std::size_t point) {
  try {
    return notes_for(Asker::sweep, {cases.at(point)});
  } catch (const Error&) {
    return {};
  }
}

// Returns whether an axis is about the cluster alone, by dimension.
std::vector<bool> cluster_dimensions(const Sweep& sweep) {
  std::vector<bool> result;
  for (const SweepDimension& dimension : sweep.dimensions)
    result.push_back(
        std::ranges::all_of(dimension.axes, [](const Axis& axis) { return axis.path.starts_with("cluster."); }));
  return result;
}

bool differ_in_cluster_alone(const Sweep& sweep, const std::vector<bool>& of_cluster, std::size_t a, std::size_t b) {
  const auto at = sweep.coordinates(a), there = sweep.coordinates(b);
  for (std::size_t d = 0; d < at.size(); ++d)
    if (at[d] != there[d] && !of_cluster[d]) return false;
  return a != b;
}

// Notes on points that beat others on hardware that is nowhere slower.
NoteList order_notes(const SweepResult& result, const std::vector<std::size_t>& points) {
  const std::vector<bool> of_cluster = cluster_dimensions(*result.sweep);
  NoteList list;
  if (std::ranges::find(of_cluster, true) == of_cluster.end()) return list;
  PointCases cases(*result.sweep);
  std::vector<ClusterSpec> clusters;
  for (const std::size_t point : points) clusters.push_back(cases.at(point).cluster);
  const auto time_of = [&](std::size_t i) {
    return TimeOnHardware{named_values(result, points[i]), &clusters[i], result.at(points[i]).iteration_ms};
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<TimeOnHardware> others;
    for (std::size_t j = 0; j < points.size(); ++j)
      if (differ_in_cluster_alone(*result.sweep, of_cluster, points[i], points[j])) others.push_back(time_of(j));
    const std::vector<std::size_t> beaten = beaten_on_better_hardware(time_of(i), others);
    if (beaten.empty()) continue;
    list.notes.push_back({beaten_text(time_of(i), others, beaten) +
                              ": operations happen to run at other times, NCCL finds other channels, or the plan is "
                              "another one. Written as two cases of a scenario, 'shardsim run' says which.",
                          named_values(result, points[i])});
  }
  return list;
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
  const std::vector<std::size_t> sorted = sorted_points(result, SweepOrder::samples);
  const auto fastest = std::ranges::find_if(sorted, [&](std::size_t point) {
    return result.at(point).beyond_torchrec.empty() && !result.at(point).runs_out_of_memory();
  });
  if (fastest != sorted.end())
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
