#include <doctest/doctest.h>

#include <cmath>

#include "plan/memory_model.h"
#include "sim/memory/memory_profile.h"
#include "tests/physics/memory_needs.h"

namespace shardsim::high_water_test {

// The simulated high-water mark of every rank beside TorchRec's estimate of the same plan, under each pipeline:
//   high-water mark <= estimate + documented terms
// with the terms of docs/lowering.md ("Beside TorchRec's estimate") worked out here from workload and plan, not from
// the Program; and from below, what certainly is there at once.

using namespace shardsim::physics;

namespace {

// Bytes of buffers that the estimate leaves out (docs/lowering.md, "Beside TorchRec's estimate"). The estimate holds,
// for none: ids and vectors looked up, once; sparse_dist: ids twice; prefetch_sparse_dist: three times, and more for
// caches.
double buffer_terms(const RankNeeds& rank, const std::string& pipeline) {
  const Bytes64 sent = rank.sent + rank.bucketed;
  if (pipeline == "none") {
    const Bytes64 inputs = rank.own_batch + sent + rank.splits + rank.ids + 2 * rank.beside_ids;
    const Bytes64 passes = rank.own_batch - rank.own_ids + rank.beside_ids + rank.passes() - rank.looked_up;
    return static_cast<double>(std::max(inputs, passes)) + rank.whole_ids + rank.whole_vectors;
  }
  const Bytes64 held = pipeline == "sparse_dist" ? 2 : 3;
  const Bytes64 inputs = 4 * rank.own_batch - held * rank.own_ids + 2 * sent + rank.splits + rank.ids;
  return static_cast<double>(inputs + (held + 1) * rank.beside_ids + rank.passes()) +
         static_cast<double>(held) * rank.whole_ids;
}

// Bytes that are there at once, whatever overlaps: the ids with the vectors of a lookup, with gradients at their owner,
// or with vectors and gradients of the own batch where the dense part meets them.
Bytes64 least(const RankNeeds& rank) {
  Bytes64 largest = rank.ordered + rank.own_looked_up + rank.gradients() + rank.dense_gradients + rank.activations;
  for (const auto& group : rank.of_group) largest = std::max(largest, group.second);
  for (const auto& group : rank.back_of_group) largest = std::max(largest, group.second);
  return rank.resident + rank.ids + rank.beside_ids + largest;
}

// TorchRec's estimate by rank: tensor, optimizer and cache; input, output and pipeline.
struct Estimate {
  std::vector<double> resident, buffers;
};

Estimate estimate_of(const RandomPlan& made) {
  const auto model = make_memory_model(named("torchrec"));
  const auto world = static_cast<std::size_t>(made.cluster->world_size());
  Estimate estimate{std::vector<double>(world), std::vector<double>(world)};
  for (const Placement& placement : made.plan.placements) {
    const auto memory = model->on_ranks(placement, made.workload, *made.cluster);
    for (std::size_t rank = 0; rank < world; ++rank) {
      estimate.resident[rank] += memory[rank].static_bytes;
      estimate.buffers[rank] += memory[rank].dynamic_bytes;
    }
  }
  return estimate;
}

RandomChoice choice_of(std::uint64_t seed, const std::string& pipeline) {
  static const std::vector<std::string> optimizers = {"rowwise_adagrad", "sgd", "adagrad", "adam", "lamb"};
  RandomChoice choice{torchrec_strategies()};
  choice.pipeline = pipeline;
  choice.optimizer = optimizers[seed % optimizers.size()];
  choice.dense = "{layers: [{name: bottom, in: 13, out: 64}, {name: top, in: 128, out: 64}]}";
  choice.kernels = {"fused", "fused", "dense", "fused_uvm", "fused_uvm_caching"};
  return choice;
}

// Bytes: the estimate rounds up tensor, optimizer, cache, input and output of every shard, and the mark its own sizes.
double rounding_of(const RandomPlan& made) {
  return 8.0 * static_cast<double>(made.plan.placements.size());
}

// Buffers over what estimate and terms allow for them, of the closest rank.
double check_marks(std::uint64_t seed, const std::string& pipeline, const std::string& network) {
  const RandomPlan made = random_plan(seed, choice_of(seed, pipeline));
  const Program program = lowered_at_random(made);
  const Timeline timeline = simulated(program, *made.cluster, network);
  const MemoryProfile profile = memory_profile(program, timeline, made.plan, made.workload);
  const Estimate estimate = estimate_of(made);
  const Needs needs(made);
  REQUIRE(profile.ranks.size() == needs.ranks.size());
  const double rounding = rounding_of(made);
  double closest = 0;
  for (std::size_t rank = 0; rank < needs.ranks.size(); ++rank) {
    CAPTURE(rank);
    const MemoryPeak& peak = profile.ranks[rank];
    const RankNeeds& need = needs.ranks[rank];
    Bytes64 resident = 0;
    for (std::size_t part = 0; part < kResidentParts; ++part) resident += peak.amounts.bytes[part];
    CHECK(resident == need.resident);
    CHECK(std::abs(static_cast<double>(resident) - estimate.resident[rank] - need.resident_term) < rounding);
    const auto mark = static_cast<double>(peak.bytes());
    const double allowed = estimate.buffers[rank] + buffer_terms(need, pipeline);
    CHECK(mark <= estimate.resident[rank] + need.resident_term + allowed + rounding);
    CHECK(peak.bytes() >= least(need));
    closest = std::max(closest, static_cast<double>(peak.bytes() - resident) / allowed);
  }
  return closest;
}

}  // namespace

TEST_CASE("the high-water mark is within TorchRec's estimate and the documented terms, under each pipeline") {
  for (const std::string pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
    double closest = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
      CAPTURE(pipeline);
      CAPTURE(seed);
      closest = std::max(closest, check_marks(seed, pipeline, seed % 10 == 0 ? "simgrid" : "closed_form"));
    }
    CAPTURE(closest);
    CHECK(closest > 0.9);  // the terms are no wider than they must be
    CHECK(closest <= 1);
  }
}

}  // namespace shardsim::high_water_test
