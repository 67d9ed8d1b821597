#include "accuracy/measurements/held_out.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "accuracy/measurements/overhead_fit.h"
#include "base/statistics.h"
#include "study/sweep/axis.h"

namespace shardsim {
namespace {

constexpr std::size_t kFolds = 5;
constexpr double kPullOfAllSizes = 3;  // rows
constexpr int kScaleDigits = 4;

using Point = std::tuple<CollectiveKind, int, int, std::int64_t>;

Point point_of(const MeasuredRow& row) {
  return {row.kind, row.nodes, row.gpus_per_node, *row.bytes};
}

// The fold of each setting, and how many there are.
std::map<Point, std::size_t> folds_of(const std::vector<MeasuredRow>& rows) {
  std::map<Point, std::size_t> folds;
  for (const MeasuredRow& row : rows) folds.emplace(point_of(row), 0);
  const std::size_t count = std::min(kFolds, folds.size());
  std::size_t next = 0;
  for (auto& [point, fold] : folds) fold = next++ % count;
  return folds;
}

// ln(measured / predicted), without sign.
double miss_of(const JudgedRow& row) {
  return std::abs(std::log(row.measured.time->value / row.predicted().value));
}

}  // namespace

double written_scale(double scale) {
  return rounded_to_digits(scale, kScaleDigits);
}

std::vector<LeftOutRow> beside_each_other(std::vector<JudgedRow> before, std::vector<JudgedRow> after) {
  std::vector<LeftOutRow> rows;
  for (std::size_t i = 0; i < before.size(); ++i) rows.push_back({std::move(before[i]), std::move(after[i])});
  return rows;
}

std::vector<LeftOutRow> left_out_in_turn(const ClusterSpec& before, const ClusterSpec& start,
                                         const std::vector<MeasuredRow>& rows, FitScope scope) {
  const std::map<Point, std::size_t> folds = folds_of(rows);
  std::vector<LeftOutRow> left_out;
  if (folds.size() < 2) return left_out;
  for (std::size_t fold = 0; fold < std::min(kFolds, folds.size()); ++fold) {
    std::vector<MeasuredRow> seen, unseen;
    for (const MeasuredRow& row : rows) (folds.at(point_of(row)) == fold ? unseen : seen).push_back(row);
    const ClusterSpec fitted = fit_overheads(start, seen, scope).spec;
    std::ranges::move(beside_each_other(judged_on(before, unseen), judged_on(fitted, unseen)),
                      std::back_inserter(left_out));
  }
  return left_out;
}

std::optional<HeldOutCalls> held_out_calls(const std::vector<JudgedRow>& rows) {
  if (rows.size() < kLeastHeldOut) return std::nullopt;
  std::vector<double> all;
  for (const JudgedRow& row : rows) all.push_back(miss_of(row));
  const double pull = kPullOfAllSizes * mean(all);
  const auto scale_in = [&](const SizeBand& band) -> std::optional<double> {
    double sum = pull, count = kPullOfAllSizes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!band.holds(static_cast<double>(*rows[i].measured.bytes))) continue;
      sum += all[i];
      ++count;
    }
    return count > kPullOfAllSizes ? std::optional(written_scale(sum / count)) : std::nullopt;
  };
  return HeldOutCalls{static_cast<int>(rows.size()), scale_in(kSizeBands[0]), scale_in(kSizeBands[1]),
                      scale_in(kSizeBands[2]), scale_in(kSizeBands[3])};
}

}  // namespace shardsim
