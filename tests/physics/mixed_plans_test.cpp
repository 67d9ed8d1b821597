#include <doctest/doctest.h>
#include <fmt/format.h>

#include <numeric>

#include "base/rng.h"
#include "program/timeline/traffic.h"
#include "tests/physics/search_lab.h"

namespace shardsim::mixed_plans_test {

// Plans that several planners made for some tables each are lowered and simulated like any other.

using namespace shardsim::physics;

namespace {

Workload histories_and_bags(Rng& rng) {
  std::string text = "schema: shardsim.workload/1\nname: mixed\nbatch_per_gpu: 64\ntables:\n";
  for (int table = 0; table < 8; ++table) {
    const bool pooled = table > 0 && rng.below(2) == 0;
    text += fmt::format("  - {{name: {}_{}, rows: {}, dim: {}, kind: {}: {}, access: {{family: zipf, s: 0.8}}}}\n",
                        pooled ? "bag" : "history", table, 800 * (1 + rng.below(50)), 16 * (1 + rng.below(6)),
                        pooled ? "pooled, pooling_factor" : "sequence, average_length", 1 + rng.below(9));
  }
  return read_workload(parse_yaml(text, "mixed"), "");
}

}  // namespace

TEST_CASE("bytes sent equal bytes received in every mixed plan, and no operation of a table is missing") {
  const std::vector<std::string> of_sequences = {"flexshard_3tier", "flexshard_2tier", "row_wise", "flex"};
  const std::vector<std::string> of_bags = {"torchrec", "table_wise", "column_wise", "grid_shard", "data_parallel"};
  const Cluster cluster(cluster_spec("toy_2x4.yaml"));
  Rng rng(3);
  for (int trial = 0; trial < 12; ++trial) {
    const Workload workload = histories_and_bags(rng);
    const bool any_bag = std::ranges::any_of(workload.tables, [](const Table& table) { return table.name[0] == 'b'; });
    std::string planner = "{name: per_table, tables: {\"history*\": " + of_sequences[rng.below(of_sequences.size())];
    if (any_bag) planner += ", \"*\": " + of_bags[rng.below(of_bags.size())];
    CAPTURE(planner);
    const Program program = lowered(planner + "}}", workload, cluster);
    std::vector<bool> held(workload.tables.size(), false);
    for (const Program::Shard& shard : program.shards) held[static_cast<std::size_t>(shard.table)] = true;
    CHECK(std::ranges::find(held, false) == held.end());
    const Timeline timeline = simulated(program, cluster);
    const auto sum = [](const auto& values) { return std::accumulate(values.begin(), values.end(), std::int64_t{0}); };
    CHECK(sum(timeline.bytes_out) == sum(timeline.bytes_in));
    CHECK(timeline.iteration_ms > 0);
  }
}

TEST_CASE("a planner that simulates judges its part beside the parts before it") {
  Rng rng(8);
  const Workload workload = histories_and_bags(rng);
  const Cluster cluster(cluster_spec("toy_2x4.yaml"));
  SearchLab lab(workload, cluster);
  const Plan plan = lab.plan(
      "{name: per_table, tables: {\"history*\": flexshard_2tier, \"bag*\": {name: search, evaluations: 2000}}}");
  REQUIRE(lab.figures.contains("search_start_table_wise_ms"));
  for (const auto& [name, ms] : lab.figures) {
    if (name.starts_with("search_start_")) CHECK(lab.ms(plan) <= ms * (1 + 1e-9));
  }
  // A start is judged with the histories: as the same tables make a plan of their own.
  const Plan start = lab.plan("{name: per_table, tables: {\"history*\": flexshard_2tier, \"bag*\": table_wise}}");
  CHECK(off(lab.figures["search_start_table_wise_ms"], lab.ms(start)) < 1e-9);
  CHECK(lab.notes.find("tables \"bag*\" (search): ") != std::string::npos);
}

}  // namespace shardsim::mixed_plans_test
