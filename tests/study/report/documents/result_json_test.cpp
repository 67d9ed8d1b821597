

#include "study/report/documents/result_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/tree/json.h"
#include "study/result/result_fields.h"
#include "study/run/study.h"
#include "tests/base/edited_text.h"
#include "tests/base/error_text.h"

namespace shardsim::result_json_test {
namespace {

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

StudyResult sample_study() {
  CaseResult result;
  result.name = "rm1/row_wise";
  result.iteration_ms = 0.1 + 0.2;
  result.samples_per_s = 320000;
  result.estimate_iteration_ms = 400.5;
  result.memory_per_rank = {100, 200};
  result.memory_capacity = 200;
  result.limit = {"node0/nic3/out", 0.75};
  result.times = {{"lookup", "lookup", 1, 2, 3, 0, 0},
                  {"global_all_to_all", "all_to_all", 2, 10.25, 12.5, 11.75, 4096}};
  result.placements = {{"history", Strategy::flex, 30, 0.5, {0, 1}}};
  Published time;
  time.quantity = "global_all_to_all";
  time.value = 40;
  time.unit = "ms";
  time.role = PublishedRole::fitted;
  time.source = "Table 6";
  Published iteration;
  iteration.quantity = "iteration";
  iteration.value = 409;
  iteration.unit = "ms";
  iteration.source = "B7";
  result.published = {{time, 42.0, 44.0}, {iteration, std::nullopt, std::nullopt}};
  result.notes = {"a note"};
  StudyResult study;
  study.scenario = "scenarios/flexshard.yaml";
  study.seed = 7;
  study.version = "v1";
  study.fitted = {{"nic.efficiency", "0.9", "Table 6", true, {"rm1"}, 4, std::nullopt}};
  study.cases = {result};
  return study;
}

Keys keys(const Json& json) {
  Keys result;
  for (const auto& [key, value] : json.items()) result.push_back(key);
  return result;
}

// Rank 1 holds 150 + 50, in the second operation.
void add_high_water(CaseResult& result) {
  result.timeline.ops = {{"lookup", "lookup"}, {"global_all_to_all", "all_to_all"}};
  result.memory_profile.ranks.resize(2);
  result.memory_profile.ranks[0].amounts[MemoryPart::tables] = 150;
  MemoryPeak& peak = result.memory_profile.ranks[1];
  peak.amounts[MemoryPart::tables] = 150;
  peak.amounts[MemoryPart::gradients] = 50;
  peak.at_us = 2500;
  peak.op = 1;
  result.estimated_memory = {160, 30, 0, 8, 2};
}

TEST_CASE("the simulated high-water mark stands beside the memory model, part by part on the fullest rank") {
  StudyResult study = sample_study();
  add_high_water(study.cases[0]);
  const Json memory = Json::parse(result_to_json(study)).at("cases").at(0).at("memory");
  CHECK(keys(memory) == Keys{"per_rank_bytes", "capacity_bytes", "fits", "simulated"});
  const Json& simulated = memory.at("simulated");
  CHECK(keys(simulated) == Keys{"per_rank_bytes", "rank", "at_ms", "operation", "parts", "estimate"});
  CHECK(simulated.at("per_rank_bytes") == Json({150, 200}));
  CHECK(simulated.at("rank") == 1);
  CHECK(simulated.at("at_ms") == 2.5);
  CHECK(simulated.at("operation") == "global_all_to_all");
  CHECK(simulated.at("parts").size() == 11);
  CHECK(simulated.at("parts").at("gradients") == 50);
  CHECK(simulated.at("parts").at("inputs_ahead") == 0);
  CHECK(simulated.at("estimate").at("at_rest_bytes") == 160);
  CHECK(simulated.at("estimate").at("buffer_bytes") == 30);
  CHECK(simulated.at("estimate").at("optimizer_bytes") == 8);
}

TEST_CASE("a peak beyond the GPU's memory says by how much, and a case whom it is measured against") {
  StudyResult study = sample_study();
  add_high_water(study.cases[0]);
  study.cases[0].memory_capacity = 190;
  study.cases[0].relative_to = "row_wise";
  const Json item = Json::parse(result_to_json(study)).at("cases").at(0);
  CHECK(item.at("memory").at("simulated").at("over_capacity_bytes") == 10);
  CHECK(item.at("relative_to") == "row_wise");
}

TEST_CASE("keys stand in the order of the format") {
  const Json json = Json::parse(result_to_json(sample_study()));
  CHECK(keys(json) == Keys{"schema", "scenario", "seed", "version", "cases", "fitted_constants"});
  const Json& first = json.at("cases").at(0);
  CHECK(keys(first) == Keys{"name", "iteration_ms", "samples_per_s", "estimate", "limited_by", "memory", "collectives",
                            "compute", "placements", "published", "notes"});
  CHECK(keys(first.at("memory")) == Keys{"per_rank_bytes", "capacity_bytes", "fits"});
  CHECK(keys(first.at("collectives").at(0)) == Keys{"name", "kind", "calls", "total_ms", "exposed_ms", "bytes_per_rank",
                                                    "in_iteration_ms", "transfer_ms", "waiting_ms", "waited_for"});
  CHECK(keys(first.at("placements").at(0)) == Keys{"table", "strategy", "rows", "access_share", "ranks"});
  CHECK(keys(first.at("published").at(0)) == Keys{"quantity", "unit", "value", "predicted",
                                                  "predicted_at_observed_payload", "error_at_observed_payload_pct",
                                                  "error_pct", "role", "source"});
  CHECK(keys(first.at("published").at(1)) ==
        Keys{"quantity", "unit", "value", "predicted", "error_pct", "role", "source"});
}

TEST_CASE("every figure is under its key") {
  const Json json = Json::parse(result_to_json(sample_study()));
  CHECK(json.at("schema") == "shardsim.result/1");
  CHECK(json.at("seed") == 7);
  const Json& first = json.at("cases").at(0);
  CHECK(first.at("iteration_ms").get<double>() == 0.1 + 0.2);  // exactly: shortest round trip
  CHECK(first.at("estimate").at("iteration_ms") == 400.5);
  CHECK(first.at("limited_by").at("share_pct") == 75.0);
  CHECK(first.at("memory").at("per_rank_bytes") == Json({100, 200}));
  CHECK(first.at("memory").at("fits") == true);
  REQUIRE(first.at("collectives").size() == 1);
  const Json& collective = first.at("collectives").at(0);
  CHECK(collective.at("calls") == 2);
  CHECK(collective.at("total_ms") == 10.25);
  CHECK(collective.at("in_iteration_ms") == 12.5);
  CHECK(collective.at("exposed_ms") == 11.75);
  CHECK(collective.at("bytes_per_rank") == 4096);
  CHECK(first.at("compute") == Json::parse(R"([{"name": "lookup", "class": "lookup", "total_ms": 3.0}])"));
  CHECK(first.at("placements").at(0).at("strategy") == "flex");
  CHECK(json.at("fitted_constants").at(0).at("path") == "nic.efficiency");
  CHECK(json.at("fitted_constants").at(0).at("rows_used") == 4);
}

TEST_CASE("a fit that does not say how many rows it took is not one on none") {
  StudyResult study = sample_study();
  study.fitted[0].rows_used = 0;
  const Json json = Json::parse(result_to_json(study));
  CHECK(keys(json.at("fitted_constants").at(0)) == Keys{"path", "value", "source", "fitted_on"});
}

// docs/formats/result.md: error_pct = 100 (predicted - value) / value; value 40, predicted 42 gives 5.
TEST_CASE("errors are signed percentages of the published value") {
  const Json json = Json::parse(result_to_json(sample_study()));
  const Json& published = json.at("cases").at(0).at("published");
  CHECK(published.at(0).at("error_pct").get<double>() == doctest::Approx(5));
  CHECK(published.at(0).at("error_at_observed_payload_pct").get<double>() == doctest::Approx(10));
  CHECK(published.at(0).at("role") == "fitted");
  CHECK(published.at(1).at("role") == "predicted");
  CHECK(published.at(1).at("predicted").is_null());
  CHECK(published.at(1).at("error_pct").is_null());
}

TEST_CASE("one byte over the capacity on one rank does not fit") {
  StudyResult study = sample_study();
  study.cases[0].memory_per_rank[1] = 201;
  CHECK(Json::parse(result_to_json(study)).at("cases").at(0).at("memory").at("fits") == false);
}

TEST_CASE("a number that is not finite is a bug that names its place") {
  for (double broken : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    StudyResult study = sample_study();
    study.cases[0].times[1].exposed_ms = broken;
    std::string message;
    try {
      result_to_json(study);
    } catch (const std::logic_error& error) {
      message = error.what();
    }
    CHECK(message.find("cases[0].collectives[0].exposed_ms") != std::string::npos);
  }
}

TEST_CASE("the text ends with a line end and is the same every time") {
  const std::string text = result_to_json(sample_study());
  CHECK(text.ends_with("}\n"));
  CHECK(text == result_to_json(sample_study()));
}

StudyResult shipped_study(const std::string& name, const Overrides& overrides) {
  return run_study(read_scenario(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/" + name, overrides), {});
}

std::string refusal_of(const std::string& text) {
  return input_error_of([&] { result_from_tree(parse_json(text, "result.json")); });
}

TEST_CASE("a result that is read and written again is the same text: jobs, published numbers, a cross-check") {
  const Overrides few{{{"cases.0.repeat", "4"}}, {}, {}, {}};
  for (const auto& [name, overrides] : {std::pair<std::string, Overrides>{"toy.yaml", {}},
                                        {"two_jobs.yaml", {}},
                                        {"flexshard.yaml", {}},
                                        {"torchrec_crosscheck.yaml", few}}) {
    CAPTURE(name);
    const StudyResult study = shipped_study(name, overrides);
    const std::string text = result_to_json(study);
    const StudyResult read = result_from_tree(parse_json(text, "result.json"));
    CHECK(result_to_json(read) == text);
    REQUIRE(read.cases.size() == study.cases.size());
    for (std::size_t i = 0; i < read.cases.size(); ++i) {
      const CaseResult &before = study.cases[i], &after = read.cases[i];
      CHECK(after.name == before.name);
      CHECK(after.iteration_ms == before.iteration_ms);
      CHECK(after.iteration_ms_at_observed_payload == before.iteration_ms_at_observed_payload);
      CHECK(after.limit.what == before.limit.what);
      CHECK(100 * after.limit.share == 100 * before.limit.share);  // written as a percentage, which two shares can have
      CHECK(after.memory_per_rank == before.memory_per_rank);
      CHECK(after.memory_profile.ranks[before.memory_profile.fullest()].amounts ==
            before.memory_profile.ranks[before.memory_profile.fullest()].amounts);
      CHECK(packed(after.placements) == packed(before.placements));
      CHECK(packed(collective_times(after.times)) == packed(collective_times(before.times)));
      CHECK(after.published.size() == before.published.size());
      CHECK(after.job.has_value() == before.job.has_value());
      CHECK(after.notes == before.notes);
    }
  }
}

// 4,096 nodes of 8 GPUs, in two replica groups by their parity, whose lookups and memory take a few values in no order,
// with one rank that looks up more than all others.
constexpr int kWorld = 32'768;
constexpr int kOdd = 20'001;

StudyResult large_study() {
  StudyResult study = sample_study();
  CaseResult& result = study.cases[0];
  result.memory_per_rank.assign(kWorld, 100);
  result.memory_profile.ranks.resize(kWorld);
  RankLoads loads;
  loads.tables = {{"history", {}}, {"", {}}};
  for (int rank = 0; rank < kWorld; ++rank) {
    const auto mixed = static_cast<double>(static_cast<std::uint32_t>(rank) * 2'654'435'761U >> 29U);
    result.memory_profile.ranks[static_cast<std::size_t>(rank)].amounts[MemoryPart::tables] =
        100 + static_cast<std::int64_t>(mixed);
    loads.distinct_rows.push_back(0.1 * (rank % 8));
    loads.tables[0].lookups.push_back(rank == kOdd ? 4e6 : 1e6 + mixed);
    loads.tables[1].lookups.push_back(rank < kWorld / 2 ? 7 : 0);
    loads.lookups.push_back(loads.tables[0].lookups.back() + loads.tables[1].lookups.back());
  }
  loads.fullest = kOdd;
  result.loads = loads;
  std::vector<int> even, odd;
  for (int rank = 0; rank < kWorld; ++rank) (rank / 8 % 2 == 0 ? even : odd).push_back(rank);
  even.insert(even.end(), odd.begin(), odd.end());
  result.placements = {{"history", Strategy::flex, 30, 0.5, even}, {"other", Strategy::table_wise, 9, 0.5, {kOdd}}};
  return study;
}

TEST_CASE("a large world says once what is alike, in few bytes, and every rank's numbers read back") {
  const StudyResult study = large_study();
  const std::string text = result_to_json(study);
  CHECK(text.size() < 300'000);  // of lists alone it would have 3.5 MB
  const StudyResult read = result_from_tree(parse_json(text, "result.json"));
  CHECK(result_to_json(read) == text);
  const CaseResult &before = study.cases[0], &after = read.cases[0];
  CHECK(after.memory_per_rank == before.memory_per_rank);
  CHECK(after.loads->lookups == before.loads->lookups);
  CHECK(after.loads->distinct_rows == before.loads->distinct_rows);
  CHECK(after.loads->tables == before.loads->tables);
  CHECK(packed(after.placements) == packed(before.placements));
  CHECK(high_water_of(after)->per_rank_bytes == high_water_of(before)->per_rank_bytes);
}

TEST_CASE("a rank that is singled out is one of the ranks that the file has figures of") {
  const std::string text = result_to_json(large_study());
  for (const char* const none : {"32768", "-1"}) {
    const std::string other = std::string("\"fullest_rank\": ") + none;
    CHECK(refusal_of(edited(text, "\"fullest_rank\": 20001", other)).find("is none of the 32768 ranks") !=
          std::string::npos);
  }
}

TEST_CASE("in a large world an odd rank is a class by itself, and a list that nobody shares stays a list") {
  StudyResult study = large_study();
  study.cases[0].loads->distinct_rows.clear();
  for (int rank = 0; rank < kWorld; ++rank) study.cases[0].loads->distinct_rows.push_back(rank);
  const Json json = Json::parse(result_to_json(study));
  CHECK(json.at("schema") == "shardsim.result/2");
  const Json& first = json.at("cases").at(0);
  const auto texts = first.at("rank_classes").get<std::vector<std::string>>();
  const auto odd = std::ranges::find(texts, std::to_string(kOdd)) - texts.begin();
  REQUIRE(odd < static_cast<std::ptrdiff_t>(texts.size()));
  const Json& loads = first.at("rank_loads");
  CHECK(loads.at("lookups_by_class").at(static_cast<std::size_t>(odd)) == 4e6);
  CHECK(loads.at("lookups_by_class").size() == texts.size());
  CHECK(loads.at("tables").at(1).at("lookups_by_class").size() == texts.size());
  CHECK(loads.at("distinct_rows").size() == kWorld);
  CHECK(first.at("memory").at("per_rank_bytes_by_class").size() == texts.size());
  CHECK(first.at("placements").at(1).at("rank_set") == std::to_string(kOdd));
}

TEST_CASE("lists of classes that do not fit, or that no memory holds, are refused") {
  const std::string text = result_to_json(large_study());
  CHECK(refusal_of(edited(text, "\"rank_classes\": [", "\"rank_classes\": [\"0\", ")).find("in two classes") !=
        std::string::npos);
  CHECK(refusal_of(edited(text, "\"lookups_by_class\": [", "\"lookups_by_class\": [1.0, ")).find("numbers for") !=
        std::string::npos);
  CHECK(refusal_of(edited(text, "\"lookups_by_class\"", "\"lookups_by_node\"")).find("'lookups' is missing") !=
        std::string::npos);
  std::string many = "\"placements\": [";
  for (int i = 0; i < 1000; ++i)
    many += R"({"table": "t", "strategy": "row_wise", "rows": 1, "access_share": 1, "rank_set": "0-99999"}, )";
  CHECK(refusal_of(edited(text, "\"placements\": [", many)).find("100000000 numbers") != std::string::npos);
}

TEST_CASE("all of a case comes through the pipe from its worker") {
  for (const CaseResult& result : shipped_study("two_jobs.yaml", {}).cases) {
    const CaseResult copy = unpacked<CaseResult>(packed(result));
    CHECK(packed(copy) == packed(result));
    CHECK(copy.timeline == result.timeline);
    CHECK(copy.memory_profile == result.memory_profile);
    REQUIRE(copy.job);
    CHECK(copy.job->alone_ms == result.job->alone_ms);
    CHECK_THROWS_AS(unpacked<CaseResult>(packed(result) + "x"), Error);
  }
}

TEST_CASE("keys of later versions are passed over; what is missing, of another type or not there is refused") {
  const std::string text = result_to_json(sample_study());
  CHECK(refusal_of(text).empty());
  CHECK(refusal_of(edited(text, "\"seed\": 7", "\"seed\": 7, \"colour\": \"red\"")).empty());
  CHECK(refusal_of(edited(text, "result/1", "result/3")).find("shardsim.result/1") != std::string::npos);
  CHECK(refusal_of(edited(text, "\"iteration_ms\"", "\"iteration\"")).find("'iteration_ms' is missing") !=
        std::string::npos);
  CHECK(refusal_of(edited(text, "\"samples_per_s\": 320000.0", "\"samples_per_s\": \"many\"")).find("result.json:") ==
        0);
  CHECK(refusal_of(edited(text, "\"notes\": [", "\"notes\": 3, \"others\": [")).find("a list is expected") !=
        std::string::npos);
  CHECK(refusal_of(edited(text, "\"flex\"", "\"bent\"")).find("bent") != std::string::npos);
  CHECK(!refusal_of(text.substr(0, text.size() / 2)).empty());
  CHECK(refusal_of(edited(text, "\"iteration_ms\": ", "\"iteration_ms\": -")).find("is below 0") != std::string::npos);
}

}  // namespace
}  // namespace shardsim::result_json_test
