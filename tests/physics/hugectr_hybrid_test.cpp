#include <doctest/doctest.h>

#include "models/compute/kernels/kernels.h"
#include "sim/engine/row_facts.h"
#include "tests/physics/lab.h"

namespace shardsim::hugectr_hybrid_test {

// HugeCTR's hybrid embedding (docs/lowering.md), counted by hand: 32 samples a rank, rows of 64 floats, fp16 on the
// wire, one id of 4 bytes per sample; table a of 1,000 rows, of which the first 100 are replicated.

using namespace shardsim::physics;

namespace {

constexpr double kRow = 256, kVector = 128;  // bytes
constexpr double kFrequent = 100;

Workload one_table(const std::string& kernels, const std::string& pipeline = "sparse_dist") {
  return read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: one_table\nbatch_per_gpu: 32\nid_bytes: 4\n"
                 "optimizer: {name: sgd}\ninput_exchange: ids\nwire_dtype: {forward: fp16, backward: fp16}\n"
                 "pipeline: " +
                     pipeline + "\nembedding_kernels: " + kernels + R"(
dense: {all_reduce: {calls: one, dtype: fp16}, layers: [
  {name: bottom_0, in: 13, out: 64}, {name: over_0, in: 128, out: 1}]}
tables: [{name: a, rows: 1000, dim: 64, kind: sequence, average_length: 1}]
)",
                 "one_table"),
      "");
}

Cluster cluster_of(int nodes) {
  return Cluster(cluster_spec("toy_2x4.yaml", nodes));
}

Program lowered_in(int nodes, const std::string& kernels = "hugectr_hybrid",
                   const std::string& pipeline = "sparse_dist") {
  Program program = lowered("{name: hugectr_hybrid, frequent_categories: 100}", one_table(kernels, pipeline),
                            cluster_of(nodes), even_rows());
  check_program(program, Place{"test"});
  return program;
}

const Op* found(const Program& program, const std::string& name) {
  const auto op = std::ranges::find(program.ops, name, &Op::name);
  return op == program.ops.end() ? nullptr : &*op;
}

const Op& named_op(const Program& program, const std::string& name) {
  const Op* const op = found(program, name);
  REQUIRE_MESSAGE(op != nullptr, name);
  return *op;
}

}  // namespace

TEST_CASE("kernels write into the interaction's input: vectors are put in place on several nodes, and nothing in one") {
  const Program one = lowered_in(1), two = lowered_in(2), fused = lowered_in(1, "fused");
  CHECK(found(one, "tier_merge") == nullptr);
  CHECK(found(one, "tier_split_gradient") == nullptr);
  CHECK(found(fused, "tier_merge") != nullptr);
  // Even access: nine in ten of 32 vectors come from an owner, and each is read and written in fp16.
  CHECK(named_op(two, "tier_merge").hbm_bytes.at(0) == doctest::Approx(2 * kVector * 32 * 0.9).epsilon(0.04));
  CHECK(named_op(two, "tier_split_gradient").hbm_bytes == named_op(two, "tier_merge").hbm_bytes);
  CHECK(stream_of(two, named_op(two, "tier_split_gradient")) == "side");
}

TEST_CASE("indices of the next batch are calculated beside this one, from the ids of all ranks") {
  const Program program = lowered_in(2);
  const Op& index = named_op(program, "calculate_indices");
  CHECK(stream_of(program, index) == "side");
  CHECK(index.batches_ahead == 1);
  CHECK(index.hbm_bytes.at(0) == (40.0 * 8 + 24) * 32);
  CHECK(index.sort_bits == 0);
  CHECK(waits_for(program, index, named_op(program, "input_all_to_all").id));
  for (const Op& op : program.ops) {
    CHECK_FALSE(waits_for(program, op, index.id));
    if (op.op_class == OpClass::lookup)
      CHECK(std::ranges::find(op.after_previous, index.id) != op.after_previous.end());
  }
  const Program in_line = lowered_in(2, "hugectr_hybrid", "none");
  CHECK(waits_for(in_line, named_op(in_line, "lookup_row_wise"), named_op(in_line, "calculate_indices").id));
}

TEST_CASE("gradients are added in place: two accesses to a row as wide as it lies, and one to a gradient on the wire") {
  const Program program = lowered_in(2);
  const Op& update = named_op(program, "update_row_wise");
  const Op& lookup = named_op(program, "lookup_row_wise");
  CHECK(lookup.hbm_bytes.at(0) == doctest::Approx((kRow + kVector) * lookup.lookups.at(0)).epsilon(1e-12));
  CHECK(update.hbm_bytes.at(0) == doctest::Approx((2 * kRow + kVector) * update.lookups.at(0)).epsilon(1e-12));
  CHECK(update.in_place);
  CHECK_FALSE(lookup.in_place);
  CHECK(stream_of(program, update) == "side");
  const Op& sum = named_op(program, "gradient_data_parallel");
  CHECK(sum.in_place);
  CHECK(sum.hbm_bytes.at(0) ==
        doctest::Approx((2 * kRow + kVector) * sum.lookups.at(0) + (2 * kRow + kVector) * kFrequent).epsilon(1e-12));
  CHECK(named_op(program, "apply_data_parallel").hbm_bytes.at(0) == (kVector + 2 * kRow) * kFrequent);
  const RowFacts facts(program);
  const RowWork rows = facts.of(sum).at(0);
  CHECK(rows.in_place);
  CHECK(rows.bytes == kRow);
  CHECK(rows.vector_bytes == kVector);
  CHECK(rows.passed_bytes == doctest::Approx((2 * kRow + kVector) * kFrequent).epsilon(1e-9));
  CHECK(facts.of(update).at(0).passed_bytes < 1e-6);
  CHECK_FALSE(facts.of(lookup).at(0).in_place);
}

TEST_CASE("on several nodes frequent gradients join the dense part's all-reduce; in one their owners add them") {
  const std::int64_t parameters = 13 * 64 + 64 + 128 + 1;
  const Program two = lowered_in(2), one = lowered_in(1);
  CHECK(named_op(two, "dense_all_reduce").bytes == 2 * (parameters + 64 * static_cast<std::int64_t>(kFrequent)));
  CHECK(found(two, "frequent_rows_all_to_all") == nullptr);
  const Op& reduced = named_op(one, "dense_all_reduce");
  CHECK(reduced.bytes == 2 * parameters);
  const Op& rows = named_op(one, "frequent_rows_all_to_all");
  const Op& gradients = named_op(one, "frequent_gradients_all_to_all");
  const Op& sum = named_op(one, "gradient_data_parallel");
  const Op& apply = named_op(one, "apply_data_parallel");
  const double touched = sum.distinct_rows.at(0);
  for (const Op* op : {&rows, &gradients}) {
    const ByteMatrix moved = resolve_matrix(one, op->matrix);  // what a rank has of its own included
    CHECK(static_cast<double>(moved.bytes_received(0, 4)) == doctest::Approx(kVector * touched).epsilon(0.02));
  }
  CHECK(apply.hbm_bytes.at(0) == doctest::Approx((kVector + 2 * kRow) * touched).epsilon(1e-12));
  CHECK(waits_for(one, named_op(one, "lookup_data_parallel"), rows.id));
  CHECK(waits_for(one, gradients, sum.id));
  CHECK(apply.after == std::vector<int>{gradients.id});
  CHECK_FALSE(waits_for(one, reduced, sum.id));
  CHECK(std::ranges::find(rows.after_previous, apply.id) != rows.after_previous.end());
}

TEST_CASE("rows are updated beside the bottom layers and the all-reduce") {
  const Program program = lowered_in(2);
  const Op& update = named_op(program, "update_row_wise");
  for (const Op& op : program.ops) {
    if (op.role == OpRole::bottom_backward || op.role == OpRole::dense_all_reduce) {
      CHECK_FALSE(waits_for(program, update, op.id));
      CHECK_FALSE(waits_for(program, op, update.id));
    }
  }
  const auto with = [&](std::int64_t update_ns) {
    Program longer = program;
    for (Op& op : longer.ops) {
      if (op.role == OpRole::bottom_backward) op.fixed_ns = 2'000'000;
      if (op.name == "update_row_wise") op.fixed_ns = update_ns;
    }
    return simulated(longer, cluster_of(2)).iteration_ms;
  };
  CHECK(with(1'000'000) == with(1'000));
  CHECK(with(3'000'000) > with(1'000));
}

TEST_CASE("an addition to rows takes the passes around it, and two kernels for them") {
  ComputeWork work;
  work.kind = ComputeWork::Kind::update;
  work.lookups = 1000;
  work.rows.bytes = 512;
  work.rows.distinct = 1000;
  work.rows.in_place = true;
  GpuConstants gpu;
  gpu.kernel_fixed = {1e-6};
  gpu.copy_bandwidth = {1e12};
  const double without = update_time(work, gpu).value;
  work.rows.passed_bytes = 1e6;
  CHECK(update_time(work, gpu).value == doctest::Approx(without + 2e-6 + 1e-6).epsilon(1e-9));
}

TEST_CASE("in line: indices first, behind all updates; the all-reduce before the exchange of gradients") {
  const Program program = lowered_in(2, "hugectr_hybrid_in_line");
  const Op& index = named_op(program, "calculate_indices");
  CHECK(index.batches_ahead == 0);
  CHECK(waits_for(program, named_op(program, "lookup_row_wise"), index.id));
  for (const char* const update : {"update_row_wise", "apply_data_parallel", "dense_optimizer_step"}) {
    const int id = named_op(program, update).id;
    CHECK(std::ranges::find(index.after_previous, id) != index.after_previous.end());
  }
  const Op& update = named_op(program, "update_row_wise");
  CHECK(waits_for(program, update, named_op(program, "dense_all_reduce").id));
  CHECK(simulated(program, cluster_of(2)).iteration_ms > simulated(lowered_in(2), cluster_of(2)).iteration_ms);
}

}  // namespace shardsim::hugectr_hybrid_test
