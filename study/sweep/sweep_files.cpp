// The table of a sweep as CSV and as HDF5.
#include <fmt/format.h>

#include <cmath>

#include "base/csv.h"
#include "base/files.h"
#include "base/hdf5/hdf5.h"
#include "study/sweep/amount.h"
#include "study/sweep/sweep_result.h"

namespace shardsim {
namespace {

constexpr const char* kPointScale = "/point";

std::string csv_header(const SweepColumn& column) {
  const bool unit = !column.unit.empty() && column.unit != "1" && column.name.find('.') != std::string::npos;
  return csv_cell(unit ? fmt::format("{} [{}]", column.name, column.unit) : column.name);
}

std::string csv_value(const SweepColumn& column, std::size_t row) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) return csv_cell((*texts)[row]);
  const double number = std::get<std::vector<double>>(column.values)[row];
  return std::isnan(number) ? "" : number_text(number);
}

}  // namespace

std::string sweep_csv(const std::vector<SweepColumn>& columns) {
  std::string text = "point";
  for (const SweepColumn& column : columns) text += "," + csv_header(column);
  text += "\n";
  const std::size_t rows = std::visit([](const auto& values) { return values.size(); }, columns.front().values);
  for (std::size_t row = 0; row < rows; ++row) {
    text += fmt::format("{}", row);
    for (const SweepColumn& column : columns) text += "," + csv_value(column, row);
    text += "\n";
  }
  return text;
}

void write_sweep_hdf5(const std::string& path, const Sweep& sweep, const std::vector<SweepColumn>& columns) {
  Hdf5Writer file;
  file.text_attribute("/", "schema", "shardsim.sweep/1");
  file.text_attribute("/", "version", version());
  file.text_attribute("/", "scenario", sweep.path);
  file.text_attribute("/", "title", sweep.title);
  file.attribute<std::int64_t>("/", "seed", static_cast<std::int64_t>(sweep.seed));
  file.scale<std::int64_t>(kPointScale, sweep.points.size(), {"1", "number of the point"}, Hdf5Layout::packed);
  for (const SweepColumn& column : columns) {
    const Hdf5Meaning meaning{column.unit, column.meaning};
    if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
      file.texts("/" + column.name, *texts, kPointScale, meaning);
    } else {
      file.dataset<double>("/" + column.name, std::get<std::vector<double>>(column.values), {kPointScale}, meaning,
                           Hdf5Layout::packed);
    }
  }
  file.save(path);
}

}  // namespace shardsim
