#include "accuracy/measurements/judgement.h"
#include "accuracy/measurements/read/measurements.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/judgement_files.h"
#include "cli/commands/shared.h"
#include "study/report/page.h"

namespace shardsim {
namespace {

constexpr const char* kShippedMap = "scenarios/measurements/systems.yaml";

// The shipped map is named as in the source tree, wherever it lies.
SystemMap system_map(const Arguments& given) {
  const auto path = given.value("clusters");
  SystemMap map = read_system_map(path ? *path : (data_folder() / kShippedMap).string());
  if (!path) map.path = kShippedMap;
  if (const auto fits = given.value("fits")) {
    for (MappedSystem& system : map.systems) system.spec.fits = *fits;
  }
  return map;
}

Judgement judged(const Arguments& given, const Measurements& measurements, JudgementTexts& texts) {
  const SystemMap map = system_map(given);
  const std::string path = given.text("measurements");
  if (given.has("calibrated")) {
    CalibratedJudgement result = calibrated_judgement(measurements.rows, map, shipped_left_out_fits(), path);
    texts.markdown = calibrated_markdown(result);
    texts.terminal = calibration_summary(result) + "\n";
    return std::move(result.judgement);
  }
  Judgement judgement = judgement_of(measurements.rows, map, shipped_left_out_fits(), path);
  texts.markdown = judgement_markdown(judgement);
  return judgement;
}

int compare_collectives(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "predicting the measured collectives");
  const JudgementFolder folder(given, "collective_compare", true);
  const RunHints said = measurement_hints(given);
  const Measurements measurements = read_measurements(given.text("measurements"), said);
  require_used_hints(said, measurements.rows);
  JudgementTexts texts;
  const Judgement judgement = judged(given, measurements, texts);
  print_notes(measurements);
  for (const std::string& note : judgement.notes) print_note(note);
  texts.json = judgement_json(judgement);
  texts.csv = predictions_csv(judgement);
  texts.page = page_html(judgement_document(judgement, Medium::page));
  texts.terminal = shown_text(judgement_document(judgement, Medium::terminal), given, terminal) + texts.terminal;
  texts.median_abs_error_pct = judgement.judged_pct();
  return folder.deliver(texts);
}

}  // namespace

Command collective_compare_command() {
  return {
      .name = "shardsim collective compare",
      .summary = "compare predicted with measured times of collectives",
      .options = measurement_options() +
                 std::vector<Option>{
                     {"clusters", 0, "MAP.yaml",
                      "A file that says which cluster each measured system is. Without this option, the one for the "
                      "shipped published times is taken."},
                     tolerance_option("the median error of the rows of 1 MiB and more is larger than this"),
                     {"fits",
                      0,
                      "NAME",
                      "Use these fitted constants instead of what the key `fits` of each cluster says. A system whose "
                      "measurements went into the fit is always judged by a fit that was made without them.",
                      "",
                      Option::Times::at_most_once,
                      {"none", open_data_fits().name}},
                     details_option(),
                     force_in_folder_option(),
                     {"output", 'o', "DIR",
                      "Write report.html, comparison.json, predictions.csv and accuracy.md into this folder. Without "
                      "this option it is out/collective_compare."},
                     {"calibrated", 0, "",
                      "Calibrate each system on at most 4 rows of each collective first, and judge the predictions of "
                      "the other rows."},
                     {"json", 0, "", "Print the comparison as one JSON document instead of tables."}},
      .notes = "PATH may also be a folder of such files.",
      .examples = {"shardsim collective compare --measurements scenarios/measurements/open -o out/collective_compare"},
      .run = compare_collectives};
}

}  // namespace shardsim
