#include "validate/measurements/calibration_sheets.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/report/numbers.h"
#include "sim/report/sheet.h"
#include "validate/measurements/error_text.h"

namespace shardsim {
namespace {

void add_errors(Sheet& sheet, const std::string& rows, const ErrorsBeforeAndAfter& errors, bool quiet) {
  if (errors.after.rows == 0) return;
  sheet.rows.push_back({{rows, std::to_string(errors.after.rows), percent(errors.before.median_abs_pct),
                         percent(errors.after.median_abs_pct), percent(errors.after.p95_abs_pct),
                         signed_percent(errors.after.signed_pct)},
                        quiet});
}

std::string used_rows(const CollectiveCalibration& collective) {
  std::vector<std::string> rows;
  for (const MeasuredRow& row : collective.used)
    rows.push_back(fmt::format("{}x{} {}", row.nodes, row.gpus_per_node, to_text(Bytes{*row.bytes})));
  return join(rows);
}

Sheet error_sheet(const Calibration& calibration) {
  Sheet sheet;
  sheet.columns = {{"rows", false}, {"number", true},      {"median % before", true},
                   {"after", true}, {"p95 % after", true}, {"signed % after", true}};
  for (const CollectiveCalibration& one : calibration.collectives) {
    sheet.rows.push_back({{fmt::format("{}: {} of {} rows used ({})", collective_kind_name(one.kind), one.used.size(),
                                       static_cast<int>(one.used.size()) + one.unused_rows, used_rows(one))}});
    add_errors(sheet, "not used, from 1 MiB", one.from_1mib, false);
    add_errors(sheet, "not used, below 1 MiB", one.below_1mib, false);
    add_errors(sheet, "used", one.on_used, true);
  }
  return sheet;
}

Sheet value_sheet(const Calibration& calibration) {
  Sheet sheet;
  sheet.columns = {{"value", false}, {"before", true}, {"fitted", true}};
  const auto add = [&](const CalibratedValue& value) {
    sheet.rows.push_back({{value.path, value.before, value.after}});
  };
  for (const CollectiveCalibration& one : calibration.collectives)
    for (const CalibratedValue& value : one.values) add(value);
  for (const CalibratedValue& value : calibration.shared) add(value);
  return sheet;
}

}  // namespace

std::string calibration_text(const Calibration& calibration, int width, bool colour) {
  std::string text = sheet_text(error_sheet(calibration), width, colour) + "\n";
  text += sheet_text(value_sheet(calibration), width, colour) + "\n";
  text += wrapped(
      "Errors of predicted against measured times. Start, fill and share of the latency explain the same rows between "
      "them: read them together, not one by one.",
      width, "");
  if (calibration.incomplete > 0)
    text += fmt::format("{} rows without a size or a time left out.\n", calibration.incomplete);
  return text;
}

}  // namespace shardsim
