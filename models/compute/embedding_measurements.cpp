#include "models/compute/embedding_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "models/access/row_hash.h"

namespace shardsim {
namespace {

constexpr const char* kColumns[] = {"quality",
                                    "gpu",
                                    "op",
                                    "num_tables",
                                    "rows_per_table",
                                    "dim_elements",
                                    "batch_size_samples",
                                    "pooling_factor_lookups_per_sample",
                                    "weight_dtype",
                                    "optimizer",
                                    "index_distribution",
                                    "cache_state",
                                    "time_us",
                                    "derived_row_traffic_bytes"};

std::optional<EmbeddingRow::Kind> kind_of(const std::string& op) {
  using enum EmbeddingRow::Kind;
  static const std::map<std::string, EmbeddingRow::Kind> kKinds{
      {"tbe_fwd", lookup}, {"tbe_bwd", update}, {"nobag_fwd", gather}, {"nobag_bwd", scatter},
      {"gemm", gemm},      {"copy", copy},      {"empty_call", empty}};
  const auto found = kKinds.find(op);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

// The range of a column. A number outside is a slip of the pen, and figures computed from it are not finite.
struct Range {
  double from = 0, to = 0;
  bool or_zero = false;
  bool holds(double value) const { return (or_zero && value == 0) || (value >= from && value <= to); }
};
constexpr Range kTimes{1e-6, 1e12};
constexpr Range kCounts{1, 1e9, true};        // tables, elements of a row
constexpr Range kSizes{1, 1e20, true};        // sorted keys may number 2^64
constexpr Range kPoolings{1e-6, 1e20, true};  // a mean, which may be below 1

class RowReader {
 public:
  RowReader(const CsvTable& table, const CsvTable::Row& row) : table_(table), row_(row) {}

  const std::string& cell(const char* column) const { return row_.cells[*table_.column(column)]; }

  double number(const char* column, const Range& range) const {
    const double value = parse_real(cell(column), row_.place);
    if (range.holds(value)) return value;
    throw input_error(
        row_.place, fmt::format("{} is {}", column, excerpt(cell(column))),
        fmt::format("Give {}a number from {:g} to {:g}", range.or_zero ? "0, or " : "", range.from, range.to));
  }

  // Nothing where a size is missing or words: "mixed", "512 nominal".
  std::optional<double> size(const char* column, const Range& range) const {
    const std::string& text = cell(column);
    if (text.empty() || text.find_first_not_of("-+.0123456789eE") != std::string::npos) return std::nullopt;
    return number(column, range);
  }

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
};

bool read_sizes(const RowReader& reader, EmbeddingRow& row) {
  const auto tables = reader.size("num_tables", kCounts), rows = reader.size("rows_per_table", kSizes),
             dim = reader.size("dim_elements", kCounts), batch = reader.size("batch_size_samples", kSizes),
             pooling = reader.size("pooling_factor_lookups_per_sample", kPoolings);
  row.traffic_bytes = reader.size("derived_row_traffic_bytes", kSizes).value_or(0);
  row.tables = tables.value_or(0);
  row.rows = rows.value_or(0);
  row.dim = dim.value_or(0);
  row.batch = batch.value_or(0);
  row.pooling = pooling.value_or(0);
  if (row.kind == EmbeddingRow::Kind::copy) return row.traffic_bytes > 0;
  if (row.kind == EmbeddingRow::Kind::gemm) return row.flops() > 0;
  if (row.kind == EmbeddingRow::Kind::sort) return row.batch > 0 && row.rows > 0 && dim.has_value();
  return !row.has_tables() || (row.lookups() > 0 && row.rows > 0 && row.dim > 0);
}

}  // namespace

std::optional<EmbeddingRow> read_embedding_row(const CsvTable& table, const CsvTable::Row& cells,
                                               EmbeddingRow::Kind kind) {
  const RowReader reader(table, cells);
  EmbeddingRow row;
  row.place = cells.place;
  row.kind = kind;
  row.gpu = reader.cell("gpu");
  row.optimizer = reader.cell("optimizer");
  row.dtype = reader.cell("weight_dtype");
  row.time_us = reader.number("time_us", kTimes);
  row.uniform = reader.cell("index_distribution").starts_with("uniform");
  row.warm = reader.cell("cache_state").starts_with("warm") || reader.cell("cache_state").starts_with("same batch");
  return read_sizes(reader, row) ? std::optional(row) : std::nullopt;
}

double EmbeddingRow::row_bytes() const {
  constexpr double kScaleAndBias = 8;  // of a row of single bytes
  if (dtype.starts_with("fp8") || dtype == "int8") return dim + kScaleAndBias;
  return dim * (dtype == "fp32" ? 4 : 2);
}

double EmbeddingRow::distinct_rows() const {
  const double draws = batch * pooling;
  return tables * rows * -std::expm1(draws * std::log1p(-1 / std::max(rows, 1.0)));
}

double EmbeddingRow::hbm_bytes() const {
  const double row = row_bytes(), n = lookups();
  if (kind == Kind::gather) return 2 * row * n;
  if (kind == Kind::lookup) return row * n + 4 * dim * batch * tables;
  const double state = optimizer == "rowwise_adagrad" ? 4
                       : optimizer == "adagrad"       ? 4 * dim
                       : optimizer == "adam"          ? 8 * dim
                                                      : 0;
  return row * n + distinct_rows() * (2 * row + 2 * state);
}

std::string EmbeddingRow::shape() const {
  return fmt::format("{:g},{:g},{:g},{:g},{:g},{}", tables, rows, dim, batch, pooling, dtype);
}

bool EmbeddingRow::is_check() const {
  return fnv1a(shape()) % 3 == 0;
}

bool is_embedding_table(const CsvTable& table) {
  return table.column("dim_elements").has_value() && table.column("pooling_factor_lookups_per_sample").has_value();
}

void require_embedding_columns(const CsvTable& table) {
  require_columns(table, {std::begin(kColumns), std::end(kColumns)},
                  "Give a table as shardsim-microbench --csv writes it");
}

EmbeddingTable read_embedding_table(const CsvTable& table) {
  require_embedding_columns(table);
  EmbeddingTable result;
  for (const CsvTable::Row& cells : table.rows) {
    if (cells.cells[*table.column("quality")].starts_with("C")) {
      ++result.poor;
      continue;
    }
    const auto kind = kind_of(cells.cells[*table.column("op")]);
    const auto row = kind ? read_embedding_row(table, cells, *kind) : std::nullopt;
    if (!row) {
      ++result.unusable;
      continue;
    }
    result.rows.push_back(*row);
  }
  return result;
}

}  // namespace shardsim
