#include "accuracy/measurements/judgement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/tree/yaml.h"
#include "study/report/page.h"
#include "tests/accuracy/measurements/measurement_text.h"

namespace shardsim::judgement_test {

using Json = nlohmann::json;

namespace {

SystemMap small_map() {
  return system_map_from_tree(parse_yaml("schema: shardsim.clusters_map/1\nsystems: {a: toy_2x4, b: toy_2x4}\n"
                                         "out_of_model: [{system: b, nodes: 2, reason: slow network}]\n",
                                         "map.yaml"),
                              "map.yaml");
}

const std::string kRows =
    "a,,1,4,all_reduce,1048576,1,100\na,,1,4,alltoall,4096,1,100\na,,2,4,all_reduce,67108864,1,10000\n"
    "b,,1,4,all_reduce,1048576,1,100\nb,,2,4,all_reduce,1048576,1,100\n";

Judgement judged(const std::string& rows = kRows) {
  return judgement_of(measured(rows).rows, small_map(), {}, "m.csv");
}

std::string judging_fault(const std::string& rows) {
  return error_of([&] { judged(rows); });
}

}  // namespace

TEST_CASE("a row is predicted as the collective on its cluster is") {
  const Judgement judgement = judged();
  REQUIRE(judgement.rows.size() == 5);
  ClusterSpec spec = small_map().systems[0].spec;
  spec.nodes = 2;
  CollectiveQuestion question;
  question.bytes = 67108864;
  question.ranks = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(judgement.rows[2].prediction.time.value == predict_collective(question, Cluster(spec)).time.value);
}

TEST_CASE("bounds of channels count where NCCL would take others") {
  const SystemMap map = system_map_from_tree(
      parse_yaml("schema: shardsim.clusters_map/1\nsystems: {a: hgx_h100_8x400g}\n", "map.yaml"), "map.yaml");
  const auto time = [&](int least, int most) {
    std::vector<MeasuredRow> rows = measured("a,,1,8,all_reduce,1073741824,1,100\n").rows;
    rows.at(0).algorithm = "Ring";
    rows.at(0).least_channels = least;
    rows.at(0).most_channels = most;
    return judgement_of(rows, map, {}, "m.csv").rows.at(0).prediction.time.value;
  };
  const double free = time(0, 0);
  CHECK(time(0, 4) > 1.5 * free);
  CHECK(time(1, 1024) == free);
}

TEST_CASE("fewer GPUs than a node has are its first ones, further groups the next ones, then further nodes") {
  const std::string head = "system,nodes,gpus_per_node,groups_at_once,collective,size_bytes,time_us\n";
  const auto predicted = [&](const std::string& row) {
    return judgement_of(read_measurement_csv(head + row, "m.csv").rows, small_map(), {}, "m.csv").rows[0];
  };
  ClusterSpec spec = small_map().systems[0].spec;
  spec.nodes = 2;
  CollectiveQuestion question;
  question.bytes = 1 << 26;
  question.ranks = {0, 4};
  CHECK(predicted("a,2,1,1,all_reduce,67108864,9\n").prediction.time.value ==
        predict_collective(question, Cluster(spec)).time.value);
  question.beside = {{1, 5}, {2, 6}, {3, 7}};
  CHECK(predicted("a,2,1,4,all_reduce,67108864,9\n").prediction.time.value ==
        predict_collective(question, Cluster(spec)).time.value);
  // Groups on nodes of their own do not disturb each other.
  CHECK(predicted("a,1,4,3,all_reduce,67108864,9\n").prediction.time.value ==
        predicted("a,1,4,1,all_reduce,67108864,9\n").prediction.time.value);
}

TEST_CASE("rows in the model and out of it are told apart") {
  const Judgement judgement = judged();
  CHECK(judgement.overall.rows == 4);
  CHECK(judgement.overall.groups == 2);
  CHECK(judgement.out_of_model_rows == 1);
  CHECK(judgement.with_out_of_model.rows == 5);
  REQUIRE(judgement.systems.size() == 4);
  CHECK(judgement.systems[2].system == "b");
  CHECK(judgement.systems[2].out_of_model == "");
  CHECK(judgement.systems[3].out_of_model == "slow network");
  CHECK(judgement.by_kind.size() == 2);
  CHECK(*judgement.judged_pct() == *judgement.overall.from_1mib().median_abs_pct);
  CHECK(*judged("a,,1,4,all_reduce,8,1,100\n").judged_pct() >= 0);
  CHECK_FALSE(judged("b,,2,4,all_reduce,8,1,100\n").judged_pct());
}

// A lone GPU's time is that of a copy: any prediction of an exchange would be wrong by all of it.
TEST_CASE("rows between nodes are out of the model where no accuracy is claimed for the network, as predictions say") {
  const SystemMap map = system_map_from_tree(
      parse_yaml("schema: shardsim.clusters_map/1\nsystems: {a: {cluster: toy_2x4, set: {nics.transport: efa}}}\n",
                 "map.yaml"),
      "map.yaml");
  const Judgement judgement = judgement_of(
      measured("a,,1,4,all_reduce,1048576,1,100\na,,2,4,all_reduce,1048576,1,100\n").rows, map, {}, "m.csv");
  CHECK(judgement.rows[0].out_of_model == "");
  CHECK(judgement.rows[1].out_of_model == "EFA network");
  CHECK(judgement.overall.rows == 1);
}

TEST_CASE("hardware that a log says was switched off puts its rows out of the model of a cluster that has it") {
  std::vector<MeasuredRow> rows = measured("a,,2,4,all_reduce,1048576,1,100\na,,1,4,all_reduce,1048576,1,100\n").rows;
  for (MeasuredRow& row : rows) row.switched_off.infiniband = "NCCL_IB_DISABLE=1";
  const Judgement judgement = judgement_of(rows, small_map(), {}, "m.csv");
  CHECK(has(judgement.rows[0].out_of_model, "NCCL_IB_DISABLE=1, so its nodes exchanged over sockets"));
  CHECK(judgement.rows[1].out_of_model == "");
}

TEST_CASE("a log that does not say its ranks costs itself alone, and is an error where there is nothing else") {
  std::vector<MeasuredRow> rows = measured(kRows).rows;
  MeasuredRow silent = rows.front();
  silent.place.source = "silent.log";
  silent.nodes = silent.gpus_per_node = 0;
  silent.counts_hosts = true;
  std::vector<MeasuredRow> with_it = rows;
  with_it.insert(with_it.begin(), 2, silent);
  const JudgedRows judged_rows = judge(with_it, small_map(), {});
  CHECK(judged_rows.rows.size() == rows.size());
  const auto told = std::ranges::find_if(judged_rows.notes, [](const std::string& note) {
    return has(note, "2 rows of system \"a\" left out: silent.log:") && has(note, "on how many nodes and GPUs it ran");
  });
  CHECK(told != judged_rows.notes.end());
  CHECK_THROWS_WITH(judge({silent}, small_map(), {}), doctest::Contains("silent.log:"));
}

TEST_CASE("rows of a single GPU are left out and counted") {
  const Judgement judgement = judged(kRows + "a,,1,1,all_reduce,1048576,1,50\n");
  CHECK(judgement.rows.size() == 5);
  CHECK(judgement.of_one_gpu == 1);
  CHECK(Json::parse(judgement_json(judgement))["one_gpu_rows"] == 1);
  CHECK(has(judgement_summary(judgement), "1 row is of a single GPU, which exchanges nothing, and left out."));
  CHECK_FALSE(has(judgement_summary(judged()), "single GPU"));
  CHECK(has(judging_fault("a,,1,1,all_reduce,8,1,9\n"), "m.csv: every row is of a single GPU"));
}

TEST_CASE("a label that the fit did not see is fitted to the open data, in every wording") {
  SystemMap map = small_map();
  for (MappedSystem& system : map.systems) system.spec.fits = "open_data";
  const Judgement judgement = judgement_of(measured(kRows).rows, map, {}, "m.csv");
  CHECK(has(document_text(judgement_document(judgement, Medium::terminal), 100, false),
            "a, cluster toy_2x4, fitted to the open data"));
  CHECK(has(judgement_markdown(judgement), "| a | all_reduce | the open data |"));
  CHECK(Json::parse(judgement_json(judgement))["systems"][0]["fits"] == "open_data");
}

TEST_CASE("a label cannot break the table of the accuracy page") {
  Judgement judgement = judged();
  judgement.systems[0].system = "a | b\nc";
  CHECK(has(judgement_markdown(judgement), "| a \\| b c | "));
}

TEST_CASE("a row that cannot be predicted is refused at its line") {
  CHECK(has(judging_fault("c,,1,4,all_reduce,8,1,9\n"), "m.csv:2: system \"c\" is missing from the map map.yaml"));
  CHECK(has(judging_fault("a,,1,8,all_reduce,8,1,9\n"), "m.csv:2: 8 GPUs per node"));
  CHECK(has(judging_fault("a,,999999,4,all_reduce,8,1,9\n"), "m.csv:2: the groups need 999999 nodes"));
  CHECK(has(judging_fault(""), "m.csv: no row has both a size and a time"));
  MeasuredRow row = measured("a,,1,4,all_reduce,8,1,9\n").rows[0];
  row.nodes = 0;
  CHECK(has(error_of([&] { judgement_of({row}, small_map(), {}, "m"); }), "does not say on how many nodes"));
}

TEST_CASE("the JSON has the figures under their names") {
  const Judgement judgement = judged();
  const Json json = Json::parse(judgement_json(judgement));
  CHECK(json["schema"] == "shardsim.collective_comparison/1");
  const Json& overall = json["overall"];
  CHECK(overall["rows"] == 4);
  CHECK(overall["systems"] == 2);
  CHECK(overall["out_of_model_rows"] == 1);
  CHECK(overall["median_abs_error_pct_below_64KiB"].is_number());
  CHECK(overall["median_abs_error_pct_64KiB_to_1MiB"].is_null());
  CHECK(overall["median_abs_error_pct_from_1MiB"].get<double>() ==
        doctest::Approx(*judgement.overall.from_1mib().median_abs_pct).epsilon(1e-4));
  CHECK(overall["p95_abs_error_pct_from_1MiB"].is_number());
  CHECK(overall["signed_error_pct_from_1MiB"].is_number());
  CHECK(json["overall_with_out_of_model"]["rows"] == 5);
  CHECK(json["overall_unfitted"].is_null());
  CHECK(json["systems"].size() == 4);
  CHECK(json["systems"][0]["system"] == "a");
  CHECK(json["systems"][1]["collective"] == "all_reduce");
  CHECK(json["systems"][1]["rows"] == 2);
  CHECK(json["systems"][3]["in_model"] == false);
  CHECK(json["systems"][3]["reason"] == "slow network");
  CHECK(json["systems"][0]["bands"].size() == 6);
}

TEST_CASE("the table says what the figures are") {
  const std::string text = document_text(judgement_document(judged(), Medium::terminal), 100, false);
  CHECK(has(text, "a, cluster toy_2x4"));
  CHECK(has(text, "out of the model: slow network"));
  CHECK(has(text, "4 measured collectives of 2 systems predicted"));
  CHECK(has(text, "1 row is out of the model"));
  CHECK(has(text, "median %"));
}

TEST_CASE("every row is in the table of predictions") {
  const std::string csv = predictions_csv(judged());
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 6);
  CHECK(has(csv, "\na,,all_reduce,1,4,1,1048576,1,100,"));
  CHECK(has(csv, ",slow network\n"));
}

TEST_CASE("the page holds a chart per system and loads nothing") {
  const std::string page = page_html(judgement_document(judged(), Medium::page));
  CHECK(has(page, "<h3>a</h3>"));
  CHECK(has(page, "<h3>b</h3>"));
  CHECK(has(page, "Over all systems in the model"));
  CHECK_FALSE(has(page, "<script src"));
}

TEST_CASE("the tables of the accuracy page say which bound was missed, and by how much") {
  const std::string text = judgement_markdown(judged("a,,1,4,all_reduce,67108864,1,1\n"));
  CHECK(has(text, "| a | all_reduce | nothing | 1 | "));
  CHECK(has(text, "| 12, missed by "));
  CHECK(has(text, "| all collectives | 1 | 1 | "));
  CHECK_FALSE(has(judgement_markdown(judged("b,,2,4,all_reduce,67108864,1,1\n")), "missed"));
}

}  // namespace shardsim::judgement_test
