#include <doctest/doctest.h>

#include "accuracy/measurements/judgement.h"
#include "accuracy/measurements/read/system_map.h"
#include "base/tree/yaml.h"
#include "tests/accuracy/measurements/measurement_text.h"

namespace shardsim::left_out_fits_test {

namespace {

const std::string kSchema = "schema: shardsim.left_out_fits/1\n";
const std::string kSofter =
    kSchema + "systems: [{without: a, rows: [{kinds: [all_reduce], reach: across_nodes, efficiency: 0.5}]}]\n";

LeftOutFits fits_of(const std::string& text) {
  return left_out_fits_from_tree(parse_yaml(text, "fits.yaml"));
}

std::string fits_fault(const std::string& rows) {
  return error_of([&] { fits_of(kSchema + "systems: [{without: a, rows: [" + rows + "]}]\n"); });
}

SystemMap fitted_map() {
  return system_map_from_tree(parse_yaml("schema: shardsim.clusters_map/1\n"
                                         "systems: {a: {cluster: dgx_a100_80gb, set: {fits: open_data}}, b: {cluster: "
                                         "dgx_a100_80gb, set: {fits: open_data}},\n"
                                         "  c: {cluster: toy_2x4, set: {fits: none}}}\n",
                                         "map.yaml"),
                              "map.yaml");
}

}  // namespace

TEST_CASE("a system that the fit saw is judged by the fit without it, another one by the whole fit") {
  const std::string rows =
      "a,,2,4,all_reduce,67108864,1,9\nb,,2,4,all_reduce,67108864,1,9\nc,,2,4,all_reduce,67108864,1,9\n";
  const Judgement judgement = judgement_of(measured(rows).rows, fitted_map(), fits_of(kSofter), "m.csv");
  CHECK(judgement.rows[0].fits == FitsUsed::left_out);
  CHECK(judgement.rows[1].fits == FitsUsed::open_data);
  CHECK(judgement.rows[2].fits == FitsUsed::none);
  CHECK(judgement.systems[0].fits == FitsUsed::left_out);
  REQUIRE(judgement.unfitted);
  CHECK(judgement.unfitted->rows == 3);
  CHECK(judgement.unfitted->all().median_abs_pct != judgement.overall.all().median_abs_pct);
  // Half the efficiency takes longer.
  CHECK(judgement.rows[0].prediction.time.value > 1.3 * judgement.rows[1].prediction.time.value);
}

TEST_CASE("rows of a left-out fit come after those of the whole fit") {
  const LeftOutFits fits = fits_of(kSofter);
  CHECK(fits.saw("a"));
  CHECK_FALSE(fits.saw("b"));
  REQUIRE(fits.table_for("a").rows.size() == open_data_fits().rows.size() + 1);
  CHECK(fits.table_for("a").rows.back().efficiency == 0.5);
  CHECK(fits.table_for("b").rows.size() == open_data_fits().rows.size());
}

TEST_CASE("a row that cannot be is refused with its place") {
  CHECK(has(fits_fault("{reach: in_node}"), "fits.yaml:2"));
  CHECK(has(fits_fault("{kinds: [all_reduce], reach: beside}"), "reach"));
  CHECK(has(fits_fault("{kinds: [all_reduce], reach: in_node, fill: 4}"), "fill"));
  CHECK(has(fits_fault("{kinds: [all_reduce], reach: in_node, efficiency: 2}"), "efficiency"));
  CHECK(has(fits_fault("{kinds: [all_reduce], reach: in_node, nics_from: stone}"), "stone"));
}

TEST_CASE("every system in the model of the shipped map has its left-out fit, and no other") {
  const SystemMap map = read_system_map(SHARDSIM_SOURCE_DIR "/scenarios/measurements/systems.yaml");
  const LeftOutFits fits =
      left_out_fits_from_tree(read_yaml_file(SHARDSIM_SOURCE_DIR "/scenarios/measurements/left_out_fits.yaml"));
  const auto rows = read_measurements(SHARDSIM_SOURCE_DIR "/scenarios/measurements/open", {}).rows;
  for (const MeasuredRow& row : rows) {
    const bool judged = row.is_complete() && map.why_out_of_model(row).empty();
    if (judged) CHECK_MESSAGE(fits.saw(row.system), row.system);
  }
  for (const auto& entry : fits.without) {
    MeasuredRow row;
    row.system = entry.first;
    CHECK_NOTHROW(map.system_of(row));
  }
}

}  // namespace shardsim::left_out_fits_test
