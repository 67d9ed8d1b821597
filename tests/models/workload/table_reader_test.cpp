#include <doctest/doctest.h>

#include "tests/models/workload_text.h"

namespace shardsim::table_reader_test {

TEST_CASE("copies are equal tables that differ in name") {
  const Workload w = parsed(one_table("name: t, copies: 3, rows: 100, dim: 4, kind: pooled, pooling_factor: 2"));
  REQUIRE(w.tables.size() == 3);
  CHECK(w.tables[0].name == "t_0");
  CHECK(w.tables[2].name == "t_2");
  CHECK(w.tables[2].features[0].name == "t_2");
  CHECK(w.tables[2].average_length == 2);
  CHECK(parsed(one_table("name: t, copies: 1, rows: 100, dim: 4, kind: pooled")).tables[0].name == "t_0");
}

TEST_CASE("sequences remove duplicates if they or the workload say so, and pooled tables cannot") {
  const std::string sequence = kSequence;
  CHECK_FALSE(parsed(one_table(sequence)).tables[0].index_dedup);
  CHECK(parsed(one_table(sequence + ", index_dedup: true")).tables[0].index_dedup);
  CHECK(parsed(one_table(sequence, "index_dedup: true")).tables[0].index_dedup);
  CHECK_FALSE(parsed(one_table(sequence + ", index_dedup: false", "index_dedup: true")).tables[0].index_dedup);
  const std::string pooled = "name: t, rows: 100, dim: 4, kind: pooled";
  check_refused(one_table(pooled + ", index_dedup: true"), "w.yaml:4:", "only sequence tables have this key");
  check_refused(one_table(pooled, "index_dedup: true"), "w.yaml:", "no table is a sequence");
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
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: 0", "average_length: \"0\" is not above 0");
  refused("name: t, rows: 100, dim: 4, kind: sequence, average_length: nan", "average_length");
  refused("name: t, rows: 100, dim: 4, kind: sequence", "no average_length");
  refused("name: t, rows: 100, dim: 4, kind: tree, average_length: 5", "tables.0.kind");
  refused("name: t, rows: 100, dim: 4", "tables.0.kind");
  refused("name: \"a\\nb\", rows: 100, dim: 4, kind: sequence, average_length: 5", "is not a name");
  refused("name: \"\", rows: 100, dim: 4, kind: sequence, average_length: 5", "is not a name");
  refused("name: " + std::string(257, 'a') + ", rows: 100, dim: 4, kind: sequence, average_length: 5", "is not a name");
  refused(sequence + ", dtype: fp8", "fp8");
  refused(sequence + ", pooling: mean", "only pooled tables have this key");
  refused(sequence + ", pooling_factor: 3", "only pooled tables have this key");
  refused(sequence + ", features: [{name: f, weighted: true}]", "only features of pooled tables have this key");
  refused(sequence + ", features: []", "features: the list is empty");
  refused(sequence + ", features: [f, f]", "'f' is there twice");
  refused(sequence + ", colour: red", "unknown key \"colour\"");
  refused(sequence + ", copies: 0", "copies");
  refused(sequence + ", copies: 9007199254740991", "copies: \"9007199254740991\" is above 100000");
  refused(sequence + ", length_distribution: {family: log_normal}", "sigma' is missing");
  refused(sequence + ", length_distribution: {family: file, file: nowhere.h5}", "no file \"nowhere.h5\"");
  refused(sequence + ", length_distribution: {family: file, file: \"a\\nb\"}", "is not the name of a file");
  refused("name: t, rows: 100, dim: 4, kind: pooled, average_length: 5", "only sequence tables have this key");
  refused("name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: -1", "pooling_factor: \"-1\" is not above 0");
  refused("name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: 3, features: [{name: f, pooling_factor: 2}]",
          "each of the table's features states its own");
}

TEST_CASE("lengths, the order of rows and bags that follow from their first id are read") {
  const Workload w = parsed(one_table(
      "name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: 3, row_order: popularity, bag_ids: first_id"));
  CHECK(w.tables[0].row_order == RowOrder::popularity);
  CHECK(w.tables[0].bag_ids == BagIds::first_id);
  const auto lengths = [](const std::string& keys) {
    return parsed(one_table("name: t, rows: 100, dim: 4, kind: pooled, pooling_factor: 5, row_order: hashed, "
                            "length_distribution: {family: " +
                            keys + "}"))
        .tables[0];
  };
  CHECK(lengths("fixed").row_order == RowOrder::random);
  CHECK(lengths("fixed").bag_ids == BagIds::independent);
  CHECK(lengths("fixed").lengths == LengthSpec{});
  CHECK(lengths("negative_binomial, size: 2.5").lengths.size == 2.5);
  CHECK(lengths("log_normal, sigma: 1.5, most: 40").lengths.most == 40);
  CHECK(lengths("uniform_int, low: 2, high: 8").lengths.high == 8);
  const LengthSpec histogram =
      lengths("histogram, lengths: [{length: 0, share: 0.5}, {length: 10, share: 0.5}]").lengths;
  CHECK(histogram.lengths == std::vector<LengthSpec::Bin>{{0, 0.5}, {10, 0.5}});
}

TEST_CASE("a sample factor needs common lengths, and they need it") {
  const std::string common =
      "name: t, rows: 3, dim: 4, kind: pooled, length_distribution: {family: poisson, common: true}";
  CHECK(parsed(one_table(common, "sample_factor: {sigma: 0.8}")).sample_factor == SampleFactor{0.8});
  CHECK_FALSE(parsed(one_table(std::string(kSequence))).sample_factor);
  check_refused(one_table(common, "sample_factor: {sigma: 9}"), "w.yaml:5:", "sample_factor.sigma: \"9\" is above 5");
  check_refused(one_table(common, "sample_factor: {sigma: 0}"), "w.yaml:5:", "sigma: \"0\" is not above 0");
  check_refused(one_table(common, "sample_factor: {sigma: 1, mean: 2}"), "w.yaml:5:", "unknown key");
  check_refused(one_table(kSequence, "sample_factor: {sigma: 1}"), "w.yaml:5:", "no table has common lengths");
  check_refused(one_table("name: t, rows: 3, dim: 4, kind: pooled, features: [{name: f, num_poolings: 2}], "
                          "length_distribution: {family: poisson, common: true}",
                          "sample_factor: {sigma: 1}"),
                "w.yaml:4:", "several bags per sample");
}

TEST_CASE("lengths and orders that cannot be are refused with place") {
  const auto refused = [](const std::string& keys, const char* fragment) {
    check_refused(one_table("name: t, rows: 3, dim: 4, kind: pooled, pooling_factor: 5, " + keys),
                  "w.yaml:4:", fragment);
  };
  const auto of_lengths = [&](const std::string& keys, const char* fragment) {
    refused("length_distribution: {family: " + keys + "}", fragment);
  };
  of_lengths("zipf", "length_distribution.family");
  of_lengths("log_normal, sigma: 6", "length_distribution.sigma: \"6\" is above 5");
  of_lengths("log_normal, sigma: 0", "sigma: \"0\" is not above 0");
  of_lengths("log_normal, sigma: 1, most: 5", "Write a value of most that is above the mean");
  of_lengths("negative_binomial", "size' is missing");
  of_lengths("uniform_int, low: 0, high: 9", "have the mean 4.5 here, bags have 5 ids");
  of_lengths("uniform_int, low: -1, high: 11", "low");
  of_lengths("histogram, lengths: []", "lengths: the list is empty");
  of_lengths("histogram, lengths: [{length: 0, share: 1}]", "have the mean 0 here");
  of_lengths("histogram, lengths: [{length: 5, share: 0.9}]", "add up to 0.9");
  of_lengths("poisson, size: 3", "unknown key \"size\"");
  of_lengths("uniform_int, low: 1, high: 9, common: true", "cannot be common");
  of_lengths("poisson, common: true", "no sample_factor");
  refused("row_order: sorted", "row_order");
  refused("row_order: popularity, access: {family: explicit, p: [1, 3, 1]}", "row 1 has more accesses than row 0");
  refused("bag_ids: last_id", "bag_ids");
  refused("bag_ids: first_id, length_distribution: {family: poisson}", "cannot follow from its first id");
  refused("bag_ids: first_id, features: [f, g]", "pooled table with one feature");
  check_refused(one_table("name: t, rows: 3, dim: 4, kind: pooled, pooling_factor: 2.5, bag_ids: first_id"),
                "w.yaml:4:", "pooling_factor is whole");
  check_refused(one_table(std::string(kSequence) + ", bag_ids: first_id"), "w.yaml:4:", "pooled table");
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
  refused("family: zipf, s: -1", "access.s: \"-1\" is below 0");
  refused("family: zipf, s: 1, q: 3", "unknown key \"q\"");
  refused("family: zipf, s: 1, rescale: true", "unknown key \"rescale\"");
  refused("family: zipf_mandelbrot, q: 1, s: 1, c: 0", "access.c: \"0\" is not above 0");
  refused("family: log_normal, sigma: 0", "access.sigma: \"0\" is not above 0");
  refused("family: explicit, p: [1, 2]", "lists 2 rows");
  refused("family: steps, rows: [1, 2], weights: [3]", "1 weights of 2 steps");
  refused("family: steps, rows: [101], weights: [3]", "more than the table's 100 rows");
  refused("family: steps, rows: [0], weights: [3]", "\"0\" is below 1");
  refused("family: steps, rows: [1.5], weights: [3]", "1.5");
  refused("family: explicit, p: [1, -2]", "negative");
  refused("family: piecewise_power_law, knots: []", "knots: the list is empty");
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
  refused("source: s, average_length: 0", "average_length: \"0\" is not above 0");
  refused("source: s, shares: [{rows: 101, share: 0.5}]", "the table has 100");
  refused("source: s, shares: [{rows: 10, share: 1.5}]", "1.5");
  refused("source: s, shares: [{rows: 10, share: 0}]", "share: \"0\" is not above 0");
  refused("source: s, shares: [{rows: 100, share: 0.9}]", "The share of all rows together is 1");
  refused("source: s, shares: [{rows: 10, share: 0.5}, {rows: 10, share: 0.6}]",
          "is not above the share of fewer rows");
  refused("source: s, shares: [{rows: 10, share: 0.5}, {rows: 20, share: 0.4}]",
          "is not above the share of fewer rows");
}

}  // namespace shardsim::table_reader_test
