#include "study/report/page.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.h"
#include "base/files.h"

namespace shardsim::page_test {

using Json = nlohmann::json;

namespace {

const std::string kSpec = R"({"data": [{"name": "rows"}, {"name": "sums", "source": "rows"}], "marks": []})";

DataSet rows_named(const std::string& name) {
  return {name, {"case", "time_ms"}, {{"rm1", 1.5}, {"rm2", 2.0}}};
}

std::string fill_error(const std::string& spec, const std::vector<DataSet>& sets) {
  try {
    fill_chart(spec, "plots/test.vg.json", sets);
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::run);
    return error.what();
  }
  return "";
}

std::vector<std::filesystem::path> shipped_plots() {
  std::vector<std::filesystem::path> plots;
  for (const auto& entry : std::filesystem::directory_iterator(SHARDSIM_SOURCE_DIR "/plots")) {
    if (entry.path().string().ends_with(".vg.json")) plots.push_back(entry.path());
  }
  return plots;
}

// The axes or scales of a chart, those of its panels included.
std::vector<Json> all_parts(const Json& spec, const std::string& kind) {
  std::vector<Json> parts = spec.value(kind, std::vector<Json>{});
  for (const Json& mark : spec.value("marks", std::vector<Json>{})) {
    for (Json& part : all_parts(mark, kind)) parts.push_back(std::move(part));
  }
  return parts;
}

Json colour_scale(const Json& spec) {
  for (const Json& scale : all_parts(spec, "scales")) {
    if (scale["name"] == "colour") return scale;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a filled chart holds the rows under the data set's name and nothing else changes") {
  const Json filled = Json::parse(fill_chart(kSpec, "test", {rows_named("rows")}));
  CHECK(filled["data"][0]["values"] == Json::parse(R"([{"case":"rm1","time_ms":1.5},{"case":"rm2","time_ms":2.0}])"));
  CHECK_FALSE(filled["data"][1].contains("values"));
  CHECK(filled["marks"] == Json::array());
}

TEST_CASE("scales of wide data become logarithmic, by name, and the others stay") {
  const std::string spec = R"({"data": [], "scales": [{"name": "x", "type": "linear", "nice": true}, {"name": "y"}]})";
  const Json filled = Json::parse(fill_chart(spec, "test", {}, {"x"}));
  CHECK(filled["scales"] == Json::parse(R"([{"name": "x", "type": "log", "nice": false}, {"name": "y"}])"));
  CHECK_THROWS_AS(fill_chart(spec, "test", {}, {"z"}), Error);
}

TEST_CASE("a data set that the chart names and the run lacks is an error, and the reverse") {
  CHECK(fill_error(kSpec, {}).find("plots/test.vg.json: names a data set 'rows' that no run has") != std::string::npos);
  const std::string extra = fill_error(kSpec, {rows_named("rows"), rows_named("more")});
  CHECK(extra.find("does not use the data set 'more'") != std::string::npos);
  // A derived data set is not to be filled.
  CHECK(fill_error(kSpec, {rows_named("rows"), rows_named("sums")}).find("'sums'") != std::string::npos);
}

TEST_CASE("a chart may neither load anything nor hold numbers of its own") {
  CHECK(fill_error(R"({"data": [{"name": "rows", "url": "x.csv"}]})", {rows_named("rows")}).find("url") !=
        std::string::npos);
  CHECK(fill_error(R"({"data": [{"name": "rows"}], "marks": [{"encode": {"url": 1}}]})", {rows_named("rows")})
            .find("url") != std::string::npos);
  CHECK(fill_error(R"({"data": [{"name": "rows", "values": [1]}]})", {rows_named("rows")}).find("values of its own") !=
        std::string::npos);
  CHECK(fill_error("not json", {}).find("not a Vega specification") != std::string::npos);
  CHECK(fill_error("[]", {}).find("not a Vega specification") != std::string::npos);
  CHECK(fill_error(R"({"data": [1]})", {}).find("without a name") != std::string::npos);
}

TEST_CASE("a number that is not finite is refused, not drawn") {
  DataSet set = rows_named("rows");
  set.rows[1][1] = 0.0 / 0.0;
  CHECK(fill_error(kSpec, {set}).find("'time_ms' is not a finite number") != std::string::npos);
}

TEST_CASE("a table named </script> cannot end the script element, and broken UTF-8 does not stop the report") {
  DataSet set = rows_named("rows");
  set.rows[0][0] = "</script><!--";
  set.rows[1][0] = "\xFF";
  const std::string filled = fill_chart(kSpec, "test", {set});
  CHECK(filled.find('<') == std::string::npos);
  CHECK(Json::parse(filled)["data"][0]["values"][0]["case"] == "</script><!--");
}

TEST_CASE("a data set reads as a table with units in the header") {
  const Sheet sheet =
      sheet_of({"rows", {"case", "time_ms", "memory_gib", "share_pct"}, {{"rm1", 1234567.0, 0.5, 12.0}}});
  CHECK(sheet.columns[0].header == "case");
  CHECK_FALSE(sheet.columns[0].number);
  CHECK(sheet.columns[1].header == "time (ms)");
  CHECK(sheet.columns[2].header == "memory (GiB)");
  CHECK(sheet.columns[3].header == "share (%)");
  CHECK(sheet.columns[3].number);
  CHECK(sheet.rows[0].cells == std::vector<std::string>{"rm1", "1,234,567", "0.5", "12"});
}

TEST_CASE("an operation class has one colour in all charts") {
  Json first;
  int coloured = 0;
  for (const auto& path : shipped_plots()) {
    const Json scale = colour_scale(Json::parse(read_file(path.string())));
    if (scale.is_null()) continue;
    if (first.is_null()) first = scale;
    CHECK_MESSAGE(scale == first, path.string());
    ++coloured;
  }
  CHECK(coloured >= 3);  // comparison, breakdown, parts of the path
  CHECK(first["domain"].size() == first["range"].size());
  const std::string own = page_asset("own_chart.js");  // the charts without Vega
  for (std::size_t each = 0; each < first["domain"].size(); ++each) {
    const std::string pair =
        first["domain"][each].get<std::string>() + ": \"" + first["range"][each].get<std::string>() + "\"";
    CHECK_MESSAGE(own.find(pair) != std::string::npos, pair);
  }
}

TEST_CASE("shipped charts leave the colours of the page to the theme") {
  const std::regex inside_text(R"([^"]#[0-9a-fA-F]{3,6}\b|'(white|black)')");  // where the theme does not look
  for (const auto& path : shipped_plots()) {
    const std::string text = read_file(path.string());
    const Json spec = Json::parse(text);
    CHECK_FALSE_MESSAGE(spec.contains("background"), path.string());
    CHECK_FALSE_MESSAGE(spec.contains("config"), path.string());
    CHECK_FALSE_MESSAGE(std::regex_search(text, inside_text), path.string());
  }
}

TEST_CASE("shipped charts say what they show and give every axis of numbers a title") {
  for (const auto& path : shipped_plots()) {
    const Json spec = Json::parse(read_file(path.string()));
    CHECK_MESSAGE(spec.value("description", "").size() > 20, path.string());
    CHECK_MESSAGE(!all_parts(spec, "axes").empty(), path.string());
    for (const Json& axis : all_parts(spec, "axes")) {
      const bool names = axis["scale"] == "rank" || (axis["orient"] == "left" && !axis.contains("grid"));
      CHECK_MESSAGE((names || axis.contains("title")), path.string());
    }
  }
}

TEST_CASE("JSON inside a script element holds no <") {
  CHECK(escape_script_json("a<b<c") == "a\\u003cb\\u003cc");
}

TEST_CASE("both charts of memory have a rule at the capacity") {
  for (const std::string name : {"memory", "memory_at_peak"}) {
    const Json spec = Json::parse(read_file(SHARDSIM_SOURCE_DIR "/plots/" + name + ".vg.json"));
    const bool found = std::any_of(spec["marks"].begin(), spec["marks"].end(), [](const Json& mark) {
      return mark["type"] == "rule" && mark["encode"]["update"]["x"]["field"] == "capacity_gib";
    });
    CHECK_MESSAGE(found, name);
  }
}

}  // namespace shardsim::page_test
