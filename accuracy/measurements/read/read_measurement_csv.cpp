#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/measurements/read/measurements.h"
#include "base/csv.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::string_view kColumns =
    "system,case,gpu_model,nodes,gpus_per_node,ranks_per_group,groups_at_once,intra_node_link,inter_node_link,"
    "nics_per_node,nic_rate_Gbit_per_s,nic_rate_basis,collective,dtype,size_bytes,calls,time_us,algbw_GB_per_s,"
    "busbw_GB_per_s,nccl_version,record_kind,notes,source";
// Without these a row says nothing that can be predicted.
constexpr std::string_view kRequired = "system,nodes,gpus_per_node,collective,size_bytes,time_us";
constexpr std::int64_t kMostNodes = 1'000'000;
constexpr double kMostOff = .05, kRounding = .01;  // of algbw; GB/s

std::vector<std::string> unknown_columns(const CsvTable& table) {
  const std::vector<std::string> known = split(kColumns, ',');
  std::vector<std::string> unknown;
  for (const std::string& name : table.header) {
    if (std::ranges::find(known, name) == known.end()) unknown.push_back(excerpt(name));
  }
  return unknown;
}

// The cells of one row by the names of their columns.
class RowReader {
  // Before its uses, which deduce its type.
  template <typename Parse>
  auto number(std::string_view column, const std::string& cell, const Parse& parse) const {
    try {
      return parse(cell, place());
    } catch (const Error& error) {
      std::string why = error.what();
      if (const std::string where = place().text() + ": "; why.starts_with(where)) why.erase(0, where.size());
      throw input_error(place(), fmt::format("column {}: {}", column, why), "");
    }
  }

 public:
  RowReader(const CsvTable& table, const CsvTable::Row& row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const {
    static const std::string blank;
    const auto at = table_.column(column);
    return at ? row_.cells[*at] : blank;
  }

  Place place() const { return row_.place; }

  std::string required(std::string_view column) const {
    if (text(column).empty()) refuse(column, "is empty", "Write a value");
    return text(column);
  }

  // At least 1 and at most `most`; of an empty cell nothing.
  std::optional<std::int64_t> count(std::string_view column, std::int64_t most = INT64_MAX) const {
    if (text(column).empty()) return std::nullopt;
    const std::int64_t value = number(column, text(column), parse_count);
    if (value == 0) refuse(column, "is 0", "Write 1 or more");
    if (value > most) refuse(column, "is too large", fmt::format("Write at most {}", most));
    return value;
  }
  int required_count(std::string_view column) const {
    required(column);
    return static_cast<int>(*count(column, kMostNodes));
  }
  std::optional<double> real(std::string_view column) const {
    if (text(column).empty()) return std::nullopt;
    const double value = number(column, text(column), parse_real);
    if (value < 0) refuse(column, "is negative", "Write 0 or more");
    return value;
  }

  [[noreturn]] void refuse(std::string_view column, const std::string& wrong, const std::string& remedy) const {
    throw input_error(place(), fmt::format("column {} {}", column, wrong), remedy);
  }

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
};

CollectiveKind kind_of(const RowReader& reader) {
  const std::string name = reader.required("collective");
  if (const auto kind = find_collective_kind(name)) return *kind;
  throw input_error(reader.place(), "unknown collective " + excerpt(name),
                    known_names_hint(name, collective_kind_names()));
}

void read_figures(const RowReader& reader, MeasuredRow& row) {
  row.bytes = reader.count("size_bytes");
  row.calls = reader.count("calls").value_or(1);
  row.algbw = reader.real("algbw_GB_per_s");
  row.type = reader.text("dtype");
  if (const auto us = reader.real("time_us")) {
    if (*us <= 0) reader.refuse("time_us", "is not above 0", "Leave out what was not measured");
    if (*us < 1e-6 || *us > 1e12)
      reader.refuse("time_us", fmt::format("is absurd: {:g}", *us), "Times from 1e-06 to 1e+12 us are judged");
    row.time = Seconds{*us * 1e-6};
  }
  if (row.record_kind == "statement" || row.is_complete()) return;
  reader.refuse(row.bytes ? "time_us" : "size_bytes", "is empty",
                "Only a row whose record_kind is statement may lack a size or a time");
}

void check_ranks(const RowReader& reader, const MeasuredRow& row) {
  const std::int64_t ranks = std::int64_t{row.nodes} * row.gpus_per_node;
  if (reader.count("ranks_per_group").value_or(ranks) == ranks) return;
  reader.refuse("ranks_per_group", fmt::format("is {}", reader.text("ranks_per_group")),
                fmt::format("{} nodes with {} GPUs each are {} ranks", row.nodes, row.gpus_per_node, ranks));
}

MeasuredRow row_of(const RowReader& reader) {
  MeasuredRow row;
  row.place = reader.place();
  row.system = reader.required("system");
  row.setting = reader.text("case");
  row.nodes = reader.required_count("nodes");
  row.gpus_per_node = reader.required_count("gpus_per_node");
  row.groups_at_once = static_cast<int>(reader.count("groups_at_once", kMostNodes).value_or(1));
  row.kind = kind_of(reader);
  row.record_kind = reader.text("record_kind");
  row.notes = reader.text("notes");
  row.source = reader.text("source");
  check_ranks(reader, row);
  read_figures(reader, row);
  return row;
}

// Beyond what rounding to two decimals explains, as nccl-tests prints it.
bool bandwidth_contradicts_time(const MeasuredRow& row) {
  if (!row.is_complete() || !row.algbw) return false;
  const double algbw = static_cast<double>(row.calls) * static_cast<double>(*row.bytes) / row.time->value / 1e9;
  return std::abs(*row.algbw - algbw) > kMostOff * algbw + kRounding;
}

void note_contradictions(Measurements& measurements) {
  const auto found = std::ranges::find_if(measurements.rows, bandwidth_contradicts_time);
  if (found == measurements.rows.end()) return;
  const auto count = std::ranges::count_if(measurements.rows, bandwidth_contradicts_time);
  measurements.notes.push_back(
      fmt::format("{}: algbw_GB_per_s is more than 5 % off what size and time give{}; the time is used",
                  found->place.text(), count == 1 ? "" : fmt::format(", as in {} rows in all", count)));
}

}  // namespace

Measurements read_measurement_csv(std::string_view text, const std::string& source) {
  const CsvTable table = parse_csv(text, source);
  require_columns(table, split(kRequired, ','),
                  "Add it to the first line; docs/formats/comparisons.md lists the columns");
  Measurements result;
  const std::vector<std::string> unknown = unknown_columns(table);
  if (!unknown.empty()) result.notes.push_back(source + ": unknown columns left out: " + join(unknown));
  for (const CsvTable::Row& row : table.rows) result.rows.push_back(row_of(RowReader(table, row)));
  note_contradictions(result);
  return result;
}

}  // namespace shardsim
