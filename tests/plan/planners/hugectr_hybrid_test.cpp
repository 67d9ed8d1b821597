#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/tree/yaml.h"
#include "plan/check.h"
#include "tests/plan/hand_context.h"
#include "tests/plan/test_setting.h"

namespace shardsim::hugectr_hybrid_test {
namespace {

// MLPerf's DLRM with Criteo's popularity, every table a sequence of one id.
Workload one_hot_sequences(std::int64_t batch_per_gpu) {
  const std::string folder = SHARDSIM_SOURCE_DIR "/scenarios/workloads";
  Workload workload = read_workload(read_yaml_file(folder + "/mlperf_dlrm.yaml"), folder);
  workload.batch_per_gpu = batch_per_gpu;
  for (Table& table : workload.tables) table.kind = TableKind::sequence;
  return workload;
}

struct Hybrid {
  Plan plan;
  std::map<std::string, double> figures;
};

Hybrid hybrid(const std::string& keys, const Workload& workload, const Cluster& cluster) {
  Hybrid result;
  const auto memory = paper_memory();
  HandContext context{*memory, 1};
  context.figure = [&](const std::string& name, double value) { result.figures[name] = value; };
  result.plan = make_planner(options("{name: hugectr_hybrid" + keys + "}"))->plan(workload, cluster, context);
  CHECK_NOTHROW(check_plan(result.plan, workload, cluster, {}));
  return result;
}

std::string hybrid_error(const std::string& keys, const Workload& workload) {
  return error_of([&] { hybrid(keys, workload, test_cluster(1, 2)); });
}

struct LoggedCount {
  std::int64_t batch = 0;
  int gpus = 0;
  double p_dup_max = 0;
  double frequent = 0, share = 0;
};

// mlcommons/training_results_v1.0 to v2.1, ORG/results/SYSTEM/dlrm/result_*.txt: "Initialized hybrid model with K
// frequent categories, probability". p_dup_max of the configurations, 0.01 where they say nothing.
constexpr std::array<LoggedCount, 9> kLogged = {{{55296, 8, 0.01, 48984, 0.911326},
                                                 {55296, 4, 0.01, 76316, 0.926583},
                                                 {55296, 8, 0.02, 38160, 0.901154},
                                                 {55296, 4, 0.02, 60328, 0.918924},
                                                 {51200, 8, 0.03, 31152, 0.891876},
                                                 {51456, 8, 0.03, 31480, 0.892597},
                                                 {55296, 8, 0.03, 33096, 0.894836},
                                                 {55296, 4, 0.03, 53964, 0.914957},
                                                 {27648, 8, 0.03, 19272, 0.868396}}};

// Rows of falling probability, 0.3 0.2 0.1 and 0.25 0.15: so many expected occurrences per sample.
Workload two_explicit_tables() {
  Table a = sequence_table("a", 3, 4), b = sequence_table("b", 2, 4);
  a.access.family = b.access.family = "explicit";
  a.access.p = {0.3, 0.2, 0.1};
  b.access.p = {0.25, 0.15};
  a.average_length = 0.6;
  b.average_length = 0.4;
  return workload_of({a, b}, 10);
}

}  // namespace

TEST_CASE("the count of frequent categories is near what MLPerf's logs print") {
  for (const LoggedCount& logged : kLogged) {
    CAPTURE(logged.gpus);
    CAPTURE(logged.frequent);
    const Workload workload = one_hot_sequences(logged.batch / logged.gpus);
    const Cluster cluster = test_cluster(1, logged.gpus);
    const double count =
        hybrid(fmt::format(", p_dup_max: {}", logged.p_dup_max), workload, cluster).figures.at("frequent_categories");
    CHECK(count / logged.frequent > 0.83);
    CHECK(count / logged.frequent < 1.06);
    CHECK(std::fmod(count, logged.gpus) == 0);
  }
}

TEST_CASE("the most frequent rows of all tables get the share of lookups that MLPerf's logs print") {
  for (const LoggedCount& logged : kLogged) {
    CAPTURE(logged.frequent);
    const Hybrid found = hybrid(fmt::format(", frequent_categories: {:.0f}", logged.frequent),
                                one_hot_sequences(logged.batch / logged.gpus), test_cluster(1, logged.gpus));
    CHECK(found.figures.at("frequent_categories") == logged.frequent);
    CHECK(std::abs(found.figures.at("share_of_frequent") - logged.share) < 0.005);
  }
}

TEST_CASE("rows are replicated by falling probability over all tables, the rest lies row-wise") {
  const Workload workload = two_explicit_tables();
  const Hybrid found = hybrid(", frequent_categories: 3", workload, test_cluster(1, 2));  // 0.3, 0.25, 0.2
  CHECK(rows_of(found.plan, Strategy::data_parallel, 0) == 2);
  CHECK(rows_of(found.plan, Strategy::data_parallel, 1) == 1);
  CHECK(rows_of(found.plan, Strategy::row_wise, 0) == 1);
  CHECK(rows_of(found.plan, Strategy::row_wise, 1) == 1);
  CHECK(found.figures.at("share_of_frequent") == doctest::Approx(0.75));
  for (const Placement& placement : found.plan.placements) CHECK(placement.holders.front() == std::vector<int>{0, 1});
  CHECK(hybrid(", frequent_categories: 99", workload, test_cluster(1, 2)).figures.at("frequent_categories") == 5);
}

// One node, b = 10: sqrt(2 p / 90) >= 0.2 for p = 1.8. Two nodes, batch 40: 2 x 2 x a / r x e / 40.
TEST_CASE("the rule on one node and on several, worked by hand") {
  const Workload workload = two_explicit_tables();
  const auto count = [&](const std::string& keys, int nodes) {
    return hybrid(keys, workload, test_cluster(nodes, 2)).figures.at("frequent_categories");
  };
  CHECK(count(", p_dup_max: 1.79", 1) == 4);  // 0.3 0.25 0.2, rounded up to the GPUs
  CHECK(count(", p_dup_max: 1.81", 1) == 2);
  CHECK(count(", p_dup_max: 0.1", 1) == 4);  // all five, and six are not there
  const std::string equal = ", max_all_to_all_bandwidth: 10 GB/s, max_all_reduce_bandwidth: 10 GB/s";
  CHECK(count(equal + ", efficiency_bandwidth_ratio: 2.4", 2) == 4);  // at least 0.24: two, then a multiple of four
  CHECK(count(equal + ", efficiency_bandwidth_ratio: 3.1", 2) == 0);
  CHECK(count(equal + ", efficiency_bandwidth_ratio: 1, max_num_frequent_categories: 0.05", 2) == 4);  // at most two
}

TEST_CASE("a hybrid embedding takes sequences, and either a count or the rule") {
  Workload pooled = two_explicit_tables();
  pooled.tables[1].kind = TableKind::pooled;
  CHECK(has(hybrid_error("", pooled), "table 'b' is pooled"));
  const Workload workload = two_explicit_tables();
  CHECK(has(hybrid_error(", frequent_categories: 3, p_dup_max: 0.1", workload), "p_dup_max"));
  CHECK(has(hybrid_error(", p_dup_max: 0", workload), "p_dup_max: \"0\" is not above 0"));
  CHECK(has(hybrid_error(", efficiency_bandwidth_ratio: -1", workload), "above 0"));
  CHECK(has(hybrid_error(", max_num_frequent_categories: 0", workload), "above 0"));
}

}  // namespace shardsim::hugectr_hybrid_test
