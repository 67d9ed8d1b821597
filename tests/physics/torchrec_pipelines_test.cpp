#include <doctest/doctest.h>

#include "sim/memory/memory_profile.h"
#include "tests/physics/two_tables.h"

namespace shardsim::torchrec_pipelines_test {

// Pipelines base, semi_sync, fused_sparse_dist and staged: what works ahead, what may overlap, and what it takes of
// memory.

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

namespace {

std::string fused(const std::string& lookup) {
  return "fused_sparse_dist\nfused_lookup: {" + lookup + "}";
}

std::string staged(const std::string& between, bool prefetch) {
  return "staged\nstages: [{does: copy}, " + between + "{does: input_dist}" + (prefetch ? ", {does: prefetch}]" : "]");
}

}  // namespace

TEST_CASE("a fused lookup on the stream of the dense part behind the input of the next batch is sparse_dist") {
  for (const Strategy strategy : {Strategy::table_wise, Strategy::row_wise, Strategy::table_row_wise})
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence})
      CHECK(of(fused("stream: current, after_input_dist: true"), strategy, kind) == of("sparse_dist", strategy, kind));
}

TEST_CASE("a fused lookup waits for the update of its rows, and not for the optimizer of the dense part") {
  for (const std::string stream : {"data_dist", "new", "current"}) {
    for (const bool behind : {false, true}) {
      const std::string pipeline = fused(fmt::format("stream: {}, after_input_dist: {}", stream, behind));
      const Program program = of(pipeline, Strategy::row_wise);
      const Op& optimizer = *in_role(program, OpRole::dense_update).front();
      const std::string on = stream == "new" ? "lookup" : stream == "current" ? "compute" : stream;
      for (const OpRole role : {OpRole::lookup, OpRole::divide_gradient, OpRole::update})
        for (const Op* const op : in_role(program, role)) CHECK(stream_of(program, *op) == on);
      const Op& lookup = *in_role(program, OpRole::lookup).front();
      CHECK((lookup.id < in_role(program, OpRole::permute_inputs).front()->id) != behind);
      CHECK(std::ranges::count(lookup.after_previous, optimizer.id) == 0);
      for (const Op* const update : in_role(program, OpRole::update)) {
        CHECK(std::ranges::count(lookup.after_previous, update->id) == 1);
        if (stream != "current") CHECK(waits_for(program, optimizer, update->id));
      }
    }
  }
  CHECK(iteration_ms("fused_sparse_dist") < iteration_ms("sparse_dist"));
  CHECK(iteration_ms(fused("stream: new")) < iteration_ms("sparse_dist"));
}

TEST_CASE("the stages copy and input_dist are sparse_dist, to the last digit") {
  for (const double link : {0.0, 1e8}) CHECK(iteration_ms("staged", link) == iteration_ms("sparse_dist", link));
  for (const MemoryPart part : {MemoryPart::inputs, MemoryPart::inputs_ahead, MemoryPart::output})
    CHECK(held("staged", part) == held("sparse_dist", part));
  CHECK(of("staged") == of(staged("", false)));
}

TEST_CASE("a batch is in memory for as many iterations as it has stages to go") {
  const auto ahead = [](const std::string& pipeline, OpRole role) {
    std::vector<int> batches;
    const Program program = of(pipeline);
    for (const Op* const op : in_role(program, role)) batches.push_back(op->batches_ahead);
    return batches;
  };
  const std::string two = "{does: transform, bytes: 1 MB}, {does: transform}, ";
  CHECK(ahead(staged(two, true), OpRole::copy_inputs) == std::vector<int>{5});
  CHECK(ahead(staged(two, true), OpRole::transform_inputs) == std::vector<int>{4, 3});
  CHECK(ahead(staged(two, true), OpRole::exchange_splits) == std::vector<int>{2});
  CHECK(ahead(staged(two, true), OpRole::recat) == std::vector<int>{1});
  CHECK(ahead(staged(two, false), OpRole::copy_inputs) == std::vector<int>{4});
  CHECK(ahead(staged(two, false), OpRole::exchange_splits) == std::vector<int>{1});
  CHECK(ahead(staged(two, false), OpRole::recat) == std::vector<int>{0});
  const auto inputs = [](const std::string& pipeline) {
    return held(pipeline, MemoryPart::inputs) + held(pipeline, MemoryPart::inputs_ahead);
  };
  // Batches of 3 + 2 ids of 8 bytes and two lengths of 4 a sample.
  const std::int64_t batch = 32 * (5 * 8 + 2 * 4);
  CHECK(inputs(staged(two, false)) == inputs(staged("", false)) + 2 * batch);
  CHECK(iteration_ms(staged("{does: transform, bytes: 100 GB}, ", false)) > 10 * iteration_ms("staged"));
}

TEST_CASE("lookups of a prefetch in stages wait for what the iteration before has fetched") {
  const Program program = of(staged("", true));
  const int recat = in_role(program, OpRole::recat).front()->id;
  for (const Op* const lookup : in_role(program, OpRole::lookup)) {
    CHECK(std::ranges::count(lookup->after_previous, recat) == 1);
    CHECK(recat < lookup->id);
    CHECK(lookup->after.empty());
  }
  CHECK(iteration_ms(staged("", true)) <= iteration_ms("staged") * (1 + 1e-9));
}

TEST_CASE("stages that no batch can pass, and keys of another pipeline, are refused") {
  const auto refused = [](const std::string& more) {
    try {
      two_tables_of(TableKind::pooled, more + "\n");
    } catch (const Error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  for (const char* const stages : {"[{does: input_dist}, {does: copy}]", "[{does: copy}, {does: prefetch}]",
                                   "[{does: copy}, {does: input_dist}, {does: transform}]"})
    CHECK(refused(std::string("pipeline: staged\nstages: ") + stages).find("order in which a batch can pass") !=
          std::string::npos);
  CHECK(refused("pipeline: staged\nstages: [{does: copy, bytes: 1 MB}, {does: input_dist}]").find("only a transform") !=
        std::string::npos);
  CHECK(refused("stages: [{does: copy}, {does: input_dist}]").find("only the pipeline staged") != std::string::npos);
  CHECK(refused("pipeline: sparse_dist\nfused_lookup: {stream: new}").find("only the pipeline fused_sparse_dist") !=
        std::string::npos);
  CHECK(refused("pipeline: train_fused_sparse_dist\nfused_lookup: {stream: new}") == "");
}

TEST_CASE("all need a full exchange of ids, and TorchRec's embeddings") {
  const auto refused = [](const std::string& pipeline, const std::string& more) {
    try {
      two_tables_of(TableKind::pooled, "pipeline: " + pipeline + "\n" + more);
    } catch (const Error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  for (const char* const pipeline : {"base", "semi_sync", "fused_sparse_dist", "staged"}) {
    CHECK(refused(pipeline, "input_exchange: ids\n").find("needs a full exchange") != std::string::npos);
    CHECK(refused(pipeline, "embedding_kernels: hugectr\ndense: {layers: [{name: top, in: 64, out: 8}]}\n")
              .find("is TorchRec's") != std::string::npos);
    for (const std::string prefix : {"", "train_"})
      if (prefix.empty() || pipeline != std::string("staged"))
        CHECK(refused(prefix + pipeline, "dense: {layers: [{name: top, in: 64, out: 8}]}\n") == "");
  }
  CHECK(refused("base", "") == "");
  CHECK(refused("semi_sync", "dense: {layers: [{name: bottom, in: 64, out: 8}]}\n").find("takes vectors") !=
        std::string::npos);
}

}  // namespace shardsim::torchrec_pipelines_test
