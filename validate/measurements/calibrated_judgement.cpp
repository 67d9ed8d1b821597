#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "validate/measurements/calibration.h"
#include "validate/measurements/judgement.h"

namespace shardsim {
namespace {

using Rows = std::vector<MeasuredRow>;

// The system's rows that a calibration may use, as complete as the map can make them.
Rows rows_in_model(const Rows& rows, const MappedSystem& system, const SystemMap& map) {
  Rows found;
  for (MeasuredRow row : rows) {
    if (!row.is_complete() || &map.system_of(row) != &system) continue;
    row.fill_in(system.nodes, system.gpus_per_node);
    if (!row.is_of_one_gpu() && map.why_out_of_model(row).empty()) found.push_back(std::move(row));
  }
  return found;
}

}  // namespace

CalibratedJudgement calibrated_judgement(const std::vector<MeasuredRow>& rows, const SystemMap& map,
                                         const LeftOutFits& fits, const std::string& measurements) {
  CalibratedJudgement result;
  SystemMap calibrated = map;
  Rows unused;
  for (std::size_t i = 0; i < map.systems.size(); ++i) {
    const MappedSystem& stated = map.systems[i];
    const Rows of_system = rows_in_model(rows, stated, map);
    if (of_system.size() < 2) {
      for (const MeasuredRow& row : of_system) result.pairs.push_back({row.system, row.kind, 0, 0});
      continue;
    }
    const ClusterSpec prior =
        stated.spec.fits == "none" ? stated.spec : with_fits(stated.spec, fits.table_for(of_system.front().system));
    Calibration calibration = calibrate(prior, of_system, {.measurements = measurements});
    for (const CollectiveCalibration& one : calibration.collectives) {
      result.pairs.push_back(
          {calibration.system, one.kind, static_cast<int>(one.used.size()), static_cast<int>(one.unused.size())});
      unused.insert(unused.end(), one.unused.begin(), one.unused.end());
    }
    calibrated.systems[i].spec = std::move(calibration.spec);
  }
  if (unused.empty()) {
    throw input_error({measurements}, "every row in the model was used to calibrate, none is left to judge",
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
      "Each system was calibrated on its own rows: {} were used, none of them is judged here, nor is a row out of the "
      "model.",
      used);
  if (!without.empty()) text += fmt::format(" No row is left of: {}.", join(without));
  return text;
}

}  // namespace shardsim
