#include "accuracy/measurements/outliers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/fields/exact_text.h"
#include "base/statistics.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kNeighbours = 4;    // of other sizes, whose median is not moved by one of them
constexpr std::size_t kMostOutliers = 3;  // more rows apart from the others are no slip, but what the cluster does
constexpr double kLeastTimes = 1.5;       // by which a row stands apart
constexpr double kTimesTheUsual = 4;      // of how far the rows of a group are from their neighbours in the median

using Rows = std::vector<MeasuredRow>;

// The rows of the collectives whose fits are worse.
Rows rows_of_worse(const Calibration& made) {
  Rows rows;
  for (const CollectiveCalibration& one : made.collectives) {
    if (!one.is_worse()) continue;
    for (const auto* const each : {&one.used, &one.unused}) rows.insert(rows.end(), each->begin(), each->end());
  }
  return rows;
}

// The rows of each collective, nodes and GPUs, by size, with ln(measured / predicted before).
struct GroupRow {
  MeasuredRow row;
  double miss = 0;
};
using Groups = std::map<std::tuple<CollectiveKind, int, int>, std::vector<GroupRow>>;

Groups groups_of(const ClusterSpec& prior, const Rows& rows) {
  Groups groups;
  for (const JudgedRow& judged : judged_on(prior, rows)) {
    const MeasuredRow& row = judged.measured;
    groups[{row.kind, row.nodes, row.gpus_per_node}].push_back(
        {row, std::log(row.time->value / judged.predicted().value)});
  }
  for (auto& [group, of_group] : groups)
    std::ranges::stable_sort(of_group, {}, [](const GroupRow& each) { return *each.row.bytes; });
  return groups;
}

// By how much the miss of a row differs from the median of those of the rows beside it.
double distance_of(const std::vector<GroupRow>& group, std::size_t at) {
  const std::size_t last = group.size() - 1;
  const std::size_t from = std::min(at - std::min(at, kNeighbours / 2), last - std::min(last, kNeighbours));
  std::vector<double> beside;
  for (std::size_t i = from; i <= std::min(last, from + kNeighbours); ++i)
    if (i != at) beside.push_back(group[i].miss);
  return group[at].miss - median(beside);
}

void add_outliers(const std::vector<GroupRow>& group, std::vector<Outlier>& outliers) {
  if (group.size() <= kNeighbours) return;
  std::vector<double> distances, sizes;
  for (std::size_t i = 0; i < group.size(); ++i) {
    distances.push_back(distance_of(group, i));
    sizes.push_back(std::abs(distances.back()));
  }
  const double least = std::max(std::log(kLeastTimes), kTimesTheUsual * median(sizes));
  for (std::size_t i = 0; i < group.size(); ++i)
    if (sizes[i] > least) outliers.push_back({group[i].row, std::exp(distances[i])});
}

bool is_among(const std::vector<Outlier>& outliers, const MeasuredRow& row) {
  return std::ranges::any_of(outliers, [&](const Outlier& each) {
    return each.row.place.text() == row.place.text() && each.row.kind == row.kind && each.row.bytes == row.bytes;
  });
}

}  // namespace

std::vector<Outlier> spoiling_rows(const ClusterSpec& prior, const Calibration& made,
                                   const CalibrationOptions& options) {
  Rows rows = rows_of_worse(made);
  std::vector<Outlier> outliers;
  for (const auto& [group, of_group] : groups_of(prior, rows)) add_outliers(of_group, outliers);
  if (outliers.empty() || outliers.size() > kMostOutliers) return {};
  std::erase_if(rows, [&](const MeasuredRow& row) { return is_among(outliers, row); });
  CalibrationOptions judged = options;
  judged.force = false;
  const Calibration without = calibrate(prior, rows, judged);
  return without.took_any() && without.worse_text().empty() ? outliers : std::vector<Outlier>{};
}

std::string outliers_text(const std::vector<Outlier>& outliers) {
  std::vector<std::string> texts;
  for (const Outlier& each : outliers)
    texts.push_back(fmt::format("{} ({} {}x{} {}, {:.2g} times the time that the other sizes let expect)",
                                each.row.place.text(), collective_kind_name(each.row.kind), each.row.nodes,
                                each.row.gpus_per_node, exact_text(Bytes{*each.row.bytes}), each.times));
  return join(texts);
}

}  // namespace shardsim
