#include <doctest/doctest.h>

#include "base/tree/json.h"
#include "program/program_file.h"
#include "sim/memory/memory_profile.h"
#include "tests/base/error_text.h"
#include "tests/physics/two_tables.h"

namespace shardsim::own_batches_test {

// Batches of features of their own (TorchRec's VBE): laws of ids, of exchanges and of what is expanded.

using namespace shardsim::physics;

namespace {

// The two tables; the batch of a rank is 32.
Workload batches_of(const std::string& of_a, const std::string& of_b, const std::string& more = "") {
  const auto batch = [](const std::string& of) { return of.empty() ? "" : ", batch: " + of; };
  return read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: two_tables\nbatch_per_gpu: 32\ninput_exchange: full\n" + more +
                     "dense: {layers: [{name: over, in: 128, out: 64}]}\ntables:\n"
                     "  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3" +
                     batch(of_a) + "}\n  - {name: b, rows: 600, dim: 64, kind: pooled, pooling_factor: 2" +
                     batch(of_b) + "}\n",
                 "own_batches"),
      "");
}

Program program_of(Strategy strategy, const std::string& of_a, const std::string& of_b, const std::string& more = "") {
  return lowered_plan(plan_of(strategy), batches_of(of_a, of_b, more), toy_cluster());
}

constexpr Strategy kAll[] = {Strategy::data_parallel,    Strategy::table_wise,     Strategy::column_wise,
                             Strategy::row_wise,         Strategy::table_row_wise, Strategy::grid_shard,
                             Strategy::table_column_wise};

// But for what the tables say of their batch.
bool same_work(Program a, const Program& b) {
  a.tables = b.tables;
  return a == b;
}

}  // namespace

TEST_CASE("batches that are that of the workload change nothing") {
  for (const Strategy strategy : kAll)
    for (const char* const pipeline : {"none", "sparse_dist", "semi_sync"}) {
      const std::string more = std::string("pipeline: ") + pipeline + "\n";
      CHECK(same_work(program_of(strategy, "32", "32", more), program_of(strategy, "", "", more)));
    }
}

TEST_CASE("a half of the samples brings half of the ids, lengths, vectors and partial sums") {
  for (const Strategy strategy : kAll) {
    const Program half = program_of(strategy, "16", "16"), whole = program_of(strategy, "", "");
    for (const Op& op : whole.ops) {
      const auto found = std::ranges::find_if(
          half.ops, [&](const Op& other) { return other.name == op.name && other.fusion == op.fusion; });
      REQUIRE(found != half.ops.end());
      if (op.op_class == OpClass::all_to_all && op.role != OpRole::exchange_splits)
        CHECK(2 * moved(half, *found).total == moved(whole, op).total);
      if (op.role == OpRole::sum_output || op.role == OpRole::gather_gradient) CHECK(2 * found->bytes == op.bytes);
      if (op.role == OpRole::lookup)
        for (std::size_t rank = 0; rank < op.lookups.values.size(); ++rank)
          CHECK(2 * found->lookups.at(rank) == op.lookups.at(rank));
    }
  }
}

TEST_CASE("each feature has its own batch, and every sample of the batch its vector in the end") {
  const Program program = program_of(Strategy::table_wise, "8", "32");
  const Op& lookup = only_op(program, "lookup_table_wise");
  CHECK(lookup.lookups.at(0) == 8 * 8 * 3);
  CHECK(lookup.lookups.at(5) == 8 * 32 * 2);
  CHECK(lookup.bags.at(0) == 8 * 8);
  // Table b has the batch of the workload, and is in a module with one that has not: one gather expands both.
  CHECK(only_op(program, "expand_batch").hbm_bytes.at(0) == 2 * 2 * 32 * 64 * 4);
  CHECK(only_op(program, "sum_batch").hbm_bytes.at(0) == 2 * 3 * 32 * 64 * 4 + (8 + 32) * 64 * 4);
  CHECK(moved(program, only_op(program, "input_strides_all_to_all")).total == 2 * 8 * 8);
  CHECK(moved(program, only_op(program, "input_lengths_all_to_all")).total == 8 * (8 + 32) * 4);
  const Op& dense = *std::ranges::find(program.ops, OpRole::dense_forward, &Op::role);
  CHECK(waits_for(program, dense, only_op(program, "expand_batch").id));
}

TEST_CASE("a feature with all samples but one is expanded as one with all, where another has its own batch") {
  for (const Strategy strategy : kAll) {
    const Program all = program_of(strategy, "8", "32"), most = program_of(strategy, "8", "31");
    CHECK(only_op(all, "expand_batch").hbm_bytes == only_op(most, "expand_batch").hbm_bytes);
    if (strategy == Strategy::data_parallel) continue;
    const Op &of_all = only_op(all, "input_strides_all_to_all"), &of_most = only_op(most, "input_strides_all_to_all");
    CHECK(moved(all, of_all).total == moved(most, of_most).total);
  }
}

TEST_CASE("features of one table have batches of their own") {
  const Workload workload = read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: one\nbatch_per_gpu: 32\ntables:\n  - {name: a, rows: 1000, dim: "
                 "64, kind: pooled, batch: 4, features: [{name: f, pooling_factor: 2}, {name: g, batch: 16}]}\n",
                 "own_batches"),
      "");
  CHECK(batch_of(workload.tables.front(), 32) * workload.tables.front().average_length == 4 * 2 + 16);
  const Plan plan{{placed(0, Strategy::table_wise, {{3}})}};
  const Program program = lowered_plan(plan, workload, toy_cluster());
  CHECK(only_op(program, "lookup_table_wise").lookups.at(3) == 8 * (4 * 2 + 16));
  CHECK(only_op(program, "lookup_table_wise").bags.at(3) == 8 * (4 + 16));
}

TEST_CASE("fewer samples of a feature never take longer, nor more memory, than the copies of their vectors") {
  const Cluster cluster = toy_cluster();
  const auto figures = [&](const std::string& batch) {
    const Workload workload = batches_of(batch, batch);
    const Plan plan = plan_of(Strategy::row_wise);
    const Program program = lowered_plan(plan, workload, cluster);
    const Timeline timeline = simulated(program, cluster);
    return std::pair(timeline.iteration_ms, memory_profile(program, timeline, plan, workload).highest().bytes());
  };
  const auto few = figures("1"), some = figures("16"), most = figures("31");
  CHECK(few.first < some.first);
  CHECK(some.first < most.first);
  CHECK(few.second < some.second);
  CHECK(some.second < most.second);
}

TEST_CASE("a Program says the batches of its features") {
  Program program = program_of(Strategy::row_wise, "8", "16");
  program.case_name = "batches";
  CHECK(program_from_tree(parse_json(program_to_json(program), "test")) == program);
}

TEST_CASE("a missing batch, one that is too large, and what knows no batches are refused") {
  CHECK(error_of([] { batches_of("8", ""); }).find("state no batch, and those of table 'a' do") != std::string::npos);
  CHECK(error_of([] { batches_of("33", "8"); }).find("a rank has 32 samples") != std::string::npos);
  CHECK(error_of([] { batches_of("0", "8"); }).find("batch") != std::string::npos);
  CHECK(error_of([] { batches_of("8", "8", "embedding_kernels: per_table\n"); }).find("of their own") !=
        std::string::npos);
  CHECK(error_of([] {
          read_workload(parse_yaml("schema: shardsim.workload/1\nname: one\nbatch_per_gpu: 32\ntables:\n  - {name: a, "
                                   "rows: 1000, dim: 64, kind: sequence, average_length: 2, batch: 4}\n",
                                   "own_batches"),
                        "");
        }).find("only pooled tables") != std::string::npos);
  CHECK(error_of([] {
          LoweringOptions drawn;
          drawn.load.batches = LoadOptions::Batches::drawn;
          lower(plan_of(Strategy::row_wise), batches_of("8", "8"), toy_cluster(), drawn);
        }).find("batches are drawn") != std::string::npos);
}

}  // namespace shardsim::own_batches_test
