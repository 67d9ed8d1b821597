#include "accuracy/measurements/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "accuracy/measurements/calibration.h"
#include "accuracy/measurements/row_layout.h"
#include "accuracy/measurements/switched_off.h"
#include "base/text.h"

namespace shardsim {
namespace {

using RowPointers = std::vector<const JudgedRow*>;

RowPointers those(const std::vector<JudgedRow>& rows, const std::function<bool(const JudgedRow&)>& test) {
  RowPointers found;
  for (const JudgedRow& row : rows)
    if (test(row)) found.push_back(&row);
  return found;
}

bool is_in_model(const JudgedRow& row) {
  return row.out_of_model.empty();
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

BandFigures figures_of(const RowPointers& rows) {
  std::vector<Pair> pairs;
  for (const JudgedRow* row : rows) pairs.push_back(row->pair());
  return band_figures(pairs);
}

BandFigures unfitted_figures(const std::vector<MeasuredRow>& rows, SystemMap map) {
  for (MappedSystem& system : map.systems) system.spec.fits = "none";
  const JudgedRows judged = judge(rows, map, {});
  return figures_of(those(judged.rows, is_in_model));
}

}  // namespace

std::optional<double> Judgement::judged_pct() const {
  return overall.from_1mib().rows > 0 ? overall.from_1mib().median_abs_pct : overall.all().median_abs_pct;
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
  result.notes = std::move(judged.notes);
  for (const RowPointers& group : groups_of(result.rows)) {
    const JudgedRow& first = *group.front();
    result.systems.push_back(
        {first.measured.system, first.cluster, first.measured.kind, first.fits, reasons_of(group), figures_of(group)});
  }
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const RowPointers of_kind =
        those(result.rows, [&](const JudgedRow& row) { return is_in_model(row) && row.measured.kind == kind; });
    if (!of_kind.empty()) result.by_kind.emplace_back(kind, figures_of(of_kind));
  }
  result.overall = figures_of(those(result.rows, is_in_model));
  result.with_out_of_model = figures_of(those(result.rows, [](const JudgedRow&) { return true; }));
  const auto is_fitted = [](const JudgedRow& row) { return row.fits != FitsUsed::none; };
  if (std::ranges::any_of(result.rows, is_fitted)) result.unfitted = unfitted_figures(rows, map);
  result.out_of_model_rows = result.with_out_of_model.rows - result.overall.rows;
  return result;
}

namespace {

using Rows = std::vector<MeasuredRow>;

using RowsOfSystem = std::map<const MappedSystem*, Rows>;

// The rows of each system that a calibration may use, laid out on its cluster. Those that the map has no system for are
// left to judge(), which says so.
RowsOfSystem rows_in_model(const Rows& rows, const SystemMap& map) {
  const SystemsByLabel systems(map);
  RowsOfSystem found;
  for (MeasuredRow row : rows) {
    if (!row.is_complete()) continue;
    const MappedSystem* system = nullptr;
    try {
      system = &systems.of(row);
    } catch (const Error&) {
      continue;
    }
    lay_out(row, counts_of(*system), system->spec);
    const bool is_fit =
        row.caveat.empty() && above_links(row, system->spec).empty() && switched_off(row, system->spec).empty();
    if (is_fit && !row.is_of_one_gpu() && map.why_out_of_model(row).empty()) found[system].push_back(std::move(row));
  }
  return found;
}

constexpr int kRowsOfCollective = 4;  // that a calibration is given, whatever it makes of them

// One entry for a collective, whether it was measured within a node, across nodes or both.
void add_pair(std::vector<CalibratedJudgement::Pair>& pairs, const std::string& system,
              const CollectiveCalibration& one) {
  const bool is_known = !pairs.empty() && pairs.back().system == system && pairs.back().kind == one.kind;
  CalibratedJudgement::Pair& pair =
      is_known ? pairs.back() : pairs.emplace_back(CalibratedJudgement::Pair{system, one.kind, 0, 0});
  pair.used += static_cast<int>(one.used.size());
  pair.unused += static_cast<int>(one.unused.size());
}

}  // namespace

CalibratedJudgement calibrated_judgement(const std::vector<MeasuredRow>& rows, const SystemMap& map,
                                         const LeftOutFits& fits, const std::string& measurements) {
  CalibratedJudgement result;
  SystemMap calibrated = map;
  Rows unused;
  const RowsOfSystem by_system = rows_in_model(rows, map);
  for (std::size_t i = 0; i < map.systems.size(); ++i) {
    const MappedSystem& stated = map.systems[i];
    if (!by_system.contains(&stated)) continue;
    const Rows& of_system = by_system.at(&stated);
    if (of_system.size() < 2) {
      for (const MeasuredRow& row : of_system) result.pairs.push_back({row.system, row.kind, 0, 0});
      continue;
    }
    const ClusterSpec prior =
        stated.spec.fits == "none" ? stated.spec : with_fits(stated.spec, fits.table_for(of_system.front().system));
    Calibration calibration = calibrate(prior, of_system, {kRowsOfCollective, true, measurements});
    for (const CollectiveCalibration& one : calibration.collectives) {
      add_pair(result.pairs, calibration.system, one);
      unused.insert(unused.end(), one.unused.begin(), one.unused.end());
    }
    calibrated.systems[i].spec = std::move(calibration.spec);
  }
  if (unused.empty()) {
    throw input_error({measurements}, "all rows that could be judged were used to calibrate",
                      "Give more rows, or leave --calibrated out");
  }
  result.judgement = judgement_of(unused, calibrated, LeftOutFits{}, measurements);
  for (JudgedRow& row : result.judgement.rows) row.fits = FitsUsed::calibrated;
  for (SystemFigures& system : result.judgement.systems) system.fits = FitsUsed::calibrated;
  return result;
}

std::string calibration_summary(const CalibratedJudgement& calibrated) {
  int used = 0;
  std::vector<std::string> without;
  for (const CalibratedJudgement::Pair& pair : calibrated.pairs) {
    used += pair.used;
    if (pair.unused == 0) without.push_back(fmt::format("{} of {}", collective_kind_name(pair.kind), pair.system));
  }
  std::string text = fmt::format(
      "Each system was calibrated on its own rows. The {} that were used are not judged here, and neither are rows "
      "outside the model.",
      used);
  if (!without.empty()) text += fmt::format(" No row is left of: {}.", join(without));
  return text;
}

}  // namespace shardsim
