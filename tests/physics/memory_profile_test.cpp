#include "sim/memory/memory_profile.h"

#include <doctest/doctest.h>

#include "tests/physics/two_tables.h"

namespace shardsim::memory_profile_test {

// High-water marks against hand counts: the two tables of docs/lowering.md on 2 nodes of 4 ranks, table-wise, A on
// rank 0 and B on rank 5; fp32, row-wise Adagrad. Rank 0 keeps 1000 x 64 x 4 = 256,000 B of rows and 4,000 B of states,
// gets 1,024 B of lengths and 6,144 B of ids, looks up 65,536 B of vectors and gets 16,384 B for its own batch.

using namespace shardsim::physics;

namespace {

// Operations one behind the other in list order, a microsecond each, on all ranks alike.
Timeline one_by_one(const Program& program) {
  Timeline timeline;
  timeline.world_size = program.world_size;
  for (const Op& op : program.ops) {
    timeline.ops.push_back({op.name, std::string(op_class_name(op.op_class))});
    for (int rank = 0; rank < program.world_size; ++rank) {
      const double start = op.id;
      timeline.spans.push_back({start, start + 1, rank, 0, op.id, 0, 0});
    }
  }
  timeline.iteration_ms = 1e-3 * static_cast<double>(program.ops.size());
  return timeline;
}

struct Peak {
  std::string operation;
  MemoryAmounts amounts;
};

Peak peak_of(const Program& program, const Plan& plan, const Workload& workload, std::size_t rank) {
  const MemoryPeak peak = memory_profile(program, one_by_one(program), plan, workload).ranks.at(rank);
  return {peak.op < 0 ? "" : program.ops[static_cast<std::size_t>(peak.op)].name, peak.amounts};
}

Peak table_wise_peak(const std::string& pipeline, TableKind kind, std::size_t rank) {
  const Workload workload = two_tables_of(kind, "input_exchange: full\npipeline: " + pipeline + "\n");
  const Plan plan = plan_of(Strategy::table_wise);
  return peak_of(lowered_plan(plan, workload, toy_cluster()), plan, workload, rank);
}

MemoryAmounts kept(std::int64_t tables, std::int64_t optimizer) {
  MemoryAmounts amounts;
  amounts[MemoryPart::tables] = tables;
  amounts[MemoryPart::optimizer] = optimizer;
  return amounts;
}

}  // namespace

TEST_CASE("without a pipeline: ids, vectors looked up, and the own ones beside them when they are exchanged") {
  const Peak peak = table_wise_peak("none", TableKind::pooled, 0);
  MemoryAmounts expected = kept(256'000, 4'000);
  expected[MemoryPart::inputs] = 7'168;
  expected[MemoryPart::lookup_output] = 65'536;
  expected[MemoryPart::output] = 16'384;
  CHECK(peak.operation == "global_all_to_all");
  CHECK(peak.amounts == expected);
}

TEST_CASE("a rank that holds no table peaks where its own gradients stand in two orders") {
  const Peak peak = table_wise_peak("none", TableKind::pooled, 1);
  MemoryAmounts expected;
  expected[MemoryPart::output] = 16'384;
  expected[MemoryPart::gradients] = 2 * 16'384;
  CHECK(peak.operation == "concat_permute_gradient");
  CHECK(peak.amounts == expected);
}

// X C o of sequences: 96 ids x 8 ranks x 256 B = 196,608 B looked up, and once more in the order of the ranks; of the
// own batch 160 ids x 256 B = 40,960 B arrive.
TEST_CASE("vectors of sequences stand in two orders when they leave, beside those that arrive") {
  const Peak peak = table_wise_peak("none", TableKind::sequence, 0);
  MemoryAmounts expected = kept(256'000, 4'000);
  expected[MemoryPart::inputs] = 7'168;
  expected[MemoryPart::lookup_output] = 2 * 196'608;
  expected[MemoryPart::output] = 40'960;
  CHECK(peak.operation == "global_all_to_all");
  CHECK(peak.amounts == expected);
}

// In flight while gradients are exchanged: what was received for the next batch (7,168 B), and the copy of the one
// after that (160 ids of 8 B, 64 lengths of 4 B: 1,536 B).
TEST_CASE("sparse_dist keeps the next batch's ids and the copy of the one after it") {
  const Peak peak = table_wise_peak("sparse_dist", TableKind::pooled, 0);
  MemoryAmounts expected = kept(256'000, 4'000);
  expected[MemoryPart::inputs] = 7'168;
  expected[MemoryPart::inputs_ahead] = 7'168 + 1'536;
  expected[MemoryPart::gradients] = 16'384 + 65'536;
  CHECK(peak.operation == "global_all_to_all");
  CHECK(peak.amounts == expected);
}

// The Timeline's one iteration starts half a period before its window ends the one before.
TEST_CASE("the instant of the peak lies in the steady iteration") {
  const Workload workload = two_tables_of(TableKind::pooled, "input_exchange: full\npipeline: sparse_dist\n");
  const Plan plan = plan_of(Strategy::table_wise);
  const Program program = lowered_plan(plan, workload, toy_cluster());
  Timeline timeline = one_by_one(program);
  timeline.iteration_ms /= 2;
  for (const MemoryPeak& peak : memory_profile(program, timeline, plan, workload).ranks) {
    CHECK(peak.at_us >= 0);
    CHECK(peak.at_us < timeline.iteration_ms * 1e3);
  }
}

// As many bytes when vectors leave (what was received for the next batch, and the copy of the one after it) as when
// their gradients come back (the same after recat); the first instant counts.
TEST_CASE("prefetch_sparse_dist has the next batch's ids before this one's vectors leave") {
  const Peak peak = table_wise_peak("prefetch_sparse_dist", TableKind::pooled, 0);
  MemoryAmounts expected = kept(256'000, 4'000);
  expected[MemoryPart::inputs] = 7'168;
  expected[MemoryPart::inputs_ahead] = 7'168 + 1'536;
  expected[MemoryPart::lookup_output] = 65'536;
  expected[MemoryPart::output] = 16'384;
  CHECK(peak.amounts == expected);
}

// 409,600 B of rows on every rank, their states, a gradient as large; the own batch; 160 items' vectors are 2 x 32 bags
// x 256 B = 16,384 B.
TEST_CASE("replicated tables have a dense gradient") {
  const Workload workload = two_tables_of(TableKind::pooled, "input_exchange: full\n");
  const Plan plan = plan_of(Strategy::data_parallel);
  const Peak peak = peak_of(lowered_plan(plan, workload, toy_cluster()), plan, workload, 3);
  MemoryAmounts expected = kept(409'600, 6'400);
  expected[MemoryPart::inputs] = 1'536;
  expected[MemoryPart::gradients] = 16'384;
  expected[MemoryPart::table_gradients] = 409'600;
  CHECK(peak.operation == "gradient_data_parallel");
  CHECK(peak.amounts.total() == expected.total() + 16'384);  // no dense part: the vectors are read until then
}

TEST_CASE(
    "what stays: a cache holds a fifth of rows and states, with 7.2 B of bookkeeping per row; host rows nothing") {
  const Workload workload = two_tables_of(TableKind::pooled);
  Plan plan = plan_of(Strategy::table_wise);
  plan.placements[0].compute_kernel = "fused_uvm_caching";
  plan.placements[1].compute_kernel = "fused_uvm";
  const auto ranks = resident_memory(plan, workload, 8);
  MemoryAmounts cached = kept(51'200, 800);
  cached[MemoryPart::cache] = 7'200;
  CHECK(ranks[0] == cached);
  CHECK(ranks[5] == MemoryAmounts{});
}

// 32 samples: 13 + 8 numbers of the bottom layers, 100 + 2 x 50 of those above, 4 bytes each; in half precision 2
// bytes, and 2 for each of the 13 x 8 + 8 + 8 x 8 + 8 + 100 x 50 + 50 + 2 x (50 x 50 + 50) parameters.
TEST_CASE("activations of the dense part lie in memory from the forward to the backward pass") {
  const std::string layers =
      "layers: [{name: bottom_0, in: 13, out: 8}, {name: bottom_1, in: 8, out: 8}, {name: over_0, in: 100, out: 50}, "
      "{name: over_1, in: 50, out: 50, repeat: 2}]";
  const auto activations = [&](const std::string& precision) {
    const Workload workload = two_tables_of(
        TableKind::pooled, "input_exchange: full\ndense: {precision: " + precision + ", " + layers + "}\n");
    const Plan plan = plan_of(Strategy::table_wise);
    return peak_of(lowered_plan(plan, workload, toy_cluster()), plan, workload, 1).amounts[MemoryPart::activations];
  };
  CHECK(activations("fp32") == 32 * 4 * (13 + 8 + 100 + 2 * 50));
  const int parameters = 13 * 8 + 8 + 8 * 8 + 8 + 100 * 50 + 50 + 2 * (50 * 50 + 50);
  CHECK(activations("bf16") == 32 * 2 * (13 + 8 + 100 + 2 * 50) + 2 * parameters);
}

}  // namespace shardsim::memory_profile_test
