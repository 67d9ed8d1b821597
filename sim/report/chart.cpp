#include "sim/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "sim/report/html.h"

namespace shardsim {

namespace {

using Json = nlohmann::ordered_json;

Error chart_error(const std::string& source, const std::string& wrong) {
  return run_error(fmt::format("{}: {}", source, wrong), "Use the plots folder that came with this program.");
}

bool has_url(const Json& node) {
  if (node.is_object() && node.contains("url")) return true;
  if (!node.is_structured()) return false;
  return std::any_of(node.begin(), node.end(), [](const Json& child) { return has_url(child); });
}

Json parse_specification(std::string_view text, const std::string& source) {
  Json spec = Json::parse(text, nullptr, false);
  if (!spec.is_object() || !spec.contains("data") || !spec["data"].is_array()) {
    throw chart_error(source, "is not a Vega specification with a list 'data'.");
  }
  if (has_url(spec)) throw chart_error(source, "has a 'url': a report must not load anything.");
  return spec;
}

// Six digits: more than any screen shows, and a third of the bytes.
double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

Json json_cell(const DataSet::Cell& cell, const DataSet& set, const std::string& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const double value = std::get<double>(cell);
  if (!std::isfinite(value)) {
    throw run_error(fmt::format("report data '{}': '{}' is not a finite number.", set.name, column),
                    "Please report this as a bug.");
  }
  return rounded(value);
}

Json json_rows(const DataSet& set) {
  Json rows = Json::array();
  for (const auto& row : set.rows) {
    Json object = Json::object();
    for (std::size_t c = 0; c < set.columns.size(); ++c) {
      object[set.columns[c]] = json_cell(row[c], set, set.columns[c]);
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

void fill_one(Json& entry, const std::string& source, const std::vector<DataSet>& sets) {
  if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
    throw chart_error(source, "has a data set without a name.");
  }
  const std::string name = entry["name"];
  if (entry.contains("values")) throw chart_error(source, fmt::format("data set '{}' holds values of its own.", name));
  if (entry.contains("source")) return;
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const DataSet& set) { return set.name == name; });
  if (found == sets.end()) throw chart_error(source, fmt::format("names a data set '{}' that no run has.", name));
  entry["values"] = json_rows(*found);
}

void check_all_used(const Json& spec, const std::string& source, const std::vector<DataSet>& sets) {
  for (const DataSet& set : sets) {
    const auto& data = spec["data"];
    const bool used = std::any_of(data.begin(), data.end(), [&](const Json& entry) {
      return entry["name"].get<std::string>() == set.name && !entry.contains("source");
    });
    if (!used) throw chart_error(source, fmt::format("does not use the data set '{}'.", set.name));
  }
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  const bool whole = std::abs(value) < 1e15 && value == std::round(value);
  if (whole || (std::abs(value) >= 1e5 && std::abs(value) < 1e15)) return with_thousands(std::llround(value));
  return fmt::format("{:.4g}", value);
}

std::string cell_text(const DataSet::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return number_text(std::get<double>(cell));
}

std::string header_of(const std::string& column) {
  const std::vector<std::pair<std::string, std::string>> units = {
      {"_ms", " (ms)"}, {"_gib", " (GiB)"}, {"_pct", " (%)"}, {"_mb", " (MB)"}};
  std::string result = column;
  for (const auto& [suffix, unit] : units) {
    if (column.ends_with(suffix)) result = column.substr(0, column.size() - suffix.size()) + unit;
  }
  std::replace(result.begin(), result.end(), '_', ' ');
  return result;
}

}  // namespace

std::string fill_chart(std::string_view specification, const std::string& source, const std::vector<DataSet>& sets) {
  Json spec = parse_specification(specification, source);
  for (Json& entry : spec["data"]) fill_one(entry, source, sets);
  check_all_used(spec, source, sets);
  // Names from files may hold broken UTF-8; a report with a replacement character beats none.
  return escape_script_json(spec.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Sheet sheet_of(const DataSet& set) {
  Sheet sheet;
  for (std::size_t c = 0; c < set.columns.size(); ++c) {
    const bool number = !set.rows.empty() && std::holds_alternative<double>(set.rows.front()[c]);
    sheet.columns.push_back({header_of(set.columns[c]), number});
  }
  for (const auto& row : set.rows) {
    Sheet::Row cells;
    for (const DataSet::Cell& cell : row) cells.cells.push_back(cell_text(cell));
    sheet.rows.push_back(std::move(cells));
  }
  return sheet;
}

}  // namespace shardsim
