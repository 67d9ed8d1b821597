#include "models/workload.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/hdf5.h"
#include "base/yaml.h"

namespace shardsim {
namespace {

std::string shipped_path(const std::string& name) {
  return fmt::format("{}/scenarios/workloads/{}.yaml", SHARDSIM_SOURCE_DIR, name);
}

Workload shipped(const std::string& name) {
  return read_workload(read_yaml_file(shipped_path(name)), SHARDSIM_SOURCE_DIR "/scenarios/workloads");
}

Workload parsed(const std::string& yaml, const std::string& folder = ".") {
  return read_workload(parse_yaml(yaml, "w.yaml"), folder);
}

// A correct workload of one table; lines 1 to 3, the table's keys on line 4, further top-level keys from line 5.
std::string one_table(const std::string& table_keys, const std::string& more = "") {
  return "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\ntables: [{" + table_keys + "}]\n" + more;
}

const char* const kSequence = "name: t, rows: 100, dim: 4, kind: sequence, average_length: 5";

void check_refused(const std::string& yaml, const char* place, const char* fragment) {
  CAPTURE(yaml);
  CHECK_THROWS_WITH_AS(parsed(yaml), doctest::Contains(fragment), Error);
  CHECK_THROWS_WITH_AS(parsed(yaml), doctest::Contains(place), Error);
}

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("shardsim_workload_{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void write_counts(const std::string& path, const std::vector<std::int64_t>& counts, std::int64_t samples) {
  Hdf5Writer writer;
  writer.scale<std::int64_t>("/tables/clicks/row", counts.size(), {"1", "row"});
  writer.dataset<std::int64_t>("/tables/clicks/count", counts, {"/tables/clicks/row"}, {"1", "accesses"});
  writer.attribute<std::int64_t>("/tables/clicks/count", "samples", samples);
  writer.save(path);
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
    if (entry.path().extension() != ".yaml") continue;
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
  CHECK(rm1.update == "exact_sorted");
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
  CHECK(rm1.dense.measured->dense_backward.time.ms() == 52);
  CHECK(rm1.dense.measured->update.time.ms() == 13);
  CHECK(rm1.dense.parameters.count == 0);
  REQUIRE(rm1.sources.size() == 1);
  CHECK(rm1.sources[0].path == "dense.measured.rest");
}

TEST_CASE("a pooled model: lengths, features, wire types, dense layers") {
  const Workload dlrm = shipped("dlrm_3");
  CHECK(dlrm.pipeline == "sparse_dist");
  CHECK(dlrm.wire_forward == Dtype::fp16);
  CHECK(dlrm.wire_backward == Dtype::bf16);
  REQUIRE(dlrm.tables.size() == 3);
  CHECK(dlrm.tables[0].row_bytes() == 256);
  CHECK(dlrm.tables[1].features == std::vector<Feature>{{"items", 30, 1, false}});
  CHECK(dlrm.tables[2].features == std::vector<Feature>{{"item_tags", 8, 1, false}, {"user_tags", 2.5, 1, true}});
  CHECK(dlrm.tables[2].average_length == doctest::Approx(10.5));
  CHECK(dlrm.tables[2].pooling == "mean");
  CHECK(dlrm.tables[2].length_family == "poisson");
  CHECK(dlrm.tables[2].distribution().total() == doctest::Approx(10.5));
  CHECK(dlrm.dense.interaction == "dot");
  REQUIRE(dlrm.dense.layers.size() == 5);
  // Weights and biases in fp32.
  const std::int64_t parameters = 14 * 512 + 513 * 128 + 352 * 1024 + 2 * 1025 * 1024 + 1025;
  CHECK(dlrm.dense.parameters.count == 4 * parameters);
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
  CHECK(w.tables[0].length_family == "fixed");
  CHECK(w.tables[0].features == std::vector<Feature>{{"t", 5, 1, false}});
  CHECK_FALSE(w.tables[0].runtime);
  CHECK_FALSE(w.dense.measured);
  CHECK(w == parsed("# moved by a line\n" + one_table(kSequence)));
}

TEST_CASE("copies are equal tables that differ in name") {
  const Workload w = parsed(one_table("name: t, copies: 3, rows: 100, dim: 4, kind: pooled, pooling_factor: 2"));
  REQUIRE(w.tables.size() == 3);
  CHECK(w.tables[0].name == "t_0");
  CHECK(w.tables[2].name == "t_2");
  CHECK(w.tables[2].features[0].name == "t_2");
  CHECK(w.tables[2].average_length == 2);
  CHECK(parsed(one_table("name: t, copies: 1, rows: 100, dim: 4, kind: pooled")).tables[0].name == "t_0");
}

TEST_CASE("runtime without a length observes the planned one") {
  const Workload w =
      parsed(one_table(std::string(kSequence) + ", runtime: {source: a log, shares: [{rows: 10, share: 50 %}]}"));
  CHECK(w.tables[0].runtime->average_length == 5);
  CHECK(w.tables[0].runtime->shares[0].share == 0.5);
}

TEST_CASE("optimizer state per row") {
  CHECK(optimizer_row_bytes("sgd", 64) == 0);
  CHECK(optimizer_row_bytes("rowwise_adagrad", 64) == 4);
  CHECK(optimizer_row_bytes("adagrad", 64) == 256);
  CHECK(optimizer_row_bytes("adam", 64) == 512);
  CHECK(optimizer_row_bytes("lamb", 64) == 512);
  CHECK_THROWS_AS(optimizer_row_bytes("adamw", 64), Error);
}

TEST_CASE("access counts come from HDF5 as count / samples, sorted") {
  const TemporaryFolder folder;
  write_counts(folder.path() + "/counts.h5", {1, 8, 3, 0}, 4);
  const std::string keys =
      "name: t, rows: 4, dim: 4, kind: sequence, access: {family: counts, file: counts.h5, table: clicks}";
  const Table table = parsed(one_table(keys), folder.path()).tables[0];
  CHECK(table.access.p == std::vector<double>{2, 0.75, 0.25, 0});
  CHECK(table.average_length == 3);
}

TEST_CASE("access counts that do not fit are refused, naming file and table") {
  const TemporaryFolder folder;
  const auto refused = [&](std::int64_t rows, const char* table, const char* fragment) {
    const std::string yaml = one_table(fmt::format(
        "name: t, rows: {}, dim: 4, kind: sequence, access: {{family: counts, file: c.h5, table: {}}}", rows, table));
    CHECK_THROWS_WITH_AS(parsed(yaml, folder.path()), doctest::Contains(fragment), Error);
    CHECK_THROWS_WITH_AS(parsed(yaml, folder.path()), doctest::Contains("c.h5"), Error);
  };
  refused(4, "clicks", "no such file");
  write_file(folder.path() + "/c.h5", "not HDF5 at all");
  refused(4, "clicks", "HDF5");
  write_counts(folder.path() + "/c.h5", {1, 8, 3, 0}, 4);
  refused(5, "clicks", "5 rows");
  refused(4, "likes", "likes");
  write_counts(folder.path() + "/c.h5", {1, -8, 3, 0}, 4);
  refused(4, "clicks", "negative");
  write_counts(folder.path() + "/c.h5", {1, 8, 3, 0}, 0);
  refused(4, "clicks", "samples");
}

TEST_CASE("broken tables are refused with place") {
  const auto refused = [](const std::string& keys, const char* fragment) {
    check_refused(one_table(keys), "w.yaml:4:", fragment);
  };
  const std::string sequence = kSequence;
  refused("name: t, rows: 0, dim: 4, kind: sequence, average_length: 5", "rows");
  refused("name: t, rows: -5, dim: 4, kind: sequence, average_length: 5", "rows");
  refused("name: t, rows: 1e300, dim: 4, kind: sequence, average_length: 5", "rows");
  refused("name: t, rows: 100, dim: 0, kind: sequence, average_length: 5", "dim");
  refused("name: t, rows: 100, dim: 9007199254740991, kind: sequence, average_length: 5", "bytes");
  refused("name: t, rows: 9007199254740991, dim: 64, kind: sequence, average_length: 5", "bytes");
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: 1e300", "bytes");
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: 0", "average_length is 0");
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: nan", "average_length");
  refused("name: t, rows: 100, dim: 4, kind: sequence", "no average_length");
  refused("name: t, rows: 100, dim: 4, kind: tree, average_length: 5", "kind");
  refused("name: t, rows: 100, dim: 4", "kind");
  refused("name: a b, rows: 100, dim: 4, kind: sequence, average_length: 5", "\"a b\" is not a name");
  refused(sequence + ", dtype: fp8", "fp8");
  refused(sequence + ", pooling: mean", "belongs to pooled tables");
  refused(sequence + ", pooling_factor: 3", "belongs to pooled tables");
  refused(sequence + ", features: [{name: f, weighted: true}]", "belongs to features of pooled tables");
  refused(sequence + ", features: []", "no features");
  refused(sequence + ", features: [f, f]", "'f' is there twice");
  refused(sequence + ", colour: red", "colour");
  refused(sequence + ", copies: 0", "copies");
  refused(sequence + ", copies: 9007199254740991", "copies are too many");
  refused(sequence + ", length_distribution: {family: log_normal}", "sigma");
  refused(sequence + ", length_distribution: {family: file, file: nowhere.h5}", "no file \"nowhere.h5\"");
  refused(sequence + ", length_distribution: {family: file, file: \"a\\nb\"}", "is not the name of a file");
  refused("name: t, rows: 100, dim: 4, kind: pooled, average_length: 5", "belongs to sequence tables");
  refused("name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: -1", "pooling_factor is -1");
}

TEST_CASE("broken access distributions are refused with place") {
  const auto refused = [](const std::string& access, const char* fragment) {
    check_refused(one_table(std::string(kSequence) + ", access: {" + access + "}"), "w.yaml:4:", fragment);
  };
  refused("family: zip", "zipf");
  refused("family: zipf", "'tables.0.access.s' is missing");
  refused("family: zipf, s: -1", "'s' is -1");
  refused("family: zipf, s: 1, q: 3", "unknown key \"q\"");
  refused("family: zipf, s: 1, rescale: true", "unknown key \"rescale\"");
  refused("family: zipf_mandelbrot, q: 1, s: 1, c: 0", "'c' is not above 0");
  refused("family: log_normal, sigma: 0", "'sigma' is 0");
  refused("family: explicit, p: [1, 2]", "lists 2 rows");
  refused("family: explicit, p: [1, -2]", "negative");
  refused("family: piecewise_power_law, knots: []", "no knots");
  refused("family: piecewise_power_law, knots: [{rank: 1, fraction: 1, ln_p: 0}]", "exactly one");
  refused("family: piecewise_power_law, knots: [{fraction: 0.001, ln_p: 0}]", "not a whole rank");
  refused("family: piecewise_power_law, knots: [{fraction: 1, ln_p: 800}]", "sum of the access distribution is inf");
  refused("family: piecewise_power_law, knots: [{fraction: 1, ln_p: 0}]", "add up to 100");
}

TEST_CASE("an absolute law that differs from the length may be rescaled") {
  const std::string access = ", access: {family: piecewise_power_law, rescale: true, knots: [{fraction: 1, ln_p: 0}]}";
  CHECK(parsed(one_table(kSequence + access)).tables[0].average_length == 5);
}

TEST_CASE("broken runtime maps are refused with place") {
  const auto refused = [](const std::string& runtime, const char* fragment) {
    check_refused(one_table(std::string(kSequence) + ", runtime: {" + runtime + "}"), "w.yaml:4:", fragment);
  };
  refused("average_length: 4", "source");
  refused("source: s, average_length: 0", "average_length is 0");
  refused("source: s, shares: [{rows: 101, share: 0.5}]", "the table has 100");
  refused("source: s, shares: [{rows: 10, share: 1.5}]", "1.5");
  refused("source: s, shares: [{rows: 10, share: 0}]", "Shares lie above 0");
  refused("source: s, shares: [{rows: 100, share: 0.9}]", "all rows have the share 1");
  refused("source: s, shares: [{rows: 10, share: 0.5}, {rows: 10, share: 0.6}]", "does not rise");
  refused("source: s, shares: [{rows: 10, share: 0.5}, {rows: 20, share: 0.4}]", "does not rise");
}

TEST_CASE("broken workloads are refused with place") {
  const auto refused = [](const std::string& more, const char* fragment) {
    check_refused(one_table(kSequence, more), "w.yaml:5:", fragment);
  };
  refused("id_bytes: 6", "id_bytes is 6");
  refused("optimizer: {name: adamw}", "adam");
  refused("optimizer: {name: sgd, update: fast}", "fast");
  refused("pipeline: long", "long");
  refused("wire_dtype: {forward: fp64}", "fp64");
  refused("wire_dtype: {sideways: fp16}", "sideways");
  refused("modules: {pooled: ec}", "both modules");
  refused("batch_size: 3", "batch_size");
  refused("dense: {measured: {rest: 1 ms}, layers: []}", "both 'layers' and 'measured'");
  refused("dense: {measured: {rest: 1 ms}}", "split");
  refused("dense: {layers: [{name: l, in: 0, out: 1}]}", "in");
  refused("dense: {layers: [{name: l, in: 9000000000000000, out: 9000000000000000}]}", "bytes of parameters");
  refused("dense: {parameters_bytes: 12}", "parameters_bytes");
  refused("dense: {interaction: {kind: dcn}}", "layers");
  refused("dense: {interaction: {kind: dot, rank: 3}}", "rank");
}

TEST_CASE("the parts of a measured rest must be five and add up") {
  const auto dense = [](const char* update, const char* last) {
    return fmt::format(
        "dense: {{measured: {{rest: 10 ms, split: {{id_exchange: {{time: 1 ms, reason: r}}, lookup: {{time: 2 ms, "
        "reason: "
        "r}}, dense_forward: {{time: 3 ms, reason: r}}, dense_backward: {{time: 3 ms, reason: r}}{}{}}}}}}}",
        update, last);
  };
  CHECK(parsed(one_table(kSequence, dense(", update: {time: 1 ms, reason: r}", ""))).dense.measured->rest.ms() == 10);
  CHECK_NOTHROW(parsed(one_table(kSequence, dense(", update: {time: 1.000001 ms, reason: r}", ""))));
  check_refused(one_table(kSequence, dense(", update: {time: 1.00001 ms, reason: r}", "")), "w.yaml:5:", "add up");
  check_refused(one_table(kSequence, dense("", "")), "w.yaml:5:", "update");
  check_refused(one_table(kSequence, dense(", update: {time: 1 ms}", "")), "w.yaml:5:", "reason");
  check_refused(one_table(kSequence, dense(", update: {time: 1 ms, reason: r}", ", sleep: {time: 0 s, reason: r}")),
                "w.yaml:5:", "sleep");
}

TEST_CASE("broken heads are refused") {
  check_refused("schema: shardsim.cluster/1\nname: w\n", "w.yaml:1:", "shardsim.workload/1");
  check_refused("schema: shardsim.workload/1\nname: W 1\n", "w.yaml:2:", "name");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 0\n", "w.yaml:3:", "batch_per_gpu");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 2000000000\n", "w.yaml:3:", "batch_per_gpu");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\n", "w.yaml:1:", "tables");
  check_refused("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\ntables: []\n", "w.yaml:4:", "no tables");
  const std::string two =
      fmt::format("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\ntables:\n  - {{{}}}\n  - {{{}}}\n",
                  kSequence, kSequence);
  check_refused(two, "w.yaml:6:", "'t' is there twice");
  check_refused(
      "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\nid_bytes: 4\ntables:\n"
      "  - {name: t, rows: 3000000000, dim: 4, kind: sequence, average_length: 5}\n",
      "w.yaml:6:", "id_bytes: 8");
}

}  // namespace shardsim
