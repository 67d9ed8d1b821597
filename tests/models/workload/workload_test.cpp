#include "models/workload/workload.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "tests/models/workload_text.h"

namespace shardsim::workload_test {
namespace {

std::string shipped_path(const std::string& name) {
  return fmt::format("{}/scenarios/workloads/{}.yaml", SHARDSIM_SOURCE_DIR, name);
}

Workload shipped(const std::string& name) {
  return read_workload(read_yaml_file(shipped_path(name)), SHARDSIM_SOURCE_DIR "/scenarios/workloads");
}

}  // namespace

TEST_CASE("the shipped FlexShard models have the lengths of their fits") {
  CHECK(shipped("rm1").tables[0].average_length == doctest::Approx(960.9388).epsilon(1e-7));
  CHECK(shipped("rm2").tables[0].average_length == doctest::Approx(954.9450).epsilon(1e-7));
  CHECK(shipped("rm2_flex_stop").tables[0].average_length == doctest::Approx(959.6272).epsilon(1e-7));
  CHECK(shipped("rm3").tables[0].average_length == doctest::Approx(481.6256).epsilon(1e-7));
  CHECK(shipped("rm4").tables[0].average_length == doctest::Approx(472.5268).epsilon(1e-7));
  CHECK(shipped("huge_1e10").tables[0].average_length == doctest::Approx(1836.1363).epsilon(1e-7));
}

TEST_CASE("every shipped workload file can be read and bears its file's name") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SHARDSIM_SOURCE_DIR "/scenarios/workloads")) {
    // The tables of another workload are taken by the reader of scenarios, whose tests have this one.
    if (entry.path().extension() != ".yaml" || entry.path().stem() == "mlperf_dlrm_hybrid") continue;
    CHECK(shipped(entry.path().stem().string()).name == entry.path().stem().string());
    ++files;
  }
  CHECK(files >= 8);
}

TEST_CASE("RM-1: the setting of the FlexShard paper") {
  const Workload rm1 = shipped("rm1");
  CHECK(rm1.batch_per_gpu == 4096);
  CHECK(rm1.id_bytes == 8);
  CHECK(rm1.optimizer == "rowwise_adagrad");
  REQUIRE(rm1.tables.size() == 1);
  const Table& table = rm1.tables[0];
  CHECK(table.name == "history");
  CHECK(table.rows == 30'000'000);
  CHECK(table.row_bytes() == 1024);
  CHECK(table.kind == TableKind::sequence);
  CHECK(table.place.line == 9);
  REQUIRE(table.features.size() == 1);
  CHECK(table.features[0].name == "history");
  CHECK(rm1.has_runtime());
  // Table 6: 972,424,960 elements of the row-wise all-to-all, batch 4096, dimension 256.
  CHECK(table.runtime->average_length == doctest::Approx(972'424'960.0 / (4096 * 256)));
  REQUIRE(table.runtime->shares.size() == 3);
  CHECK(table.runtime->shares[1].rows == 346'144);
}

TEST_CASE("RM-1: the measured rest of the iteration, its split and its source") {
  const Workload rm1 = shipped("rm1");
  REQUIRE(rm1.dense.measured);
  CHECK(rm1.dense.measured->rest.ms() == 102);
  CHECK(rm1.dense.measured->fitted);
  CHECK(rm1.dense.measured->source == "FlexShard paper, throughput gain of 2-tier");
  CHECK(rm1.dense.measured->dense_backward.time.ms() == doctest::Approx(54.51));
  CHECK(rm1.dense.measured->update.time.ms() == 13);
  CHECK(rm1.dense.parameters.count == 0);
  REQUIRE(rm1.sources.size() == 1);
  CHECK(rm1.sources[0].path == "dense.measured.rest");
}

TEST_CASE("a pooled model: lengths, features, wire types, dense layers") {
  const Workload dlrm = shipped("dlrm_3");
  CHECK(dlrm.pipeline == "sparse_dist");
  CHECK(dlrm.wire_forward == WireDtype{Dtype::fp16});
  CHECK(dlrm.wire_backward == WireDtype{Dtype::bf16});
  CHECK(wire_dtype(dlrm.wire_backward, dlrm.tables[0]) == Dtype::bf16);
  REQUIRE(dlrm.tables.size() == 3);
  CHECK(dlrm.tables[0].row_bytes() == 256);
  CHECK(dlrm.tables[1].features == std::vector<Feature>{{"items", 30, 1, false}});
  CHECK(dlrm.tables[2].features == std::vector<Feature>{{"item_tags", 8, 1, false}, {"user_tags", 2.5, 1, true}});
  CHECK(dlrm.tables[2].average_length == doctest::Approx(10.5));
  CHECK(dlrm.tables[2].pooling == "mean");
  CHECK(dlrm.tables[2].lengths.family == "poisson");
  CHECK(dlrm.tables[2].distribution().total() == doctest::Approx(10.5));
  CHECK(dlrm.dense.interaction == "dot");
  REQUIRE(dlrm.dense.layers.size() == 6);
  CHECK(dlrm.dense.layers[2].name == "dot");
  // Weights and biases in fp32.
  const std::int64_t parameters = 14 * 512 + 513 * 128 + 352 * 1024 + 2 * 1025 * 1024 + 1025;
  CHECK(dlrm.dense.parameters.count == 4 * parameters);
}

// TorchRec's lookups return fp32, and so it is reduced: an int8 wire would be 4 times too fast.
TEST_CASE("vectors are fp32 on the wire unless the workload asks for another type") {
  Table rows;
  rows.dtype = Dtype::int8;
  CHECK(wire_dtype(std::nullopt, rows) == Dtype::fp32);
  CHECK(wire_dtype(WireDtype{Dtype::fp16}, rows) == Dtype::fp16);
  CHECK(wire_dtype(WireDtype{}, rows) == Dtype::int8);
  const Workload w = parsed("wire_dtype: {forward: table}\n" + one_table(kSequence));
  CHECK(w.wire_forward == WireDtype{});
  CHECK_FALSE(w.wire_backward);
}

TEST_CASE("a table may have a type on the wire, and a module, of its own") {
  const Workload w = parsed("wire_dtype: {forward: fp16}\n" +
                            one_table(std::string(kSequence) + ", module: m.ec, wire_dtype: {backward: fp8}"));
  CHECK(w.tables[0].module == "m.ec");
  CHECK(forward_wire(w, w.tables[0]) == Dtype::fp16);
  CHECK(backward_wire(w, w.tables[0]) == Dtype::fp8);
  CHECK(dtype_bytes(Dtype::fp8) == 1);
}

TEST_CASE("the first module is that of the first table, unless the workload states it") {
  const Workload plain = parsed(one_table(kSequence)),
                 stated = parsed("modules: {first: pooled}\n" + one_table(kSequence));
  CHECK(plain.first_kind() == TableKind::sequence);
  CHECK(stated.first_kind() == TableKind::pooled);
}

TEST_CASE("modules that are exchanged apart are TorchRec's, with weights for all of their ids or for none") {
  const auto with = [](const std::string& module, const std::string& more = "") {
    return "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\nmodules: {exchanges: each}\ntables:\n"
           "- {name: a, rows: 10, dim: 4, kind: pooled, pooling_factor: 3}\n"
           "- {name: b, rows: 10, dim: 4, kind: pooled, " +
           module + "features: [{name: b, pooling_factor: 3, weighted: true}]}\n" + more;
  };
  const std::string apart = "module: weighted_ebc, ";
  CHECK(parsed(with(apart)).modules_apart);
  CHECK_FALSE(parsed(one_table(kSequence)).modules_apart);
  check_refused(with(""), "w.yaml:7", "tables 'a' and 'b' are in module ebc, and only ids of 'b' have weights");
  check_refused(with(""), "w.yaml:7", "give tables with weights a 'module' of their own");
  check_refused(with(apart, "embedding_kernels: hugectr\n"), "w.yaml:6", "this workload is HugeCTR's");
}

TEST_CASE("defaults are those of the documented format") {
  const Workload w = parsed(one_table(kSequence));
  CHECK(w.pipeline == "none");
  CHECK(w.id_bytes == 8);
  CHECK(w.pooled_module == "ebc");
  CHECK(w.sequence_module == "ec");
  CHECK_FALSE(w.wire_forward);
  CHECK(w.tables[0].dtype == Dtype::fp32);
  CHECK(w.tables[0].access.family == "uniform");
  CHECK(w.tables[0].lengths.family == "fixed");
  CHECK(w.tables[0].features == std::vector<Feature>{{"t", 5, 1, false}});
  CHECK_FALSE(w.tables[0].runtime);
  CHECK_FALSE(w.dense.measured);
  CHECK(w == parsed("# moved by a line\n" + one_table(kSequence)));
}

TEST_CASE("pipelines have TorchRec's names, too") {
  const auto pipeline = [](const std::string& name) {
    return parsed(one_table(kSequence, "pipeline: " + name)).pipeline;
  };
  CHECK(pipeline("train_sparse_dist") == "sparse_dist");
  CHECK(pipeline("prefetch_train_sparse_dist") == "prefetch_sparse_dist");
  CHECK(pipeline("train_prefetch_sparse_dist") == "prefetch_sparse_dist");
  CHECK(pipeline("prefetch_sparse_dist") == "prefetch_sparse_dist");
}

TEST_CASE("the exchange of ids is full where TorchRec's pipelines or pooled tables are meant") {
  const auto full = [](const std::string& table, const std::string& more = "") {
    return parsed(one_table(table, more)).full_input_exchange();
  };
  const std::string pooled = "name: t, rows: 100, dim: 4, kind: pooled";
  CHECK_FALSE(full(kSequence));
  CHECK(full(kSequence, "pipeline: sparse_dist"));
  CHECK(full(kSequence, "input_exchange: full"));
  CHECK(full(pooled));
  CHECK_FALSE(full(pooled, "input_exchange: ids"));
  CHECK_FALSE(shipped("rm1").full_input_exchange());  // its rest is measured
}

TEST_CASE("optimizer state per row") {
  CHECK(optimizer_row_bytes("sgd", 64) == 0);
  CHECK(optimizer_row_bytes("rowwise_adagrad", 64) == 4);
  CHECK(optimizer_row_bytes("adagrad", 64) == 256);
  CHECK(optimizer_row_bytes("adam", 64) == 512);
  CHECK(optimizer_row_bytes("lamb", 64) == 512);
  CHECK_THROWS_AS(optimizer_row_bytes("adamw", 64), Error);
}

TEST_CASE("broken workloads are refused with place") {
  const auto refused = [](const std::string& more, const char* fragment) {
    check_refused(one_table(kSequence, more), "w.yaml:5:", fragment);
  };
  refused("id_bytes: 6", "id_bytes: \"6\" is not known here");
  refused("optimizer: {name: adamw}", "adam");
  refused("optimizer: {name: sgd, update: fast}", "fast");
  refused("pipeline: long", "long");
  refused("input_exchange: some", "some");
  refused("input_exchange: none", "sequence");
  refused("input_exchange: none\npipeline: sparse_dist", "a pipeline prepares the exchange of ids");
  refused("embedding_kernels: many", "many");
  refused("pipeline: hugectr", "is a sequence");
  refused("embedding_kernels: hugectr", "is a sequence");
  refused("embedding_kernels: hugectr_hybrid", "needs sequences of one id");
  refused("dense: {precision: fp64}", "fp64");
  refused("wire_dtype: {forward: fp64}", "fp64");
  refused("wire_dtype: {sideways: fp16}", "sideways");
  refused("modules: {pooled: ec}", "both modules");
  refused("modules: {exchanges: apart}", "apart");
  refused("batch_size: 3", "batch_size");
  refused("dense: {measured: {rest: 1 ms}, layers: []}", "both 'layers' and 'measured'");
  refused("dense: {measured: {rest: 1 ms}}", "split");
  refused("dense: {layers: [{name: l, in: 0, out: 1}]}", "dense.layers.0.in");
  refused("dense: {layers: [{name: l, in: 9000000000000000, out: 9000000000000000}]}", "bytes of parameters");
  refused("dense: {parameters_bytes: 12}", "parameters_bytes");
  refused("optimizer: {update: in_place}", "in_place");
  refused("dense: {interaction: {kind: dcn}}", "'dense.interaction.layers' is missing");
  refused("dense: {interaction: {kind: dot, rank: 3}}", "unknown key \"rank\"");
}

TEST_CASE("a feature of several tables has one number of ids") {
  const auto of = [](const std::string& a, const std::string& b) {
    return "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 2\ntables:\n  - {name: a, rows: 9, dim: 4, " + a +
           "}\n  - {name: b, rows: 9, dim: 4, " + b + "}\n";
  };
  const char* const ten = "kind: pooled, features: [{name: f, pooling_factor: 5, num_poolings: 2}]";
  for (const char* const same :
       {ten, "kind: pooled, features: [{name: f, pooling_factor: 10}, g], pooling_factor: 3",
        "kind: sequence, average_length: 10, features: [f]", "kind: sequence, average_length: 20, features: [f, g]"})
    CHECK(read_workload(parse_yaml(of(ten, same), "w.yaml"), "").tables.size() == 2);
  for (const char* const other : {"kind: pooled, features: [f], pooling_factor: 5", "kind: pooled, features: [f]",
                                  "kind: sequence, average_length: 10, features: [f, g]"}) {
    check_refused(of(ten, other), "w.yaml:6:", "feature 'f' has");
    check_refused(of(other, ten), "w.yaml:6:", "feature 'f' has 10 ids a sample in table 'b'");
  }
}

TEST_CASE("broken heads are refused") {
  check_refused("schema: shardsim.cluster/1\nname: w\n", "w.yaml:1:", "shardsim.workload/1");
  check_refused("schema: shardsim.workload/1\nname: W 1\n", "w.yaml:2:", "name");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 0\n", "w.yaml:3:", "batch_per_gpu");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 2000000000\n", "w.yaml:3:", "batch_per_gpu");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\n", "w.yaml:1:", "tables");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\ntables: []\n",
                "w.yaml:4:", "tables: the list is empty");
  const std::string two =
      fmt::format("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\ntables:\n  - {{{}}}\n  - {{{}}}\n",
                  kSequence, kSequence);
  check_refused(two, "w.yaml:6:", "'t' is there twice");
  check_refused(
      "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\nid_bytes: 4\ntables:\n"
      "  - {name: t, rows: 3000000000, dim: 4, kind: sequence, average_length: 5}\n",
      "w.yaml:6:", "id_bytes: 8");
}

}  // namespace shardsim::workload_test
