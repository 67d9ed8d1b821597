#include "cli/cluster_calibrate.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/cluster_files.h"
#include "cli/measurement_arguments.h"
#include "cli/say.h"
#include "models/collective/fitted_overheads.h"
#include "models/compute/embedding_measurements.h"
#include "sim/scenario/scenario.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/cluster_spec.h"
#include "validate/measurements/calibration.h"
#include "validate/measurements/calibration_sheets.h"
#include "validate/measurements/compute_calibration.h"
#include "validate/measurements/left_out_fits.h"
#include "validate/measurements/measurements.h"

namespace shardsim {
namespace {

constexpr int kRowsPerCollective = 4;
constexpr std::int64_t kMostRows = 1000;

std::string required(const Arguments& given, const std::string& name, const std::string& what,
                     const std::string& remedy) {
  if (const auto value = given.value(name); value && !value->empty()) return *value;
  throw input_error(Arguments::place(name), what, remedy);
}

int rows_per_collective(const Arguments& given) {
  const auto text = given.value("rows");
  if (!text) return kRowsPerCollective;
  const std::int64_t rows = parse_count(*text, Arguments::place("rows"));
  if (rows >= 2 && rows <= kMostRows) return static_cast<int>(rows);
  throw input_error(Arguments::place("rows"), fmt::format("{} rows per collective", rows),
                    fmt::format("Write a number from 2 to {}", kMostRows));
}

// The cluster as its file says, with the fit that its key `fits` asks for. Where these rows went into that fit, the one
// made without them: else rows that are said to be unused would have been used before.
ClusterSpec prior_of(const std::string& name, const std::string& system) {
  ClusterSpec spec = read_cluster(load_named(name, "clusters", "", Arguments::place("cluster")));
  const LeftOutFits fits = shipped_left_out_fits();
  if (spec.fits != "none" && fits.saw(system)) return with_fits(std::move(spec), fits.table_for(system));
  return with_fits(std::move(spec));
}

Calibration calibrated(const Arguments& given) {
  const std::string name =
      required(given, "cluster", "the cluster is missing", "Name one that `shardsim list clusters` knows, or a file");
  const std::string path = required(given, "measurements", "the measurements are missing",
                                    "Name a file, e.g. --measurements all_reduce.log");
  const CalibrationOptions options{rows_per_collective(given), path};
  Measurements measurements = read_measurements(path, measurement_hints(given));
  print_notes(measurements);
  const std::vector<MeasuredRow> rows = rows_of_system(measurements.rows, given.value("system").value_or(""), path);
  if (rows.empty()) throw input_error({path}, "the file holds no measured row", "Give at least two");
  return calibrate(prior_of(name, rows.front().system), rows, options);
}

void name_it(ClusterSpec& spec, const Calibration& calibration, const std::string& output) {
  if (output != "-") spec.name = cluster_name_of(output);
  spec.summary +=
      fmt::format("{}overheads calibrated on measurements of {}", spec.summary.empty() ? "" : "; ", calibration.system);
}

// The table where `path` is one of embedding measurements, else nothing.
std::optional<CsvTable> embedding_table(const std::string& path) {
  if (!path.ends_with(".csv")) return std::nullopt;
  CsvTable table = parse_csv(read_file(path), path);
  return is_embedding_table(table) ? std::optional(std::move(table)) : std::nullopt;
}

// What the file of the cluster says, with another name and summary; the tables that are printed beside it.
struct Written {
  ClusterSpec spec;
  std::string tables;
};

Written compute_calibrated(const Arguments& given, const CsvTable& table, const std::string& output, int width,
                           bool colour) {
  const std::string name =
      required(given, "cluster", "the cluster is missing", "Name one that `shardsim list clusters` knows, or a file");
  const std::string path = *given.value("measurements");
  const ClusterSpec prior = with_fits(read_cluster(load_named(name, "clusters", "", Arguments::place("cluster"))));
  ComputeCalibration calibration = calibrate_compute(prior, read_embedding_table(table), path);
  if (output != "-") calibration.spec.name = cluster_name_of(output);
  calibration.spec.summary += fmt::format("{}compute calibrated on measurements of {}",
                                          calibration.spec.summary.empty() ? "" : "; ", calibration.gpu);
  return {calibration.spec, compute_calibration_text(calibration, width, colour)};
}

Written collectives_calibrated(const Arguments& given, const std::string& output, int width, bool colour) {
  Calibration calibration = calibrated(given);
  name_it(calibration.spec, calibration, output);
  return {calibration.spec, calibration_text(calibration, width, colour)};
}

}  // namespace

int cluster_calibrate(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const Arguments given(arguments,
                        {{"cluster", 0, true, false},
                         {"measurements", 0, true, false},
                         {"system", 0, true, false},
                         {"kind", 0, true, false},
                         {"rows", 0, true, false},
                         {"output", 'o', true, false},
                         {"force", 0, false, false}},
                        0, 0,
                        "shardsim cluster calibrate --cluster NAME|FILE --measurements FILE [--system LABEL]\n"
                        "  [--rows N] -o NEW.yaml");
  const std::string output =
      required(given, "output", "the file to write is missing", "Name it with -o NEW.yaml; -o - is standard output");
  const bool colour = terminal.colour && output != "-";
  const auto table = embedding_table(given.value("measurements").value_or(""));
  const Written made = table ? compute_calibrated(given, *table, output, terminal.width, colour)
                             : collectives_calibrated(given, output, terminal.width, colour);
  const std::string text = write_cluster(made.spec);
  prove(text, made.spec);
  deliver_file(text, given, kClusterMark);
  std::fputs(made.tables.c_str(), output == "-" ? stderr : stdout);
  if (output != "-") say(fmt::format("wrote {}", output));
  return 0;
}

}  // namespace shardsim
