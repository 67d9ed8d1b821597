#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <set>

#include "sim/lower/draws/drawn_batch.h"
#include "sim/memory/buffers.h"
#include "study/planning/lower_bound.h"
#include "tests/physics/random_plans.h"
#include "tests/physics/two_tables.h"

namespace shardsim::index_dedup_test {

// Laws of index deduplication: every rank asks for an id once, nothing that is exchanged grows, and what it costs is a
// pass over ids and two over vectors.

using namespace shardsim::physics;

namespace {

constexpr const char* kFull = "input_exchange: full\n";

Workload with_zipf(Workload workload, double s) {
  for (Table& table : workload.tables) {
    table.access.family = s > 0 ? "zipf" : "uniform";
    table.access.s = s;
  }
  return workload;
}

Workload deduplicated(Workload workload) {
  for (Table& table : workload.tables) table.index_dedup = table.kind == TableKind::sequence;
  return workload;
}

// One sequence of `items` ids a sample.
Workload one_sequence(std::uint64_t rows, double items, const std::string& access, const std::string& more = "") {
  return read_workload(parse_yaml(fmt::format("schema: shardsim.workload/1\nname: one\nbatch_per_gpu: 64\n{}tables:\n"
                                              "  - {{name: a, rows: {}, dim: 64, kind: sequence, average_length: {}, "
                                              "access: {}}}\n",
                                              more, rows, items, access),
                                  "one"),
                       "");
}

const std::vector<Strategy> kStrategies = {
    Strategy::column_wise, Strategy::data_parallel,     Strategy::flex,           Strategy::grid_shard,
    Strategy::row_wise,    Strategy::table_column_wise, Strategy::table_row_wise, Strategy::table_wise};

// Over all ranks, of all exchanges in that role.
std::int64_t exchanged(const Program& program, OpRole role) {
  std::int64_t bytes = 0;
  for (const Op& op : program.ops) {
    if (op.role != role) continue;
    const std::vector<std::vector<int>>& sets = program.groups.at(op.group);
    for (std::size_t set = 0; set < sets.size(); ++set) {
      const ByteMatrix matrix = resolve_matrix(program, op.matrix, op.matrix.per_set ? set : 0);
      const auto received = matrix.all_received(static_cast<int>(sets[set].size()));
      bytes += std::accumulate(received.begin(), received.end(), std::int64_t{0});
    }
  }
  return bytes;
}

constexpr OpRole kExchanges[] = {OpRole::exchange_splits, OpRole::exchange_lengths, OpRole::exchange_ids,
                                 OpRole::exchange_output, OpRole::exchange_gradient};

double sum_of(const PerRank& numbers, int ranks) {
  if (numbers.values.size() == 1) return numbers.values.front() * ranks;
  return std::accumulate(numbers.values.begin(), numbers.values.end(), 0.0);
}

double lookups(const Program& program) {
  double sum = 0;
  for (const Op& op : program.ops) {
    if (op.role == OpRole::lookup) sum += sum_of(op.lookups, program.world_size);
  }
  return sum;
}

double rows_updated(const Program& program) {
  double sum = 0;
  for (const Op& op : program.ops) {
    if (op.role == OpRole::update || op.role == OpRole::sum_gradient)
      sum += sum_of(op.distinct_rows, program.world_size);
  }
  return sum;
}

const Op& only(const Program& program, OpRole role) {
  const auto found = std::ranges::find(program.ops, role, &Op::role);
  REQUIRE(found != program.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("no exchange grows, whatever the plan, and owners read the rows that they read before") {
  const Cluster cluster = toy_cluster();
  for (const char* const how : {"", kFull, "input_exchange: full\npipeline: sparse_dist\n",
                                "input_exchange: ids\npipeline: prefetch_sparse_dist\n"}) {
    const Workload plain = with_zipf(two_tables_of(TableKind::sequence, how), 1.1);
    for (const Strategy strategy : kStrategies) {
      CAPTURE(how);
      CAPTURE(strategy_name(strategy));
      const Plan plan = plan_of(strategy);
      const Program before = lowered_plan(plan, plain, cluster),
                    after = lowered_plan(plan, deduplicated(plain), cluster);
      for (const OpRole role : kExchanges) CHECK(exchanged(after, role) <= exchanged(before, role));
      if (strategy != Strategy::data_parallel) {
        CHECK(exchanged(after, OpRole::exchange_ids) < exchanged(before, OpRole::exchange_ids));
        CHECK(exchanged(after, OpRole::exchange_output) < exchanged(before, OpRole::exchange_output));
      }
      CHECK(lookups(after) < lookups(before));
      CHECK(off(rows_updated(after), rows_updated(before)) < 1e-9);
      CHECK(after.ops.size() == before.ops.size() + 3);
    }
  }
}

TEST_CASE("tiers of a table are deduplicated one by one") {
  const Cluster cluster = toy_cluster();
  const Workload plain = with_zipf(two_tables_of(TableKind::sequence, kFull), 1.1);
  for (const char* const planner :
       {"{name: flexshard_2tier, memory_budget: 100 KiB}", "{name: flexshard_3tier, memory_budget: 100 KiB}"}) {
    const Plan plan = planned(planner, plain, cluster);
    const Program before = lowered_plan(plan, plain, cluster), after = lowered_plan(plan, deduplicated(plain), cluster);
    for (const OpRole role : kExchanges) CHECK(exchanged(after, role) <= exchanged(before, role));
    const Op &merge = only(after, OpRole::merge_tiers), &restore = only(after, OpRole::restore_duplicates);
    CHECK(restore.after == std::vector<int>{merge.id});
    CHECK(waits_for(after, only(after, OpRole::split_gradient_tiers), only(after, OpRole::sum_duplicates).id));
  }
}

// 32 samples of 3 and of 2 ids, 256 B a vector: 160 ids and 40,960 B a rank.
TEST_CASE("the passes: a sort of the ids, a gather of vectors, sums of gradients") {
  const Cluster cluster = toy_cluster();
  const Workload workload = deduplicated(with_zipf(two_tables_of(TableKind::sequence, kFull), 1.1));
  const Program program = lowered_plan(plan_of(Strategy::table_wise), workload, cluster);
  const double kept = static_cast<double>(exchanged(program, OpRole::exchange_ids)) / 8 / 8;
  CHECK(kept < 160);
  const Op& unique = only(program, OpRole::deduplicate_ids);
  CHECK(unique.lookups.at(0) == 160);
  CHECK(unique.sort_bits == 64);
  CHECK(unique.hbm_bytes.at(0) == 112 * 160 + 8 * kept);
  CHECK(waits_for(program, only(program, OpRole::exchange_ids), unique.id));
  const Op &restore = only(program, OpRole::restore_duplicates), &sum = only(program, OpRole::sum_duplicates);
  CHECK(restore.hbm_bytes.at(0) == 2 * 40'960);
  CHECK(sum.hbm_bytes.at(0) == 3 * 40'960 + 256 * kept);
  CHECK(waits_for(program, restore, only(program, OpRole::order_output).id));
  CHECK(waits_for(program, only(program, OpRole::order_gradient), sum.id));
  CHECK(only(program, OpRole::copy_inputs).host_bytes.at(0) == 160 * 8 + 2 * 32 * 4);  // the host removes nothing
}

TEST_CASE("in a pipeline the ids of the batch that is exchanged are made unique") {
  const Cluster cluster = toy_cluster();
  for (const char* const how :
       {"input_exchange: full\npipeline: sparse_dist\n", "input_exchange: ids\npipeline: sparse_dist\n",
        "input_exchange: ids\npipeline: prefetch_sparse_dist\n"}) {
    const Workload workload = deduplicated(with_zipf(two_tables_of(TableKind::sequence, how), 1.1));
    const Program program = lowered_plan(plan_of(Strategy::row_wise), workload, cluster);
    CHECK(only(program, OpRole::deduplicate_ids).batches_ahead == only(program, OpRole::exchange_ids).batches_ahead);
    CHECK(only(program, OpRole::restore_duplicates).batches_ahead == 0);
  }
}

TEST_CASE("uniform ids of a huge table stay as they are, and the iteration gets longer by the passes") {
  const Cluster cluster = toy_cluster();
  const Workload plain = one_sequence(4'000'000'000, 50, "{family: uniform}", kFull);
  for (const char* const planner : {"{name: row_wise}", "{name: table_wise}"}) {
    const Program before = lowered(planner, plain, cluster), after = lowered(planner, deduplicated(plain), cluster);
    for (const OpRole role : kExchanges) CHECK(exchanged(after, role) == exchanged(before, role));
    CHECK(lookups(after) == lookups(before));
    const Timeline with = simulated(after, cluster), without = simulated(before, cluster);
    const auto compute = make_compute_model(named("roofline"));
    const std::vector<OpWork> works = expand_ops(after, cluster, *compute, {});
    double passes = 0;
    for (const OpRole role : {OpRole::deduplicate_ids, OpRole::restore_duplicates, OpRole::sum_duplicates})
      passes += works[static_cast<std::size_t>(only(after, role).id)].alone.ms();
    CHECK(with.iteration_ms == doctest::Approx(without.iteration_ms + passes).epsilon(1e-6));
  }
}

TEST_CASE("of a single row every rank asks once") {
  const Cluster cluster = toy_cluster();
  const Program program =
      lowered("{name: table_wise}", deduplicated(one_sequence(1, 50, "{family: uniform}")), cluster);
  CHECK(exchanged(program, OpRole::exchange_ids) == 8 * 8);
  CHECK(exchanged(program, OpRole::exchange_output) == 8 * 64 * 4);
  CHECK(lookups(program) == 8);
  CHECK(rows_updated(program) == doctest::Approx(1));
}

// 64 samples of 50 ids a rank, really drawn: what differs from the expected numbers is chance.
TEST_CASE("as many ids are sent as batches have different ones") {
  const Workload workload = one_sequence(20'000, 50, "{family: zipf, s: 1.05}");
  const AccessDistribution access = workload.tables.front().distribution();
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> mass(0, access.total());
  double different = 0;
  constexpr int kBatches = 40;
  for (int batch = 0; batch < kBatches; ++batch) {
    std::set<std::uint64_t> ids;
    for (int id = 0; id < 64 * 50; ++id) ids.insert(access.position_at(mass(random)));
    different += static_cast<double>(ids.size()) / kBatches;
  }
  const Program program = lowered("{name: row_wise}", deduplicated(workload), toy_cluster());
  CHECK(off(static_cast<double>(exchanged(program, OpRole::exchange_ids)) / 8 / 8, different) < 0.005);
  CHECK(lookups(program) == static_cast<double>(exchanged(program, OpRole::exchange_ids)) / 8);
}

TEST_CASE("drawn batches send on average what the expected one sends") {
  const Cluster cluster = toy_cluster();
  Workload workload = deduplicated(one_sequence(20'000, 50, "{family: zipf, s: 1.05}", kFull));
  LoweringOptions options;
  options.load.batches = LoadOptions::Batches::drawn;
  for (const char* const family : {"fixed", "poisson", "geometric"}) {
    CAPTURE(family);
    workload.tables.front().lengths.family = family;
    for (const char* const planner : {"{name: row_wise}", "{name: table_wise}", "{name: flexshard_3tier}"}) {
      const Plan plan = planned(planner, workload, cluster);
      const DrawnPrograms drawn(plan, workload, cluster, options);
      double ids = 0, looked_up = 0;
      constexpr int kIterations = 30;
      for (int iteration = 0; iteration < kIterations; ++iteration) {
        const Program program = drawn.at(iteration);
        check_program(program, Place{"test"});
        REQUIRE(program.ops.size() == drawn.expected().ops.size());
        ids += static_cast<double>(exchanged(program, OpRole::exchange_ids)) / kIterations;
        looked_up += lookups(program) / kIterations;
      }
      CHECK(off(ids, static_cast<double>(exchanged(drawn.expected(), OpRole::exchange_ids))) < 0.01);
      CHECK(off(looked_up, lookups(drawn.expected())) < 0.01);
    }
  }
}

TEST_CASE("memory: vectors of all ids beside those of different ones, and where each id stands among these") {
  const Cluster cluster = toy_cluster();
  const Workload workload = deduplicated(with_zipf(two_tables_of(TableKind::sequence, kFull), 1.1));
  const Program program = lowered_plan(plan_of(Strategy::row_wise), workload, cluster);
  const std::int64_t kept = exchanged(program, OpRole::exchange_ids) / 8;  // bytes of a rank
  const std::vector<Buffer> buffers = buffers_of(program, workload);
  const auto written = [&](OpRole role, MemoryPart part) {
    std::vector<std::int64_t> bytes;
    for (const Buffer& buffer : buffers) {
      if (program.op(buffer.writer).role == role && buffer.part == part) bytes.push_back(bytes_at(buffer.bytes, 0));
    }
    return bytes;
  };
  CHECK(written(OpRole::deduplicate_ids, MemoryPart::inputs) == std::vector<std::int64_t>{kept, 8 * 160});
  CHECK(written(OpRole::restore_duplicates, MemoryPart::output) == std::vector<std::int64_t>{40'960});
  // Without a dense part, the gradients of all ids come from nowhere when their sums begin.
  const std::vector<std::int64_t> sums = {40'960, kept / 8 * 256};
  CHECK(written(OpRole::sum_duplicates, MemoryPart::gradients) == sums);
}

TEST_CASE(
    "the host launches eight kernels for the ids, one for the gather and two for the sums, whatever modules take") {
  const Cluster cluster = toy_cluster();
  const Workload workload = with_zipf(two_tables_of(TableKind::sequence, kFull), 1.1);
  Software software;
  software.name = "test";
  software.launch = {5e-6};
  software.module_dist = software.module_output = software.module_backward = {1e-4};
  LoweringOptions options;
  options.software = &software;
  const auto launched_ns = [&](const Workload& of) {
    std::int64_t ns = 0;
    for (const Op& op : lower(plan_of(Strategy::row_wise), of, cluster, options).ops)
      ns += op.role == OpRole::launch ? op.fixed_ns : 0;
    return ns;
  };
  CHECK(launched_ns(deduplicated(workload)) - launched_ns(workload) == 11 * 5000);
}

TEST_CASE("no planner is faster than the lower bound of deduplicated sequences") {
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", 2));
  for (const double s : {0.0, 0.9, 1.3}) {
    Case item;
    item.name = "bound";
    item.cluster = cluster.spec();
    item.workload = with_zipf(deduplicated(one_sequence(1'000'000, 400, "{family: uniform}", kFull)), s);
    item.compute_model = named("roofline");
    const double bound = lower_bound(item, cluster).ms();
    CHECK(bound > 0);
    for (const char* const planner : {"row_wise", "table_wise", "column_wise", "data_parallel", "flexshard_3tier"}) {
      CAPTURE(planner);
      const Program program = lowered(fmt::format("{{name: {}}}", planner), item.workload, cluster);
      CHECK(bound <= simulated(program, cluster, "closed_form").iteration_ms);
    }
  }
}

TEST_CASE("random plans of sequences and bags: no exchange grows, and every Program is right") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomChoice choice{torchrec_strategies()};
    choice.pipeline = seed % 3 == 0 ? "sparse_dist" : seed % 3 == 1 ? "prefetch_sparse_dist" : "none";
    choice.kernels = {"fused", "dense", "fused_uvm_caching"};
    const RandomPlan made = random_plan(seed, choice);
    const Program before = lowered_at_random(made), after = lowered_at_random(physics::deduplicated(made));
    for (const OpRole role : kExchanges) CHECK(exchanged(after, role) <= exchanged(before, role));
    CHECK(lookups(after) <= lookups(before));
    CHECK(off(rows_updated(after), rows_updated(before)) < 1e-9);
  }
}

}  // namespace shardsim::index_dedup_test
