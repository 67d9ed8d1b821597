#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "base/tree/yaml.h"
#include "models/load/row_shares.h"
#include "models/workload/workload.h"

// The popularity of Criteo's ids in the shipped workloads mlperf_dcnv2 and mlperf_dlrm (scripts/criteo_popularity.py).

namespace shardsim::criteo_popularity_test {
namespace {

Workload popular_model(const std::string& name) {
  const std::string folder = SHARDSIM_SOURCE_DIR "/scenarios/workloads";
  return read_workload(read_yaml_file(folder + "/" + name + ".yaml"), folder);
}

// Share of the accesses to the first id of each table that falls on the `most` most frequent rows of all tables.
double share_of_most_frequent(const Workload& workload, double most) {
  double low = -40, high = 0;  // ln of the probability from which on a row is among them
  const auto rows_from = [&](double ln_p) {
    double rows = 0;
    for (const Table& table : workload.tables) {
      const AccessDistribution access = table.distribution();
      rows += static_cast<double>(access.count_at_least(std::exp(ln_p) * access.total()));
    }
    return rows;
  };
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (rows_from(middle) > most ? low : high) = middle;
  }
  double share = 0;
  for (const Table& table : workload.tables) {
    const AccessDistribution access = table.distribution();
    share += access.prefix(access.count_at_least(std::exp(high) * access.total())) / access.total();
  }
  return share / static_cast<double>(workload.tables.size());
}

// Distinct first ids of a table in a batch.
double distinct_first_ids(const Table& table, double samples) {
  return table.distribution().expected_distinct(0, table.rows, samples);
}

struct Popular {
  double rows = 0, share = 0;
};

// mlcommons/training_results_v1.0 at 50619b5d to v2.1, ORG/results/SYSTEM/dlrm/result_*.txt: how many
// categories HugeCTR's hybrid embedding takes for frequent, and the share of lookups that they get. The exponent of the
// laws was chosen to meet these eight.
constexpr std::array<Popular, 8> kFitted = {{{19272, 0.868396},
                                             {31152, 0.891876},
                                             {33096, 0.894836},
                                             {37928, 0.900976},
                                             {48984, 0.911326},
                                             {53964, 0.914957},
                                             {60328, 0.918924},
                                             {76316, 0.926583}}};

// The logs' other five, which nothing was chosen for; each lies close to one of those.
constexpr std::array<Popular, 5> kUnused = {
    {{31360, 0.892424}, {31480, 0.892597}, {38160, 0.901154}, {49136, 0.911238}, {60428, 0.918789}}};

constexpr std::array<std::size_t, 8> kLargeTables = {0, 9, 10, 11, 19, 20, 21, 22};

}  // namespace

TEST_CASE("fitted: the most frequent of Criteo's ids get the published share of the lookups, within half a point") {
  for (const char* name : {"mlperf_dlrm", "mlperf_dcnv2"}) {
    const Workload workload = popular_model(name);
    for (const Popular& point : kFitted) {
      CAPTURE(name);
      CAPTURE(point.rows);
      CHECK(std::abs(share_of_most_frequent(workload, point.rows) - point.share) <= 0.005);
    }
  }
}

TEST_CASE("not fitted: the same of the other published points") {
  const Workload workload = popular_model("mlperf_dlrm");
  for (const Popular& point : kUnused) {
    CAPTURE(point.rows);
    CHECK(std::abs(share_of_most_frequent(workload, point.rows) - point.share) <= 0.005);
  }
}

TEST_CASE("every table is looked up as often as the model says") {
  for (const char* name : {"mlperf_dlrm", "mlperf_dcnv2"}) {
    double lookups = 0;
    for (const Table& table : popular_model(name).tables) lookups += table.distribution().total();
    CHECK(std::abs(lookups - (name == std::string("mlperf_dlrm") ? 26 : 214)) < 1e-6);
  }
}

// The numbers are of another computation of the same laws, in blocks of ranks and without folding ids beyond the last
// row; they are given to a tenth of a thousand. Nobody published measured ones.
TEST_CASE("distinct first ids of a batch, within 2 % of another computation") {
  constexpr std::array<double, 8> kSmall = {17.1, 12.8, 12.8, 10.2, 18.2, 8.5, 15.6, 10.8};  // thousands
  constexpr std::array<double, 8> kLarge = {40.0, 29.3, 24.3, 18.1, 42.9, 18.2, 36.4, 19.6};
  const Workload workload = popular_model("mlperf_dcnv2");
  for (std::size_t i = 0; i < kLargeTables.size(); ++i) {
    CAPTURE(kLargeTables[i]);
    const Table& table = workload.tables[kLargeTables[i]];
    CHECK(std::abs(distinct_first_ids(table, 55'296) / (1e3 * kSmall[i]) - 1) <= 0.02);
    CHECK(std::abs(distinct_first_ids(table, 135'168) / (1e3 * kLarge[i]) - 1) <= 0.02);
  }
}

// In 55,296 samples bags of 100 ids meet 842 thousand rows of table 20, bags of 27 meet 420 thousand of table 21, by
// the same computation.
TEST_CASE("distinct rows of whole bags that follow from their first id, within 2 % of another computation") {
  const Workload workload = popular_model("mlperf_dcnv2");
  struct Expected {
    std::size_t table;
    double rows;
  };
  for (const Expected& expected : {Expected{20, 842e3}, Expected{21, 420e3}}) {
    CAPTURE(expected.table);
    const Table& table = workload.tables[expected.table];
    REQUIRE(table.bag_ids == BagIds::first_id);
    const int size = static_cast<int>(table.features.front().pooling_factor);
    const RowShares all(RowLaw(table.distribution(), 0, table.rows),
                        RowOwners(table.rows, 1, RowOrder::popularity, RowCut::blocks, {}), {size, {table.name, 1, 0}});
    CHECK(std::abs(all.distinct(55'296.0 * size).front() / expected.rows - 1) <= 0.02);
  }
}

TEST_CASE("the exponent of the popularity says that it was fitted, and on what") {
  const Workload workload = popular_model("mlperf_dcnv2");
  std::size_t fitted = 0;
  for (const SourcedValue& value : workload.sources) {
    if (!value.fitted) continue;
    ++fitted;
    CHECK(value.value == "1.07");
    CHECK(value.rows_used == 8);
  }
  CHECK(fitted == 18);  // the tables that follow the power law alone
}

}  // namespace shardsim::criteo_popularity_test
