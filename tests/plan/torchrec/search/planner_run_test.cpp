#include "plan/torchrec/search/planner_run.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "plan/torchrec/report/statistics.h"

namespace shardsim::torchrec::planner_run_test {
namespace {

std::vector<ConstrainedTable> random_tables(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<ConstrainedTable> tables;
  for (int i = 0; i < count; ++i) {
    ConstrainedTable item;
    item.table.name = fmt::format("t{}", i);
    item.table.rows = static_cast<std::int64_t>(1000 + random() % 4'000'000);
    item.table.dim = std::int64_t{8} << (random() % 6);
    item.table.pooling_factors = {static_cast<double>(1 + random() % 50)};
    item.table.optimizer = Optimizer::rowwise_adagrad;
    tables.push_back(item);
  }
  return tables;
}

RunSettings machine(std::int64_t hbm, std::int64_t ddr) {
  RunSettings settings;
  settings.topology.world_size = 8;
  settings.topology.local_world_size = 4;
  set_capacity(settings.topology, hbm, ddr);
  return settings;
}

}  // namespace

TEST_CASE("leaving out placements that cannot matter changes no result") {
  for (const std::int64_t gib : {1, 2, 8, 64}) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      CAPTURE(gib);
      CAPTURE(seed);
      const auto tables = random_tables(10 + static_cast<int>(seed), seed);
      RunSettings settings = machine(gib * kGiB, 4 * gib * kGiB);
      if (seed % 2 == 1) settings.partitioner.kind = PartitionerKind::memory_balanced;
      const RunResult slow = run_planner(tables, settings);
      settings.count_plans = false;
      const RunResult fast = run_planner(tables, settings);
      CHECK(fast.found == slow.found);
      CHECK(fast.num_proposals == slow.num_proposals);
      CHECK(fast.num_plans <= slow.num_plans);
      CHECK(fast.num_plans + fast.num_untried >= slow.num_plans);
      CHECK(fast.rating == slow.rating);
      CHECK(fast.assignment.ranks == slow.assignment.ranks);
      if (fast.found) continue;
      CHECK(fast.lowest.hbm == slow.lowest.hbm);
      REQUIRE(fast.last_error);
      REQUIRE(slow.last_error);
      CHECK(fast.last_error->text == slow.last_error->text);
    }
  }
}

TEST_CASE("a plan holds every shard within the reserved memory of its rank") {
  const auto tables = random_tables(12, 3);
  const RunSettings settings = machine(2 * kGiB, 8 * kGiB);
  const RunResult run = run_planner(tables, settings);
  REQUIRE(run.found);
  REQUIRE(run.plan.size() == tables.size());
  const auto storage = storage_per_rank(proposal_of(run.plan), run.assignment, 8);
  for (std::size_t rank = 0; rank < 8; ++rank) CHECK(storage[rank].fits_in(run.reservation.topology.devices[rank]));
}

TEST_CASE("no tables, no sharders: an empty plan") {
  const RunResult run = run_planner({}, machine(kGiB, kGiB));
  CHECK(run.found);
  CHECK(run.plan.empty());
  CHECK(statistics_of(run, machine(kGiB, kGiB)).tables.empty());
}

TEST_CASE("constraints that leave no option name their table") {
  auto tables = random_tables(2, 1);
  tables[1].constraints.sharding_types = {ShardingType::table_wise};
  tables[1].constraints.compute_kernels = {ComputeKernel::dense};
  CHECK_THROWS_WITH_AS(run_planner(tables, machine(kGiB, kGiB)),
                       "table 't1': its constraints leave no sharding type and kernel", PlannerError);
}

TEST_CASE("a sequence collection has one dimension") {
  auto tables = random_tables(2, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    tables[i].table.pooled = false;
    tables[i].table.module = "ec";
    tables[i].table.dim = i == 0 ? 64 : 128;
  }
  CHECK_THROWS_AS(run_planner(tables, machine(kGiB, kGiB)), PlannerError);
}

TEST_CASE("grid_shard is placed on whole hosts when it is asked for") {
  auto tables = random_tables(1, 5);
  tables[0].table.dim = 256;
  tables[0].constraints.sharding_types = {ShardingType::grid_shard};
  tables[0].constraints.compute_kernels = {ComputeKernel::fused};
  const RunResult run = run_planner(tables, machine(8 * kGiB, kGiB));
  REQUIRE(run.found);
  CHECK(run.plan[0].shards == 8);  // two column blocks of four row shards
  CHECK(run.assignment.ranks == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("a fixed percentage reserves nothing besides; 2026-08 reports the ids of the batches all the same") {
  RunSettings settings = machine(10 * kGiB, kGiB);
  settings.reservation.kind = ReservationKind::fixed_percentage;
  settings.reservation.percentage = 0.25;
  for (const PlannerVersion version : {PlannerVersion::v2025_10, PlannerVersion::v2026_08}) {
    const bool newest = version == PlannerVersion::v2026_08;
    settings.estimate.version = version;
    const RunResult run = run_planner(random_tables(1, 1), settings);
    CHECK(run.reservation.topology.devices[0].hbm == 10 * kGiB / 4 * 3);
    CHECK(run.reservation.itemised == newest);
    CHECK((run.reservation.kjt.hbm > 0) == newest);
    CHECK(run.reservation.dense == Storage{});
  }
}

TEST_CASE("on a cpu everything lies in host memory") {
  RunSettings settings = machine(0, 64 * kGiB);
  settings.topology.device = Device::cpu;
  set_capacity(settings.topology, 0, 64 * kGiB);
  const RunResult run = run_planner(random_tables(4, 2), settings);
  REQUIRE(run.found);
  for (const ShardingOption& option : run.plan) {
    CHECK(option.total.hbm == 0);
    CHECK(option.total.ddr > 0);
  }
}

}  // namespace shardsim::torchrec::planner_run_test
