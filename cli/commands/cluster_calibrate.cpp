#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "accuracy/measurements/calibration.h"
#include "accuracy/measurements/outliers.h"
#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/system_map.h"
#include "accuracy/measurements/row_layout.h"
#include "accuracy/measurements/switched_off.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/shared.h"
#include "models/collective/fitted_overheads.h"
#include "models/compute/embedding_measurements.h"
#include "study/scenario/scenario.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostRows = 1000;

// The cluster as its file says, with the fit that its key `fits` asks for. Where these rows went into that fit, the one
// made without them: else rows that are said to be unused would have been used before.
ClusterSpec prior_of(const Arguments& given, const std::string& system) {
  ClusterSpec spec = read_cluster(load_named(given.text("cluster"), "clusters", "", Arguments::place("cluster")));
  const LeftOutFits fits = shipped_left_out_fits();
  if (spec.fits != "none" && fits.saw(system)) return with_fits(std::move(spec), fits.table_for(system));
  return with_fits(std::move(spec));
}

// The table where `path` is one of embedding measurements, else nothing.
std::optional<CsvTable> embedding_table(const std::string& path) {
  if (!path.ends_with(".csv")) return std::nullopt;
  CsvTable table = parse_csv(read_file(path), path);
  return is_embedding_table(table) ? std::optional(std::move(table)) : std::nullopt;
}

// The result of a fit: the cluster with the fitted values, the names of what was fitted and measured, and the tables
// that are printed with it.
struct Fitted {
  ClusterSpec spec;
  std::string what, subject;
  Document tables;
};

// A fit that predicts rows it has not seen worse than the cluster does as it is must not pass for a calibration.
const std::string kWorse = "the fit predicts rows that it left out worse than the cluster does as it is: ";
const std::string kForce = "Measure more, or write the fit all the same with --force";
const std::string kForced = "warning: --force takes fits that predict rows left out worse than the cluster as it was: ";

Fitted fitted_compute(const Arguments& given, const CsvTable& table) {
  for (const char* const option : {"system", "kind", "rows", "nodes", "gpus-per-node", "clusters"})
    if (given.has(option))
      throw input_error(Arguments::place(option), "the option is of measured collectives, and this table is of lookups",
                        "Leave it out");
  const ComputeCalibration made =
      calibrate_compute(prior_of(given, ""), read_embedding_table(table), given.text("measurements"));
  const std::string worse = made.worse_text();
  if (!worse.empty() && !given.has("force")) throw input_error({given.text("measurements")}, kWorse + worse, kForce);
  if (!worse.empty()) say(kForced + worse);
  return {made.spec, "compute", made.gpu, calibration_document(made)};
}

// Times in another unit are off by a factor of a thousand, which a fit follows as far as it may.
void refuse_absurd(const Calibration& made, const Arguments& given) {
  const std::string absurd = made.absurd_text();
  if (absurd.empty()) return;
  const std::string text = "the fit misses the measured times by more than a factor of four: " + absurd;
  if (given.has("force")) return say("warning: " + text);
  throw input_error({given.text("measurements")}, text,
                    "Check the units of times and sizes, and the cluster; --force writes the fit all the same");
}

// Says what to do about a fit that is worse: leave out the rows that make it so, where these are few.
std::string worse_remedy(const std::vector<Outlier>& outliers) {
  if (outliers.empty()) return kForce;
  return fmt::format(
      "Remove {} from the file if something else ran meanwhile: without {} the fit is taken; --force writes it all the "
      "same",
      outliers_text(outliers), outliers.size() == 1 ? "this row" : "these rows");
}

void refuse_worse(const Calibration& made, const ClusterSpec& prior, const CalibrationOptions& options) {
  const std::string worse = made.worse_text();
  if (worse.empty() && made.took_any()) return;
  if (worse.empty())
    throw input_error({options.measurements}, "no collective is measured at a second size, which would judge its fit",
                      kForce);
  const std::vector<Outlier> outliers = spoiling_rows(prior, made, options);
  if (!made.took_any()) throw input_error({options.measurements}, kWorse + worse, worse_remedy(outliers));
  const std::string apart = outliers.empty() ? "" : ". These rows make it so: " + outliers_text(outliers);
  if (options.force) return say(kForced + worse + apart);
  say("warning: fits that predict rows left out worse than the cluster as it is are not taken, and the cluster keeps "
      "its constants there: " +
      worse + apart);
}

// How many nodes and GPUs the run used, as the options or an entry of a map state it. A log may say it itself; the
// cluster's own numbers are never taken, since a run may well use a part of it.
StatedCounts stated_counts(const Arguments& given, const std::string& system) {
  const std::string remedy = "State them with --nodes and --gpus-per-node, or with a map: --clusters MAP.yaml";
  StatedCounts stated{0, 0, "--nodes and --gpus-per-node", remedy};
  if (const auto path = given.value("clusters")) {
    MeasuredRow row;
    row.system = system;
    row.place = Arguments::place("clusters");
    const SystemMap map = read_system_map(*path);
    const MappedSystem& entry = map.system_of(row);
    stated = {entry.nodes, entry.gpus_per_node, "the map, for system " + excerpt(entry.label) + ",", remedy};
  }
  if (const auto nodes = given.count("nodes", 1, kMostRanks)) stated.nodes = static_cast<int>(*nodes);
  if (const auto gpus = given.count("gpus-per-node", 1, kMostRanks)) stated.gpus_per_node = static_cast<int>(*gpus);
  return stated;
}

// Times so far below what the links allow are of another unit, and then all of the file are: no machine takes them, so
// that nothing is to be forced.
void refuse_other_units(const std::vector<MeasuredRow>& rows, const ClusterSpec& spec, const std::string& given_path) {
  constexpr double kOfOtherUnit = 4;
  for (const MeasuredRow& row : rows) {
    if (!row.is_complete() || link_rates(row, spec).times() < kOfOtherUnit) continue;
    throw input_error({given_path},
                      fmt::format("times are too short by more than a factor of four, at {}: {}", row.place.text(),
                                  above_links(row, spec)),
                      "Check the units of times and sizes, and the cluster; a row that is no measurement has to go");
  }
}

// A log of other GPUs is no measurement of this cluster, whatever its times are.
void refuse_other_gpu(const std::vector<MeasuredRow>& rows, const ClusterSpec& spec, const std::string& given_path,
                      bool forced) {
  for (const MeasuredRow& row : rows) {
    const std::string other = other_gpu(row, spec);
    if (other.empty()) continue;
    if (forced) return print_note(other);
    throw input_error({given_path}, other,
                      "Name a cluster of these GPUs with --cluster; --force fits this one all the same");
  }
}

// Rows that their log speaks against, or that this cluster cannot have, are no measurements of it. Errors
// (Failure::input): no row is left.
void lay_out_all(std::vector<MeasuredRow>& rows, const StatedCounts& stated, const ClusterSpec& spec,
                 const std::string& given_path, bool forced) {
  std::string first;
  const auto is_unfit = [&](const MeasuredRow& row) {
    std::string why = row.caveat.empty() ? switched_off(row, spec) : row.caveat;
    if (why.empty()) why = above_links(row, spec);
    if (!why.empty() && first.empty()) first = row.place.text() + ": " + why;
    return !why.empty();
  };
  for (MeasuredRow& row : rows)
    if (row.is_complete()) lay_out(row, stated, spec);
  refuse_other_units(rows, spec, given_path);
  refuse_other_gpu(rows, spec, given_path, forced);
  const std::size_t before = rows.size();
  std::erase_if(rows, [&](const MeasuredRow& row) { return row.is_complete() && is_unfit(row); });
  if (first.empty()) return;
  if (rows.empty())
    throw input_error({given_path}, "no row can be fitted, the first: " + first, "Give a log of this cluster");
  print_note(fmt::format("{} left out, the first: {}", counted(before - rows.size(), "row"), first));
}

Fitted fitted_collectives(const Arguments& given) {
  const std::string path = given.text("measurements");
  CalibrationOptions options{std::nullopt, given.has("force"), path};
  if (const auto most = given.count("rows", 2, kMostRows)) options.most_rows = static_cast<int>(*most);
  RunHints hints = measurement_hints(given);
  const Measurements measurements = read_measurements(path, hints);
  hints.system.clear();  // which rows of a table are taken
  require_used_hints(hints, measurements.rows);
  print_notes(measurements);
  std::vector<MeasuredRow> rows = rows_of_system(measurements.rows, given.text("system"), path);
  if (rows.empty()) throw input_error({path}, "the file holds no measured row", "Give a file with at least two");
  const ClusterSpec prior = prior_of(given, rows.front().system);
  lay_out_all(rows, stated_counts(given, rows.front().system), prior, path, given.has("force"));
  const Calibration made = calibrate(prior, rows, options);
  refuse_absurd(made, given);
  refuse_worse(made, prior, options);
  return {made.spec, "overheads", made.system, calibration_document(made)};
}

// A value that no cluster file may have comes of the measurements, and is told at them: the new file does not exist.
void deliver_fitted(const ClusterSpec& spec, const Arguments& given) {
  try {
    deliver_cluster(spec, given);
  } catch (const Error& error) {
    if (error.failure() != Failure::input || error.place().line == 0) throw;
    throw input_error({given.text("measurements")},
                      std::string("what is fitted to them is no cluster: ") + error.what(), "Are there rows far off?");
  }
}

int calibrate_cluster(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "fitting, and judging each fit by rows that it left out");
  const std::string output = given.text("output");
  refuse_read_file(output, {given.text("measurements"), given.text("cluster")});
  const auto table = embedding_table(given.text("measurements"));
  Fitted fitted = table ? fitted_compute(given, *table) : fitted_collectives(given);
  if (output != "-") fitted.spec.name = cluster_name_of(output);
  fitted.spec.summary += fmt::format("{}{} calibrated on measurements of {}", fitted.spec.summary.empty() ? "" : "; ",
                                     fitted.what, fitted.subject);
  deliver_fitted(fitted.spec, given);
  const std::string tables = document_text(fitted.tables, terminal.width, terminal.colour && output != "-");
  put_progress_away();
  std::fputs(tables.c_str(), output == "-" ? stderr : stdout);
  if (output != "-") say(fmt::format("wrote {}", output));
  return 0;
}

}  // namespace

Command cluster_calibrate_command() {
  return {
      .name = "shardsim cluster calibrate",
      .summary =
          "fit a cluster's overheads and efficiencies to measured times, and judge the fit by times that it left out",
      .options =
          std::vector{Option{"cluster", 0, "NAME|FILE",
                             "The cluster whose values the fit starts from: the name of a shipped one (see "
                             "`shardsim list clusters`), or a file.",
                             "", Option::Times::once}} +
          measurement_options() +
          std::vector{
              Option{"nodes", 0, "N", "The nodes that the run used, if its log does not say so."},
              Option{"gpus-per-node", 0, "M", "The GPUs of each of them that it used."},
              Option{"clusters", 0, "MAP.yaml",
                     "A map as for `collective compare`, whose entry for the system says the same."},
              Option{
                  "rows", 0, "N",
                  "Fit at most this number of rows of each collective; the others judge the fit. Without it all rows "
                  "are fitted, and each is judged by a fit that left it out."},
              Option{"output", 'o', "NEW.yaml", "Write this file. - means standard output.", "", Option::Times::once},
              force_option()},
      .notes =
          "From the CSV table of shardsim-microbench, the compute values of the cluster's key `gpu` are fitted to two\n"
          "thirds of the measured shapes. A fit that predicts what it left out worse than the cluster as it is is not "
          "taken, unless --force is given.\n",
      .examples = {"shardsim cluster calibrate --cluster dgx1_v100 --measurements "
                   "scenarios/measurements/open/v100_hybrid_cube_mesh.csv -o out/my_v100.yaml"},
      .run = calibrate_cluster};
}

}  // namespace shardsim
