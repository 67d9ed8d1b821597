#include "study/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// From this code outwards: programs lie in the build folder or one below it, the Python module two below, installed
// ones in bin beside share.
std::vector<fs::path> share_folders() {
  constexpr int kDeepest = 2;
  std::vector<fs::path> folders;
  fs::path folder = code_folder();
  for (int level = 0; level <= kDeepest && folder.has_relative_path(); ++level, folder = folder.parent_path()) {
    folders.push_back(folder / "share");
    folders.push_back(folder / "share" / "shardsim");
  }
  folders.push_back(data_folder());
  folders.push_back(data_folder() / "share");
  return folders;
}

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

// Its domain ends where its data do: whole decades would leave most of the chart empty.
void make_logarithmic(Json& spec, const std::string& source, const std::string& name) {
  Json& scales = spec["scales"];
  const auto scale = std::find_if(scales.begin(), scales.end(), [&](const Json& each) { return each["name"] == name; });
  if (scale == scales.end()) throw chart_error(source, fmt::format("has no scale '{}'.", name));
  (*scale)["type"] = "log";
  (*scale)["nice"] = false;
}

Json filled(std::string_view specification, const std::string& source, const std::vector<DataSet>& sets,
            const std::vector<std::string>& logarithmic) {
  Json spec = parse_specification(specification, source);
  for (Json& entry : spec["data"]) fill_one(entry, source, sets);
  check_all_used(spec, source, sets);
  for (const std::string& scale : logarithmic) make_logarithmic(spec, source, scale);
  return spec;
}

// Names from files may hold broken UTF-8; a report with a replacement character beats none.
std::string script_text(const Json& json) {
  return escape_script_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// The charts that plots/NAME.js draws, without Vega.
constexpr std::string_view kOwnCharts[] = {"plan_matrix", "timeline", "sweep_points", "drift_days"};

bool is_own_chart(const std::string& plot) {
  return std::ranges::find(kOwnCharts, plot) != std::end(kOwnCharts);
}

// Six digits, and of times at least a nanosecond.
Json precise_cell(const DataSet::Cell& cell, const DataSet& set, const std::string& column) {
  constexpr double kPerNanosecond = 1e6;  // in a millisecond
  const double* const value = std::get_if<double>(&cell);
  if (value == nullptr || !column.ends_with("_ms") || std::abs(*value) < 1) return json_cell(cell, set, column);
  return std::isfinite(*value) ? Json(std::round(*value * kPerNanosecond) / kPerNanosecond)
                               : json_cell(cell, set, column);
}

// A whole number without ".0", which JSON does without.
Json short_number(Json number) {
  if (!number.is_number_float()) return number;
  const double value = number.get<double>();
  return value == std::round(value) && std::abs(value) < 1e15 ? Json(static_cast<std::int64_t>(value)) : number;
}

// True when a column holds numbers; a text among them says that there is none. So does a column of dashes alone: of the
// costs of machines without a price, say.
bool has_numbers(const DataSet& set, std::size_t column) {
  const auto is_number = [&](const auto& row) { return std::holds_alternative<double>(row[column]); };
  const auto is_dash = [&](const auto& row) { return row[column] == DataSet::Cell("-"); };
  return std::ranges::any_of(set.rows, is_number) || std::ranges::all_of(set.rows, is_dash);
}

// Data sets as lists of numbers: each text stands once, in `words`, and cells name it by its place; null where a column
// of numbers has none.
std::string own_chart_html(const Chart& chart) {
  Json words = Json::array(), sets = Json::object(), columns = Json::object();
  std::map<std::string, std::size_t> places;
  const auto number_of = [&](const std::string& word) {
    const auto [known, is_new] = places.try_emplace(word, places.size());
    if (is_new) words.push_back(word);
    return known->second;
  };
  for (const DataSet& set : chart.data) {
    Json rows = Json::array();
    std::vector<bool> numbers;
    for (std::size_t c = 0; c < set.columns.size(); ++c) numbers.push_back(has_numbers(set, c));
    for (const auto& row : set.rows) {
      Json cells = Json::array();
      for (std::size_t c = 0; c < row.size(); ++c) {
        const auto* const text = std::get_if<std::string>(&row[c]);
        if (text == nullptr) {
          cells.push_back(short_number(precise_cell(row[c], set, set.columns[c])));
        } else {
          cells.push_back(numbers[c] ? Json() : Json(number_of(*text)));
        }
      }
      rows.push_back(std::move(cells));
    }
    sets[set.name] = std::move(rows);
    columns[set.name] = set.columns;
  }
  return fmt::format(
      "<div class=\"own-chart {2}\" id=\"{0}\"></div>\n"
      "<script type=\"application/json\" data-own=\"{2}\" data-of=\"{0}\">{1}</script>\n",
      escape_html(chart.id), script_text({{"words", words}, {"columns", columns}, {"sets", sets}}), chart.plot);
}

// Rows as lists: the names of columns stand once, and so does each text of a column of texts, which cells name by its
// place in `words`. draw.js makes rows of them again.
Json in_columns(const Json& rows) {
  if (rows.empty()) return rows;
  Json columns = Json::array(), texts = Json::array(), words = Json::array(), lists = Json::array();
  std::map<std::string, std::size_t> places;
  std::vector<bool> is_text;
  for (const auto& [name, first] : rows.front().items()) {
    is_text.push_back(std::ranges::all_of(rows, [&, key = name](const Json& row) { return row.at(key).is_string(); }));
    if (is_text.back()) texts.push_back(columns.size());
    columns.push_back(name);
  }
  for (const Json& row : rows) {
    Json list = Json::array();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Json& cell = row.at(columns[c].get<std::string>());
      if (!is_text[c]) {
        list.push_back(short_number(cell));
        continue;
      }
      const auto [known, is_new] = places.try_emplace(cell.get<std::string>(), places.size());
      if (is_new) words.push_back(cell);
      list.push_back(known->second);
    }
    lists.push_back(std::move(list));
  }
  return {{"columns", columns}, {"texts", texts}, {"words", words}, {"rows", lists}};
}

// The charts of one page. Rows that an earlier chart has, too, are not written again but named: "CHART/SET", which
// draw.js looks up.
class Drawings {
 public:
  explicit Drawings(bool vega) : vega_(vega) {}

  std::string operator()(const Chart& chart) {
    if (is_own_chart(chart.plot)) return own_chart_html(chart);
    if (!vega_) return "";
    const std::string file = chart.plot + ".vg.json";
    Json spec = filled(page_asset(file), "plots/" + file, chart.data, chart.logarithmic);
    for (Json& entry : spec["data"]) share(entry, chart.id);
    return fmt::format(
        "<div class=\"chart\" id=\"{0}\"></div>\n<script type=\"application/json\" data-chart=\"{0}\">{1}</script>\n",
        escape_html(chart.id), script_text(spec));
  }

 private:
  void share(Json& entry, const std::string& chart) {
    if (!entry.contains("values")) return;
    const std::string name = fmt::format("{}/{}", chart, entry["name"].get<std::string>());
    const auto [known, is_new] = place_of_.try_emplace(script_text(entry["values"]), name);
    const bool named = !is_new && !entry["values"].empty();
    entry["values"] = named ? Json(known->second) : in_columns(entry["values"]);
  }

  bool vega_;
  std::map<std::string, std::string> place_of_;  // of rows, as text
};

// A script or style sheet without indentation and lines of comment: the licence of what a page embeds is that of the
// program, and its source is there.
std::string embedded(const std::string& name) {
  const std::string text = page_asset(name);
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t first = std::min(text.find_first_not_of(' ', begin), end);
    const std::string_view line = std::string_view(text).substr(first, end - first);
    if (!line.empty() && !line.starts_with("//")) result += std::string(line) + "\n";
    begin = end + 1;
  }
  return result;
}

std::string script_html(const std::string& name) {
  return "<script>\n" + embedded(name) + "</script>\n";
}

std::string head_html(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + embedded("report.css") + "</style>\n</head>\n<body>\n";
}

std::size_t charts_of_vega(const std::vector<Section::Block>& blocks) {
  std::size_t charts = 0;
  for (const Section::Block& block : blocks) {
    if (const auto* chart = std::get_if<Chart>(&block)) charts += is_own_chart(chart->plot) ? 0 : 1;
    if (const auto* section = std::get_if<Section>(&block)) charts += charts_of_vega(section->blocks);
  }
  return charts;
}

// The same document, which says below its answer what it lacks.
Document with_notice(Document document, std::size_t undrawn) {
  const auto below = std::ranges::find_if(
      document.blocks, [](const Section::Block& block) { return !std::holds_alternative<Paragraph>(block); });
  document.blocks.insert(
      below, Paragraph{fmt::format("{} not drawn: vega.js is not beside the program. Their numbers "
                                   "stand here as tables. A build with Debian's package libjs-vega draws them.",
                                   undrawn == 1 ? "One chart of this page is"
                                                : fmt::format("{} charts of this page are", undrawn)),
                       Paragraph::Role::notice});
  return document;
}

}  // namespace

// The plots of the data folder come first, then those of the build.
std::string page_asset(const std::string& name) {
  std::vector<fs::path> places = {data_folder() / "plots" / name};
  for (const fs::path& folder : share_folders()) places.push_back(folder / "plots" / name);
  for (const fs::path& place : places) {
    if (is_file(place)) return read_file(place.string());
  }
  throw run_error("plots/" + name + " is missing", "Keep the folder plots beside the folder scenarios.");
}

std::optional<std::string> vega_script() {
  for (const fs::path& folder : share_folders()) {
    if (!is_file(folder / "vega.js")) continue;
    std::string script = read_file((folder / "vega.js").string());
    if (script.find("</script") != std::string::npos) {
      throw run_error((folder / "vega.js").string() + " would end its script element", "Build the project again.");
    }
    return script;
  }
  return std::nullopt;
}

std::string missing_charts_text() {
  if (vega_script()) return "";
  return "Some charts of the page stand there as tables alone, because vega.js is not beside the program: a build with "
         "Debian's package libjs-vega draws them.";
}

std::string escape_script_json(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

std::string fill_chart(std::string_view specification, const std::string& source, const std::vector<DataSet>& sets,
                       const std::vector<std::string>& logarithmic) {
  return script_text(filled(specification, source, sets, logarithmic));
}

std::string page_html(const Document& document) {
  const std::optional<std::string> vega = vega_script();
  const std::size_t undrawn = vega ? 0 : charts_of_vega(document.blocks);
  std::string page = head_html(document.title) +
                     document_html(undrawn > 0 ? with_notice(document, undrawn) : document, Drawings(vega.has_value()));
  page += script_html("tables.js");
  const bool has_own = page.find(" data-own=") != std::string::npos;
  if (vega || has_own) page += script_html("chart_theme.js");
  if (has_own) page += script_html("own_chart.js");
  for (const std::string_view plot : kOwnCharts) {
    if (page.find(fmt::format(" data-own=\"{}\"", plot)) != std::string::npos)
      page += script_html(fmt::format("{}.js", plot));
  }
  if (vega) page += "<script>\n" + *vega + "</script>\n" + script_html("draw.js");
  return page + "</body>\n</html>\n";
}

}  // namespace shardsim
