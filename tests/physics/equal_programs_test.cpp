#include <doctest/doctest.h>

#include "tests/physics/random_plans.h"
#include "tests/physics/two_tables.h"

namespace shardsim::equal_programs_test {

// What says nothing new changes nothing, in random workloads, plans and pipelines: one sharding group of the world,
// batches that are that of the workload, a cache of the whole table. And fp8 halves the bytes of fp16, no others.

using namespace shardsim::physics;

namespace {

constexpr std::uint64_t kPlans = 60;

// The pipelines in turn, with their ways of filling caches.
RandomPlan plan_of_seed(std::uint64_t seed) {
  static const std::vector<std::string> pipelines = {
      "none",        "base",
      "sparse_dist", "prefetch_sparse_dist",
      "semi_sync",   "fused_sparse_dist",
      "staged",      "staged\nstages: [{does: copy}, {does: input_dist}, {does: prefetch}]"};
  RandomChoice choice{.strategies = torchrec_strategies()};
  choice.pipeline = pipelines[seed % pipelines.size()];
  choice.dense = "{layers: [{name: top, in: 64, out: 8, repeat: 2}]}";
  choice.optimizer = std::vector<std::string>{"rowwise_adagrad", "sgd", "adam"}[seed % 3];
  return random_plan(seed, choice);
}

Program program_of(const RandomPlan& made) {
  return lowered_plan(made.plan, made.workload, *made.cluster);
}

// But for what tables and shards say of themselves.
bool same_work(Program a, const Program& b) {
  a.tables = b.tables;
  for (std::size_t i = 0; i < a.shards.size(); ++i) static_cast<Placement&>(a.shards[i]) = b.shards[i];
  return a == b;
}

}  // namespace

TEST_CASE("a cache of the whole table, of whatever kernel and beside whatever tables, is device memory") {
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
    CAPTURE(seed);
    RandomPlan made = plan_of_seed(seed);
    const Program resident = program_of(made);
    Rng rng(seed);
    made.workload.cache_policy = rng.below(2) == 0 ? "lru" : "lfu";
    for (Placement& placement : made.plan.placements) {
      if (replicated(placement.strategy) || rng.below(4) == 0) continue;
      placement.compute_kernel = one_of<std::string>(
          rng, {"fused_uvm_caching", "key_value", "ssd_virtual_table", "dram_virtual_table", "dram_ssd_virtual_table"});
      placement.cache_load_factor = 1;
    }
    CHECK(same_work(program_of(made), resident));
  }
}

TEST_CASE("one sharding group of the whole world is none") {
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
    CAPTURE(seed);
    RandomPlan made = plan_of_seed(seed);
    const Program plain = program_of(made);
    ShardingGroups groups;
    groups.size = made.cluster->world_size();
    groups.consecutive = seed % 2 == 0;
    groups.sync_every = 1 + static_cast<std::int64_t>(seed % 3);
    made.workload.sharding_groups = groups;
    CHECK(program_of(made) == plain);
  }
}

TEST_CASE("features whose batches are that of the workload have none of their own") {
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
    CAPTURE(seed);
    RandomPlan made = plan_of_seed(seed);
    const Program plain = program_of(made);
    for (Table& table : made.workload.tables) {
      if (table.kind != TableKind::pooled) continue;
      for (Feature& feature : table.features) feature.batch = made.workload.batch_per_gpu;
    }
    CHECK(same_work(program_of(made), plain));
  }
}

// Partial sums are reduced as fp16 and bf16 where fp8 is asked for, which has as many bytes.
TEST_CASE("fp8 halves the bytes of all vectors and gradients that fp16 exchanges, and no others") {
  const auto sent_as = [](RandomPlan made, Dtype dtype) {
    made.workload.wire_forward = made.workload.wire_backward = WireDtype{dtype};
    return program_of(made);
  };
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
    CAPTURE(seed);
    const RandomPlan made = plan_of_seed(seed);
    const Program fp16 = sent_as(made, Dtype::fp16), fp8 = sent_as(made, Dtype::fp8);
    REQUIRE(fp8.ops.size() == fp16.ops.size());
    for (std::size_t i = 0; i < fp16.ops.size(); ++i) {
      const Op &half = fp8.ops[i], &whole = fp16.ops[i];
      CAPTURE(whole.name);
      REQUIRE(half.name == whole.name);
      const bool carries = whole.role == OpRole::exchange_output || whole.role == OpRole::exchange_gradient;
      if (whole.op_class == OpClass::all_to_all)
        CHECK((carries ? 2 : 1) * moved(fp8, half).total == moved(fp16, whole).total);
      else
        CHECK(half.bytes == whole.bytes);
    }
  }
}

}  // namespace shardsim::equal_programs_test
