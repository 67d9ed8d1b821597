#include "models/learned/table_features.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "tests/base/error_text.h"
#include "tests/models/access_laws.h"
#include "tests/models/workload_text.h"

namespace shardsim::table_features_test {
namespace {

// The bins of one batch of ids that are really drawn.
CountBins drawn_bins(const AccessDistribution& access, int draws, std::uint64_t seed) {
  std::vector<int> counts(access.rows());
  Rng rng(seed);
  for (int i = 0; i < draws; ++i) ++counts[access.position_at(rng.uniform() * access.total())];
  CountBins bins{};
  double distinct = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    std::size_t bin = 0;
    while (bin < 16 && count > (1 << bin)) ++bin;
    ++bins[bin];
    ++distinct;
  }
  for (double& bin : bins) bin /= distinct;
  return bins;
}

double sum_of(const CountBins& bins) {
  double sum = 0;
  for (const double bin : bins) sum += bin;
  return sum;
}

TableStatistics numbered_statistics() {
  TableStatistics table;
  table.rows = 5000;
  table.pooling = 7.9;
  table.dtype_bytes = 2;
  for (std::size_t bin = 0; bin < kCountBins; ++bin) table.bins[bin] = 0.01 * static_cast<double>(bin);
  return table;
}

}  // namespace

TEST_CASE("count bins: agree with drawn ids within 0.01 a bin, for every family" * doctest::test_suite("long")) {
  struct Law {
    const char* name;
    AccessDistribution access;
    int draws;
  };
  const std::vector<Law> laws{{"uniform, few meetings", {AccessSpec{}, 200'000, 8}, 100'000},
                              {"uniform, many meetings", {AccessSpec{}, 20'000, 8}, 400'000},
                              {"zipf 0.6", {law("zipf", 0.6), 50'000, 8}, 400'000},
                              {"zipf 1.05", {law("zipf", 1.05), 500'000, 8}, 300'000},
                              {"zipf_mandelbrot", {law("zipf_mandelbrot", 1.2, 50), 200'000, 1}, 400'000},
                              {"log_normal", {log_normal(3), 200'000, 4}, 300'000},
                              {"piecewise_power_law", rm1(), 300'000}};
  for (const Law& law : laws) {
    CAPTURE(law.name);
    const CountBins expected = expected_count_bins(law.access, law.draws);
    const CountBins drawn = drawn_bins(law.access, law.draws, 7);
    for (std::size_t bin = 0; bin < kCountBins; ++bin) {
      CAPTURE(bin);
      CHECK(std::abs(expected[bin] - drawn[bin]) <= 0.01);
    }
    CHECK(sum_of(expected) == doctest::Approx(1));
  }
}

TEST_CASE("count bins: worked by hand") {
  // One row takes all ids: its count is their number, the upper edge included.
  const AccessDistribution one(AccessSpec{}, 1, 1);
  CHECK(expected_count_bins(one, 1)[0] == 1);
  CHECK(expected_count_bins(one, 2)[1] == 1);
  CHECK(expected_count_bins(one, 3)[2] == 1);
  CHECK(expected_count_bins(one, 32'768)[15] == 1);
  CHECK(expected_count_bins(one, 32'769)[16] == 1);
  // Two ids over two rows: both on one row half of the time. 1 row met twice in 1.5 distinct rows expected.
  const CountBins two = expected_count_bins({AccessSpec{}, 2, 1}, 2);
  CHECK(two[1] == doctest::Approx(1.0 / 3));
  CHECK(two[0] == doctest::Approx(2.0 / 3));
  CHECK(sum_of(expected_count_bins(one, 0)) == 0);
}

TEST_CASE("features: NeuroShard's 20 in the order of keys sorted as strings") {
  const std::vector<std::string>& names = feature_names(FeatureLayout::neuroshard);
  // daochenzha/neuroshard at ec7ca74: sorted() over the keys of a table's config.
  CHECK(names == std::vector<std::string>{"bin_0",  "bin_1",  "bin_10", "bin_11", "bin_12",         "bin_13", "bin_14",
                                          "bin_15", "bin_16", "bin_2",  "bin_3",  "bin_4",          "bin_5",  "bin_6",
                                          "bin_7",  "bin_8",  "bin_9",  "dim",    "pooling_factor", "row"});
  const std::vector<float> features = table_features({numbered_statistics(), 64}, FeatureLayout::neuroshard);
  REQUIRE(features.size() == 20);
  CHECK(features[1] == 0.01F);
  CHECK(features[2] == 0.1F);   // bin_10
  CHECK(features[9] == 0.02F);  // bin_2
  CHECK(features[17] == 64);
  CHECK(features[18] == 7.9F);
  CHECK(features[19] == 5000);
}

TEST_CASE("features: AutoShard's 21, pooling truncated, size in GiB") {
  const std::vector<float> features = table_features({numbered_statistics(), 64}, FeatureLayout::autoshard);
  REQUIRE(features.size() == 21);
  REQUIRE(feature_names(FeatureLayout::autoshard).size() == 21);
  CHECK(features[0] == 64);
  CHECK(features[1] == 5000);
  CHECK(features[2] == 7);
  CHECK(features[3] == doctest::Approx(5000.0 * 64 * 2 / 1073741824));
  CHECK(features[4] == 0);
  CHECK(features[20] == 0.16F);
}

TEST_CASE("features: what a workload's table says") {
  const Workload few =
      parsed(one_table("name: t, rows: 7, dim: 4, kind: pooled, pooling_factor: 2.5, access: {family: uniform}"));
  const TableStatistics table = table_statistics(few.tables[0], 64);
  CHECK(table.rows == 100);  // the floor of the papers' data
  CHECK(table.pooling == 2.5);
  CHECK(table.bins == expected_count_bins(few.tables[0].distribution(), 160));
  const Workload sequence = parsed(one_table(kSequence));
  const std::string message = error_of([&] { table_statistics(sequence.tables[0], 64); });
  CHECK(has(message, "w.yaml:4"));
  CHECK(has(message, "'t' is a sequence: it has no pooling factor"));
  const Workload silent = parsed(one_table("name: t, rows: 7, dim: 4, kind: pooled, pooling_factor: 2.5"));
  CHECK(silent == few);  // uniform is the default, and stating it changes nothing but what is known
  const std::string missing = error_of([&] { table_statistics(silent.tables[0], 64); });
  CHECK(has(missing, "w.yaml:4"));
  CHECK(has(missing, "'t' does not say how its rows are accessed"));
  CHECK(has(missing, "access: {family: uniform}"));
}

TEST_CASE("measured features: worked by hand") {
  // 1,000 rows alike, 1,000 lookups: 1,000 (1 - (1 - 1/1000)^1000) = 632.3 distinct; 8 columns of fp32 are half a line.
  const Workload workload = parsed(
      "schema: shardsim.workload/1\nname: one\nbatch_per_gpu: 500\noptimizer: {name: sgd}\ntables:\n"
      "- {name: t, rows: 1000, dim: 8, kind: pooled, pooling_factor: 2, access: {family: uniform}}\n");
  const TableStatistics table = table_statistics(workload.tables[0], 500);
  CHECK(table.lookups == 1000);
  CHECK(table.distinct == doctest::Approx(632.3).epsilon(1e-4));
  const std::vector<float> features = table_features({table, 8}, FeatureLayout::measured);
  REQUIRE(features.size() == feature_names(FeatureLayout::measured).size());
  const std::vector<double> expected{std::log(8), std::log(0.6323), std::log(1000), std::log(32'000),
                                     std::log(632.3 * 64)};
  for (std::size_t k = 0; k < expected.size(); ++k) CHECK(features[k] == doctest::Approx(expected[k]).epsilon(1e-4));
  const auto amounts = table_amounts({table, 64}, FeatureLayout::measured);
  CHECK(amounts[0] == doctest::Approx(1e-3 * 5));
  CHECK(amounts[1] == doctest::Approx(632.3 * 256 / 33'554'432).epsilon(1e-4));
  CHECK(amounts[2] == doctest::Approx(0.01));
  CHECK(amounts[3] == 0.125F);
  CHECK(amounts[PieceAmounts::bags] == doctest::Approx(0.005));
  CHECK(amounts[PieceAmounts::vectors] == doctest::Approx(500 * 256 / 33'554'432.0));
  CHECK(amounts[PieceAmounts::widest] == 1);
  CHECK(amounts[PieceAmounts::rows] == doctest::Approx(0.001));
  CHECK(amounts[PieceAmounts::longest_bag] == doctest::Approx(std::pow(0.125, 4)));
}

TEST_CASE("features of several batches: the lines that rows and vectors touch, as they lie or in the mean") {
  const auto place_of = [](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(feature_names(FeatureLayout::batches), name) -
                                    feature_names(FeatureLayout::batches).begin());
  };
  const std::size_t line = place_of("log_line_bytes_of_row_byte"),
                    vector = place_of("log_cache_line_bytes_of_vector_byte");
  CallPiece piece{numbered_statistics(), 32};  // rows of 2 bytes an element, vectors of 4
  const double expected = std::log(expected_lines(64, 128).memory / 64);
  CHECK(table_features(piece, FeatureLayout::batches)[line] == doctest::Approx(expected));
  piece.lines = {64, 128, 256};
  CHECK(table_features(piece, FeatureLayout::batches)[line] == 0);
  CHECK(table_features(piece, FeatureLayout::batches)[vector] == doctest::Approx(std::log(2)));
  const auto aligned = table_amounts(piece, FeatureLayout::batches);
  piece.lines.memory = 128;
  const auto across = table_amounts(piece, FeatureLayout::batches);
  CHECK(across[PieceAmounts::touched] == doctest::Approx(2 * aligned[PieceAmounts::touched]));
  CHECK(across[PieceAmounts::work] == doctest::Approx(1.5 * aligned[PieceAmounts::work]));
  CHECK(across[PieceAmounts::vectors] == aligned[PieceAmounts::vectors]);
}

TEST_CASE("features of several batches: pieces run one after the other, and unknown places count as their mean") {
  const auto named = [](const CallPiece& piece, const std::string& name) {
    const std::vector<std::string>& names = feature_names(FeatureLayout::batches);
    const std::vector<float> features = table_features(piece, FeatureLayout::batches);
    return features.at(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
  };
  TableStatistics few = numbered_statistics(), many = few;  // a bag takes as long to begin as four of its rows
  few.batch = many.batch = 10;
  few.lookups = 60;
  many.lookups = 260;
  std::vector<CallPiece> call{{few, 32}, {many, 32}}, turned{{many, 32}, {few, 32}};
  for (std::vector<CallPiece>* pieces : {&call, &turned}) lay_out(*pieces, {100, 100}, 4);
  CHECK(call[0].place == doctest::Approx(100.0 / 400));
  CHECK(call[1].place == 1);
  CHECK(turned[0].place == doctest::Approx(300.0 / 400));
  CHECK(named(call[0], "log_place") == doctest::Approx(std::log(0.25)));
  CHECK(named(call[0], "log_left") == doctest::Approx(std::log(0.77)));

  CallPiece piece{many, 32};
  double done = 0, left = 0, lastness = 0;
  constexpr int kPlaces = 100'000;
  const CallPiece somewhere = piece;
  for (int k = 0; k < kPlaces; ++k) {
    const double place = (k + 0.5) / kPlaces;
    done += std::log(place) / kPlaces;
    left += std::log(1.02 - place) / kPlaces;
    lastness += std::pow(place, 16) / kPlaces;
  }
  CHECK(named(somewhere, "log_place") == doctest::Approx(done).epsilon(1e-4));
  CHECK(named(somewhere, "log_left") == doctest::Approx(left).epsilon(1e-4));
  piece.place = 1;
  const auto last = table_amounts(piece, FeatureLayout::batches),
             mean = table_amounts(somewhere, FeatureLayout::batches);
  CHECK(last[PieceAmounts::last_bag] == last[PieceAmounts::longest_bag]);
  CHECK(mean[PieceAmounts::last_bag] == doctest::Approx(lastness * last[PieceAmounts::last_bag]).epsilon(1e-4));
}

TEST_CASE("measured features: of a table that nothing is looked up in they are finite, and its work next to nothing") {
  const TableStatistics none;
  for (const float feature : table_features({none, 4}, FeatureLayout::measured)) CHECK(std::isfinite(feature));
  CHECK(table_amounts({none, 4}, FeatureLayout::measured)[0] > 0);
  CHECK(table_amounts({none, 4}, FeatureLayout::measured)[0] < 1e-9F);
}

}  // namespace shardsim::table_features_test
