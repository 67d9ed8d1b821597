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

class Calibrators {
 public:
  Calibrators(const Rows& rows, const SystemMap& map, const LeftOutFits& fits, const CalibrationOptions& options)
      : rows_(rows), stated_(map), calibrated_(map), fits_(fits), options_(options) {}

  CalibratedJudgement result() {
    for (std::size_t i = 0; i < stated_.systems.size(); ++i)
      calibrate_system(stated_.systems[i], calibrated_.systems[i]);
    if (unused_.empty()) {
      throw input_error({options_.measurements}, "every row in the model was used to calibrate, none is left to judge",
                        "Give more rows, or leave --calibrated out");
    }
    result_.judgement = judgement_of(unused_, calibrated_, LeftOutFits{}, options_.measurements);
    for (JudgedRow& row : result_.judgement.rows) row.fits = FitsUsed::calibrated;
    for (SystemFigures& system : result_.judgement.systems) system.fits = FitsUsed::calibrated;
    return std::move(result_);
  }

 private:
  void calibrate_system(const MappedSystem& stated, MappedSystem& calibrated) {
    const Rows rows = rows_in_model(rows_, stated, stated_);
    if (rows.size() < 2) {
      for (const MeasuredRow& row : rows) result_.pairs.push_back({row.system, row.kind, 0, 0});
      return;
    }
    const ClusterSpec prior =
        stated.spec.fits == "none" ? stated.spec : with_fits(stated.spec, fits_.table_for(rows.front().system));
    Calibration calibration = calibrate(prior, rows, options_);
    for (const CollectiveCalibration& one : calibration.collectives)
      result_.pairs.push_back({calibration.system, one.kind, static_cast<int>(one.used.size()), one.unused_rows});
    unused_.insert(unused_.end(), calibration.unused.begin(), calibration.unused.end());
    calibrated.spec = std::move(calibration.spec);
  }

  const Rows& rows_;
  const SystemMap& stated_;
  SystemMap calibrated_;
  const LeftOutFits& fits_;
  const CalibrationOptions& options_;
  Rows unused_;
  CalibratedJudgement result_;
};

}  // namespace

CalibratedJudgement calibrated_judgement(const std::vector<MeasuredRow>& rows, const SystemMap& map,
                                         const LeftOutFits& fits, const std::string& measurements,
                                         int rows_per_collective) {
  const CalibrationOptions options{rows_per_collective, measurements};
  return Calibrators(rows, map, fits, options).result();
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
