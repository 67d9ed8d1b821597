#include <doctest/doctest.h>

#include "base/tree/json.h"
#include "plan/plan_file.h"
#include "plan/unsharded_tables.h"
#include "program/program_file.h"
#include "sim/memory/buffers.h"
#include "sim/memory/memory_profile.h"
#include "tests/base/error_text.h"
#include "tests/physics/two_tables.h"

namespace shardsim::ddp_gradients_test {

// Dense gradients: added up over several batches, of tables that are not sharded, and of the weights of ids.

using namespace shardsim::physics;

namespace {

constexpr std::int64_t kBytesA = 1000 * 64 * 4, kBytesB = 600 * 64 * 4;  // of the two tables

constexpr const char* kDense =
    "input_exchange: full\npipeline: sparse_dist\noptimizer: {name: adagrad}\ndense: {layers: [{name: bottom, in: 16, "
    "out: 64}, {name: over, in: 192, out: 4096}, {name: top, in: 4096, out: 4096, repeat: 2}]}\n";

Workload accumulating(int batches, const std::string& more = kDense) {
  return two_tables_of(TableKind::pooled, more + fmt::format("accumulate: {}\n", batches));
}

Program accumulated(Strategy strategy, int batches, const std::string& more = kDense) {
  return lowered_plan(plan_of(strategy), accumulating(batches, more), toy_cluster());
}

std::int64_t reduced_bytes(const Timeline& timeline, const Program& program) {
  std::int64_t bytes = 0;
  for (const Span& span : timeline.spans)
    if (program.op(span.op).op_class == OpClass::all_reduce && span.rank == 0) bytes += span.bytes;
  return bytes;
}

// Table A sharded, B as `table` says.
Workload with_table(const std::string& table, const std::string& more = kDense) {
  return read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: two_tables\nbatch_per_gpu: 32\n" + more +
                     "tables:\n  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3}\n  - {name: b, "
                     "rows: 600, dim: 64, kind: pooled, " +
                     table + "}\n",
                 "test"),
      "");
}

Plan one_sharded() {
  return {{placed(0, Strategy::table_wise, {{0}}), placed(1, Strategy::data_parallel, {all_ranks(8)})}};
}

Workload unsharded(const std::string& more = kDense) {
  return with_table("pooling_factor: 2, sharded: false", more);
}

MemoryProfile memory_of(const Plan& plan, const Workload& workload) {
  const Cluster cluster = toy_cluster();
  const Program program = lowered_plan(plan, workload, cluster);
  return memory_profile(program, simulated(program, cluster), plan, workload);
}

}  // namespace

TEST_CASE("one batch in each step is the iteration without accumulation, to the last digit") {
  for (const Strategy strategy : {Strategy::table_wise, Strategy::row_wise, Strategy::data_parallel}) {
    const Workload plain = two_tables_of(TableKind::pooled, kDense);
    CHECK(accumulated(strategy, 1) == lowered_plan(plan_of(strategy), plain, toy_cluster()));
  }
}

TEST_CASE("N batches reduce the N-th part of the bytes in the mean, and update the rows of sharded tables each") {
  const Cluster cluster = toy_cluster();
  for (const Strategy strategy : {Strategy::table_wise, Strategy::data_parallel}) {
    const Program one = accumulated(strategy, 1), four = accumulated(strategy, 4);
    const std::int64_t all = reduced_bytes(simulated(one, cluster), one);
    CHECK(all > 0);
    CHECK(std::abs(4 * reduced_bytes(simulated(four, cluster), four) - all) <= 64);  // whole bytes of each call
    for (const Op& op : four.ops) {
      const bool rare =
          op.op_class == OpClass::all_reduce || op.role == OpRole::dense_update || op.role == OpRole::apply;
      CHECK(op.every == (rare ? 4 : 1));
    }
    CHECK(ops_in(four, OpRole::update).size() == ops_in(one, OpRole::update).size());
  }
}

TEST_CASE("gradients are added to those of earlier batches by all batches but the first") {
  const Program program = accumulated(Strategy::data_parallel, 4);
  double dense = 0, rows = 0;
  for (const Op* const op : ops_in(program, OpRole::dense_accumulate)) dense += op->hbm_bytes.at(0);
  for (const Op* const op : ops_in(program, OpRole::accumulate_gradient)) rows += op->hbm_bytes.at(0);
  const auto parameters = static_cast<double>(accumulating(4).dense.parameters.count);
  CHECK(dense == doctest::Approx(3 * 0.75 * parameters));
  CHECK(rows == doctest::Approx(3 * 0.75 * static_cast<double>(kBytesA + kBytesB)));
}

TEST_CASE("the mean of accumulated batches is told, between that of one with and one without the optimizer") {
  const Cluster cluster = toy_cluster();
  const auto compute = make_compute_model(named("roofline"));
  const auto run = [&](int batches) {
    return simulate(accumulated(Strategy::data_parallel, batches), cluster, *compute,
                    *make_network(named("fair_queues")), EngineOptions{});
  };
  const SimulationResult one = run(1), five = run(5), hundred = run(100);
  CHECK(!one.rare);
  REQUIRE(five.rare);
  const double with = five.rare->with.ms(), without = five.rare->without.ms();
  CHECK(without < with);
  CHECK(five.timeline.iteration_ms == doctest::Approx((with + 4 * without) / 5).epsilon(1e-12));
  CHECK(five.timeline.iteration_ms < one.timeline.iteration_ms);
  CHECK(hundred.timeline.iteration_ms < five.timeline.iteration_ms);
  double sum = 0;
  for (const PathStep& step : five.path.steps) sum += step.seconds * 1e3;
  CHECK(sum == doctest::Approx(five.timeline.iteration_ms).epsilon(1e-6));
}

TEST_CASE("accumulated gradients are in memory all the time, beside those of a batch") {
  const Workload one = accumulating(1), two = accumulating(2);
  const Plan plan = plan_of(Strategy::data_parallel);
  const MemoryPeak before = memory_of(plan, one).ranks.front(), after = memory_of(plan, two).ranks.front();
  CHECK(after.bytes() - before.bytes() == one.dense.parameters.count + kBytesA + kBytesB);
}

TEST_CASE("a Program of accumulated batches is read back as it was written") {
  Program program = accumulated(Strategy::data_parallel, 3);
  program.case_name = "accumulated";
  CHECK(program_from_tree(parse_json(program_to_json(program), "test")) == program);
}

TEST_CASE("what accumulates no gradients is refused beside the key") {
  const auto why = [](const std::string& more) { return error_of([&] { accumulating(2, more); }); };
  CHECK(why("embedding_kernels: hugectr\n").find("cannot be used with embedding_kernels: hugectr") !=
        std::string::npos);
  CHECK(why("input_exchange: full\npipeline: hugectr\n").find("pipeline: hugectr") != std::string::npos);
  CHECK(why("dense: {all_reduce: {calls: one}}\n").find("calls: one") != std::string::npos);
  CHECK(why(kDense).empty());
  LoweringOptions drawn;
  drawn.load.batches = LoadOptions::Batches::drawn;
  CHECK(error_of([&] {
          lower(plan_of(Strategy::row_wise), accumulating(2), toy_cluster(), drawn);
        }).find("expected batches") != std::string::npos);
}

TEST_CASE("of a table that is not sharded each rank has weights, as much of gradients, and the dense part's states") {
  const Workload workload = unsharded();
  const MemoryPeak peak = memory_of(one_sharded(), workload).ranks[1];  // has nothing else of the tables
  CHECK(peak.amounts[MemoryPart::tables] == kBytesB);
  CHECK(peak.amounts[MemoryPart::optimizer] == kBytesB);  // Adagrad: a state for each element
  const Program program = lowered_plan(one_sharded(), workload, toy_cluster());
  std::int64_t gradients = 0;
  for (const Buffer& buffer : buffers_of(program, workload)) {
    if (buffer.part != MemoryPart::table_gradients) continue;
    gradients += bytes_at(buffer.bytes, 1);
    const auto ends = [&](const Buffer::Reader& reader) { return program.op(reader.op).role == OpRole::dense_update; };
    CHECK(std::ranges::any_of(buffer.readers, ends));
  }
  CHECK(gradients == kBytesB);
  const Workload by_row = unsharded("optimizer: {name: rowwise_adagrad}\n");
  CHECK(resident_memory(one_sharded(), by_row, 8)[1][MemoryPart::optimizer] == kBytesB);
}

TEST_CASE("its gradient fills up the last bucket of the dense part, and the dense optimizer takes it with the layers") {
  const Program program = lowered_plan(one_sharded(), unsharded(), toy_cluster());
  const Program plain = lowered_plan(plan_of(Strategy::table_wise), with_table("pooling_factor: 2"), toy_cluster());
  std::int64_t with = 0, without = 0;
  for (const Op* const op : ops_in(program, OpRole::dense_all_reduce)) with += op->bytes;
  for (const Op* const op : ops_in(plain, OpRole::dense_all_reduce)) without += op->bytes;
  CHECK(with - without == kBytesB);
  CHECK(ops_in(program, OpRole::dense_all_reduce).size() == ops_in(plain, OpRole::dense_all_reduce).size());
  CHECK(ops_in(program, OpRole::reduce_gradient).empty());
  CHECK(ops_in(program, OpRole::apply).empty());
  const Op &optimizer = *ops_in(program, OpRole::dense_update).front(),
           &of_plain = *ops_in(plain, OpRole::dense_update).front();
  CHECK(optimizer.hbm_bytes.at(0) - of_plain.hbm_bytes.at(0) == 3 * kBytesB);
  const Op& last = *ops_in(program, OpRole::dense_all_reduce).back();
  CHECK(waits_for(program, last, ops_in(program, OpRole::sum_gradient).front()->id));
  CHECK(waits_for(program, optimizer, last.id));
  CHECK(ops_in(program, OpRole::accumulate_gradient).front()->hbm_bytes.at(0) == kBytesB);  // zeros
}

TEST_CASE("the model looks it up itself in each pipeline, and no exchange has its ids") {
  for (const char* const pipeline :
       {"none", "base", "sparse_dist", "prefetch_sparse_dist", "semi_sync", "fused_sparse_dist"}) {
    const Workload workload = unsharded(fmt::format(
        "input_exchange: full\npipeline: {}\ndense: {{layers: [{{name: over, in: 128, out: 64}}]}}\n", pipeline));
    const Program program = lowered_plan(one_sharded(), workload, toy_cluster());
    const Op& lookup = *ops_named(program, "lookup_unsharded").front();
    CHECK(lookup.batches_ahead == 0);
    CHECK(stream_of(program, lookup) == "compute");
    CHECK(waits_for(program, *ops_in(program, OpRole::dense_forward).front(), lookup.id));
    CHECK(ops_in(program, OpRole::exchange_ids).size() == 1);
    CHECK(simulated(program, toy_cluster()).iteration_ms > 0);
  }
}

TEST_CASE("without layers its gradients are reduced and applied all the same") {
  const Program program = lowered_plan(one_sharded(), unsharded("input_exchange: full\n"), toy_cluster());
  REQUIRE(ops_in(program, OpRole::dense_all_reduce).size() == 1);
  CHECK(ops_in(program, OpRole::dense_all_reduce).front()->bytes == kBytesB);
  CHECK(ops_in(program, OpRole::dense_update).size() == 1);
}

TEST_CASE("planners leave it alone, and plan files have no entry of it") {
  const Workload workload = unsharded();
  const Cluster cluster = toy_cluster();
  const auto memory = make_memory_model(named("paper"));
  HandContext context{*memory, 7};
  for (const char* const planner : {"table_wise", "row_wise", "memory_balanced", "torchrec"}) {
    const Plan plan = plan_with_unsharded(*make_planner(named(planner)), planner, workload, cluster, context);
    check_plan(plan, workload, cluster, Place{"test"});
    CHECK(plan.placements.back().table == 1);
    CHECK(plan.placements.back().strategy == Strategy::data_parallel);
    const std::string text = plan_to_json(plan, workload, cluster);
    CHECK(text.find("\"a\"") != std::string::npos);
    CHECK(text.find("\"b\"") == std::string::npos);
    CHECK(checked_plan(parse_json(text, "test"), workload, cluster).placements == plan.placements);
  }
  const std::string sharded = plan_to_json(one_sharded(), with_table("pooling_factor: 2"), cluster);
  CHECK(error_of([&] { checked_plan(parse_json(sharded, "test"), workload, cluster); }).find("not sharded") !=
        std::string::npos);
}

TEST_CASE("rules of TorchRec's modules do not reach a table that is in none of them") {
  const auto read = [](const std::string& of_a, const std::string& of_b, const std::string& more) {
    return read_workload(
        parse_yaml("schema: shardsim.workload/1\nname: two_tables\nbatch_per_gpu: 32\n" + more + kDense +
                       "tables:\n  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3" + of_a +
                       "}\n  - {name: b, rows: 600, dim: 64, kind: pooled, sharded: false" + of_b + "}\n",
                   "test"),
        "");
  };
  // Batches of features' own: the model looks the other table up for all samples.
  const Workload own = read(", batch: 8", ", pooling_factor: 2", "");
  const Program program = lowered_plan(one_sharded(), own, toy_cluster());
  const std::vector<const Op*> lookups = ops_in(program, OpRole::lookup);
  REQUIRE(lookups.size() == 2);
  CHECK(lookups[0]->lookups.at(0) == 8 * 8 * 3);
  CHECK(lookups[1]->lookups.at(0) == 32 * 2);
  // An EmbeddingBagCollection has weights for all of its ids or for none.
  const char* const weights = ", features: [{name: b, pooling_factor: 2, weighted: true}]";
  CHECK_NOTHROW(read("", weights, "modules: {exchanges: each}\n"));
}

TEST_CASE("what only TorchRec's modules have is refused of a table that is in none of them") {
  const auto why = [](const std::string& table, const std::string& more = kDense) {
    return error_of([&] { with_table(table + ", sharded: false", more); });
  };
  CHECK(why("pooling_factor: 2").empty());
  CHECK(why("pooling_factor: 2, module: x").find("'module'") != std::string::npos);
  CHECK(why("pooling_factor: 2, dtype: fp16").find("fp16") != std::string::npos);
  CHECK(why("pooling_factor: 2, batch: 16").find("'batch'") != std::string::npos);
  CHECK(why("pooling_factor: 2, wire_dtype: {forward: fp16}").find("'wire_dtype'") != std::string::npos);
  CHECK(why("pooling_factor: 2", "embedding_kernels: hugectr\n").find("embedding_kernels") != std::string::npos);
}

namespace {

Workload weighted(const std::string& more, const std::string& kernels = "") {
  return with_table("features: [{name: b, pooling_factor: 2, weighted: true" + more + "}]", kDense + kernels);
}

Program of_weights(const std::string& more, Strategy strategy = Strategy::table_wise) {
  return lowered_plan(plan_of(strategy), weighted(more), toy_cluster());
}

}  // namespace

TEST_CASE("the gradient of ids' weights reads the row of each id and the gradient of each bag, and writes a number") {
  for (const Strategy strategy : {Strategy::table_wise, Strategy::row_wise, Strategy::data_parallel}) {
    const Program program = of_weights("", strategy);
    const std::vector<const Op*> found = ops_in(program, OpRole::weight_gradient);
    REQUIRE(found.size() == 1);
    const Op& op = *found.front();
    CHECK(op.shards == std::vector<int>{1});
    const auto lookup = std::ranges::find_if(
        program.ops, [&](const Op& each) { return each.role == OpRole::lookup && each.shards == op.shards; });
    for (std::size_t rank = 0; rank < 8; ++rank) {
      CHECK(op.lookups.at(rank) == lookup->lookups.at(rank));
      CHECK(op.hbm_bytes.at(rank) == lookup->hbm_bytes.at(rank) + 4 * lookup->lookups.at(rank));
    }
    for (const Op& each : program.ops) {
      const bool updates = each.role == OpRole::update || each.role == OpRole::sum_gradient;
      if (updates && each.shards == op.shards) CHECK(waits_for(program, each, op.id));
    }
  }
}

TEST_CASE("without the gradient of weights the iteration is what it was") {
  Program without = of_weights(", weight_gradient: false");
  CHECK(ops_in(without, OpRole::weight_gradient).empty());
  const Program with = of_weights("");
  CHECK(with.ops.size() == without.ops.size() + 1);
  const Cluster cluster = toy_cluster();
  const auto ms = [&](const std::string& more) {
    const Workload workload = with_table("features: [{name: b, pooling_factor: 2, weighted: true" + more + "}]", "");
    return simulated(lowered_plan(plan_of(Strategy::row_wise), workload, cluster), cluster).iteration_ms;
  };
  CHECK(ms("") > ms(", weight_gradient: false"));
  // No weight, no gradient of it.
  const Program plain = lowered_plan(plan_of(Strategy::table_wise), with_table("pooling_factor: 2"), cluster);
  CHECK(ops_in(plain, OpRole::weight_gradient).empty());
  CHECK(error_of([] { with_table("features: [{name: b, weight_gradient: false}]"); }).find("has no effect") !=
        std::string::npos);
}

TEST_CASE("it takes what a lookup of the same rows takes by each compute model, and 4 bytes an id of memory") {
  ClusterSpec spec = cluster_spec("dgx_h100.yaml", 1);
  const Cluster cluster{ClusterSpec(spec)};
  const Program program = lowered_plan(plan_of(Strategy::table_wise), weighted(""), cluster);
  const Op& op = *ops_in(program, OpRole::weight_gradient).front();
  const auto lookup = std::ranges::find_if(
      program.ops, [&](const Op& each) { return each.role == OpRole::lookup && each.shards == op.shards; });
  for (const char* const model : {"roofline", "gpu_kernels"}) {
    const auto compute = make_compute_model(named(model));
    const std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
    const double of_op = works[static_cast<std::size_t>(op.id)].alone.value,
                 of_lookup = works[static_cast<std::size_t>(lookup->id)].alone.value;
    CHECK(of_op == doctest::Approx(of_lookup).epsilon(0.05));
  }
  bool found = false;
  for (const Buffer& buffer : buffers_of(program, weighted("")))
    if (buffer.writer == op.id) {
      found = true;
      CHECK(buffer.bytes[5] == 4 * static_cast<std::int64_t>(op.lookups.at(5)));
    }
  CHECK(found);
}

TEST_CASE("only FBGEMM's kernels compute the gradient of weights") {
  const Workload per_table = weighted("", "embedding_kernels: per_table\n");
  const Program program = lowered_plan(plan_of(Strategy::table_wise), per_table, toy_cluster());
  CHECK(ops_in(program, OpRole::weight_gradient).empty());
}

}  // namespace shardsim::ddp_gradients_test
