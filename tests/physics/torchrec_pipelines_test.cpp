#include <doctest/doctest.h>

#include "sim/memory/memory_profile.h"
#include "tests/physics/two_tables.h"

namespace shardsim::torchrec_pipelines_test {

// Pipelines base and semi_sync: what works ahead, what may overlap, and what it takes of memory.

using namespace shardsim::physics;

namespace {

Workload in_pipeline(const std::string& pipeline, TableKind kind = TableKind::pooled) {
  return two_tables_of(kind,
                       "input_exchange: full\npipeline: " + pipeline +
                           "\ndense: {layers: [{name: bottom, in: 16, out: 64}, {name: over, in: 192, out: 4096}, "
                           "{name: top, in: 4096, out: 4096, repeat: 4}]}\n");
}

Program of(const std::string& pipeline, Strategy strategy = Strategy::table_wise, TableKind kind = TableKind::pooled) {
  return lowered_plan(plan_of(strategy), in_pipeline(pipeline, kind), toy_cluster());
}

std::vector<const Op*> in_role(const Program& program, OpRole role) {
  std::vector<const Op*> ops;
  for (const Op& op : program.ops)
    if (op.role == role) ops.push_back(&op);
  return ops;
}

double iteration_ms(const std::string& pipeline, double link = 0) {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml");
  if (link > 0) spec.host.gpu_link_bandwidth = Bandwidth{link};
  const Cluster cluster(spec);
  return simulated(lowered_plan(plan_of(Strategy::table_wise), in_pipeline(pipeline), cluster), cluster).iteration_ms;
}

std::int64_t held(const std::string& pipeline, MemoryPart part) {
  const Program program = of(pipeline);
  const MemoryProfile profile =
      memory_profile(program, simulated(program, toy_cluster()), plan_of(Strategy::table_wise), in_pipeline(pipeline));
  return profile.ranks.front().amounts[part];
}

}  // namespace

TEST_CASE("base is none, but for the copy of the next batch, which hides") {
  const Program base = of("base"), none = of("none");
  CHECK(base.ops.size() == none.ops.size());
  CHECK(in_role(base, OpRole::copy_inputs).front()->batches_ahead == 1);
  for (const Op& op : base.ops) CHECK((op.role == OpRole::copy_inputs || op.batches_ahead == 0));
  const double slow_link = 1e8;
  CHECK(iteration_ms("base", slow_link) < iteration_ms("none", slow_link));
  CHECK(held("base", MemoryPart::inputs_ahead) > 0);
}

TEST_CASE("without ranks to exchange with, the lookups of base wait for the copy") {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml", 1);
  spec.gpu.count = 1;
  Plan plan = plan_of(Strategy::table_wise);
  for (Placement& placement : plan.placements) placement.holders = {{0}};
  const Program program = lowered_plan(plan, in_pipeline("base"), Cluster(spec));
  const int copy = in_role(program, OpRole::copy_inputs).front()->id;
  for (const Op* const lookup : in_role(program, OpRole::lookup))
    CHECK(std::ranges::count(lookup->after_previous, copy) == 1);
}

TEST_CASE("semi_sync looks the next batch up in front of the backward pass, in rows that lack its update") {
  for (const Strategy strategy :
       {Strategy::table_wise, Strategy::row_wise, Strategy::table_row_wise, Strategy::data_parallel}) {
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence}) {
      const Program program = of("semi_sync", strategy, kind);
      const int backward = in_role(program, OpRole::dense_backward).front()->id;
      const int forward = in_role(program, OpRole::dense_forward).front()->id;
      for (const Op* const lookup : in_role(program, OpRole::lookup)) {
        CHECK(lookup->batches_ahead == 1);
        CHECK((forward < lookup->id && lookup->id < backward));
      }
      for (const Op* const update : in_role(program, OpRole::update)) CHECK(update->batches_ahead == 0);
    }
  }
}

TEST_CASE("the exchange of vectors of semi_sync hides behind the backward pass") {
  CHECK(iteration_ms("semi_sync") < iteration_ms("sparse_dist"));
  CHECK(held("semi_sync", MemoryPart::output) >= held("sparse_dist", MemoryPart::output));
}

TEST_CASE("both need a full exchange of ids, and TorchRec's embeddings") {
  const auto refused = [](const std::string& pipeline, const std::string& more) {
    try {
      two_tables_of(TableKind::pooled, "pipeline: " + pipeline + "\n" + more);
    } catch (const Error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  for (const char* const pipeline : {"base", "semi_sync"}) {
    CHECK(refused(pipeline, "input_exchange: ids\n").find("needs a full exchange") != std::string::npos);
    CHECK(refused(pipeline, "embedding_kernels: hugectr\ndense: {layers: [{name: top, in: 64, out: 8}]}\n")
              .find("is TorchRec's") != std::string::npos);
    for (const std::string prefix : {"", "train_"})
      CHECK(refused(prefix + pipeline, "dense: {layers: [{name: top, in: 64, out: 8}]}\n") == "");
  }
  CHECK(refused("base", "") == "");
  CHECK(refused("semi_sync", "dense: {layers: [{name: bottom, in: 64, out: 8}]}\n").find("takes vectors") !=
        std::string::npos);
}

}  // namespace shardsim::torchrec_pipelines_test
