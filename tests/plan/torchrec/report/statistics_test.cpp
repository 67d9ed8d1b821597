#include "plan/torchrec/report/statistics.h"

#include <doctest/doctest.h>

#include "plan/torchrec/report/text.h"
#include "tests/plan/torchrec/golden/batches.h"
#include "tests/plan/torchrec/golden/perf_cell.h"

namespace shardsim::torchrec::statistics_test {
namespace {

RunSettings two_ranks() {
  RunSettings settings;
  settings.topology.world_size = settings.topology.local_world_size = 2;
  set_capacity(settings.topology, 0, 0);
  return settings;
}

ConstrainedTable one_table() {
  ConstrainedTable item;
  item.table.name = "t";
  item.table.rows = 1000;
  item.table.dim = 64;
  item.constraints.sharding_types = {ShardingType::table_wise};
  item.constraints.compute_kernels = {ComputeKernel::fused};
  return item;
}

}  // namespace

TEST_CASE("numbers are rounded half to even and printed in their shortest form") {
  CHECK(decimals_text(7.31, 3) == "7.31");
  CHECK(decimals_text(0, 3) == "0.0");
  CHECK(decimals_text(45.5454, 3) == "45.545");
  CHECK(rounded(0.5, 0) == 0);
  CHECK(rounded(1.5, 0) == 2);
  CHECK(percent_text(0.526) == "53%");
  CHECK(part(2.5) == 2);
  CHECK(part(0.00056) == 0.0006);
  CHECK(perf_cell({1.4, 0.4, 3, 0.00005, 0}) == "4.8 (1,0.4,3,5e-05,0)");
  CHECK(rank_text({3, 1, 2, 0}) == "0-3");
  CHECK(rank_text({2, 1, 2, 3}) == "1,2,2,3");
  CHECK(rank_text({5}) == "5");
}

TEST_CASE("batch sizes are a column once a table states them") {
  ConstrainedTable item = one_table();
  const RunResult without = run_planner({item}, two_ranks());
  CHECK_FALSE(shows_batches(statistics_of(without, two_ranks())));
  item.table.pooling_factors = {1, 1, 1, 1};
  item.table.batch_sizes = {512, 512, 256, 256};
  CHECK(batches_cell(item.table) == "512 * 2, 256*2");
  const RunResult run = run_planner({item}, two_ranks());
  CHECK(shows_batches(statistics_of(run, two_ranks())));
}

TEST_CASE("a table on the only rank in use is no cause of imbalance") {
  const RunSettings settings = two_ranks();
  const RunResult run = run_planner({one_table()}, settings);
  CHECK(statistics_of(run, settings).top_hbm.empty());
}

TEST_CASE("tiers hold their true ranks beside TorchRec's positions") {
  const RunSettings settings = two_ranks();
  std::vector<ConstrainedTable> tables = {one_table(), one_table()};
  tables[1].table.name = "u";
  tables[1].table.rows = 100'000;
  const RunResult run = run_planner(tables, settings);
  const Statistics statistics = statistics_of(run, settings);
  REQUIRE(statistics.tiers.size() == 2);
  CHECK(statistics.tiers[1].positions == std::vector<int>{0});
  CHECK(statistics.tiers[1].ranks != statistics.tiers[0].ranks);
}

}  // namespace shardsim::torchrec::statistics_test
