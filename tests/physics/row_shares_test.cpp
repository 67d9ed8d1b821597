#include <doctest/doctest.h>

#include <numeric>

#include "program/program_file.h"
#include "study/result/rank_loads.h"
#include "tests/physics/random_plans.h"
#include "tests/physics/two_tables.h"

namespace shardsim::row_shares_test {

// The effect of uneven rows on a Program: lookups, different rows and exchanges follow the shares of the owners, and
// the rest stays the same. The numbers of two tables were checked by their source against 4,000 drawn batches.

using namespace shardsim::physics;

namespace {

constexpr auto kEven = LoadOptions::RowShares::even;

Workload with_law(Workload workload, double s, RowOrder order) {
  for (Table& table : workload.tables) {
    table.access.family = "zipf";
    table.access.s = s;
    table.row_order = order;
  }
  return workload;
}

Program lowered_with(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoadOptions& load = {}) {
  Program program = lower(plan, workload, cluster, {false, true, load, {}});
  check_program(program, Place{"test"});
  return program;
}

std::vector<double> lookups_by_rank(const Program& program) {
  std::vector<double> sums(static_cast<std::size_t>(program.world_size), 0.0);
  for (const Op& op : program.ops) {
    if (op.op_class != OpClass::lookup) continue;
    const std::vector<int> ranks = program.ranks_of(op);
    for (std::size_t i = 0; i < ranks.size(); ++i) sums[static_cast<std::size_t>(ranks[i])] += op.lookups.at(i);
  }
  return sums;
}

void check_near(const std::vector<double>& found, const std::vector<double>& wanted, double within) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - wanted[i]) <= within);
  }
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double largest(const std::vector<double>& values) {
  return *std::ranges::max_element(values);
}

Plan hashed_with(Plan plan, std::uint64_t seed) {
  plan.hash_seed = seed;
  return plan;
}

}  // namespace

// Zipf 1.05, ids in the order of popularity, cut in blocks; flex is hashed by the tables' names A and B, seed 1.
TEST_CASE("two tables: lookups of each rank by sharding type") {
  const Cluster cluster = toy_cluster();
  for (const TableKind kind : {TableKind::sequence, TableKind::pooled}) {
    Workload workload = with_law(two_tables_of(kind), 1.05, RowOrder::popularity);
    workload.tables[0].name = "A";
    workload.tables[1].name = "B";
    const auto lookups = [&](Strategy strategy) {
      return lookups_by_rank(lowered_with(hashed_with(plan_of(strategy), 1), workload, cluster));
    };
    check_near(lookups(Strategy::row_wise), {961, 110, 62, 43, 34, 28, 23, 19}, 0.5);
    check_near(lookups(Strategy::table_row_wise), {647, 62, 35, 24, 424, 45, 25, 18}, 0.5);
    check_near(lookups(Strategy::grid_shard), {1071, 107, 60, 42, 1071, 107, 60, 42}, 0.5);
    check_near(lookups(Strategy::flex), {184, 125, 127, 204, 184, 125, 127, 204}, 0.5);
  }
}

TEST_CASE("two tables: ids received, and what sequences send back") {
  const Cluster cluster = toy_cluster();
  const Workload workload = with_law(two_tables_of(TableKind::sequence), 1.05, RowOrder::popularity);
  const Program program = lowered_with(plan_of(Strategy::row_wise), workload, cluster);
  const std::vector<double> ids = ids_received(program);
  CHECK(8 * ids.front() == 7688);  // bytes
  CHECK(8 * ids.back() == 152);
  for (const Op& op : program.ops) {
    if (op.role != OpRole::exchange_output) continue;
    const ByteMatrix matrix = resolve_matrix(program, op.matrix);
    CHECK(matrix.bytes_sent(0, 8) == 246'016);
    CHECK(matrix.bytes_sent(7, 8) == 4'864);
    CHECK(matrix.bytes_received(0, 8) == 40'960);  // every source gets what it asked for
  }
}

TEST_CASE("two tables, pooled: device memory of lookups and updates") {
  const Cluster cluster = toy_cluster();
  const Workload workload = with_law(two_tables_of(TableKind::pooled), 1.05, RowOrder::popularity);
  const Program program = lowered_with(plan_of(Strategy::row_wise), workload, cluster);
  for (const Op& op : program.ops) {
    if (op.op_class == OpClass::lookup) check_near({op.hbm_bytes.at(0), op.hbm_bytes.at(7)}, {377'088, 135'936}, 0.5);
    if (op.op_class != OpClass::update) continue;
    check_near({op.distinct_rows.at(0), op.distinct_rows.at(7)}, {161.0, 18.6}, 0.1);
    CHECK(off(op.hbm_bytes.at(0), 329'725) < 1e-3);
    CHECK(off(op.hbm_bytes.at(7), 14'547) < 3e-3);
  }
}

TEST_CASE("equal rows that divide, and even shares, give the Program of even shares") {
  const Cluster cluster = toy_cluster();
  for (const Strategy strategy :
       {Strategy::row_wise, Strategy::table_row_wise, Strategy::grid_shard, Strategy::flex, Strategy::table_wise}) {
    for (const TableKind kind : {TableKind::sequence, TableKind::pooled}) {
      const Workload even = two_tables_of(kind);
      const std::string before = program_to_json(lowered_with(plan_of(strategy), even, cluster, {.row_shares = kEven}));
      for (const RowOrder order : {RowOrder::random, RowOrder::popularity}) {
        Workload workload = even;
        for (Table& table : workload.tables) table.row_order = order;
        Program program = lowered_with(plan_of(strategy), workload, cluster);
        program.tables = even.tables;
        for (Table& table : program.tables) table.row_key.clear();  // by the names of tables, as it was lowered
        CHECK(program_to_json(program) == before);
      }
    }
  }
}

TEST_CASE("whatever the order, the cut and the skew, as many ids are looked up, and each is sent once") {
  Rng rng(20);
  const std::vector<Strategy> by_rows = {Strategy::row_wise, Strategy::table_row_wise, Strategy::grid_shard};
  for (int trial = 0; trial < 40; ++trial) {
    const RandomPlan made = random_plan(static_cast<std::uint64_t>(trial), {{one_of(rng, by_rows)}});
    const double even =
        sum(lookups_by_rank(lowered_with(made.plan, made.workload, *made.cluster, {.row_shares = kEven})));
    const RowOrder order = rng.below(2) == 0 ? RowOrder::random : RowOrder::popularity;
    const Workload workload = with_law(made.workload, 0.2 + 0.1 * static_cast<double>(rng.below(14)), order);
    const RowCut cut = rng.below(2) == 0 ? RowCut::blocks : RowCut::modulo;
    const Program program = lowered_with(made.plan, workload, *made.cluster, {.row_cut = cut});
    CAPTURE(trial);
    CHECK(off(sum(lookups_by_rank(program)), even) < 1e-12);
    CHECK(sum(ids_received(program)) == sum(lookups_by_rank(program)));
    const auto loads = rank_loads(program);
    if (!loads) continue;
    // But for whole numbers: of the hottest row's table its rank gets at most one lookup less from each rank.
    CHECK(loads->times_mean() >=
          loads->hottest_row->least_times_mean * (1 - program.world_size / loads->hottest_row->lookups));
  }
}

TEST_CASE("more skew never empties the fullest rank, ids in the order of popularity") {
  const Cluster cluster = toy_cluster();
  for (const RowCut cut : {RowCut::blocks, RowCut::modulo}) {
    double before = 0;
    for (int step = 0; step <= 20; ++step) {
      const Workload workload = with_law(two_tables_of(TableKind::pooled), 0.1 * step, RowOrder::popularity);
      const double now =
          largest(lookups_by_rank(lowered_with(plan_of(Strategy::row_wise), workload, cluster, {.row_cut = cut})));
      CAPTURE(step);
      CHECK(now >= before);
      before = now;
    }
    CHECK(before > 500);
  }
}

TEST_CASE("the fullest rank and the table that makes it full") {
  const Cluster cluster = toy_cluster();
  Workload workload = two_tables_of(TableKind::pooled);
  CHECK_FALSE(rank_loads(lowered_with(plan_of(Strategy::row_wise), workload, cluster)).has_value());
  workload = with_law(workload, 1.05, RowOrder::popularity);
  workload.tables[1].access = AccessSpec{};
  const auto loads = rank_loads(lowered_with(plan_of(Strategy::row_wise), workload, cluster));
  REQUIRE(loads.has_value());
  CHECK(loads->fullest == 0);
  CHECK(loads->tables.front().table == "a");
  CHECK(sum(loads->lookups) == doctest::Approx(8 * 32 * 5));
  CHECK(loads->tables.back().lookups[3] == doctest::Approx(64));  // of b, evenly
}

}  // namespace shardsim::row_shares_test
