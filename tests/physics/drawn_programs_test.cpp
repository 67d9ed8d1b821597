#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "sim/engine/iteration_chain.h"
#include "sim/engine/op_work.h"
#include "sim/lower/draws/drawn_batch.h"
#include "tests/physics/random_plans.h"
#include "tests/physics/two_tables.h"

namespace shardsim::drawn_programs_test {

// Programs of drawn batches: the operations of the expected one, sizes that fit each other to the id, and means that
// are those of the expected batch.

using namespace shardsim::physics;

namespace {

LoweringOptions drawn_with(std::uint64_t seed) {
  LoweringOptions options;
  options.load.batches = LoadOptions::Batches::drawn;
  options.load.seed = seed;
  return options;
}

Workload with_lengths(Workload workload, const std::string& family, double parameter) {
  for (Table& table : workload.tables) {
    table.lengths.family = family;
    table.lengths.sigma = table.lengths.size = parameter;
  }
  return workload;
}

Workload with_zipf(Workload workload, double s) {
  for (Table& table : workload.tables) {
    table.access.family = "zipf";
    table.access.s = s;
  }
  return workload;
}

const std::vector<Strategy>& every_strategy() {
  static const std::vector<Strategy> all = {
      Strategy::column_wise, Strategy::data_parallel,     Strategy::flex,           Strategy::grid_shard,
      Strategy::row_wise,    Strategy::table_column_wise, Strategy::table_row_wise, Strategy::table_wise};
  return all;
}

// The same operations in the same order, whatever their sizes.
void check_same_operations(const Program& drawn, const Program& expected) {
  REQUIRE(drawn.ops.size() == expected.ops.size());
  for (std::size_t i = 0; i < drawn.ops.size(); ++i) {
    const Op &a = drawn.ops[i], &b = expected.ops[i];
    CAPTURE(b.name);
    CHECK(a.name == b.name);
    CHECK(a.role == b.role);
    CHECK(a.fusion == b.fusion);
    CHECK(a.stream == b.stream);
    CHECK(a.ranks == b.ranks);
    CHECK(a.after == b.after);
    CHECK(a.after_previous == b.after_previous);
    CHECK(a.group == b.group);
    CHECK(a.shards == b.shards);
    CHECK(a.fixed_ns == b.fixed_ns);
  }
  CHECK(drawn.groups == expected.groups);
  CHECK(drawn.shards == expected.shards);
  CHECK(drawn.fusions == expected.fusions);
}

const Op* op_of(const Program& program, int fusion, OpRole role) {
  const std::vector<int> ids = ops_in_role(program, fusion, role);
  return ids.empty() ? nullptr : &program.op(ids.front());
}

// [rank] ids received in a fusion group.
std::vector<std::int64_t> ids_received(const Program& program, const Op& exchange) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(program.world_size), 0);
  const auto& sets = program.groups.at(exchange.group);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const ByteMatrix matrix = resolve_matrix(program, exchange.matrix, set);
    const int members = static_cast<int>(sets[set].size());
    for (int i = 0; i < members; ++i) {
      ids[static_cast<std::size_t>(sets[set][static_cast<std::size_t>(i)])] +=
          matrix.bytes_received(i, members) / program.id_bytes;
    }
  }
  return ids;
}

// [rank] rows read in all lookups of a fusion group.
std::vector<double> rows_read(const Program& program, int fusion) {
  std::vector<double> rows(static_cast<std::size_t>(program.world_size), 0.0);
  for (const int id : ops_in_role(program, fusion, OpRole::lookup)) {
    const std::vector<int> ranks = program.ranks_of(program.op(id));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      rows[static_cast<std::size_t>(ranks[i])] += program.op(id).lookups.at(i);
    }
  }
  return rows;
}

// Checks a fusion group: an owner looks up the ids that it was sent, and their sequences go back to the rank that
// asked.
void check_fusion(const Program& program, int fusion) {
  const Op* const ids = op_of(program, fusion, OpRole::exchange_ids);
  if (ids == nullptr) return;
  const std::vector<std::int64_t> received = ids_received(program, *ids);
  const std::vector<double> read = rows_read(program, fusion);
  for (std::size_t rank = 0; rank < read.size(); ++rank) CHECK(read[rank] == static_cast<double>(received[rank]));
  const Program::Fusion& group = program.fusions[static_cast<std::size_t>(fusion)];
  const Op* const output = op_of(program, fusion, OpRole::exchange_output);
  const Op* const back = op_of(program, fusion, OpRole::exchange_gradient);
  if (group.kind == TableKind::pooled || output == nullptr) return;
  const auto& sets = program.groups.at(ids->group);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const int members = static_cast<int>(sets[set].size());
    const ByteMatrix asked = resolve_matrix(program, ids->matrix, set);
    const ByteMatrix rows = resolve_matrix(program, output->matrix, set);
    const ByteMatrix gradients = resolve_matrix(program, back->matrix, set);
    for (int source = 0; source < members; ++source) {
      for (int owner = 0; owner < members; ++owner) {
        CHECK(rows.bytes_between(owner, source, members) == gradients.bytes_between(source, owner, members));
        const bool any = asked.bytes_between(source, owner, members) > 0;
        CHECK(any == (rows.bytes_between(owner, source, members) > 0));
      }
    }
  }
}

std::vector<double> cells_of(const Program& program, const Op& exchange) {
  std::vector<double> cells;
  const auto& sets = program.groups.at(exchange.group);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const ByteMatrix matrix = resolve_matrix(program, exchange.matrix, set);
    const int members = static_cast<int>(sets[set].size());
    for (int a = 0; a < members; ++a) {
      for (int b = 0; b < members; ++b) {
        cells.push_back(static_cast<double>(matrix.bytes_between(a, b, members)) / program.id_bytes);
      }
    }
  }
  return cells;
}

}  // namespace

// Section 6, law 8 of the rules of real load: rows and columns add up.
TEST_CASE("random plans: the operations of expected batches, and ids that are received, looked up and sent back") {
  const std::vector<std::string> families = {"poisson", "log_normal", "geometric", "negative_binomial", "fixed"};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomChoice choice{every_strategy()};
    std::erase(choice.strategies, Strategy::flex);  // of all nodes, it is placed by planners; below
    choice.pipeline = std::vector<std::string>{"none", "sparse_dist", "prefetch_sparse_dist"}[seed % 3];
    choice.dense = "{layers: [{name: a, in: 64, out: 64, per: item}, {name: top, in: 64, out: 8, repeat: 2}]}";
    choice.kernels = {"fused", "fused_uvm_caching", "dense"};
    RandomPlan made = random_plan(seed, choice);
    made.workload = with_lengths(made.workload, families[seed % families.size()], 1.2);
    CAPTURE(seed);
    const DrawnPrograms programs(made.plan, made.workload, *made.cluster, drawn_with(seed));
    for (const std::int64_t iteration : {0, 1, 7}) {
      const Program program = programs.at(iteration);
      check_program(program, Place{"test"});
      check_same_operations(program, programs.expected());
    }
    if (choice.pipeline != "none") continue;  // there, ids are of another batch than lookups
    const Program program = programs.at(3);
    for (std::size_t fusion = 0; fusion < program.fusions.size(); ++fusion) {
      check_fusion(program, static_cast<int>(fusion));
    }
  }
}

TEST_CASE("every planner: ids that are received, looked up and sent back, in replica groups and tiers, too") {
  const Cluster cluster = toy_cluster();
  for (const TableKind kind : {TableKind::sequence, TableKind::pooled}) {
    for (const std::string& planner : every_planner()) {
      if (kind == TableKind::pooled && planner.find("flexshard") != std::string::npos) continue;
      CAPTURE(planner);
      Workload workload = with_lengths(two_tables_of(kind, "input_exchange: full\n"), "log_normal", 1);
      workload = with_zipf(std::move(workload), 1);
      const Plan plan = planned(planner, workload, cluster);
      const DrawnPrograms programs(plan, workload, cluster, drawn_with(3));
      const Program program = programs.at(2);
      check_program(program, Place{"test"});
      check_same_operations(program, programs.expected());
      for (std::size_t fusion = 0; fusion < program.fusions.size(); ++fusion) {
        check_fusion(program, static_cast<int>(fusion));
      }
    }
  }
}

TEST_CASE("the mean matrix of many drawn batches is that of the expected one") {
  constexpr int kIterations = 1000;
  const Cluster cluster = toy_cluster();
  for (const Strategy strategy : {Strategy::row_wise, Strategy::table_row_wise, Strategy::flex, Strategy::table_wise}) {
    Workload workload = with_lengths(two_tables_of(TableKind::sequence), "log_normal", 1);
    workload = with_zipf(std::move(workload), 1.05);
    const Plan plan = plan_of(strategy);
    const DrawnPrograms programs(plan, workload, cluster, drawn_with(5));
    const Op& exchange = *op_of(programs.expected(), 0, OpRole::exchange_ids);
    const std::vector<double> expected = cells_of(programs.expected(), exchange);
    std::vector<double> sums(expected.size(), 0), squares(expected.size(), 0);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      const Program program = programs.at(iteration);
      const std::vector<double> cells = cells_of(program, *op_of(program, 0, OpRole::exchange_ids));
      for (std::size_t i = 0; i < cells.size(); ++i) sums[i] += cells[i], squares[i] += cells[i] * cells[i];
    }
    CAPTURE(static_cast<int>(strategy));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double average = sums[i] / kIterations;
      const double error = std::sqrt((squares[i] / kIterations - average * average) / kIterations);
      CAPTURE(i);
      // A cell of the expected matrix is whole: the floor or the ceiling of what the mean tends to.
      CHECK(std::abs(average - expected[i]) <= 4 * error + 1);
    }
  }
}

TEST_CASE("different rows and updates of drawn batches are on average those of the expected one") {
  constexpr int kIterations = 300;
  const Cluster cluster = toy_cluster();
  for (const Strategy strategy : every_strategy()) {
    Workload workload = with_lengths(two_tables_of(TableKind::pooled), "poisson", 0);
    workload = with_zipf(std::move(workload), 1.05);
    const Plan plan = plan_of(strategy);
    const DrawnPrograms programs(plan, workload, cluster, drawn_with(9));
    std::vector<double> expected, drawn;
    const auto add = [](const Program& program, std::vector<double>& sums) {
      std::size_t at = 0;
      for (const Op& op : program.ops) {
        if (op.role != OpRole::update && op.role != OpRole::sum_gradient) continue;
        for (std::size_t rank = 0; rank < 8; ++rank, ++at) {
          if (sums.size() <= at) sums.push_back(0);
          sums[at] += op.distinct_rows.at(rank);
        }
      }
    };
    add(programs.expected(), expected);
    for (int iteration = 0; iteration < kIterations; ++iteration) add(programs.at(iteration), drawn);
    CAPTURE(static_cast<int>(strategy));
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs(drawn[i] / kIterations - expected[i]) < 0.03 * expected[i] + 0.5);
  }
}

TEST_CASE("in a pipeline an exchange of ids has the sizes of the batch that it carries") {
  const Cluster cluster = toy_cluster();
  const auto programs_of = [&](const Workload& workload, const Plan& plan) {
    return DrawnPrograms(plan, workload, cluster, drawn_with(2));
  };
  const Plan plan = plan_of(Strategy::row_wise);
  const auto workload = [](const char* pipeline) {
    return with_lengths(
        two_tables_of(TableKind::sequence, std::string("input_exchange: full\npipeline: ") + pipeline + "\n"),
        "log_normal", 1);
  };
  const Workload in_line = workload("none");
  const DrawnPrograms batches = programs_of(in_line, plan);
  for (const char* const pipeline : {"sparse_dist", "prefetch_sparse_dist"}) {
    CAPTURE(pipeline);
    const Workload pipelined = workload(pipeline);
    const DrawnPrograms programs = programs_of(pipelined, plan);
    for (const OpRole role : {OpRole::copy_inputs, OpRole::permute_inputs, OpRole::exchange_ids, OpRole::recat,
                              OpRole::lookup, OpRole::exchange_output, OpRole::update}) {
      const Program program = programs.at(4);
      const auto op = std::ranges::find(program.ops, role, &Op::role);
      const Program batch = batches.at(4 + op->batches_ahead);
      const auto same = std::ranges::find(batch.ops, role, &Op::role);
      CAPTURE(op->name);
      CHECK(op->lookups == same->lookups);
      CHECK(op->hbm_bytes == same->hbm_bytes);
      CHECK(op->host_bytes == same->host_bytes);
      if (!op->matrix.empty()) CHECK(resolve_matrix(program, op->matrix) == resolve_matrix(batch, same->matrix));
    }
    CHECK(op_of(programs.at(4), 0, OpRole::exchange_ids)->batches_ahead == 1);
  }
}

TEST_CASE("what is drawn depends on the seed and the iteration, not on what was asked for before") {
  const Cluster cluster = toy_cluster();
  const Workload workload = with_lengths(two_tables_of(TableKind::sequence), "log_normal", 1);
  const Plan plan = plan_of(Strategy::flex);
  const DrawnPrograms first(plan, workload, cluster, drawn_with(1)), again(plan, workload, cluster, drawn_with(1));
  const DrawnPrograms other(plan, workload, cluster, drawn_with(2));
  const Program fifth = first.at(5);
  CHECK(again.at(0) == first.at(0));
  CHECK(again.at(5) == fifth);
  CHECK(first.at(6).matrices != fifth.matrices);
  CHECK(other.at(5).matrices != fifth.matrices);
}

TEST_CASE("the order of tables and of their placements changes nothing that was drawn") {
  const Cluster cluster = toy_cluster();
  const Workload workload = with_lengths(two_tables_of(TableKind::sequence), "log_normal", 1);
  const Plan plan = plan_of(Strategy::row_wise);
  Workload turned = workload;
  std::swap(turned.tables[0], turned.tables[1]);
  Plan turned_plan = plan;
  std::swap(turned_plan.placements[0], turned_plan.placements[1]);
  for (Placement& placement : turned_plan.placements) placement.table = 1 - placement.table;
  const DrawnPrograms one(plan, workload, cluster, drawn_with(1)), two(turned_plan, turned, cluster, drawn_with(1));
  const Program a = one.at(3), b = two.at(3);
  CHECK(a.matrices == b.matrices);
  for (std::size_t i = 0; i < a.ops.size(); ++i) CHECK(a.ops[i].lookups == b.ops[i].lookups);
}

// Section 6, law 9.
TEST_CASE("lengths without spread give the totals of fixed ones") {
  const Cluster cluster = toy_cluster();
  const Plan plan = plan_of(Strategy::table_wise);
  const Workload fixed = two_tables_of(TableKind::sequence);
  const Workload narrow = with_lengths(fixed, "log_normal", 1e-9);
  const DrawnPrograms a(plan, fixed, cluster, drawn_with(1)), b(plan, narrow, cluster, drawn_with(1));
  for (const std::int64_t iteration : {0, 1, 2}) CHECK(a.at(iteration).matrices == b.at(iteration).matrices);
  CHECK(a.at(0).ops.front().role == OpRole::exchange_ids);
  CHECK(cells_of(a.at(0), a.at(0).ops.front()) == cells_of(a.expected(), a.expected().ops.front()));
}

TEST_CASE("a batch without any id has the same operations, with nothing in them") {
  const Cluster cluster = toy_cluster();
  for (const Strategy strategy : every_strategy()) {
    Workload workload = two_tables_of(TableKind::sequence);
    for (Table& table : workload.tables) {
      table.lengths.family = "histogram";  // one bag in a million is long, so that most batches have none
      table.average_length = table.features.front().pooling_factor = 1;
      table.lengths.lengths = {{0, 1 - 1e-6}, {1'000'000, 1e-6}};
    }
    const Plan plan = plan_of(strategy);
    const DrawnPrograms programs(plan, workload, cluster, drawn_with(1));
    const Program program = programs.at(0);
    check_program(program, Place{"test"});
    check_same_operations(program, programs.expected());
    for (const Op& op : program.ops) {
      if (op.op_class == OpClass::lookup) CHECK(*std::ranges::max_element(op.lookups.values) == 0);
    }
    const std::vector<std::vector<OpWork>> works(
        3, expand_ops(program, cluster, *make_compute_model(named("roofline")), {}));
    const IterationChain chain(program, cluster, works, *make_network(named("fair_queues")));
    for (std::size_t i = 0; i < works.size(); ++i) {
      CHECK(std::isfinite(chain.seconds(i).value));
      CHECK(chain.seconds(i).value > 0);
    }
  }
}

// A rank whose sequences are longer pays for the squares of their lengths; on average that is what is expected.
TEST_CASE("attention of drawn batches differs by rank, and has the expected pairs on average") {
  const Workload workload = read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 32\ntables:\n"
                 "  - {name: a, rows: 1000, dim: 64, kind: sequence, average_length: 40, length_distribution: {family: "
                 "geometric}}\n  - {name: b, rows: 600, dim: 64, kind: sequence, average_length: 3}\n"
                 "dense: {layers: [{name: l, kind: attention, heads: 1, head_dim: 64, length: 43}]}\n",
                 "w"),
      "");
  const Cluster cluster = toy_cluster();
  const Plan plan = plan_of(Strategy::row_wise);
  const DrawnPrograms drawn(plan, workload, cluster, drawn_with(1));
  const auto flops_of = [](const Program& program) {
    return std::ranges::find(program.ops, OpRole::dense_forward, &Op::role)->flops;
  };
  // E L = 43, E L^2 = 43^2 + 40 + 40^2; 4 FLOP for each column and pair.
  const double expected = 4 * 64.0 * 32 * (43 * 44 + 1640) / 2;
  CHECK(flops_of(drawn.expected()).values == std::vector<double>{expected});
  double mean = 0;
  constexpr int kIterations = 60;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const PerRank flops = flops_of(drawn.at(iteration));
    REQUIRE(flops.values.size() == 8);
    CHECK(flops.values[0] != flops.values[1]);
    mean += std::accumulate(flops.values.begin(), flops.values.end(), 0.0) / (8 * kIterations);
  }
  CHECK(off(mean, expected) < 0.05);
}

}  // namespace shardsim::drawn_programs_test
