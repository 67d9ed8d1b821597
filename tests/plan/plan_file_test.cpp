

#include "plan/plan_file.h"

#include <doctest/doctest.h>

#include "base/rng.h"
#include "base/tree/json.h"
#include "plan/check.h"
#include "tests/base/edited_text.h"
#include "tests/plan/test_setting.h"
#include "tests/without_columns.h"

namespace shardsim::plan_file_test {

namespace {

struct Setting {
  Cluster cluster = test_cluster(2, 4);
  Workload workload = workload_of({sequence_table("history", 8000, 64), sequence_table("recent", 1003, 256)}, 32);

  Setting() { workload.tables[1].kind = TableKind::pooled; }

  Plan read(const std::string& json) const { return plan_from_tree(parse_json(json, "plan.json"), workload, cluster); }
  std::string fault(const std::string& json) const {
    return testing::without_columns(error_of([&] { checked_plan(parse_json(json, "plan.json"), workload, cluster); }));
  }
};

// The tiers of the toy program example in docs/formats/plan.md: 64, 800 and 7,136 rows.
std::string tiered(const std::string& tiers = R"([
{"rows": [0, 64], "strategy": "data_parallel", "compute_kernel": "dense", "ranks": "0-7", "access_share": 0.25},
{"rows": [64, 864], "strategy": "flex", "compute_kernel": "dense", "replica_groups": ["0-3", "4-7"], "access_share": 0.25},
{"rows": [864, 8000], "strategy": "row_wise", "compute_kernel": "fused", "ranks": "0-7", "access_share": 0.5}])") {
  return R"({"schema": "shardsim.plan/1", "plan": {"ec": {"history": {
"sharding_type": "row_tiers", "rows": 8000, "dim": 64, "order": "popularity",
"hash": {"name": "feistel_splitmix/1", "seed": 7},
"tiers": )" +
         tiers +
         R"(}}, "ebc": {"recent": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1, 2, 3, 4, 5, 6, 7]}}}})";
}

}  // namespace

TEST_CASE("every planner's plan reads back as it was written") {
  for (const auto& shape : {std::pair{2, 4}, {1, 3}, {3, 1}}) {
    const auto nodes = shape.first;
    const auto gpus = shape.second;
    const Cluster cluster = test_cluster(nodes, gpus);
    Workload workload = workload_of({sequence_table("a", 5, 100), sequence_table("b.x-1", 12'345, 512)}, 64);
    for (const PlannerEntry& entry : planners()) {
      if (entry.name == "autoshard" || entry.name == "dreamshard" || entry.name == "per_table")
        continue;  // no sequences; it needs its `tables`
      for (const std::uint64_t seed : {1ULL, 0ULL, 123'456'789ULL}) {
        CAPTURE(entry.name);
        CAPTURE(nodes);
        const bool budgeted = entry.name.starts_with("flexshard");
        const Plan plan = plan_by("{name: " + std::string(entry.name) + (budgeted ? ", memory_budget: \"5 MB\"}" : "}"),
                                  workload, cluster, seed);
        const std::string json = plan_to_json(plan, workload, cluster);
        CHECK(plan_from_tree(parse_json(json, "plan.json"), workload, cluster) == plan);
        CHECK(json.back() == '\n');
      }
    }
  }
}

TEST_CASE("tiers are written as the format says") {
  const Setting setting;
  const Plan plan = setting.read(tiered());
  REQUIRE(plan.placements.size() == 4);
  CHECK(plan.hash_seed == 7);
  const auto json = nlohmann::json::parse(plan_to_json(plan, setting.workload, setting.cluster));
  CHECK(json["schema"] == "shardsim.plan/1");
  const auto& table = json["plan"]["ec"]["history"];
  CHECK(table["sharding_type"] == "row_tiers");
  CHECK(table["hash"]["seed"] == 7);
  CHECK(table["tiers"][0]["rows"] == nlohmann::json({0, 64}));
  CHECK(table["tiers"][0]["ranks"] == "0-7");
  CHECK(table["tiers"][1]["replica_groups"] == nlohmann::json({"0-3", "4-7"}));
  CHECK(table["tiers"][1]["compute_kernel"] == "dense");
  CHECK(table["tiers"][2]["access_share"].get<double>() == doctest::Approx(7136.0 / 8000));  // uniform access
  CHECK_FALSE(table.contains("shards"));
}

// Example of TorchRec's serialised plan shape (docs/formats/plan.md).
TEST_CASE("TorchRec's own types are read and written in its shape") {
  const Setting setting;
  const std::string text =
      R"({"plan": {"sparse.ebc": {"recent": {"sharding_type": "column_wise", "compute_kernel": "fused",
    "ranks": [0, 3], "some_key_of_torchrec": null,
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [1003, 128], "placement": "rank:0/cuda:0"},
               {"shard_offsets": [0, 128], "shard_sizes": [1003, 128], "placement": "rank:3/cuda:3"}]}},
    "ec": {"history": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [5],
    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [8000, 64], "placement": "rank:5/cuda:1"}]}}}})";
  const Plan plan = setting.read(text);
  CHECK_NOTHROW(check_plan(plan, setting.workload, setting.cluster, {}));
  REQUIRE(plan.placements.size() == 3);
  CHECK(plan.placements[0].strategy == Strategy::table_wise);
  CHECK(plan.placements[0].holders == std::vector<std::vector<int>>{{5}});
  CHECK(plan.placements[2].column_begin == 128);
  CHECK(plan.placements[2].holders == std::vector<std::vector<int>>{{3}});
  const auto json = nlohmann::json::parse(plan_to_json(plan, setting.workload, setting.cluster));
  CHECK(json["plan"]["ec"]["history"]["shards"][0]["placement"] == "rank:5/cuda:1");
  CHECK(json["plan"]["sparse.ebc"]["recent"]["ranks"] == nlohmann::json({0, 3}));
  CHECK(json["plan"]["sparse.ebc"]["recent"]["shards"][1]["shard_sizes"] == nlohmann::json({1003, 128}));
}

TEST_CASE("module paths are kept as they are read") {
  const Setting setting;
  const std::string text = edited(tiered(), "\"ebc\"", "\"model.sparse.ebc2\"");
  const Plan plan = setting.read(text);
  CHECK(plan.modules == std::map<int, std::string>{{1, "model.sparse.ebc2"}});
  const std::string written = plan_to_json(plan, setting.workload, setting.cluster);
  CHECK(nlohmann::json::parse(written)["plan"]["model.sparse.ebc2"].contains("recent"));
  CHECK(setting.read(written) == plan);
}

TEST_CASE("the load factor of a cache is TorchRec's cache_params") {
  const Setting setting;
  const auto text = [](const std::string& kernel, const std::string& cache) {
    return R"({"plan": {"ec": {"history": {"sharding_type": "table_wise", "compute_kernel": ")" + kernel +
           R"(", "ranks": [5],)" + cache +
           R"("shards": [{"shard_offsets": [0, 0], "shard_sizes": [8000, 64], "placement": "rank:5/cuda:1"}]}}}})";
  };
  const auto factor = [&](const std::string& kernel, const std::string& cache) {
    return setting.read(text(kernel, cache)).placements.at(0).cache_load_factor;
  };
  CHECK(factor("fused_uvm_caching", "") == 0.2);
  CHECK(factor("fused_uvm_caching", R"("cache_params": null,)") == 0.2);
  CHECK(factor("fused_uvm_caching", R"("cache_params": {"algorithm": null, "load_factor": null},)") == 0.2);
  CHECK(factor("fused_uvm_caching", R"("cache_params": {"load_factor": 0.5},)") == 0.5);
  CHECK(factor("fused_uvm", R"("cache_params": {"load_factor": 0.5},)") == 0.2);  // no cache
  const Plan plan = setting.read(text("fused_uvm_caching", R"("cache_params": {"load_factor": 1},)"));
  const std::string written = plan_to_json(plan, setting.workload, setting.cluster);
  CHECK(nlohmann::json::parse(written)["plan"]["ec"]["history"]["cache_params"]["load_factor"] == 1);
  CHECK(setting.read(written) == plan);
  for (const char* wrong : {"0", "-0.5", "1.01", "\"much\"", "[1]", "1e300"}) {
    CAPTURE(wrong);
    const std::string cache = fmt::format(R"("cache_params": {{"load_factor": {}}},)", wrong);
    CHECK(has(setting.fault(text("fused_uvm_caching", cache)), "plan.json:1"));
  }
  CHECK(has(setting.fault(text("fused_uvm_caching", R"("cache_params": 0.5,)")), "Write a map"));
  CHECK(has(setting.fault(text("fused_uvm_caching", R"("cache_params": {"load_facto": 0.5},)")),
            "Did you mean 'load_factor'?"));
  const auto idle = [&](const std::string& kernel, const std::string& cache) {
    return setting.read(text(kernel, cache)).idle_caches.size();
  };
  CHECK(idle("fused", R"("cache_params": {"load_factor": 0.5},)") == 1);
  CHECK(idle("fused", R"("cache_params": {"load_factor": null},)") == 0);
  CHECK(idle("fused_uvm_caching", R"("cache_params": {"load_factor": 0.5},)") == 0);
}

TEST_CASE("the caches of a key-value store are TorchRec's key_value_params, in its units") {
  const Setting setting;
  const auto text = [](const std::string& kernel, const std::string& params) {
    return R"({"plan": {"ec": {"history": {"sharding_type": "table_wise", "compute_kernel": ")" + kernel +
           R"(", "ranks": [5], "cache_params": {"load_factor": 0.5}, "key_value_params": )" + params +
           R"(, "shards": [{"shard_offsets": [0, 0], "shard_sizes": [8000, 64], "placement": "rank:5/cuda:1"}]}}}})";
  };
  const Plan plan = setting.read(
      text("key_value", R"({"max_l1_cache_size": 100, "l2_cache_size": 3, "ssd_storage_directory": "/data"})"));
  const Placement& placement = plan.placements.at(0);
  CHECK(placement.most_l1 == Bytes{std::int64_t{100} << 20});
  CHECK(placement.l2 == Bytes{std::int64_t{3} << 30});
  CHECK(placement.cache_load_factor == 0.5);
  const std::string written = plan_to_json(plan, setting.workload, setting.cluster);
  const auto params = nlohmann::json::parse(written)["plan"]["ec"]["history"]["key_value_params"];
  CHECK(params == nlohmann::json{{"max_l1_cache_size", 100}, {"l2_cache_size", 3}});
  CHECK(setting.read(written) == plan);
  for (const char* const nothing : {"null", "{}", R"({"max_l1_cache_size": null})"}) {
    CAPTURE(nothing);
    CHECK(!setting.read(text("key_value", nothing)).placements.at(0).most_l1);
  }
  CHECK(!setting.read(text("fused_uvm_caching", R"({"max_l1_cache_size": 1})")).placements.at(0).most_l1);
  CHECK(has(setting.fault(text("key_value", R"({"max_l1_cache_size": 0})")), "FBGEMM needs a cache"));
  CHECK(has(setting.fault(text("key_value", R"({"l2_cache_size": -1})")), "l2_cache_size is \"-1\""));
}

TEST_CASE("sequence tables of several dimensions are in a module of each, as TorchRec's EmbeddingCollection has one") {
  const Cluster cluster = test_cluster(1, 2);
  Workload workload =
      workload_of({sequence_table("a", 100, 64), sequence_table("b", 100, 32), sequence_table("c", 100, 32)});
  workload.tables[2].kind = TableKind::pooled;
  const Plan plan = plan_by("{name: row_wise}", workload, cluster);
  const auto json = nlohmann::json::parse(plan_to_json(plan, workload, cluster))["plan"];
  CHECK(json["ec_64"].contains("a"));
  CHECK(json["ec_32"].contains("b"));
  CHECK(json["ebc"].contains("c"));
  CHECK(plan_from_tree(parse_json(plan_to_json(plan, workload, cluster), "plan.json"), workload, cluster) == plan);
}

TEST_CASE("the types that stay in a node are read and written in TorchRec's shape") {
  const Setting setting;
  const auto shard = [](int row, int column, int rows, int columns, int rank) {
    return fmt::format(R"({{"shard_offsets": [{}, {}], "shard_sizes": [{}, {}], "placement": "rank:{}/cuda:{}"}})", row,
                       column, rows, columns, rank, rank % 4);
  };
  // Two column blocks, on node 0 and on node 1, each over two ranks; 1003 rows in ceil blocks.
  const std::string grid =
      R"({"sharding_type": "grid_shard", "compute_kernel": "fused_uvm_caching", "ranks": [0, 1, 6, 7],
    "shards": [)" +
      shard(0, 0, 502, 128, 0) + ", " + shard(502, 0, 501, 128, 1) + ", " + shard(0, 128, 502, 128, 6) + ", " +
      shard(502, 128, 501, 128, 7) + "]}";
  const std::string rows = R"({"sharding_type": "table_row_wise", "compute_kernel": "fused", "ranks": [4, 5, 6, 7],
    "shards": [)" + shard(0, 0, 2000, 64, 4) +
                           ", " + shard(2000, 0, 2000, 64, 5) + ", " + shard(4000, 0, 2000, 64, 6) + ", " +
                           shard(6000, 0, 2000, 64, 7) + "]}";
  const std::string columns = R"({"sharding_type": "table_column_wise", "ranks": [4, 4],
    "shards": [)" + shard(0, 0, 8000, 32, 4) +
                              ", " + shard(0, 32, 8000, 32, 4) + "]}";
  const auto plan_text = [](const std::string& recent, const std::string& history) {
    return R"({"plan": {"ebc": {"recent": )" + recent + R"(}, "ec": {"history": )" + history + "}}}";
  };
  for (const std::string& history : {rows, columns}) {
    const std::string text = plan_text(grid, history);
    CHECK(setting.fault(text).empty());
    const Plan plan = setting.read(text);
    CHECK(setting.read(plan_to_json(plan, setting.workload, setting.cluster)) == plan);
  }
  const Plan plan = setting.read(plan_text(grid, rows));
  REQUIRE(plan.placements.size() == 3);
  CHECK(plan.placements[0].strategy == Strategy::table_row_wise);
  CHECK(plan.placements[0].shards() == 4);
  CHECK(plan.placements[1].strategy == Strategy::grid_shard);
  CHECK(plan.placements[1].compute_kernel == "fused_uvm_caching");
  CHECK(plan.placements[2].column_begin == 128);
  CHECK(plan.placements[2].holders == std::vector<std::vector<int>>{{6, 7}});
  const std::string ours = plan_to_json(plan, setting.workload, setting.cluster);
  CHECK(nlohmann::json::parse(ours)["plan"]["ebc"]["recent"]["ranks"] == nlohmann::json({0, 1, 6, 7}));

  const auto fault = [&](const std::string& text) { return setting.fault(text); };
  CHECK(has(fault(plan_text(edited(grid, "[0, 1, 6", "[0, 1, 2"), rows)), "beside rank 2"));
  CHECK(has(fault(plan_text(edited(grid, "[501, 128]", "[500, 128]"), rows)), "even blocks of rows"));
  CHECK(has(fault(plan_text(edited(grid, "fused_uvm_caching", "fused_umv"), rows)),
            "plan.json:1: table 'recent': unknown compute kernel"));
  CHECK(has(fault(plan_text(grid, edited(edited(rows, "[4, 5", "[3, 5"), "rank:4/cuda:0", "rank:3/cuda:3"))),
            "table 'history', table_row_wise: rank 5 is on node 1, others are on node 0"));
  CHECK(has(fault(plan_text(grid, edited(edited(columns, "[4, 4]", "[4, 3]"), "32], \"placement\": \"rank:4/cuda:0\"}]",
                                         "32], \"placement\": \"rank:3/cuda:3\"}]"))),
            "table 'history', table_column_wise: rank 3 is on node 0, others are on node 1"));
  CHECK(has(fault(plan_text(R"({"sharding_type": "data_parallel", "compute_kernel": "fused", "ranks": [0, 1, 2, 3, 4, 5,
    6, 7]})",
                            rows)),
            "compute kernel \"fused\" for replicated rows"));
}

TEST_CASE("row-wise blocks are read as TorchRec cuts them and as we do, and no other way") {
  const Setting setting;
  const auto json = [](const std::vector<int>& sizes) {
    std::string ranks, shards;
    int row = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const char* comma = i == 0 ? "" : ", ";
      ranks += comma + std::to_string(i);
      shards += fmt::format(
          "{}{{\"shard_offsets\": [{}, 0], \"shard_sizes\": [{}, 256], \"placement\": \"rank:{}/cuda:{}\"}}", comma,
          row, sizes[i], i, i % 4);
      row += sizes[i];
    }
    return R"({"plan": {"ebc": {"recent": {"sharding_type": "row_wise", "ranks": [)" + ranks + R"(], "shards": [)" +
           shards +
           R"(]}}, "ec": {"history": {"sharding_type": "data_parallel", "ranks": [0, 1, 2, 3, 4, 5, 6, 7]}}}})";
  };
  CHECK(setting.fault(json({251, 251, 251, 250})).empty());            // 1003 = 3 * 251 + 250: both rules
  CHECK(setting.fault(json({168, 167, 167, 167, 167, 167})).empty());  // ours
  CHECK(setting.fault(json({168, 168, 168, 168, 168, 163})).empty());  // TorchRec's: ceil(1003 / 6) = 168
  CHECK(setting.fault(json({354, 354, 295})).empty());                 // 17 buckets of 59: 6, 6 and 5
  CHECK(has(setting.fault(json({413, 295, 295})), "whole buckets"));   // 7, 5 and 5 of 59
  CHECK(has(setting.fault(json({500, 250, 250, 3})), "even blocks"));
  CHECK(has(setting.fault(json({251, 251, 251, 249})), "even blocks"));
}

TEST_CASE("row-wise blocks are written as TorchRec cuts them, since it finds a row's shard by them") {
  Setting setting;
  const Plan plan = plan_by("{name: row_wise}", setting.workload, setting.cluster);
  const auto json = nlohmann::json::parse(plan_to_json(plan, setting.workload, setting.cluster));
  const auto& shards = json["plan"]["ebc"]["recent"]["shards"];
  REQUIRE(shards.size() == 8);
  for (int i = 0; i < 8; ++i) {  // ceil(1003 / 8) = 126
    CHECK(shards[i]["shard_offsets"] == nlohmann::json({126 * i, 0}));
    CHECK(shards[i]["shard_sizes"] == nlohmann::json({i < 7 ? 126 : 121, 256}));
  }
}

TEST_CASE("a table that is flex as a whole means row_tiers with one flex tier") {
  const Setting setting;
  const std::string head = R"({"plan": {"ec": {"history": {"rows": 8000, "dim": 64, "order": "popularity", "hash":
    {"name": "feistel_splitmix/1", "seed": 3}, )";
  const std::string flex =
      head + R"("sharding_type": "flex", "compute_kernel": "dense", "replica_groups": ["0-3", [4, 5, 6, 7]]}}}})";
  const std::string tiers = head + R"("sharding_type": "row_tiers", "tiers": [{"rows": [0, 8000], "strategy": "flex",
    "replica_groups": ["0-3", "4-7"]}]}}}})";
  CHECK(setting.read(flex) == setting.read(tiers));
  CHECK(setting.read(flex).hash_seed == 3);
}

TEST_CASE("a table has as many tiers as a Program can have, and the one beyond them is told") {
  const Setting setting;
  const std::string tier = R"(, "strategy": "row_wise", "ranks": "0-7"})";
  const std::string three =
      "[\n{\"rows\": [0, 2]" + tier + ",\n{\"rows\": [2, 9]" + tier + ",\n{\"rows\": [9, 8000]" + tier;
  CHECK(setting.fault(tiered(three + "]")).empty());
  const std::string four = edited(three, "8000", "50") + ",\n{\"rows\": [50, 8000]" + tier + "]";
  CHECK(has(setting.fault(tiered(four)), "plan.json:8: table 'history' has more than 3 tiers"));
}

TEST_CASE("what is wrong in a plan file is told with its line") {
  const Setting setting;
  REQUIRE(setting.fault(tiered()).empty());
  CHECK(has(setting.fault(edited(tiered(), "\"access_share\": 0.25", "\"access_share\": \"abc\"")), "access_share"));
  struct Case {
    std::string what, with, says;
  };
  for (const Case& item : {
           Case{"[0, 64]", "[1, 64]", "plan.json:5"},
           Case{"[64, 864]", "[65, 864]", "plan.json:6: table 'history': the tier holds rows 65 to 864"},
           Case{"[64, 864]", "[60, 864]", "begin at 64"},
           Case{"[64, 864]", "[64, 64]", "plan.json:6"},
           Case{"[864, 8000]", "[864, 8001]", "8000 at the latest"},
           Case{"[864, 8000]", "[864, 7999]", "the tiers end at row 7999"},
           Case{"[864, 8000]", "[864, 1e300]", "plan.json:7"},
           Case{"[864, 8000]", "[864, -8000]", "plan.json:7"},
           Case{"[864, 8000]", "[864]", "rows has 1 numbers"},
           Case{"[864, 8000]", "[864, \"8000\"]", "quotes"},
           Case{"[864, 8000]", "[864, 8000.5]", "plan.json:7"},
           Case{"\"row_wise\"", "\"row_wize\"", "row_wise"},
           Case{"\"row_wise\"", "7", "plan.json:7"},
           Case{"\"fused\"", "\"dense\"", "plan.json:7"},
           Case{"\"0-3\"", "\"0-2\"", "replica groups of 3 and 4 ranks"},
           Case{"\"0-3\"", "\"1-4\"", "rank 4 is named twice"},
           Case{"[\"0-3\", \"4-7\"]", "[]", "no rank"},
           Case{"\"4-7\"", "\"4-8\"", "plan.json:6"},
           Case{"\"ranks\": \"0-7\"", "\"rank\": \"0-7\"", "ranks"},
           Case{"\"ranks\": \"0-7\"", "\"ranks\": \"0-7\", \"extra\": 1", "unknown key \"extra\""},
           Case{"\"popularity\"", "\"row_id\"", "popularity"},
           Case{"\"access_share\": 0.5", "\"access_share\": 1e308", "plan.json:7: history.tiers.access_share"},
           Case{"\"access_share\": 0.5", "\"access_share\": -0.5", "is not a share from 0 to 1"},
           Case{"feistel_splitmix/1", "md5", "feistel_splitmix/1"},
           Case{"\"seed\": 7", "\"seed\": -7", "plan.json:3"},
           Case{"\"rows\": 8000", "\"rows\": 8001", "The workload's table has 8000"},
           Case{"\"dim\": 64", "\"dim\": 128", "The workload's table has 64"},
           Case{"\"row_tiers\"", "\"row_teirs\"", "row_tiers"},
           Case{"\"row_tiers\"", "\"table_rows_wise\"", "is not known here"},
           Case{"\"row_tiers\"", "\"table_row_wise\"", "the key 'ranks' is missing"},
           Case{"\"history\"", "\"histori\"", "the workload has no table"},
           Case{"\"recent\"", "\"history\"", "is in two modules"},
           Case{"shardsim.plan/1", "shardsim.plan/2", "shardsim.plan/1"},
           Case{"\"plan\":", "\"plans\":", "'plan'"},
           Case{"\"plan\":", "\"hsah\": {}, \"plan\":", "unknown key \"hsah\""},
           Case{"[0, 1, 2, 3, 4, 5, 6, 7]", "[0, 1, 2, 3, 4, 5, 6, 8]", "plan.json:7"},
           Case{"[0, 1, 2, 3, 4, 5, 6, 7]", "[0, 1, 2, 3, 4, 5, 6, 6]", "plan.json:7"},
           Case{"[0, 1, 2, 3, 4, 5, 6, 7]", "[]", "a rank set is missing or empty"},
       }) {
    CAPTURE(item.what);
    CAPTURE(item.with);
    const std::string text = setting.fault(edited(tiered(), item.what, item.with));
    CHECK(has(text, "plan.json"));
    CHECK(has(text, item.says));
    CHECK_FALSE(has(text, "\n"));
  }
}

TEST_CASE("a table that the plan leaves out is a table whose rows nobody holds") {
  const Setting setting;
  CHECK(has(setting.fault(R"({"plan": {}})"), "table 'history': rows 0 to 8000 are not held"));
}

TEST_CASE("broken plan files give one Error, whatever the breakage") {
  const Setting setting;
  const std::string whole = tiered();
  for (std::size_t length = 0; length < whole.size() - 1; length += 3) {
    CHECK_THROWS_AS(setting.read(whole.substr(0, length)), Error);
  }
  Rng rng(11);
  const std::string noise = "{}[],:\"0123456789eE+-. \ntfn";
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (std::uint64_t edit = 0; edit <= rng.below(3); ++edit) {
      const std::size_t at = rng.below(text.size());
      if (rng.below(2) == 0) {
        text[at] = noise[rng.below(noise.size())];
      } else {
        text.erase(at, rng.below(12));
      }
    }
    try {
      check_plan(setting.read(text), setting.workload, setting.cluster, {"plan.json", 0, 0});
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::input);
    }
  }
}

TEST_CASE("a plan that no file can say is refused when written") {
  const Setting setting;
  Plan plan = setting.read(tiered());
  plan.placements[2].column_end = 32;
  CHECK_THROWS_AS(plan_to_json(plan, setting.workload, setting.cluster), Error);
}

}  // namespace shardsim::plan_file_test
