#include <doctest/doctest.h>

#include "tests/models/workload_text.h"

namespace shardsim {

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

TEST_CASE("broken tables are refused with place") {
  const auto refused = [](const std::string& keys, const char* fragment) {
    check_refused(one_table(keys), "w.yaml:4:", fragment);
  };
  const std::string sequence = kSequence;
  refused("name: t, rows: 0, dim: 4, kind: sequence, average_length: 5", "tables.0.rows");
  refused("name: t, rows: -5, dim: 4, kind: sequence, average_length: 5", "tables.0.rows");
  refused("name: t, rows: 1e300, dim: 4, kind: sequence, average_length: 5", "tables.0.rows");
  refused("name: t, rows: 100, dim: 0, kind: sequence, average_length: 5", "tables.0.dim");
  refused("name: t, rows: 100, dim: 9007199254740991, kind: sequence, average_length: 5", "bytes");
  refused("name: t, rows: 9007199254740991, dim: 64, kind: sequence, average_length: 5", "bytes");
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: 1e300", "bytes");
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: 0", "average_length is 0");
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: nan", "average_length");
  refused("name: t, rows: 100, dim: 4, kind: sequence", "no average_length");
  refused("name: t, rows: 100, dim: 4, kind: tree, average_length: 5", "tables.0.kind");
  refused("name: t, rows: 100, dim: 4", "tables.0.kind");
  refused("name: a b, rows: 100, dim: 4, kind: sequence, average_length: 5", "\"a b\" is not a name");
  refused(sequence + ", dtype: fp8", "fp8");
  refused(sequence + ", pooling: mean", "belongs to pooled tables");
  refused(sequence + ", pooling_factor: 3", "belongs to pooled tables");
  refused(sequence + ", features: [{name: f, weighted: true}]", "belongs to features of pooled tables");
  refused(sequence + ", features: []", "no features");
  refused(sequence + ", features: [f, f]", "'f' is there twice");
  refused(sequence + ", colour: red", "unknown key \"colour\"");
  refused(sequence + ", copies: 0", "copies");
  refused(sequence + ", copies: 9007199254740991", "copies are too many");
  refused(sequence + ", length_distribution: {family: log_normal}", "sigma' is missing");
  refused(sequence + ", length_distribution: {family: file, file: nowhere.h5}", "no file \"nowhere.h5\"");
  refused(sequence + ", length_distribution: {family: file, file: \"a\\nb\"}", "is not the name of a file");
  refused("name: t, rows: 100, dim: 4, kind: pooled, average_length: 5", "belongs to sequence tables");
  refused("name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: -1", "pooling_factor is -1");
  refused("name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: 3, features: [{name: f, pooling_factor: 2}]",
          "each of the table's features states its own");
}

TEST_CASE("the table's pooling factor is of the features that state none") {
  const Workload w = parsed(one_table(
      "name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: 3, features: [f, {name: g, pooling_factor: 2}]"));
  CHECK(w.tables[0].average_length == 5);
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
  refused("family: steps, rows: [1, 2], weights: [3]", "1 weights of 2 steps");
  refused("family: steps, rows: [101], weights: [3]", "more than the table's 100 rows");
  refused("family: steps, rows: [0], weights: [3]", "no rows");
  refused("family: steps, rows: [1.5], weights: [3]", "1.5");
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

}  // namespace shardsim
