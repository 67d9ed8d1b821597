#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "sim/engine/op_work.h"
#include "sim/engine/store_time.h"
#include "tests/physics/random_plans.h"

namespace shardsim::placement_load_test {

// Compares the work that placements add to an iteration, one by one, with the operations of the whole plan's Program:
// the sums agree step by step, but for the rounding to whole bytes, which a Program does once for all.

using namespace shardsim::physics;

namespace {

struct Amounts {
  double compute = 0, lookups = 0, sent = 0,
         host = 0;  // HBM bytes, rows, bytes of collectives, seconds of the host's link; summed over all ranks
};

double sum_over(const std::vector<double>& amounts, int ranks) {
  double sum = 0;
  for (const double amount : amounts) sum += amount;
  return amounts.size() == 1 ? sum * ranks : sum;
}

std::map<std::string, Amounts> summed_loads(const RandomPlan& made) {
  std::map<std::string, Amounts> sums;
  const int world = made.cluster->world_size();
  for (const Placement& placement : made.plan.placements) {
    for (const LoadStep& step : placement_load(placement, made.workload, *made.cluster).steps) {
      Amounts& sum = sums[step.key.substr(0, step.key.find(' '))];
      sum.compute += sum_over(step.hbm_bytes, world);
      sum.lookups += sum_over(step.lookups, world);
      sum.host += sum_over(step.host_seconds, world);
      const bool across = step.reach == LoadStep::Reach::across_nodes;
      sum.sent += sum_over(step.bytes_to, across ? made.cluster->nodes() : world);
      sum.sent += step.bytes.size() == 1 ? step.bytes.front() * made.cluster->nodes() : sum_over(step.bytes, 1);
    }
  }
  return sums;
}

// The bytes that one source of an exchange sends, by its matrix.
double from_one_source(const Op& op, const Program& program) {
  ByteMatrix matrix = resolve_matrix(program, op.matrix);
  matrix.transposed = false;
  return static_cast<double>(matrix.bytes_sent(0, static_cast<int>(program.groups.at(op.group).front().size())));
}

double collective_bytes(const Op& op, const Program& program) {
  if (!op.matrix.empty()) return from_one_source(op, program);
  const int nodes = program.world_size / program.ranks_per_node;
  double sum = 0;
  for (int node = 0; node < nodes; ++node)
    sum += static_cast<double>(op.bytes_by_set.empty() ? op.bytes : op.bytes_by_set[node]);
  return sum;
}

std::map<std::string, Amounts> of_program(const RandomPlan& made) {
  const Program program = lower(made.plan, made.workload, *made.cluster, {});
  std::map<std::string, Amounts> sums;
  for (const Op& op : program.ops) {
    Amounts& sum = sums[std::string(op_role_name(op.role))];
    if (op.is_collective()) {
      sum.sent += collective_bytes(op, program);
      continue;
    }
    const std::vector<int> ranks = program.ranks_of(op);
    for (std::size_t at = 0; at < ranks.size(); ++at) {
      const ComputeWork work = work_of(op, at, made.cluster->spec());
      sum.compute += work.hbm_bytes;
      sum.lookups += work.lookups;
      sum.host += work.host_link.value;
    }
  }
  return sums;
}

// Splits tell how many numbers follow, once for all tables of an exchange.
bool adds_up(const std::string& role) {
  return role != "exchange_splits";
}

}  // namespace

TEST_CASE("loads of placements add up to the operations of the whole plan") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RandomPlan made = random_plan(seed, {.strategies = torchrec_strategies()});
    if (seed % 3 == 0) made = deduplicated(std::move(made));
    const auto program = of_program(made);
    for (const auto& [role, sum] : summed_loads(made)) {
      if (!adds_up(role)) continue;
      CAPTURE(seed);
      CAPTURE(role);
      REQUIRE(program.contains(role));
      CHECK(sum.compute == doctest::Approx(program.at(role).compute).epsilon(1e-9));
      CHECK(sum.lookups == doctest::Approx(program.at(role).lookups).epsilon(1e-9));
      CHECK(sum.sent == doctest::Approx(program.at(role).sent).epsilon(1e-9));
    }
    for (const auto& [role, sum] : program) {
      const bool embedding = sum.lookups > 0 || (sum.sent > 0 && role != "exchange_splits");
      if (embedding) CHECK_MESSAGE(summed_loads(made).contains(role), role);
    }
  }
}

// Lookups and updates of rows in host memory, and what caches fetch, with the room that caches have beside the batches
// in work.
TEST_CASE("rows that caches miss are those of the whole plan, by each policy, filled ahead or not") {
  RandomChoice choice{{Strategy::table_wise, Strategy::column_wise, Strategy::row_wise}};
  choice.kernels = {"fused_uvm_caching", "fused_uvm"};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    choice.pipeline = seed % 3 == 0 ? "prefetch_sparse_dist" : "none";
    RandomPlan made = random_plan(seed, choice);
    if (seed % 3 == 1) made.workload.cache_policy = "lfu";
    const auto program = of_program(made);
    for (const auto& [role, sum] : summed_loads(made)) {
      if (!adds_up(role)) continue;
      CAPTURE(seed);
      CAPTURE(role);
      CHECK(sum.host == doctest::Approx(program.at(role).host).scale(1e-9).epsilon(1e-9));
      CHECK(sum.compute == doctest::Approx(program.at(role).compute).epsilon(1e-9));
    }
  }
}

TEST_CASE("whoever shares a node waits for the rows that its ranks ask of a store") {
  RandomChoice choice{{Strategy::table_wise}};
  choice.kernels = {"key_value"};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const RandomPlan made = random_plan(seed, choice);
    for (const Placement& placement : made.plan.placements) {
      const Program alone = lower({{placement}}, made.workload, *made.cluster, {});
      const auto op = std::ranges::find(alone.ops, OpRole::fetch_rows, &Op::role);
      const std::vector<LoadStep> steps = placement_load(placement, made.workload, *made.cluster).steps;
      const auto step = std::ranges::find(steps, "fetch_rows", &LoadStep::key);
      REQUIRE((op != alone.ops.end()) == (step != steps.end()));
      if (op == alone.ops.end()) continue;
      const int holder = placement.holders.front().front(), per_node = made.cluster->ranks_per_node();
      const double waited = stored_rows_time(*op, static_cast<std::size_t>(holder), made.cluster->spec()).value;
      CHECK(waited > 0);
      for (int rank = 0; rank < made.cluster->world_size(); ++rank)
        CHECK(step->host_seconds.at(static_cast<std::size_t>(rank)) ==
              (rank / per_node == holder / per_node ? waited : 0));
    }
  }
}

}  // namespace shardsim::placement_load_test
