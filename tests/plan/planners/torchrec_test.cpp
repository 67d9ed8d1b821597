#include <doctest/doctest.h>

#include "plan/check.h"
#include "plan/plan_file.h"
#include "tests/plan/hand_context.h"
#include "tests/plan/test_setting.h"

namespace shardsim::planners_torchrec_test {
namespace {

Workload small_model() {
  return workload_of(
      {pooled_table("a", 1'000'000, 128, 30), pooled_table("b", 5'003, 64, 1), sequence_table("c", 200'000, 256)}, 512);
}

std::string fault_of(const std::string& yaml, const Workload& workload = small_model()) {
  const Cluster cluster = test_cluster(2, 4);
  return error_of([&] { plan_by(yaml, workload, cluster); });
}

Failure failure_of(const std::string& yaml, const Workload& workload) {
  try {
    plan_by(yaml, workload, test_cluster(2, 4));
  } catch (const Error& error) {
    return error.failure();
  }
  return Failure::run;
}

}  // namespace

TEST_CASE("TorchRec's plan covers every table and reads back as it was written") {
  const Cluster cluster = test_cluster(2, 4);
  const Workload workload = small_model();
  for (const char* type : {"table_wise", "row_wise", "column_wise", "data_parallel", "table_row_wise",
                           "table_column_wise", "grid_shard"}) {
    CAPTURE(std::string(type));
    const std::string yaml = fmt::format(
        "{{name: torchrec, constraints: {{a: {{sharding_types: [{}], min_partition: 32}}, b: {{sharding_types: "
        "[{}]}}}}}}",
        type, type);
    const Plan plan = plan_by(yaml, workload, cluster);
    CHECK_NOTHROW(check_plan(plan, workload, cluster, {}));
    CHECK(strategy_name(plan.placements.front().strategy) == type);
    const std::string text = plan_to_json(plan, workload, cluster);
    CHECK(plan_from_tree(parse_yaml(text, "plan.json"), workload, cluster) == plan);
  }
}

TEST_CASE("row blocks are written as TorchRec cuts them") {
  const Cluster cluster = test_cluster(2, 4);
  const Workload workload = small_model();
  const Plan plan = plan_by("{name: torchrec, constraints: {b: {sharding_types: [row_wise]}}}", workload, cluster);
  const auto json = nlohmann::json::parse(plan_to_json(plan, workload, cluster));
  const auto& shards = json["plan"]["ebc"]["b"]["shards"];
  CHECK(shards[0]["shard_sizes"] == nlohmann::json({626, 64}));  // ceil(5003 / 8)
  CHECK(shards[7]["shard_sizes"] == nlohmann::json({621, 64}));
  CHECK(shards[7]["shard_offsets"] == nlohmann::json({4382, 0}));
}

TEST_CASE("what TorchRec does not know is refused with a hint") {
  CHECK(has(fault_of("{name: torchrec, constraints: {a: {sharding_types: [rowwise]}}}"), "Did you mean 'row_wise'?"));
  CHECK(has(fault_of("{name: torchrec, constraints: {a: {compute_kernels: [uvm]}}}"),
            "unknown compute kernel of TorchRec"));
  CHECK(has(fault_of("{name: torchrec, constraints: {aa: {compute_kernels: [fused]}}}"), "no table \"aa\""));
  CHECK(has(fault_of("{name: torchrec, proposers: [greedi]}"), "Did you mean 'greedy'?"));
  CHECK(has(fault_of("{name: torchrec, proposers: []}"), "proposers: the list is empty"));
  CHECK(has(fault_of("{name: torchrec, bins_per_device: 1e12}"), "from 1 to 10000"));
  CHECK(has(fault_of("{name: torchrec, tolerance: -1}"), "from 0 to 1000000"));
  CHECK(has(fault_of("{name: torchrec, constraints: [a]}"), "is no map"));
  CHECK(has(fault_of("{name: torchrec}", workload_of({pooled_table("a", 1000, 64, 1e200)})), "2^62 bytes"));
  CHECK(has(fault_of("{name: torchrec, storage_reservation: {percentage: 1.5}}"), "percentage"));
  CHECK(has(fault_of("{name: torchrec, constraints: {a: {sharding_types: [table_wise], compute_kernels: [dense]}}}"),
            "leave no sharding type and kernel"));
  CHECK(has(fault_of("{name: torchrec, objective: simulated}"), "needs a simulator"));
}

TEST_CASE("a key that would change nothing is refused: of a choice not made, or of another device") {
  for (const char* keys : {"max_search_count: 5", "tolerance: 0.1", "partitioner: memory_balanced, sort_by: perf",
                           "candidates: 3", "bins_per_device: 10", "proposers: [greedy], max_proposals: 10",
                           "storage_reservation: {type: inference, parameter_multiplier: 2}",
                           "storage_reservation: {type: fixed_percentage, dense_tensor_estimate: 1 GB}",
                           "constraints: {a: {compute_kernels: [fused, fused_uvm], cache_load_factor: 0.5}}",
                           "topology: {ddr_bandwidth: 10 GB/s}"}) {
    CAPTURE(keys);
    CHECK(has(fault_of(fmt::format("{{name: torchrec, {}}}", keys)), "has no effect"));
  }
  for (const char* keys : {"topology: {uneven_sharding_perf_multiplier: 2}", "constraints: {a: {enforce_hbm: true}}"}) {
    CAPTURE(keys);
    CHECK(has(fault_of(fmt::format("{{name: torchrec, {}}}", keys)), "unknown key"));
  }
  for (const char* keys :
       {"partitioner: memory_balanced, max_search_count: 5, tolerance: 0.1", "sort_by: perf",
        "proposers: [dynamic_programming], bins_per_device: 10", "proposers: [grid_search, greedy], max_proposals: 10",
        "storage_reservation: {type: inference, dense_tensor_estimate: 1 MB}",
        "constraints: {a: {compute_kernels: [fused, fused_uvm_caching], cache_load_factor: 0.5}}",
        "constraints: {a: {cache_load_factor: 0.5}}", "storage_reservation: {parameter_multiplier: 2}",
        "topology: {hbm_bandwidth: 10 GB/s}"}) {
    CAPTURE(keys);
    CHECK(fault_of(fmt::format("{{name: torchrec, {}}}", keys)) == "");
  }
}

TEST_CASE("sequence tables of two dimensions are planned as two collections") {
  const Workload workload = workload_of({sequence_table("c", 1000, 64), sequence_table("d", 1000, 128)}, 16);
  const Plan plan = plan_by("{name: torchrec}", workload, test_cluster(2, 4));
  CHECK_NOTHROW(check_plan(plan, workload, test_cluster(2, 4), {}));
}

TEST_CASE("a model that does not fit: exit 3, the tables, what is missing, the smallest change") {
  const Workload workload =
      workload_of({pooled_table("big", 1'000'000'000, 256, 1), pooled_table("small", 1000, 64, 1)});
  const std::string fused = "{name: torchrec, constraints: {\"*\": {compute_kernels: [fused]}}}";
  CHECK(failure_of(fused, workload) == Failure::infeasible);
  const std::string text = fault_of(fused, workload);
  CHECK(has(text, "no plan fits"));
  CHECK(has(text, "Largest tables: big ("));
  CHECK(has(text, "are missing"));
  CHECK(has(text, "allow host memory"));
  CHECK(has(text, "ranks instead of 8"));
}

TEST_CASE("a reservation of more than a rank has says what it may be, and asks for no more memory") {
  const Workload workload = workload_of({pooled_table("a", 1000, 64, 1)});
  const std::string yaml = "{name: torchrec, storage_reservation: {type: fixed_absolute, hbm_reserved: 900 GB}}";
  CHECK(failure_of(yaml, workload) == Failure::infeasible);
  const std::string text = fault_of(yaml, workload);
  CHECK(has(text, "no memory is left for tables: hbm_reserved is 838 GiB, and a rank has"));
  CHECK(has(text, "Reserve "));
  CHECK(has(text, " at most"));
  CHECK(!has(text, "more device memory"));
}

TEST_CASE("a shard that finds no rank is named") {
  const Workload workload =
      workload_of({pooled_table("wide", 100'000'000, 128, 1), pooled_table("small", 1000, 64, 1)});
  const std::string yaml =
      "{name: torchrec, constraints: {wide: {sharding_types: [table_wise], compute_kernels: [fused]}}}";
  CHECK(failure_of(yaml, workload) == Failure::infeasible);
  CHECK(has(fault_of(yaml, workload), "a shard of table 'wide'"));
}

TEST_CASE("the guide's rows are for estimates: its plan still holds every row") {
  const Workload workload = workload_of({pooled_table("b", 5'003, 64, 1)}, 16);
  const std::string yaml = "{name: torchrec, rules: {rw_rows: true}, constraints: {b: {sharding_types: [row_wise]}}}";
  CHECK_NOTHROW(check_plan(plan_by(yaml, workload, test_cluster(2, 4)), workload, test_cluster(2, 4), {}));
}

TEST_CASE("a note names the tables whose output_dtype is not what is exchanged") {
  Workload workload = small_model();
  const auto memory = paper_memory();
  std::vector<std::string> notes;
  HandContext context{*memory, 1};
  context.note = [&](const std::string& line) { notes.push_back(line); };
  const auto plan = [&](const std::string& type) {
    notes.clear();
    const auto planner = make_planner(options("{name: torchrec, constraints: {a: {output_dtype: " + type + "}}}"));
    planner->plan(workload, test_cluster(2, 4), context);
  };
  plan("fp32");
  CHECK(notes.empty());
  plan("fp16");
  REQUIRE(notes.size() == 1);
  CHECK(has(notes[0], "which differs (a as fp32)"));
  workload.wire_forward = WireDtype{Dtype::fp16};
  plan("fp16");
  CHECK(notes.empty());
}

TEST_CASE("candidates are judged by the simulation when it is asked to") {
  const Workload workload = small_model();
  const Cluster cluster = test_cluster(2, 4);
  const auto memory = paper_memory();
  int calls = 0;
  std::vector<std::string> notes;
  HandContext context{*memory, 1};
  context.simulate = [&](const Plan&) { return Seconds{1.0 / ++calls}; };  // the last one judged is the fastest
  context.note = [&](const std::string& line) { notes.push_back(line); };
  make_planner(options("{name: torchrec, objective: simulated, candidates: 3}"))->plan(workload, cluster, context);
  CHECK(calls == 3);
  REQUIRE(notes.size() == 4);
  CHECK(has(notes[1], "number 3 of the estimate"));
  CHECK(has(notes[2], "it differs in "));
  CHECK(has(notes[3], "3 of 3 pairs differently"));
}

TEST_CASE("a candidate that cannot be simulated is left out, and said; nothing is chosen when none can") {
  const Workload workload = small_model();
  const Cluster cluster = test_cluster(2, 4);
  const auto memory = paper_memory();
  int calls = 0, refused = 1;
  std::vector<std::string> notes;
  HandContext context{*memory, 1};
  context.simulate = [&](const Plan&) {
    if (++calls <= refused) throw input_error({"op"}, "has a kernel of estimates", "Use fused");
    return Seconds{1};
  };
  context.note = [&](const std::string& line) { notes.push_back(line); };
  const auto planner = make_planner(options("{name: torchrec, objective: simulated, candidates: 3}"));
  planner->plan(workload, cluster, context);
  REQUIRE_FALSE(notes.empty());
  CHECK(has(notes.front(), "1 candidates cannot be simulated"));
  calls = 0;
  refused = 3;
  CHECK_THROWS_WITH_AS(planner->plan(workload, cluster, context), doctest::Contains("kernel of estimates"), Error);
}

TEST_CASE("a search that the user stops ends there") {
  struct Stopped {};
  const auto memory = paper_memory();
  HandContext context{*memory, 1};
  int asked = 0;
  context.check_stop = [&] {
    if (++asked == 3) throw Stopped{};
  };
  CHECK_THROWS_AS(make_planner(options("{name: torchrec}"))->plan(small_model(), test_cluster(2, 4), context), Stopped);
  CHECK(asked == 3);
}

TEST_CASE("what TorchRec would read as something else is refused") {
  const Workload workload = small_model();
  const std::string name = workload.tables.front().name;
  CHECK(has(fault_of("{name: torchrec, constraints: {" + name + ": {device_group: cpu}}}", workload),
            "device group cpu"));
  CHECK(has(fault_of("{name: torchrec, constraints: {" + name + ": {sharding_types: []}}}", workload), "empty"));
  CHECK(has(fault_of("{name: torchrec, version: 2025-10, topology: {ddr_cap: \"0 B\"}}", workload), "its default"));
}

TEST_CASE("what came with 2026-08 is refused by the older version, and a version that is none by both") {
  for (const char* keys : {"topology: {pod_size: 1}", "topology: {ssd_cap: 1 TiB}", "topology: {ssd_mem_bw: 1 GB/s}",
                           "storage_reservation: {type: fixed_absolute, hbm_reserved: 1 GiB}",
                           "storage_reservation: {type: sku_aware, margin: 1 GiB}",
                           "constraints: {a: {compute_kernels: [fused, dram_ssd_virtual_table]}}"}) {
    CAPTURE(keys);
    CHECK(fault_of(fmt::format("{{name: torchrec, {}}}", keys)) == "");
    const std::string fault = fault_of(fmt::format("{{name: torchrec, version: \"2025-10\", {}}}", keys));
    CHECK(has(fault, "version 2025-10 of TorchRec's planner does not have it"));
    CHECK(has(fault, "state version: \"2026-08\""));
  }
  CHECK(has(fault_of("{name: torchrec, version: \"2026-09\"}"), "2026-08"));
}

TEST_CASE("keys of reservations belong to their type") {
  for (const char* keys :
       {"type: sku_aware, margin: 1 GiB, percentage: 0.1", "type: sku_aware, margin: 1 GiB, hbm_reserved: 1 GiB",
        "type: sku_aware, margin: 1 GiB, model_base: 1 GiB", "hbm_reserved: 1 GiB", "margin: 1 GiB",
        "type: sku_aware, model_base: 1 GiB, parameter_multiplier: 2",
        "type: fixed_absolute, hbm_reserved: 1 GiB, percentage: 0.1"}) {
    CAPTURE(keys);
    CHECK(has(fault_of(fmt::format("{{name: torchrec, storage_reservation: {{{}}}}}", keys)), "has no effect"));
  }
  CHECK(has(fault_of("{name: torchrec, storage_reservation: {type: fixed_absolute}}"), "hbm_reserved"));
  CHECK(has(fault_of("{name: torchrec, storage_reservation: {type: sku_aware}}"), "margin"));
  CHECK(has(fault_of("{name: torchrec, storage_reservation: {type: sku_aware, margin: 1 TiB}}"), "run-time overhead"));
}

TEST_CASE("an SSD is a third kind of memory, and key_value needs it") {
  const auto key_value = [](const std::string& topology, const char* version) {
    return fault_of(
        fmt::format("{{name: torchrec, version: {}, {} constraints: {{a: {{sharding_types: [table_wise], "
                    "compute_kernels: [key_value], max_l1_cache_size: 8 MiB}}}}}}",
                    version, topology));
  };
  CHECK(key_value("", "2026-08") == "");
  CHECK(key_value("", "2025-10") == "");
  CHECK(has(key_value("topology: {ssd_cap: 0 B},", "2026-08"), "key_value needs an SSD"));
  CHECK(has(key_value("topology: {ssd_cap: 1 MiB},", "2026-08"), "SSD memory"));
  CHECK(has(key_value("topology: {ssd_cap: [1 GiB, 1 GiB]},", "2026-08"), "2 values for 8 ranks"));
  CHECK(has(key_value("topology: {ssd_cap: []},", "2026-08"), "empty"));
  CHECK(has(fault_of("{name: torchrec, constraints: {a: {max_l1_cache_size: 8 MiB}}}"), "has no effect"));
}

TEST_CASE("hosts of an NVLink domain: more than there are ranks is no domain") {
  CHECK(has(fault_of("{name: torchrec, topology: {pod_size: 9}}"), "9 hosts for 8 ranks"));
  CHECK(has(fault_of("{name: torchrec, topology: {pod_size: 0}}"), "pod_size"));
}

TEST_CASE("2026-08 checks the kernels of its plan, the older version does not") {
  const std::string full = "constraints: {a: {compute_kernels: [fused_uvm_caching], cache_load_factor: 1}}}";
  CHECK(has(fault_of("{name: torchrec, " + full), "table 'a': kernel fused_uvm_caching needs a cache_load_factor"));
  CHECK(fault_of("{name: torchrec, version: \"2025-10\", " + full) == "");
}

TEST_CASE("tables with feature processors are cut by rows where constraints ask for it") {
  const Workload workload = workload_of({pooled_table("a", 1'000'000, 128, 30)}, 512);
  const auto rows = [&](const char* version) {
    return fault_of(fmt::format("{{name: torchrec, version: {}, constraints: {{a: {{feature_processor: true, "
                                "sharding_types: [row_wise]}}}}}}",
                                version),
                    workload);
  };
  CHECK(rows("2026-08") == "");
  CHECK(has(rows("2025-10"), "leave no sharding type"));
}

TEST_CASE("kernels that TorchRec's sharders do not offer are there where the sharder offers them") {
  const std::string wanted = "constraints: {a: {sharding_types: [table_wise], compute_kernels: [fused_triton]}}}";
  CHECK(has(fault_of("{name: torchrec, " + wanted), "leave no sharding type and kernel"));
  const Plan plan = plan_by("{name: torchrec, sharder: {compute_kernels: [fused, fused_triton]}, " + wanted,
                            small_model(), test_cluster(2, 4));
  CHECK(plan.placements.front().compute_kernel == "fused_triton");
  CHECK(has(fault_of("{name: torchrec, sharder: {compute_kernels: [quant]}}"), "for training"));
  CHECK(has(fault_of("{name: torchrec, sharder: {compute_kernels: [fused_tryton]}}"), "fused_triton"));
  CHECK(has(fault_of("{name: torchrec, version: \"2025-10\", sharder: {compute_kernels: [fused_triton]}}"),
            "version 2025-10"));
  const Plan rows =
      plan_by("{name: torchrec, sharder: {sharding_types: [row_wise]}}", small_model(), test_cluster(2, 4));
  for (const Placement& placement : rows.placements) CHECK(placement.strategy == Strategy::row_wise);
}

TEST_CASE("ranks that are TPUs, as the estimates see them") {
  const std::string tpu = "{name: torchrec, topology: {device: tpu}, sharder: {compute_kernels: [unfused_tpu]}";
  CHECK(has(fault_of(tpu + "}"), "kernel unfused_tpu has no bandwidth on tpu"));
  const std::string rate = ", hardware: {kernel_device_bandwidths: {unfused_tpu: 1 TB/s}}}";
  const Plan plan = plan_by(tpu + rate, small_model(), test_cluster(2, 4));
  CHECK(plan.placements.front().compute_kernel == "unfused_tpu");
  CHECK(has(fault_of("{name: torchrec, version: \"2025-10\", topology: {device: tpu}}"), "does not have it"));
  CHECK(has(fault_of("{name: torchrec, topology: {device: tpu, hbm_to_ddr_bandwidth: 1 GB/s}}"), "no effect"));
  CHECK(has(fault_of("{name: torchrec, topology: {device: tpu, ssd_mem_bw: 1 GB/s}}"), "no effect"));
}

TEST_CASE("tables of buckets: whole buckets on every rank, one at least") {
  const Workload workload = workload_of({pooled_table("a", 1'000'000, 128, 30)}, 512);
  const auto keys = [](const std::string& buckets) {
    return "{name: torchrec, constraints: {a: {sharding_types: [row_wise], " + buckets + "}}}";
  };
  const Cluster cluster = test_cluster(2, 4);
  const Plan plan = plan_by(keys("total_num_buckets: 10"), workload, cluster);
  const std::string text = plan_to_json(plan, workload, cluster);
  const auto shards = nlohmann::json::parse(text)["plan"]["ebc"]["a"]["shards"];
  CHECK(shards[1]["shard_sizes"] == nlohmann::json({200'000, 128}));
  CHECK(shards[2]["shard_sizes"] == nlohmann::json({100'000, 128}));
  CHECK(plan_from_tree(parse_yaml(text, "plan.json"), workload, cluster) == plan);
  CHECK(has(fault_of(keys("total_num_buckets: 4"), workload), "4 buckets for 8 ranks"));
  CHECK(has(fault_of(keys("total_num_buckets: 12"), workload), "do not divide into 12 buckets"));
  CHECK(has(fault_of(keys("total_num_buckets: 10, managed_collision: true"), workload), "do not divide evenly"));
  const std::string even = keys("total_num_buckets: 16, managed_collision: true");
  CHECK(plan_by(even, workload, cluster) == plan_by(keys("min_partition: 128"), workload, cluster));
  CHECK(has(fault_of(keys("managed_collision: true"), workload), "belongs to total_num_buckets"));
}

TEST_CASE("a hardware configuration changes which plan is the best") {
  const Workload workload = workload_of({pooled_table("a", 1'000'000, 128, 30)}, 512);
  const auto type_by = [&](const std::string& hardware) {
    const Plan plan = plan_by(
        "{name: torchrec, constraints: {a: {sharding_types: [row_wise, table_wise]}}, hardware: {" + hardware + "}}",
        workload, test_cluster(2, 4));
    return plan.placements.front().strategy;
  };
  CHECK(type_by("coefficients: [{fwd: [1, 1, 1, 0]}]") == Strategy::row_wise);
  CHECK(type_by("coefficients: [{sharding_type: row_wise, fwd: [900, 900, 900, 0]}]") == Strategy::table_wise);
  CHECK(type_by("coefficients: [{sharding_type: row_wise, compute_kernel: fused, bwd: [900, 900, 900, 0]}], "
                "kernel_device_bandwidths: {fused_uvm: 1 KB/s, fused_uvm_caching: 1 KB/s}") == Strategy::table_wise);
}

TEST_CASE("a hardware configuration that TorchRec would not look at is refused") {
  const auto fault = [](const std::string& hardware) {
    return fault_of("{name: torchrec, hardware: {" + hardware + "}}");
  };
  CHECK(has(fault("coefficients: [{fwd: [1, 1, 1]}]"), "fwd"));
  CHECK(has(fault("coefficients: [{fwd: [1, 1, 1, -1]}]"), "-1"));
  CHECK(has(fault("coefficients: [{fwd: [1, 1, 1, .nan]}]"), "nan"));
  CHECK(has(fault("coefficients: [{sharding_type: row_wise}]"), "neither fwd nor bwd"));
  CHECK(has(fault("coefficients: [{sharding_type: grid_shard, fwd: [1, 1, 1, 0]}]"), "those of table_row_wise"));
  CHECK(has(fault("coefficients: [{compute_kernel: fused, fwd: [1, 1, 1, 0]}]"), "State sharding_type"));
  CHECK(has(fault("coefficients: [{fwd: [1, 1, 1, 0]}, {bwd: [1, 1, 1, 0]}]"), "another entry"));
  CHECK(has(fault("coefficients: [{sharding_type: rowwise, fwd: [1, 1, 1, 0]}]"), "Did you mean 'row_wise'?"));
  CHECK(has(fault("coefficients: {row_wise: 1}"), "list"));
  CHECK(has(fault("kernel_device_bandwidths: {fussed: 1 GB/s}"), "Did you mean 'fused'?"));
  CHECK(has(fault("kernel_device_bandwidths: {fused: 0 GB/s}"), "GB/s"));
  CHECK(has(fault("device_bandwidth: 1 TB/s"), "device_bandwidth"));
  CHECK(has(fault("supported_sharding_types: [row_wise]"), "none of the supported_sharding_types"));
  CHECK(has(fault_of("{name: torchrec, version: \"2025-10\", hardware: {device_bw: 1 TB/s}}"), "does not have it"));
}

}  // namespace shardsim::planners_torchrec_test
