#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/models/workload_text.h"

namespace shardsim::dense_reader_test {

TEST_CASE("dense parameters are weights and biases in fp32, unless stated") {
  // 13-64-32: 13 * 64 + 64 + 64 * 32 + 32 = 2,976 parameters.
  const std::string layers = "layers: [{name: a, in: 13, out: 64}, {name: b, in: 64, out: 32, per: item}]";
  const DensePart dense = parsed(one_table(kSequence, "dense: {" + layers + "}")).dense;
  CHECK(dense.parameters.count == 11'904);
  CHECK(dense.layers == std::vector<DenseLayer>{{"a", 13, 64, 1, false}, {"b", 64, 32, 1, true}});
  CHECK(parsed(one_table(kSequence, "dense: {parameters_bytes: 1 KiB, " + layers + "}")).dense.parameters.count ==
        1024);
}

namespace {

const char* const kPooled = "name: t, rows: 100, dim: 8, kind: pooled, pooling_factor: 2, features: [a, b, c]";

DensePart dense_with(const std::string& layers, const std::string& interaction) {
  return parsed(one_table(kPooled, "dense: {layers: [" + layers + "], interaction: " + interaction + "}")).dense;
}

}  // namespace

// Three features and the bottom's output are 4 vectors of 8: 32 columns.
TEST_CASE("a cross network is its layers written out, between the bottom layers and those above") {
  const std::string bottom = "{name: bottom_0, in: 13, out: 8}", top = "{name: over_0, in: 32, out: 1}";
  const std::string cross = "{name: cross_v, in: 32, out: 5, repeat: 3}, {name: cross_w, in: 5, out: 32, repeat: 3}";
  const DensePart dense = dense_with(bottom + ", " + top, "{kind: dcn, layers: 3, rank: 5}");
  const DensePart written = dense_with(bottom + ", " + cross + ", " + top, "{kind: none}");
  CHECK(dense.layers == written.layers);
  CHECK(dense.parameters == written.parameters);
  CHECK(dense.interaction == "dcn");
}

TEST_CASE("a dot interaction multiplies every vector with every other and has no parameters") {
  const DensePart dense = dense_with("{name: bottom_0, in: 13, out: 8}, {name: over_0, in: 14, out: 1}", "{kind: dot}");
  REQUIRE(dense.layers.size() == 3);
  CHECK(dense.layers[1].name == "dot");
  CHECK(dense.layers[1].in * dense.layers[1].out == 4 * 4 * 8);  // 4 vectors x 4 vectors x 8 columns
  CHECK(dense.parameters.count == 4 * (13 * 8 + 8 + 14 + 1));
}

TEST_CASE("attention attends to the tables that it names, or to those whose items it may have") {
  const auto attended = [](const std::string& keys) {
    const std::string table = ", rows: 100, dim: 4, kind: sequence, average_length: ";
    const Workload workload =
        parsed("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\ntables: [{name: a" + table + "5}, {name: b" +
               table + "7}, {name: p, rows: 9, dim: 4, kind: pooled}]\n" +
               "dense: {layers: [{name: l, kind: attention, heads: 1, head_dim: 4, " + keys + "}]}\n");
    return workload.dense.layers.front().attention->tables;
  };
  CHECK(attended("length: 12") == std::vector<int>{0, 1});
  CHECK(attended("length: 15") == std::vector<int>{0, 1});  // 3 items more in every sample
  CHECK(attended("length: 7") == std::vector<int>{1});
  CHECK(attended("length: 6").empty());
  CHECK(attended("length: 12, tables: [b]") == std::vector<int>{1});
  CHECK_THROWS_WITH_AS(attended("length: 12, tables: [p]"), doctest::Contains("there is no sequence table 'p'"), Error);
  CHECK_THROWS_WITH_AS(attended("length: 12, tables: [b, b]"), doctest::Contains("'b' is there twice"), Error);
  CHECK_THROWS_WITH_AS(attended("length: 6, tables: [b]"), doctest::Contains("6 items a sample, its tables have 7"),
                       Error);
}

TEST_CASE("gradients are reduced in buckets of fp32, unless stated") {
  const auto reduced = [](const std::string& keys) {
    return parsed(one_table(kPooled, "dense: {layers: [{name: a, in: 13, out: 64}]" + keys + "}")).dense.all_reduce;
  };
  CHECK(reduced("") == DenseAllReduce{false, Dtype::fp32});
  CHECK(reduced(", all_reduce: {}") == DenseAllReduce{});
  CHECK(reduced(", all_reduce: {calls: one}") == DenseAllReduce{true, Dtype::fp32});
  CHECK(reduced(", all_reduce: {calls: one, dtype: fp16}") == DenseAllReduce{true, Dtype::fp16});
  CHECK(reduced(", all_reduce: {calls: buckets, dtype: bf16}") == DenseAllReduce{false, Dtype::bf16});
  const auto refused = [](const char* all_reduce, const char* fragment) {
    check_refused(one_table(kPooled, std::string("dense: {all_reduce: ") + all_reduce + "}"), "w.yaml:5:", fragment);
  };
  refused("{calls: two}", "two");
  refused("{dtype: int8}", "int8");
  refused("{bytes: 1 MiB}", "bytes");
  refused("one", "all_reduce");
}

TEST_CASE("an interaction that cannot be is refused") {
  const auto refused = [](const std::string& table, const char* dense, const char* fragment) {
    check_refused(one_table(table, std::string("dense: ") + dense), "w.yaml:5:", fragment);
  };
  refused(kSequence, "{interaction: {kind: dot}}", "no pooled tables");
  refused(kPooled,
          "{interaction: {kind: dot}, measured: {rest: 5 ms, split: {id_exchange: {time: 1 ms, reason: r}, "
          "lookup: {time: 1 ms, reason: r}, dense_forward: {time: 1 ms, reason: r}, "
          "dense_backward: {time: 1 ms, reason: r}, update: {time: 1 ms, reason: r}}}}",
          "both 'interaction' and 'measured'");
}

TEST_CASE("what a measured rest holds already is refused beside it") {
  for (const std::string key : {"input_gradient: true", "precision: fp16", "layers: [{name: a, in: 1, out: 1}]"}) {
    CAPTURE(key);
    check_refused(
        one_table(kSequence, "dense: {" + key +
                                 ", measured: {rest: 5 ms, split: {id_exchange: {time: 1 ms, reason: r}, "
                                 "lookup: {time: 1 ms, reason: r}, dense_forward: {time: 1 ms, reason: r}, "
                                 "dense_backward: {time: 1 ms, reason: r}, update: {time: 1 ms, reason: r}}}}"),
        "w.yaml:5:", ("both '" + key.substr(0, key.find(':')) + "' and 'measured'").c_str());
  }
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

// 10 ms at a batch of 1,024, of which 2 ms wait for the host.
std::string measured_at(int batch, const std::string& more, const std::string& forward, const std::string& lookup) {
  return fmt::format(
      "batch_per_gpu: {}\ndense: {{measured: {{rest: {}, {}split: {{id_exchange: {{time: 0 s, reason: r}}, "
      "lookup: {{time: {}, reason: r}}, dense_forward: {{time: 3 ms, reason: r{}}}, dense_backward: {{time: 5 ms, "
      "reason: "
      "r}}, update: {{time: {}, reason: r}}}}}}}}",
      batch, lookup == "0 s" ? "8 ms" : "10 ms", more, lookup, forward, lookup);
}

Workload measured_workload(int batch, const std::string& more, const std::string& forward = "",
                           const std::string& lookup = "1 ms") {
  std::string text = one_table(kSequence, measured_at(batch, more, forward, lookup));
  const std::size_t first = text.find("batch_per_gpu: "), end = text.find('\n', first);
  text.erase(first, end - first + 1);  // that of the specimen
  return parsed(text);
}

TEST_CASE("a measured rest is of its batch, or of another one along the line of its parts") {
  const auto rest_ms = [](const Workload& workload) { return workload.dense.measured->rest.ms(); };
  CHECK(rest_ms(measured_workload(2048, "")) == doctest::Approx(10));
  CHECK(rest_ms(measured_workload(1024, "batch: 1024, ")) == doctest::Approx(10));
  CHECK_THROWS_WITH_AS(measured_workload(2048, "batch: 1024, "), doctest::Contains("measured with a batch of 1024"),
                       Error);
  // A microsecond a sample: 1,024 more take 1.024 ms more.
  CHECK(rest_ms(measured_workload(2048, "batch: 1024, ", ", per_sample: 1 us")) == doctest::Approx(11.024));
  CHECK(rest_ms(measured_workload(512, "batch: 1024, ", ", per_sample: 1 us")) == doctest::Approx(9.488));
  // 2 of the 3 ms wait for the host, which needs 10 ms: more work fills them first.
  const std::string waits = ", per_sample: 1 us, waiting: 2 ms";
  CHECK(rest_ms(measured_workload(2048, "batch: 1024, host: 10 ms, ", waits)) == doctest::Approx(10));
  CHECK(rest_ms(measured_workload(4096, "batch: 1024, host: 10 ms, ", waits)) == doctest::Approx(8 + 3.072));
  CHECK(measured_workload(2048, "batch: 1024, host: 10 ms, ", waits).dense.measured->dense_forward.time.ms() ==
        doctest::Approx(3));
}

TEST_CASE("a measured rest without lookups and updates leaves them to the simulation") {
  const Workload simulated = measured_workload(1024, "embeddings: simulated, ", ", waiting: 0 s", "0 s");
  CHECK(simulated.dense.measured->simulates_embeddings);
  CHECK_FALSE(holds_embeddings(simulated.dense));
  CHECK_THROWS_WITH_AS(measured_workload(1024, "embeddings: simulated, "), doctest::Contains("are simulated, and have"),
                       Error);
}

}  // namespace shardsim::dense_reader_test
