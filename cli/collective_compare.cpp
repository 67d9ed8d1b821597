#include "cli/collective_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "base/files.h"
#include "base/staged_folder.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/measurement_arguments.h"
#include "cli/output_folder.h"
#include "cli/say.h"
#include "cli/tolerance.h"
#include "validate/measurements/calibrated_judgement.h"
#include "validate/measurements/judgement.h"
#include "validate/measurements/judgement_document.h"
#include "validate/measurements/judgement_json.h"
#include "validate/measurements/measurements.h"

namespace shardsim {
namespace {

constexpr const char* kShippedMap = "scenarios/measurements/systems.yaml";

std::string measurements_path(const Arguments& given) {
  if (const auto path = given.value("measurements")) return *path;
  throw input_error(Arguments::place("measurements"), "the measurements are missing",
                    "Name a file or a folder, e.g. --measurements " +
                        (data_folder() / "scenarios" / "measurements" / "open").string());
}

std::string checked_fits(const std::string& name) {
  const std::vector<std::string> known = {"none", open_data_fits().name};
  if (std::ranges::find(known, name) != known.end()) return name;
  throw input_error(Arguments::place("fits"), "unknown fit " + excerpt(name), known_names_hint(name, known));
}

// The shipped map is named as in the source tree, wherever it lies.
SystemMap system_map(const Arguments& given) {
  const auto path = given.value("clusters");
  SystemMap map = read_system_map(path ? *path : (data_folder() / kShippedMap).string());
  if (!path) map.path = kShippedMap;
  if (const auto fits = given.value("fits")) {
    for (MappedSystem& system : map.systems) system.spec.fits = checked_fits(*fits);
  }
  return map;
}

// --system and --kind speak for output that does not name itself; a table names both in its rows.
void check_is_used(const std::string& option, const std::string& value, const std::vector<MeasuredRow>& rows,
                   const std::function<bool(const MeasuredRow&)>& agrees) {
  const auto others = std::ranges::count_if(rows, std::not_fn(agrees));
  if (others == 0) return;
  if (static_cast<std::size_t>(others) == rows.size()) {
    throw input_error(Arguments::place(option),
                      "no row is of " + excerpt(value) + ", and a table says this in each row",
                      "Leave the option out, or change the table");
  }
  std::fputs(
      fmt::format("note: --{} {} does not change {} rows of tables, which say otherwise\n", option, value, others)
          .c_str(),
      stderr);
}

void check_hints_are_used(const RunHints& hints, const std::vector<MeasuredRow>& rows) {
  if (!hints.system.empty()) {
    check_is_used("system", hints.system, rows, [&](const MeasuredRow& row) { return row.system == hints.system; });
  }
  if (hints.kind) {
    check_is_used("kind", std::string(collective_kind_name(*hints.kind)), rows,
                  [&](const MeasuredRow& row) { return row.kind == *hints.kind; });
  }
}

// 0 or 4, and a line on stderr that says why.
int verdict(const Judgement& judgement, std::optional<double> most) {
  if (!most) return 0;
  const std::optional<double> judged = judgement.judged_pct();
  if (!judged) {
    throw input_error(Arguments::place("tolerance"), "no row is in the model, so there is nothing to judge",
                      "Leave --tolerance out, or give other measurements");
  }
  if (*judged <= *most) return 0;
  std::fputs(fmt::format("error: outside the tolerance: the median error is {:.1f} %, {} % are allowed\n", *judged,
                         shortest(*most))
                 .c_str(),
             stderr);
  return kOutsideTolerance;
}

// What is compared, and what is said of it beside the figures.
struct CollectiveComparison {
  Judgement judgement;
  std::string markdown, remark;
};

CollectiveComparison comparison_of(const Measurements& measurements, const SystemMap& map, const std::string& path,
                                   bool calibrated) {
  if (!calibrated) {
    CollectiveComparison plain{judgement_of(measurements.rows, map, shipped_left_out_fits(), path), {}, {}};
    plain.markdown = judgement_markdown(plain.judgement);
    return plain;
  }
  CalibratedJudgement result = calibrated_judgement(measurements.rows, map, shipped_left_out_fits(), path);
  CollectiveComparison comparison{{}, calibrated_markdown(result), calibration_summary(result) + "\n"};
  comparison.judgement = std::move(result.judgement);
  return comparison;
}

void write_files(const CollectiveComparison& comparison, const std::filesystem::path& folder, const std::string& json) {
  const Judgement& judgement = comparison.judgement;
  write_file(folder / "comparison.json", json);
  write_file(folder / "predictions.csv", predictions_csv(judgement));
  write_file(folder / "report.html", judgement_html(judgement));
  write_file(folder / "accuracy.md", comparison.markdown);
}

}  // namespace

int collective_compare(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const Arguments given(arguments,
                        {{"measurements", 0, true, false},
                         {"clusters", 0, true, false},
                         {"tolerance", 0, true, false},
                         {"system", 0, true, false},
                         {"kind", 0, true, false},
                         {"fits", 0, true, false},
                         {"calibrated", 0, false, false},
                         {"output", 'o', true, false},
                         {"json", 0, false, false}},
                        0, 0,
                        "shardsim collective compare --measurements DIR|FILE [--clusters MAP.yaml] [--tolerance P%]\n"
                        "  [--system LABEL] [--kind KIND] [--fits NAME] [--calibrated] [--json] [-o DIR]");
  const std::optional<double> most = tolerance(given);
  const std::filesystem::path folder =
      output_folder(given, "compare", std::filesystem::path("out") / "collective_compare");
  const std::string path = measurements_path(given);
  const RunHints said = measurement_hints(given);
  const Measurements measurements = read_measurements(path, said);
  check_hints_are_used(said, measurements.rows);
  const CollectiveComparison comparison = comparison_of(measurements, system_map(given), path, given.has("calibrated"));
  const Judgement& judgement = comparison.judgement;
  print_notes(measurements);
  const std::string json = judgement_json(judgement);
  const int code = verdict(judgement, most);
  StagedFolder staged(folder);
  staged.fill([&](const std::filesystem::path& hidden) { write_files(comparison, hidden, json); });
  staged.commit();
  const std::string text =
      given.has("json") ? json : judgement_text(judgement, terminal.width, terminal.colour) + comparison.remark;
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!given.has("json")) say(fmt::format("wrote {}", folder.string()));
  return code;
}

}  // namespace shardsim
