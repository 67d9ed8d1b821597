#include "validate/measurements/judgement.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "base/text.h"

namespace shardsim {
namespace {

using RowPointers = std::vector<const JudgedRow*>;

RowPointers in_model(const std::vector<JudgedRow>& rows) {
  RowPointers found;
  for (const JudgedRow& row : rows) {
    if (row.out_of_model.empty()) found.push_back(&row);
  }
  return found;
}

RowPointers all(const std::vector<JudgedRow>& rows) {
  RowPointers found;
  for (const JudgedRow& row : rows) found.push_back(&row);
  return found;
}

// Rows of one system, collective and side of the model; in the model first, systems in order of appearance.
std::vector<RowPointers> groups_of(const std::vector<JudgedRow>& rows) {
  using Key = std::tuple<bool, std::size_t, CollectiveKind>;
  std::map<Key, RowPointers> groups;
  std::map<std::string, std::size_t> first;
  for (const JudgedRow& row : rows) {
    const std::size_t order = first.try_emplace(row.measured.system, first.size()).first->second;
    groups[{!row.out_of_model.empty(), order, row.measured.kind}].push_back(&row);
  }
  std::vector<RowPointers> result;
  for (auto& entry : groups) result.push_back(std::move(entry.second));
  return result;
}

// All reasons why rows are out of the model.
std::string reasons_of(const RowPointers& rows) {
  std::vector<std::string> reasons;
  for (const JudgedRow* row : rows) {
    if (std::ranges::find(reasons, row->out_of_model) == reasons.end()) reasons.push_back(row->out_of_model);
  }
  return join(reasons, "; ");
}

SystemFigures system_figures(const RowPointers& rows) {
  const JudgedRow& first = *rows.front();
  return {first.measured.system, first.cluster, first.measured.kind, first.fits, reasons_of(rows), band_figures(rows)};
}

std::vector<std::pair<CollectiveKind, BandFigures>> figures_by_kind(const RowPointers& rows) {
  std::vector<std::pair<CollectiveKind, BandFigures>> result;
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    RowPointers of_kind;
    std::ranges::copy_if(rows, std::back_inserter(of_kind),
                         [&](const JudgedRow* row) { return row->measured.kind == kind; });
    if (!of_kind.empty()) result.emplace_back(kind, band_figures(of_kind));
  }
  return result;
}

std::optional<BandFigures> unfitted_figures(const std::vector<MeasuredRow>& rows, SystemMap map) {
  for (MappedSystem& system : map.systems) system.spec.fits = "none";
  const JudgedRows judged = judge(rows, map, {});
  return band_figures(in_model(judged.rows));
}

}  // namespace

std::optional<double> Judgement::judged_pct() const {
  return overall.from_1mib.rows > 0 ? overall.from_1mib.median_abs_pct : overall.all.median_abs_pct;
}

Judgement judgement_of(const std::vector<MeasuredRow>& rows, const SystemMap& map, const LeftOutFits& fits,
                       const std::string& measurements) {
  Judgement result;
  JudgedRows judged = judge(rows, map, fits);
  if (judged.rows.empty()) {
    const std::string why = judged.of_one_gpu > 0 ? "every row is of a single GPU, which exchanges nothing"
                                                  : "no row has both a size and a time";
    throw input_error({measurements}, why, "Give measurements to compare with");
  }
  result.measurements = measurements;
  result.map = map.path;
  result.rows = std::move(judged.rows);
  result.incomplete = judged.incomplete;
  result.of_one_gpu = judged.of_one_gpu;
  const RowPointers judged_in_model = in_model(result.rows);
  for (const RowPointers& group : groups_of(result.rows)) result.systems.push_back(system_figures(group));
  result.by_kind = figures_by_kind(judged_in_model);
  result.overall = band_figures(judged_in_model);
  result.with_out_of_model = band_figures(all(result.rows));
  const auto is_fitted = [](const JudgedRow& row) { return row.fits != FitsUsed::none; };
  if (std::ranges::any_of(result.rows, is_fitted)) result.unfitted = unfitted_figures(rows, map);
  result.out_of_model_rows = static_cast<int>(result.rows.size() - judged_in_model.size());
  return result;
}

}  // namespace shardsim
