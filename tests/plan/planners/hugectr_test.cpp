#include <doctest/doctest.h>

#include <algorithm>

#include "plan/check.h"
#include "plan/planners/hugectr_search.h"
#include "tests/plan/test_setting.h"

namespace shardsim::hugectr_test {
namespace {

using Buckets = std::vector<std::vector<int>>;  // tables of each

nlohmann::json published_plans() {
  std::ifstream file(SHARDSIM_SOURCE_DIR "/tests/plan/data/hugectr_plans.json");
  return nlohmann::json::parse(file);
}

// The 26 tables of DLRM-DCNv2, with element-wise Adagrad.
Workload dcnv2(const nlohmann::json& data) {
  std::vector<Table> tables;
  for (std::size_t i = 0; i < data["rows"].size(); ++i) {
    Table table = sequence_table(std::to_string(i), data["rows"][i], 128);
    table.average_length = data["lookups"][i];
    tables.push_back(table);
  }
  Workload workload = workload_of(std::move(tables));
  workload.optimizer = "adagrad";
  return workload;
}

Plan plan_of(const nlohmann::json& entry, const Workload& workload, double ratio) {
  const int of = entry["buckets_of"];
  const auto buckets = static_cast<int>(entry["buckets"].size());
  const Cluster cluster = of == 1 ? test_cluster(1, buckets, "80 GB") : test_cluster(buckets, of, "80 GB");
  const Plan plan = plan_by(
      fmt::format("{{name: hugectr, mode: {}, bandwidth_ratio: {}, data_parallel_threshold: {} MB, memory_cap: {} GB}}",
                  of == 1 ? "auto" : "hier_auto", ratio, entry["data_parallel_threshold_MB"].get<double>(),
                  entry["memory_cap_GB"].get<int>()),
      workload, cluster);
  CHECK_NOTHROW(check_plan(plan, workload, cluster, {}));
  return plan;
}

// The buckets of the GPUs, or of the nodes of `of` GPUs, which must then hold shards of the same tables.
Buckets buckets_of(const Plan& plan, std::size_t count, int of) {
  Buckets buckets(count);
  for (const Placement& placement : plan.placements) {
    if (placement.strategy == Strategy::data_parallel) continue;
    const std::vector<int>& ranks = placement.holders.front();
    CHECK(placement.strategy == Strategy::row_wise);
    CHECK(std::ranges::is_sorted(ranks));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      CHECK(ranks[i] % of == static_cast<int>(i) % of);
      if (ranks[i] % of == 0) buckets[static_cast<std::size_t>(ranks[i] / of)].push_back(placement.table);
    }
  }
  return buckets;
}

Buckets published_buckets(const nlohmann::json& entry) {
  auto buckets = entry["buckets"].get<Buckets>();
  for (std::vector<int>& bucket : buckets) std::ranges::sort(bucket);
  return buckets;
}

template <typename T>
std::vector<T> sorted(std::vector<T> items) {
  std::ranges::sort(items);
  return items;
}

// Lookups per sample of each shard of each bucket, largest first, and of all buckets in rising order: what ties between
// tables leave alone.
std::vector<std::vector<double>> shard_lookups(const Buckets& buckets, const nlohmann::json& lookups) {
  std::map<int, int> shards;
  for (const auto& bucket : buckets) {
    for (const int table : bucket) ++shards[table];
  }
  std::vector<std::vector<double>> all;
  for (const auto& bucket : buckets) {
    all.emplace_back();
    for (const int table : bucket) {
      all.back().push_back(lookups[static_cast<std::size_t>(table)].get<double>() / shards[table]);
    }
    std::ranges::sort(all.back());
  }
  return sorted(std::move(all));
}

// Gigabytes of one GPU of each bucket, in rising order.
std::vector<double> memory_gb(const Buckets& buckets, const nlohmann::json& data, int of) {
  std::map<int, int> shards;
  for (const auto& bucket : buckets) {
    for (const int table : bucket) ++shards[table];
  }
  std::vector<double> all;
  for (const auto& bucket : buckets) {
    double bytes = 0;
    for (const int table : bucket) {
      bytes += data["rows"][static_cast<std::size_t>(table)].get<double>() * 1024 / shards[table] / of;
    }
    all.push_back(bytes / 1e9);
  }
  return sorted(std::move(all));
}

void check_published(const nlohmann::json& data, const nlohmann::json& entry, double ratio) {
  CAPTURE(entry["name"].get<std::string>());
  CAPTURE(ratio);
  const Plan plan = plan_of(entry, dcnv2(data), ratio);
  std::vector<int> replicated;
  for (const Placement& placement : plan.placements) {
    if (placement.strategy == Strategy::data_parallel) replicated.push_back(placement.table);
  }
  CHECK(replicated == entry["data_parallel"].get<std::vector<int>>());
  const int of = entry["buckets_of"];
  const Buckets theirs = published_buckets(entry), ours = buckets_of(plan, theirs.size(), of);
  const std::string ties = entry["ties"];
  if (ties == "none") CHECK(ours == theirs);
  CHECK(shard_lookups(ours, data["lookups"]) == shard_lookups(theirs, data["lookups"]));
  std::vector<double> per_gpu;
  for (const std::vector<double>& shards : shard_lookups(ours, data["lookups"])) {
    double sum = 0;
    for (const double shard : shards) sum += shard;
    per_gpu.push_back(sum / of);
  }
  const auto lookups = sorted(entry["lookups_per_gpu"].get<std::vector<double>>());
  const auto memory = sorted(entry["memory_per_gpu_GB"].get<std::vector<double>>());
  const std::vector<double> bytes = memory_gb(ours, data, of);
  CHECK(bytes.back() <= entry["memory_cap_GB"].get<double>());
  std::ranges::sort(per_gpu);
  REQUIRE(per_gpu.size() == lookups.size());
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    CHECK(std::abs(per_gpu[i] - lookups[i]) <= 0.005);  // the rounding of the published figures
    if (ties != "tables") CHECK(std::abs(bytes[i] - memory[i]) <= 0.0051);
  }
}

}  // namespace

// Source of each in tests/plan/data/hugectr_plans.json.
TEST_CASE("hugectr gives the plans of MLPerf's DLRM-DCNv2") {
  const nlohmann::json data = published_plans();
  REQUIRE(data["plans"].size() == 17);
  for (const nlohmann::json& entry : data["plans"]) check_published(data, entry, entry["ratio"]);
}

TEST_CASE("hugectr gives the same plan of 8 GPUs for the ratios 9 and 11, as the logs of later rounds do") {
  const nlohmann::json data = published_plans();
  for (const nlohmann::json& entry : data["plans"]) {
    if (entry["name"] != "P8c") continue;
    check_published(data, entry, 9);
    check_published(data, entry, 11);
  }
}

TEST_CASE("hugectr round_robin and uniform ask nothing of tables") {
  const Cluster cluster = test_cluster(1, 2);
  const Workload workload = workload_of({sequence_table("a", 10), sequence_table("b", 10), sequence_table("c", 10)});
  const Plan dealt = plan_by("{name: hugectr, mode: round_robin}", workload, cluster);
  for (int table = 0; table < 3; ++table) {
    CHECK(dealt.placements[static_cast<std::size_t>(table)].holders == std::vector<std::vector<int>>{{table % 2}});
  }
  for (const Placement& placement : plan_by("{name: hugectr, mode: uniform}", workload, cluster).placements) {
    CHECK(placement.strategy == Strategy::row_wise);
    CHECK(placement.holders == std::vector<std::vector<int>>{{0, 1}});
  }
}

// By hand: 4 lookups and 2 lookups per sample, vectors for nothing: [a | b] costs 4, then a in two halves 2 + 2 | 2.
// A vector that costs 4 lookups (ratio 16) makes every cut worse: 8 and 6 against 6 + 6 and 6.
TEST_CASE("hugectr cuts the busiest table while that makes the costliest bucket cheaper") {
  const Cluster cluster = test_cluster(1, 2);
  Workload workload = workload_of({sequence_table("a", 10), sequence_table("b", 10)});
  workload.tables[0].average_length = 4;
  workload.tables[1].average_length = 2;
  const Plan free = plan_by("{name: hugectr, bandwidth_ratio: 0}", workload, cluster);
  CHECK(free.placements[0].holders == std::vector<std::vector<int>>{{0, 1}});
  const Plan costly = plan_by("{name: hugectr, bandwidth_ratio: 16}", workload, cluster);
  CHECK(costly.placements[0].holders == std::vector<std::vector<int>>{{0}});
  CHECK(costly.placements[1].holders == std::vector<std::vector<int>>{{1}});
}

// Vectors are so dear that no bucket takes two shards where it need not. 1.004 MB each: 1 MB, and 4 bytes of state per
// row.
TEST_CASE("hugectr cuts a table that fits nowhere, and says where nothing helps") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = workload_of({sequence_table("a", 1000, 250), sequence_table("b", 1000, 250)});
  const std::string head = "{name: hugectr, bandwidth_ratio: 1e6, memory_cap: ";
  for (const Placement& placement : plan_by(head + "1003 KB}", workload, cluster).placements) {
    CHECK(placement.shards() == 2);
  }
  for (const Placement& placement : plan_by(head + "1004 KB}", workload, test_cluster(1, 2)).placements) {
    CHECK(placement.shards() == 1);
  }
  for (const Placement& placement : plan_by(head + "1003 KB}", workload, test_cluster(1, 3)).placements) {
    CHECK(placement.shards() == 3);  // nor do two halves fit on one GPU: every table over all
  }
  const std::string text = error_of([&] { plan_by(head + "400 KB}", workload, cluster); });
  CHECK(has(text, "do not fit"));
  CHECK(has(text, "memory_cap"));
}

TEST_CASE("hugectr replicates tables below the threshold on all GPUs and takes their bytes off the cap") {
  const Cluster cluster = test_cluster(1, 3);
  const Workload workload =
      workload_of({sequence_table("small", 100, 250), sequence_table("a", 1000, 250), sequence_table("b", 1000, 250)});
  const std::string head = "{name: hugectr, bandwidth_ratio: 1e6, data_parallel_threshold: 200 KB, memory_cap: ";
  const Plan roomy = plan_by(head + "1105 KB}", workload, cluster);  // 1,004,000 and 100,400 bytes
  CHECK(roomy.placements[0].strategy == Strategy::data_parallel);
  CHECK(roomy.placements[0].holders == std::vector<std::vector<int>>{{0, 1, 2}});
  CHECK(roomy.placements[1].shards() == 1);
  CHECK(roomy.placements[2].shards() == 1);
  const Plan narrow = plan_by(head + "1104 KB}", workload, cluster);
  CHECK(narrow.placements[0].strategy == Strategy::data_parallel);
  CHECK(narrow.placements[1].shards() + narrow.placements[2].shards() > 2);
}

TEST_CASE("round_robin deals whole tables, and cuts those that are distributed") {
  const Workload workload = workload_of({sequence_table("a", 10), sequence_table("b", 10), sequence_table("wide", 10)});
  const Plan plan = plan_by("{name: hugectr, mode: round_robin, distributed: [wide]}", workload, test_cluster(1, 2));
  CHECK(plan.placements[0].holders == std::vector<std::vector<int>>{{0}});
  CHECK(plan.placements[1].holders == std::vector<std::vector<int>>{{1}});
  CHECK(plan.placements[2].holders == std::vector<std::vector<int>>{{0, 1}});
  const auto planned = [&](const std::string& keys) {
    return error_of([&] { plan_by("{name: hugectr, " + keys + "}", workload, test_cluster(1, 2)); });
  };
  CHECK(has(planned("mode: round_robin, distributed: [deep]"), "no table \"deep\""));
  CHECK(has(planned("mode: uniform, distributed: [wide]"), "distributed"));
}

TEST_CASE("hugectr refuses what its mode does not take") {
  CHECK(has(error_of([] { make_planner(options("{name: hugectr, mode: row_wise}")); }), "hier_auto"));
  CHECK(has(error_of([] { make_planner(options("{name: hugectr, bandwidth_ratio: -1}")); }), "bandwidth_ratio"));
  CHECK(
      has(error_of([] { make_planner(options("{name: hugectr, mode: uniform, memory_cap: 60 GB}")); }), "memory_cap"));
  const Workload workload = workload_of({sequence_table("a", 10)});
  CHECK(has(error_of([&] { plan_by("{name: hugectr, mode: hier_auto}", workload, test_cluster(1, 4)); }),
            "needs several nodes"));
}

// The lists are what numpy 1.24.2 gives for numpy.argsort.
TEST_CASE("equal values stand as numpy.argsort leaves them") {
  CHECK(numpy_order({}).empty());
  CHECK(numpy_order({2, 1, 2, 1}) == std::vector<int>{1, 3, 0, 2});
  std::vector<double> threes;
  for (int i = 0; i < 17; ++i) threes.push_back(i % 3);
  CHECK(numpy_order(threes) == std::vector<int>{0, 12, 3, 9, 6, 15, 13, 10, 16, 4, 1, 7, 5, 11, 2, 14, 8});
  CHECK(numpy_order(std::vector<double>(20, 1.0)) ==
        std::vector<int>{0, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 18, 19});
  std::vector<double> values;
  for (int i = 0; i < 500; ++i) values.push_back(i * 7919 % 50);
  const std::vector<int> order = numpy_order(values);
  std::vector<int> numbers(500);
  for (int i = 0; i < 500; ++i) numbers[static_cast<std::size_t>(i)] = i;
  CHECK(sorted(order) == numbers);
  for (std::size_t i = 1; i < order.size(); ++i) {
    CHECK(values[static_cast<std::size_t>(order[i - 1])] <= values[static_cast<std::size_t>(order[i])]);
  }
}

}  // namespace shardsim::hugectr_test
