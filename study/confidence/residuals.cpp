#include "study/confidence/residuals.h"

#include <cmath>

#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

constexpr const char* kShippedResiduals = "scenarios/accuracy/residuals.csv";
constexpr std::string_view kGuessMark = " guess";  // behind a part that hangs on one

// The cells of one row by the names of their columns.
class ResidualRow {
 public:
  ResidualRow(const CsvTable& table, const CsvTable::Row& row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const { return row_.cells[*table_.column(column)]; }
  double time(std::string_view column) const {
    const double ms = parse_real(text(column), row_.place);
    if (ms > 0) return ms;
    throw input_error(row_.place, std::string(column) + " is not above 0", "Write milliseconds");
  }
  int count(std::string_view column) const { return static_cast<int>(parse_count(text(column), row_.place)); }

  std::vector<IterationPart> parts() const {
    std::vector<IterationPart> parts;
    for (std::string cell : split(text("parts"), ';')) {
      IterationPart part;
      part.guessed = cell.ends_with(kGuessMark);
      if (part.guessed) cell.resize(cell.size() - kGuessMark.size());
      const std::size_t equals = cell.find('=');
      if (equals == std::string::npos)
        throw input_error(row_.place, excerpt(cell) + " is no part of an iteration", "Write CLASS=MILLISECONDS");
      part.error_class = cell.substr(0, equals);
      part.ms = parse_real(cell.substr(equals + 1), row_.place);
      parts.push_back(part);
    }
    return parts;
  }

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
};

Residual residual_of(const ResidualRow& row) {
  Residual residual;
  residual.error_class = row.text("class");
  residual.system = row.text("system");
  residual.name = row.text("name");
  residual.predicted_ms = row.time("predicted_ms");
  residual.observed_ms = row.time("observed_ms");
  residual.fitted = row.text("role") != "predicted";  // partly fitted ones, too
  if (!residual.is_whole()) return residual;
  IterationSetting& setting = residual.setting;
  setting.software = row.text("software");
  setting.version = row.text("version");
  setting.cluster = row.text("cluster");
  setting.gpu = row.text("gpu");
  setting.transport = row.text("transport");
  setting.model = row.text("model");
  setting.nodes = row.count("nodes");
  setting.gpus = row.count("gpus");
  setting.batch_per_gpu = row.count("batch_per_gpu");
  setting.plan = row.text("plan");
  residual.parts = row.parts();
  return residual;
}

}  // namespace

double Residual::error() const {
  return std::log(observed_ms / predicted_ms);
}

std::vector<Residual> residuals_of(std::string_view csv, const std::string& source) {
  const CsvTable table = parse_csv(csv, source);
  require_columns(table,
                  {"class", "system", "name", "predicted_ms", "observed_ms", "role", "software", "version", "cluster",
                   "gpu", "transport", "model", "nodes", "gpus", "batch_per_gpu", "plan", "parts"},
                  "Make the table with scripts/residuals.py");
  std::vector<Residual> residuals;
  residuals.reserve(table.rows.size());
  for (const CsvTable::Row& row : table.rows) residuals.push_back(residual_of({table, row}));
  return residuals;
}

std::vector<Residual> shipped_residuals() {
  return residuals_of(read_file((data_folder() / kShippedResiduals).string()), kShippedResiduals);
}

}  // namespace shardsim
