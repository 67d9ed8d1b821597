#include <doctest/doctest.h>

#include "plan/memory_model.h"
#include "tests/plan/test_setting.h"

namespace shardsim::paper_test {

namespace {

struct Study {
  nlohmann::json points = flexshard_points();
  Cluster cluster = test_cluster(4, 8);
  Workload workload = workload_of({study_table(points, "RM-1")});

  Plan plan(const std::string& yaml) const { return plan_by(yaml, workload, cluster); }
  // Static and dynamic GB on one rank.
  std::pair<double, double> gigabytes(const std::string& yaml, int rank = 0,
                                      const std::string& model = "{name: paper}") const {
    const auto memory = make_memory_model(options(model));
    std::pair<double, double> sum;
    for (const Placement& placement : plan(yaml).placements) {
      const PlacementMemory here = memory->on_rank(placement, rank, workload, cluster);
      sum.first += here.static_bytes / 1e9;
      sum.second += here.dynamic_bytes / 1e9;
    }
    return sum;
  }
};

void check_near(std::pair<double, double> found, double static_gb, double dynamic_gb, double tolerance = 0.00006) {
  CHECK(std::abs(found.first - static_gb) <= tolerance);
  CHECK(std::abs(found.second - dynamic_gb) <= tolerance);
}

}  // namespace

// FlexShard paper, cost table, for RM-1 with L = 960.9388 on 32 GPUs (docs/flexshard.md): GB per GPU.
TEST_CASE("memory of RM-1 under every strategy is what the paper's equations say") {
  const Study study;
  check_near(study.gigabytes("{name: row_wise}"), 0.96, 8.0609);
  check_near(study.gigabytes("{name: data_parallel}"), 184.32, 4.0305);
  check_near(study.gigabytes("{name: flex}"), 23.04, 8.0609);
  check_near(study.gigabytes("{name: flexshard_2tier}"), 3.0758, 5.9450);
  check_near(study.gigabytes("{name: flexshard_3tier, flex_stop: off}"), 2.4431, 6.5778);
  check_near(study.gigabytes("{name: column_wise, min_partition: 8}"), 0.96, 8.0609);
}

TEST_CASE("memory-neutral plans stay within the rounding of row-wise on every rank") {
  const Study study;
  const auto memory = paper_memory();
  const auto bytes = [&](const std::string& yaml) {
    return memory_per_rank(study.plan(yaml), study.workload, study.cluster, *memory);
  };
  const auto row_wise = bytes("{name: row_wise}");
  REQUIRE(row_wise.size() == 32);
  for (const char* yaml : {"{name: flexshard_2tier}", "{name: flexshard_3tier, flex_stop: off}"}) {
    const auto tiered = bytes(yaml);
    for (std::size_t rank = 0; rank < 32; ++rank) {
      CHECK(tiered[rank] <= row_wise[rank]);
      CHECK(tiered[rank] > row_wise[rank] - 150'000);
    }
  }
}

// Two nodes of four GPUs, 32 samples, table of 1000 x 64 fp32 with 3 items a sample: one batch reads 32 * 3 * 256 B.
TEST_CASE("the owner of a whole table sends for every rank, and every rank receives its own batch") {
  const Cluster cluster = test_cluster(2, 4);
  Workload workload = workload_of({sequence_table("t", 1000, 64)}, 32);
  workload.tables[0].average_length = 3;
  const Plan plan = plan_by("{name: table_wise}", workload, cluster);
  const double batch = 32.0 * 3 * 256;
  const auto memory = paper_memory();
  const PlacementMemory owner = memory->on_rank(plan.placements[0], 0, workload, cluster);
  CHECK(owner.static_bytes == doctest::Approx(256'000));
  CHECK(owner.dynamic_bytes == doctest::Approx(8 * batch + batch));  // planner buffer of table-wise: 8 ranks' rows
  const PlacementMemory other = memory->on_rank(plan.placements[0], 5, workload, cluster);
  CHECK(other.static_bytes == 0);
  CHECK(other.dynamic_bytes == doctest::Approx(batch));
}

TEST_CASE("a pooled table sends vectors per bag; row-wise owners hold partial sums of the global batch") {
  const Cluster cluster = test_cluster(2, 4);
  Workload workload = workload_of({sequence_table("t", 1000, 64)}, 32);
  Table& table = workload.tables[0];
  table.kind = TableKind::pooled;
  table.features = {{"x", 5, 1, false}, {"y", 2, 1, false}};
  const double output = 32.0 * 2 * 256;  // B F D s
  const auto memory = paper_memory();
  const auto dynamic = [&](const std::string& yaml) {
    return memory->on_rank(plan_by(yaml, workload, cluster).placements[0], 0, workload, cluster).dynamic_bytes;
  };
  CHECK(dynamic("{name: row_wise}") == doctest::Approx(8 * output + output));  // FlexShard paper, Figure 1: T U B D s
  CHECK(dynamic("{name: flex}") == doctest::Approx(4 * output + output));      // a node serves its own batch
  CHECK(dynamic("{name: table_wise}") == doctest::Approx(8 * output + output));
  CHECK(dynamic("{name: data_parallel}") == doctest::Approx(output));
}

// FlexShard paper, memory section: savings of RM-1 plans against row-wise for other multipliers and copies, GiB.
TEST_CASE("multiplier and copies are parameters") {
  const Study study;
  const auto saved = [&](const std::string& plan, const std::string& model) {
    const auto row_wise = study.gigabytes("{name: row_wise}", 0, model);
    const auto tiered = study.gigabytes(plan, 0, model);
    return (row_wise.first + row_wise.second - tiered.first - tiered.second) * 1e9 / (1 << 30);
  };
  const std::string two = "{name: flexshard_2tier}";
  const std::string three = "{name: flexshard_3tier, flex_stop: off}";
  CHECK(std::abs(saved(two, "{name: paper, dp_static_multiplier: 4}") - 0.66) <= 0.005);
  CHECK(std::abs(saved(three, "{name: paper, dp_static_multiplier: 4}") - 0.47) <= 0.005);
  CHECK(std::abs(saved(two, "{name: paper, dp_static_multiplier: 4, mp_dynamic_copies: 3}") - 2.63) <= 0.005);
  CHECK(std::abs(saved(three, "{name: paper, mp_dynamic_copies: 3}") - 1.38) <= 0.005);
}

TEST_CASE("the table of memory models is alphabetical, and bad options are refused with their place") {
  for (std::size_t i = 1; i < memory_models().size(); ++i) CHECK(memory_models()[i - 1].name < memory_models()[i].name);
  for (const char* yaml : {"{name: papyrus}", "{name: paper, multiplier: 6}", "{name: paper, dp_static_multiplier: 0}",
                           "{name: paper, mp_dynamic_copies: -1}", "{name: paper, mp_dynamic_copies: nan}",
                           "{name: paper, mp_dynamic_copies: 1, dp_dynamic_copies: 2}", "{dp_static_multiplier: 6}"}) {
    CAPTURE(yaml);
    CHECK(has(error_of([&] { make_memory_model(options(yaml)); }), "options.yaml:1"));
  }
}

TEST_CASE("rows in host memory take no HBM, a cache takes a fifth of them") {
  const Study study;
  const auto memory = paper_memory();
  Placement placement = study.plan("{name: row_wise}").placements.at(0);
  const PlacementMemory resident = memory->on_rank(placement, 0, study.workload, study.cluster);
  placement.compute_kernel = "fused_uvm_caching";
  const PlacementMemory cached = memory->on_rank(placement, 0, study.workload, study.cluster);
  CHECK(cached.static_bytes == doctest::Approx(0.2 * resident.static_bytes));
  CHECK(cached.dynamic_bytes == resident.dynamic_bytes);
  placement.compute_kernel = "fused_uvm";
  CHECK(memory->on_rank(placement, 0, study.workload, study.cluster).static_bytes == 0);
}

}  // namespace shardsim::paper_test
