#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"
#include "topology/graph/cluster.h"

namespace shardsim::mlperf_dcnv2_test {
namespace {

using Buckets = std::vector<std::vector<int>>;  // tables of each GPU or node, sorted
using Json = nlohmann::json;

// Which of tests/plan/data/hugectr_plans.json each system of MLPerf Training ran, by its log or its configuration.
const std::map<std::string, std::string>& plan_names() {
  static const std::map<std::string, std::string> kNames{
      {"v3.0/a40/8x55296", "P8cap40"},    {"v3.0/a100/8x55296", "P8a"},        {"v3.0/h100/4x28000", "P4a"},
      {"v3.0/h100/4x32768", "P4a"},       {"v3.0/h100/8x55296", "P8a"},        {"v3.0/h100/8x55296/p8b", "P8b"},
      {"v3.0/h100/64x135168", "N8a"},     {"v3.0/h100/128x135168", "N16a"},    {"v3.1/l40/8x55296", "P8cap40"},
      {"v3.1/l40s/8x55296", "P8cap35"},   {"v3.1/h100/4x28000", "P4b"},        {"v3.1/h100/4x32768", "P4b"},
      {"v3.1/h100/8x55296", "P8c"},       {"v3.1/h100/8x55296/2x4", "P8c"},    {"v3.1/h100/8x55296/p8d", "P8d"},
      {"v3.1/h100/64x135168", "N8b"},     {"v3.1/h100/128x135168", "N16b"},    {"v3.1/h100_pcie/4x55296", "P4b"},
      {"v3.1/h100_pcie/8x55296", "P8c"},  {"v4.0/a100_roce/64x135168", "N8b"}, {"v4.0/h100/4x32768", "P4b"},
      {"v4.0/h100/8x55296", "P8c"},       {"v4.0/h100/64x135168", "N8b"},      {"v4.0/h100/128x135168", "N16b"},
      {"v4.0/h100_pcie/4x55296", "P4b"},  {"v4.0/h200/8x55296", "P8c"},        {"v4.1/h100/4x49152", "P4b"},
      {"v4.1/h100/8x55296", "P8c"},       {"v4.1/h100/64x135168", "N8b"},      {"v4.1/h100/128x135168", "N16b"},
      {"v4.1/h200/8x55296", "P8c"},       {"v4.1/b200/8x55296", "P8c"},        {"v5.0/h200/8x55296", "P8c"},
      {"v5.0/h200/8x65536", "P8c"},       {"v5.0/h200/16x65536", "N2"},        {"v5.0/h200/32x131200", "N4"},
      {"v5.0/h200_nvl/4x32768", "P4b"},   {"v5.0/b200/8x55296", "P8c"},        {"v5.0/gb200/8x55296", "P8c"},
      {"v5.0/gb200/64x135168", "P64"},    {"v5.1/h100_eth/64x160000", "N8b"},  {"v5.1/h200/8x55296", "P8c"},
      {"v5.1/b200/8x55296", "P8c"},       {"v5.1/b200/16x55296", "P16"},       {"v5.1/b300/8x55296", "P8c"},
      {"v6.0/h100_eth/64x135168", "N8b"}, {"v6.0/b300/8x65536", "P8c"},        {"v6.0/b300/16x135168", "N2b"},
      {"v6.0/gb300/8x55296", "P8c"},      {"v6.0/gb300/64x135168", "P64"}};
  return kNames;
}

std::map<std::string, Json> plans_by_name() {
  std::ifstream file(SHARDSIM_SOURCE_DIR "/tests/plan/data/hugectr_plans.json");
  std::map<std::string, Json> plans;
  const Json data = Json::parse(file);
  for (const Json& plan : data["plans"]) plans[plan["name"].get<std::string>()] = plan;
  return plans;
}

Buckets sorted(Buckets buckets) {
  for (std::vector<int>& bucket : buckets) std::ranges::sort(bucket);
  std::ranges::sort(buckets);
  return buckets;
}

Buckets buckets_of(const Plan& plan, std::size_t count, int of) {
  Buckets buckets(count);
  for (const Placement& placement : plan.placements) {
    if (placement.strategy == Strategy::data_parallel) continue;
    for (const int rank : placement.holders.front())
      if (rank % of == 0) buckets[static_cast<std::size_t>(rank / of)].push_back(placement.table);
  }
  return sorted(std::move(buckets));
}

std::vector<int> replicated_tables(const Plan& plan) {
  std::vector<int> tables;
  for (const Placement& placement : plan.placements)
    if (placement.strategy == Strategy::data_parallel) tables.push_back(placement.table);
  return tables;
}

std::map<int, int> shards_of(const Buckets& buckets) {
  std::map<int, int> shards;
  for (const auto& bucket : buckets)
    for (const int table : bucket) ++shards[table];
  return shards;
}

}  // namespace

TEST_CASE("every system of MLPerf's DLRM-DCNv2 gets the plan that it ran") {
  const Scenario scenario = read_scenario(SHARDSIM_SOURCE_DIR "/scenarios/mlperf_dcnv2.yaml", {});
  const std::map<std::string, Json> plans = plans_by_name();
  CHECK(scenario.cases.size() == plan_names().size());
  for (const Case& item : scenario.cases) {
    CAPTURE(item.name);
    REQUIRE(plan_names().contains(item.name));
    const Json& theirs = plans.at(plan_names().at(item.name));
    const Plan plan = make_plan(item, Cluster(item.cluster), scenario.seed, {});
    const Buckets published = sorted(theirs["buckets"].get<Buckets>());
    const Buckets ours = buckets_of(plan, published.size(), theirs["buckets_of"]);
    CHECK(replicated_tables(plan) == theirs["data_parallel"].get<std::vector<int>>());
    CHECK(shards_of(ours) == shards_of(published));
    if (theirs["ties"] != "tables") CHECK(ours == published);
  }
}

TEST_CASE("one of them is fitted, and each published time has its source") {
  const Scenario scenario = read_scenario(SHARDSIM_SOURCE_DIR "/scenarios/mlperf_dcnv2.yaml", {});
  int published = 0;
  for (const Case& item : scenario.cases) {
    CAPTURE(item.name);
    for (const Published& number : item.published) {
      CHECK(number.quantity == "iteration");
      CHECK((number.role == PublishedRole::fitted) == (item.name == "v3.0/h100/8x55296"));
      CHECK(number.source.starts_with("mlcommons/training_results_" + item.name.substr(0, 4) + "@"));
      ++published;
    }
  }
  CHECK(published == 18);
}

}  // namespace shardsim::mlperf_dcnv2_test
