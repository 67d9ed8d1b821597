// Planner search, which needs what the lowering says of plans.

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "plan/plan_file.h"
#include "plan/search/local_search.h"
#include "plan/torchrec_types.h"
#include "study/planning/prepared_case.h"
#include "tests/physics/random_plans.h"
#include "tests/physics/search_lab.h"

namespace shardsim::physics::search_test {
namespace {

Workload workload_from(const std::string& tables, std::int64_t batch = 512, const std::string& more = "") {
  return read_workload(
      parse_yaml(fmt::format("schema: shardsim.workload/1\nname: small\nbatch_per_gpu: {}\n{}tables:\n{}", batch, more,
                             tables),
                 "test"),
      "");
}

// Four tables of unlike weight: no two ways to deal them over two ranks take the same time.
Workload four_tables() {
  return workload_from(R"(
  - {name: a, rows: 400000, dim: 64, kind: pooled, pooling_factor: 30}
  - {name: b, rows: 300000, dim: 64, kind: pooled, pooling_factor: 17}
  - {name: c, rows: 200000, dim: 64, kind: pooled, pooling_factor: 12}
  - {name: d, rows: 100000, dim: 64, kind: pooled, pooling_factor: 9}
)");
}

Constraints only(const std::vector<Strategy>& types) {
  Constraints constraints;
  constraints.by_table["*"].sharding_types = types;
  return constraints;
}

Plan dealt(const Workload& workload, Strategy strategy, const std::vector<std::vector<int>>& ranks) {
  Plan plan;
  for (std::size_t t = 0; t < ranks.size(); ++t) {
    const auto slices = static_cast<std::int64_t>(ranks[t].size());
    for (std::int64_t i = 0; i < slices; ++i) {
      Placement placement =
          whole_table(static_cast<int>(t), workload.tables[t], strategy, {{ranks[t][static_cast<std::size_t>(i)]}});
      placement.column_begin = i * workload.tables[t].dim / slices;
      placement.column_end = (i + 1) * workload.tables[t].dim / slices;
      plan.placements.push_back(placement);
    }
  }
  return plan;
}

// The least time over all ways to give each table one of `ways`.
double least_of_all(const SearchLab& lab, const Workload& workload, Strategy strategy,
                    const std::vector<std::vector<int>>& ways) {
  double least = 1e300;
  std::size_t count = 1;
  for (std::size_t t = 0; t < workload.tables.size(); ++t) count *= ways.size();
  for (std::size_t number = 0; number < count; ++number) {
    std::vector<std::vector<int>> ranks;
    for (std::size_t t = 0, rest = number; t < workload.tables.size(); ++t, rest /= ways.size()) {
      ranks.push_back(ways[rest % ways.size()]);
    }
    least = std::min(least, lab.ms(dealt(workload, strategy, ranks)));
  }
  return least;
}

}  // namespace

TEST_CASE("search finds the best of all plans of whole tables, and of halves, on two ranks") {
  const Workload workload = four_tables();
  const Cluster& cluster = shaped_cluster(1, 2);
  SearchLab lab(workload, cluster);
  const Constraints whole = only({Strategy::table_wise});
  lab.context.constraints = &whole;
  const double tables = lab.ms(lab.plan("{name: search}"));
  CHECK(tables == doctest::Approx(least_of_all(lab, workload, Strategy::table_wise, {{0}, {1}})).epsilon(1e-9));

  const Constraints columns = only({Strategy::column_wise});
  lab.context.constraints = &columns;
  const double halves = lab.ms(lab.plan("{name: search}"));
  const double least = least_of_all(lab, workload, Strategy::column_wise, {{0}, {1}, {0, 1}, {1, 0}});
  CHECK(halves <= least * (1 + 1e-9));
  CHECK(halves < tables);
}

TEST_CASE("search is as fast as every planner that it starts from, and says how it got there") {
  for (const std::uint64_t seed : {3ULL, 8ULL, 21ULL}) {
    CAPTURE(seed);
    const RandomPlan made = random_plan(seed, {torchrec_strategies()});
    SearchLab lab(made.workload, *made.cluster);
    const double best = lab.ms(lab.plan("{name: search, evaluations: 3000}"));
    const auto figures = lab.figures;  // those of the starts come later
    for (const std::string name : {"row_wise", "table_wise", "column_wise", "table_row_wise", "grid_shard",
                                   "data_parallel", "memory_balanced", "torchrec"}) {
      CAPTURE(name);
      const double start = lab.ms(lab.plan("{name: " + name + "}"));
      CHECK(best <= start);
      CHECK(figures.at("start_" + name + "_ms") == doctest::Approx(start).epsilon(1e-9));
    }
    CHECK(figures.at("evaluations") >= 1);
    CHECK(figures.at("evaluations") <= 3000 + 64);  // the starts, and what is under way
    CHECK(std::abs(figures.at("cost_ms") / best - 1) < 0.1);
  }
}

// Many light tables of a kind, of which each alone would not pay for an exchange of its own, and no time to change
// many.
TEST_CASE("a search takes over from planners what each does with the kind of table that it is good at") {
  std::string tables;
  for (int i = 0; i < 24; ++i)
    tables += fmt::format(
        "  - {{name: p{0}, rows: {1}, dim: 64, kind: pooled, pooling_factor: {2}}}\n"
        "  - {{name: s{0}, rows: {1}, dim: 32, kind: sequence, average_length: {2}, access: {{family: zipf, s: "
        "1.1}}}}\n",
        i, 40000 + 9000 * i, 4 + i % 7);
  const Workload workload = workload_from(tables);
  SearchLab lab(workload, shaped_cluster(2, 4));
  const double best = lab.ms(lab.plan("{name: search, evaluations: 1500}"));
  const auto figures = lab.figures;
  double of_one = 1e300;
  for (const auto& [name, value] : figures)
    if (name.starts_with("start_")) of_one = std::min(of_one, value);
  CHECK(best < 0.999 * of_one);
}

// With index_dedup every rank asks for an id once, so that exchanges shrink and other cuts are the best.
// As many evaluations as a small machine has time for; in each workload some tables have tiers as an alternative.
TEST_CASE("whoever restricts a search to what TorchRec can run gets no faster plan for that") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    std::string tables;
    for (int index = 0; index < 8; ++index) {
      const bool sequence = index == 0 && seed % 4 != 0;
      tables +=
          fmt::format("  - {{name: t{}, rows: {}, dim: 64, kind: {}: {}, access: {{family: zipf, s: {}}}}}\n", index,
                      1000 + rng.below(400000), sequence ? "sequence, average_length" : "pooled, pooling_factor",
                      1 + rng.below(sequence ? 20 : 40), 0.8 + 0.1 * static_cast<double>(rng.below(4)));
    }
    const Workload workload = workload_from(tables, 128 << rng.below(3));
    const Cluster& cluster = shaped_cluster(2, 4);
    SearchLab lab(workload, cluster);
    lab.context.simulated_bandwidths = [&] { return simulated_bandwidths(workload, cluster); };
    const double free = lab.ms(lab.plan("{name: search, evaluations: 400}"));
    Constraints torchrec;
    torchrec.by_table["*"].torchrec_only = true;
    lab.context.constraints = &torchrec;
    CHECK(free <= lab.ms(lab.plan("{name: search, evaluations: 400}")) * (1 + 1e-4));
  }
}

TEST_CASE("with index_dedup, and within TorchRec, search is as fast as every planner") {
  for (const char* const lengths : {"20", "200"}) {
    CAPTURE(lengths);
    const Workload workload = workload_from(fmt::format(R"(
  - {{name: a, rows: 400000, dim: 64, kind: pooled, pooling_factor: 30, access: {{family: zipf, s: 1.05}}}}
  - {{name: b, rows: 90000, dim: 128, kind: pooled, pooling_factor: 3}}
  - {{name: history, rows: 500000, dim: 128, kind: sequence, average_length: {0}, index_dedup: true, access: {{family: zipf, s: 1.1}}}}
  - {{name: searches, rows: 60000, dim: 32, kind: sequence, average_length: {0}, index_dedup: true, access: {{family: zipf, s: 1.02}}}}
)",
                                                        lengths));
    const Cluster& cluster = shaped_cluster(2, 4);
    for (const bool torchrec_only : {false, true}) {
      CAPTURE(torchrec_only);
      SearchLab lab(workload, cluster);
      Constraints constraints;
      constraints.by_table["*"].torchrec_only = true;
      if (torchrec_only) lab.context.constraints = &constraints;
      const double best = lab.ms(lab.plan("{name: search, evaluations: 3000}"));
      for (const char* const options :
           {"{name: torchrec}", "{name: torchrec, version: \"2025-10\"}", "{name: row_wise}", "{name: table_wise}",
            "{name: column_wise}", "{name: data_parallel}", "{name: memory_balanced}"}) {
        CAPTURE(options);
        CHECK(best <= lab.ms(lab.plan(options)) * (1 + 1e-5));
      }
    }
  }
}

TEST_CASE("a start that cannot be simulated is left out by name, and is the error only where all are") {
  const Workload workload =
      workload_from("  - {name: wide, rows: 5000, dim: 1024, kind: pooled, pooling_factor: 3}\n", 64);
  const Cluster& cluster = shaped_cluster(3, 2);
  SearchLab lab(workload, cluster);
  bool none = false;
  const auto load = lab.context.load;
  lab.context.load = [&](const Placement& placement) {
    if (none || placement.columns() % 4 != 0)
      throw input_error({}, fmt::format("no kernel reads {} columns", placement.columns()), "Take others");
    return load(placement);
  };
  CHECK(lab.ms(lab.plan("{name: search, evaluations: 500}")) <= lab.ms(lab.plan("{name: row_wise}")));
  CHECK_FALSE(lab.figures.contains("start_grid_shard_ms"));  // three slices, of 342 columns and 341
  CHECK(
      lab.notes.find("not begun with the plan of grid_shard, which cannot be simulated: no kernel reads 342 columns") !=
      std::string::npos);
  none = true;
  CHECK_THROWS_WITH_AS(lab.plan("{name: search, evaluations: 500}"), doctest::Contains("no kernel reads"), Error);
}

TEST_CASE("search begins with a plan that is known, too") {
  const RandomPlan made = random_plan(8, {torchrec_strategies()});
  SearchLab lab(made.workload, *made.cluster);
  const Plan known = lab.plan("{name: search, evaluations: 3000}");
  lab.context.known = {known};
  CHECK(lab.ms(lab.plan("{name: search, evaluations: 1}")) <= lab.ms(known) * (1 + 1e-9));
  CHECK(lab.figures.at("start_known_ms") == doctest::Approx(lab.ms(known)).epsilon(1e-9));
  CHECK_NOTHROW(lab.plan("{name: per_table, tables: {\"*\": {name: search, evaluations: 1}}}"));
}

TEST_CASE("the same search twice gives the same plan; few evaluations end it soon") {
  const RandomPlan made = random_plan(5, {torchrec_strategies()});
  SearchLab lab(made.workload, *made.cluster);
  CHECK(lab.plan("{name: search, evaluations: 2000}") == lab.plan("{name: search, evaluations: 2000}"));
  lab.plan("{name: search, evaluations: 1}");
  CHECK(lab.figures.at("evaluations") < 100);
  CHECK_FALSE(lab.notes.find("by a quick estimate, and simulated") == std::string::npos);
  CHECK(lab.notes.find("evaluation") == std::string::npos);  // a word for who wrote the search
  CHECK(lab.notes.find("timeout") == std::string::npos);
  lab.plan("{name: search, timeout: \"1 us\", evaluations: 100000000}");
  CHECK(lab.figures.at("evaluations") < 1000);
  CHECK(lab.notes.find("the timeout ended the search") != std::string::npos);
}

TEST_CASE("what moves from the plan to start from keeps within max_moved") {
  const Workload workload = four_tables();
  const Cluster& cluster = shaped_cluster(2, 2);
  SearchLab lab(workload, cluster);
  const Plan start = dealt(workload, Strategy::table_wise, {{0}, {0}, {0}, {1}});
  const std::string file = (std::filesystem::temp_directory_path() / fmt::format("search_{}.json", getpid())).string();
  std::ofstream(file) << plan_to_json(start, workload, cluster);
  double slowest = lab.ms(start) * (1 + 1e-9);
  for (const double limit : {0.0, 30e6, 100e6}) {
    CAPTURE(limit);
    const Plan plan =
        lab.plan(fmt::format("{{name: search, start: {}, max_moved: \"{:.0f} B\", evaluations: 3000}}", file, limit));
    double moved = 0;
    for (int t = 0; t < 4; ++t) {
      std::vector<Placement> now, before;
      for (const Placement& each : plan.placements) {
        if (each.table == t) now.push_back(each);
      }
      for (const Placement& each : start.placements) {
        if (each.table == t) before.push_back(each);
      }
      moved += search::moved_bytes(now, before, workload.tables[static_cast<std::size_t>(t)]);
    }
    CHECK(moved <= limit);
    CHECK(lab.ms(plan) <= slowest);
    slowest = lab.ms(plan) * (1 + 1e-6);
  }
  CHECK(slowest < 0.9 * lab.ms(start));
  std::filesystem::remove(file);
}

TEST_CASE("constraints are kept, and refused by name where nothing is left") {
  const Workload workload = four_tables();
  const Cluster& cluster = shaped_cluster(2, 2);
  SearchLab lab(workload, cluster);
  Constraints constraints = only({Strategy::row_wise});
  constraints.by_table["a"].sharding_types = {Strategy::column_wise};
  constraints.by_table["a"].min_partition = 32;
  lab.context.constraints = &constraints;
  const Plan plan = lab.plan("{name: search, evaluations: 2000}");
  for (const Placement& placement : plan.placements) {
    CHECK(placement.strategy == (placement.table == 0 ? Strategy::column_wise : Strategy::row_wise));
    CHECK(placement.columns() >= 32);
  }
  constraints.by_table["b"].compute_kernels = {"quant"};
  std::string message;
  try {
    lab.plan("{name: search}");
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("any way to place table 'b'") != std::string::npos);
}

TEST_CASE("rows may lie behind a cache where constraints say so") {
  const Workload workload = four_tables();
  const Cluster& cluster = shaped_cluster(2, 2);
  SearchLab lab(workload, cluster, "torchrec");
  Constraints constraints;
  constraints.by_table["*"].compute_kernels = {"fused_uvm_caching"};
  constraints.by_table["*"].caches.load_factor = 0.3;
  lab.context.constraints = &constraints;
  for (const Placement& placement : lab.plan("{name: search, evaluations: 1000}").placements) {
    CHECK(placement.compute_kernel == "fused_uvm_caching");
    CHECK(placement.cache_load_factor == 0.3);
  }
}

TEST_CASE("rows may lie in key-value stores where constraints say so, with the caches that these state") {
  const Workload workload = four_tables();
  const Cluster& cluster = shaped_cluster(2, 2);
  SearchLab lab(workload, cluster, "torchrec");
  Constraints constraints;
  TableConstraint& stored = constraints.by_table["a"];
  stored.compute_kernels = {"key_value"};
  stored.caches = {0.3, Bytes{1 << 20}, Bytes{4 << 20}};
  lab.context.constraints = &constraints;
  for (const char* const planner : {"{name: search, evaluations: 1000}", "{name: greedy}",
                                    "{name: neuroshard, costs: closed_form}", "{name: torchrec}"}) {
    CAPTURE(planner);
    const Plan plan = lab.plan(planner);
    check_constraints(plan, workload, constraints, row_ranks(workload, cluster.spec()), planner);
    for (const Placement& placement : plan.placements) {
      const bool in_store = placement.table == 0;
      CHECK(in_key_value_store(placement.compute_kernel) == in_store);
      CHECK(placement.most_l1 == (in_store ? std::optional(Bytes{1 << 20}) : std::nullopt));
      CHECK(placement.l2 == Bytes{in_store ? 4 << 20 : 0});
    }
  }
}

// Every table needs 6 of the 8 GB of a rank when it is whole there: only cut ones fit beside each other.
TEST_CASE("plans fit in memory, or the error says what is missing") {
  const Workload workload = workload_from(R"(
  - {name: t, copies: 5, rows: 23000000, dim: 64, kind: pooled, pooling_factor: 2}
)");
  ClusterSpec spec = cluster_spec("toy_2x4.yaml", 2);
  spec.gpu.count = 2;
  spec.gpu.hbm = Bytes{8'000'000'000};
  const Cluster cluster(spec);
  SearchLab lab(workload, cluster);
  const Plan plan = lab.plan("{name: search, evaluations: 2000}");
  CHECK_NOTHROW(check_memory(plan, workload, cluster, lab.context.memory));
  spec.gpu.hbm = Bytes{6'000'000'000};
  const Cluster smaller(spec);
  SearchLab tight(workload, smaller);
  Constraints in_hbm;  // TorchRec's plan would keep rows in host memory
  in_hbm.by_table["*"].compute_kernels = {"fused", "dense"};
  tight.context.constraints = &in_hbm;
  CHECK_THROWS_WITH_AS(tight.plan("{name: search, evaluations: 2000}"), doctest::Contains("does not fit in memory"),
                       Error);
}

TEST_CASE("no plan needs more at its peak than a GPU has, whatever the memory model says") {
  const Workload workload = four_tables();
  const Cluster& cluster = shaped_cluster(1, 2);
  SearchLab lab(workload, cluster);
  const Plan fastest = lab.plan("{name: search, evaluations: 2000}");
  lab.context.trial = [&](const Plan& plan) {
    return PlanTrial{lab.time(plan), plan == fastest ? cluster.memory_per_rank().count + 1 : std::int64_t{1}};
  };
  const Plan other = lab.plan("{name: search, evaluations: 2000}");
  CHECK(other != fastest);
  CHECK(lab.ms(other) >= lab.ms(fastest));
  lab.context.trial = [&](const Plan& plan) {
    return PlanTrial{lab.time(plan), cluster.memory_per_rank().count + (1LL << 30)};
  };
  CHECK_THROWS_WITH_AS(lab.plan("{name: search, evaluations: 2000}"), doctest::Contains("at least 1 GiB more"), Error);
}

TEST_CASE("a search for some of the tables tries plans of all of them") {
  const Workload workload = four_tables();
  const Cluster& cluster = shaped_cluster(1, 2);
  SearchLab lab(workload, cluster);
  int trials = 0;
  lab.context.trial = [&](const Plan& plan) {
    ++trials;
    check_plan(plan, workload, cluster, {});
    return PlanTrial{lab.time(plan), cluster.memory_per_rank().count};  // the parts before it have a share in that
  };
  lab.plan("{name: per_table, tables: {a: row_wise, \"*\": {name: search, evaluations: 2000}}}");
  CHECK(trials > 0);
}

// Peaks that leave less than half of the memory, so that it counts what is left.
TEST_CASE("of plans that are nearly as fast the one that leaves most memory is taken, and none slower than a start") {
  const RandomPlan made = random_plan(8, {torchrec_strategies()});
  SearchLab lab(made.workload, *made.cluster);
  const auto peak_of = [&](const Plan& plan) {
    const std::vector<std::int64_t> bytes = memory_per_rank(plan, made.workload, *made.cluster, lab.context.memory);
    return made.cluster->memory_per_rank().count / 2 + std::ranges::max(bytes);
  };
  std::vector<std::pair<double, std::int64_t>> asked;  // ms and peak of what was simulated
  lab.context.trial = [&](const Plan& plan) {
    asked.emplace_back(lab.ms(plan), peak_of(plan));
    return PlanTrial{lab.time(plan), asked.back().second};
  };
  const Plan plan = lab.plan("{name: search, evaluations: 3000}");
  double fastest = 1e300, start = 1e300;
  for (const auto& [ms, bytes] : asked) fastest = std::min(fastest, ms);
  for (const auto& [name, value] : lab.figures) {
    if (name.starts_with("start_")) start = std::min(start, value);
  }
  const double limit = std::min(fastest * 1.02, std::max(start, fastest));
  CHECK(asked.size() > 1);
  CHECK(static_cast<double>(asked.size()) == lab.figures.at("simulations"));  // one for time and memory
  CHECK(lab.ms(plan) <= limit * (1 + 1e-4));
  for (const auto& [ms, bytes] : asked) {
    if (ms <= limit) CHECK(bytes >= peak_of(plan));
  }
}

TEST_CASE("search starts from tiers cut by this cluster's bandwidths, too") {
  const Workload workload = workload_from(R"(
  - {name: long, rows: 2000000, dim: 128, kind: sequence, average_length: 50, access: {family: zipf, s: 1.1}}
)",
                                          256);
  const Cluster& cluster = shaped_cluster(2, 4);
  SearchLab lab(workload, cluster);
  lab.context.simulated_bandwidths = [&] { return simulated_bandwidths(workload, cluster); };
  const double best = lab.ms(lab.plan("{name: search, evaluations: 2000}"));
  for (const char* const name : {"flexshard_2tier", "flexshard_3tier"}) {
    const std::string tiers = fmt::format("{{name: {}, bandwidths: simulated}}", name);
    CHECK(best <= lab.ms(lab.plan(tiers)) * (1 + 1e-9));
  }
}

TEST_CASE("sequences of several tiers, and every pipeline, can be searched") {
  for (const char* const pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
    const Workload workload = workload_from(R"(
  - {name: long, rows: 2000000, dim: 128, kind: sequence, average_length: 50, access: {family: zipf, s: 1.1}}
  - {name: short, rows: 10000, dim: 64, kind: sequence, average_length: 5}
)",
                                            256, fmt::format("pipeline: {}\n", pipeline));
    const Cluster& cluster = shaped_cluster(2, 4);
    SearchLab lab(workload, cluster);
    const double best = lab.ms(lab.plan("{name: search, evaluations: 2000}"));
    for (const char* const name : {"flexshard_2tier", "flexshard_3tier", "row_wise", "table_wise"}) {
      CHECK(best <= lab.ms(lab.plan("{name: " + std::string(name) + "}")));
    }
  }
}

// The more of an iteration is exchanges, the more the own cost, which knows of no contention, is off.
struct OwnCostBound {
  Seconds sort_per_lookup;
  double worst = 0;
};

// Tables that are added and taken away again leave no trace in the cost.
TEST_CASE("the search's own cost is near what is simulated") {
  for (const OwnCostBound& bound : {OwnCostBound{Seconds{1.5e-9}, 0.4}, OwnCostBound{GpuSpec{}.sort_per_lookup, 0.5}}) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(seed);
      RandomChoice choice{torchrec_strategies()};
      choice.pipeline = std::vector<std::string>{"none", "sparse_dist", "prefetch_sparse_dist"}[seed % 3];
      const RandomPlan made = random_plan(seed, choice);
      ClusterSpec spec = made.cluster->spec();
      spec.gpu.sort_per_lookup = bound.sort_per_lookup;
      const Cluster cluster(spec);
      SearchLab lab(made.workload, cluster);
      search::TableChoices choices(made.workload, cluster, lab.context);
      search::IterationCost cost(lab.context.outline(choices.every_kind({made.plan})), made.workload, cluster,
                                 *lab.context.compute);
      choices.use(cost);
      search::LocalSearch local(made.workload, cluster, choices, cost, {1000, {}, {}, {}});
      local.begin(choices.of_plan(made.plan));
      const double own = local.seconds() * 1e3;
      const double distance = off(own, simulated(lower(made.plan, made.workload, cluster, {}), cluster).iteration_ms);
      CHECK(distance < bound.worst);
      sum += distance;
      for (const search::Choice& table : choices.of_plan(made.plan)) {
        for (const search::Piece& piece : table) {
          cost.add(piece.load->shares, piece.shift(cluster.ranks_per_node()), 1);
        }
      }
      for (const search::Choice& table : choices.of_plan(made.plan)) {
        for (const search::Piece& piece : table) {
          cost.add(piece.load->shares, piece.shift(cluster.ranks_per_node()), -1);
        }
      }
      CHECK(off(cost.seconds() * 1e3, own) < 1e-9);
      CHECK(choices.plan_of(local.plan(), 1).placements.size() == made.plan.placements.size());
    }
    CHECK(sum < 0.05 * 60);
  }
}

namespace {

// Properties that all tables of a workload have in common.
struct DrawnKind {
  bool own_batch, weighted, codec;
};

std::string drawn_table(Rng& rng, int index, const DrawnKind& kind) {
  const auto chance = [&](std::uint64_t of) { return rng.below(of) == 0; };
  const bool sequence = chance(2);
  std::string text = fmt::format("  - {{name: t{}, rows: {}, dim: {}, dtype: {}", index, 100 + rng.below(400000),
                                 sequence ? 64 : 32 * (1 + rng.below(4)), one_of<std::string>(rng, {"fp32", "fp16"}));
  if (index > 0)  // the first one has the types of the workload
    text += one_of<std::string>(rng, {"", "", ", wire_dtype: {forward: fp16, backward: bf16}",
                                      ", wire_dtype: {forward: bf16, backward: bf16}"});
  if (chance(2)) text += fmt::format(", module: {}.{}", sequence ? "ec" : "ebc", chance(2) ? "a" : "b");
  if (sequence) {
    const char* const length = !kind.codec && chance(3) ? "0.001" : "12";  // some of them ask for nothing
    return text + fmt::format(", kind: sequence, average_length: {}, index_dedup: {}}}\n", length, chance(2));
  }
  const std::string batch = kind.own_batch ? fmt::format(", batch: {}", 32 + rng.below(64)) : "";
  return text + fmt::format(", kind: pooled, features: [{{name: f{}, pooling_factor: {}, weighted: {}{}}}]}}\n", index,
                            !kind.codec && chance(4) ? 0.001 : 7.0, kind.weighted, batch);
}

std::string drawn_options(Rng& rng, const DrawnKind& kind) {
  std::string text =
      "pipeline: " + one_of<std::string>(rng, {"none", "base", "sparse_dist", "prefetch_sparse_dist", "semi_sync"}) +
      "\n";
  text += "dense: {layers: [{name: bottom, in: 16, out: 64}, {name: over, in: 192, out: 256}]}\n";
  if (rng.below(2) == 0) text += "modules: {exchanges: each}\n";
  if (kind.codec) text += "wire_dtype: {forward: fp16, backward: fp8, kernels: true, quantize_dim_backward: 32}\n";
  return text;
}

// Names the steps that tables may have and that the outline of a search lacks.
std::string missing_steps(SearchLab& lab, const Workload& workload, const Cluster& cluster) {
  search::TableChoices choices(workload, cluster, lab.context);
  const search::IterationCost cost(lab.context.outline(choices.every_kind({})), workload, cluster,
                                   *lab.context.compute);
  std::string missing;
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    for (const Strategy strategy : choices.strategies(t)) {
      search::Piece piece;
      piece.strategy = strategy;
      piece.column_end = workload.tables[t].dim;
      for (const LoadStep& step : placement_load(choices.placement_of(t, piece), workload, cluster).steps) {
        const bool shared = workload.pipeline != "none" && step.key.starts_with("exchange_splits");
        if (!cost.has(step) && !shared) missing += step.key + "\n";
      }
    }
  }
  return missing;
}

}  // namespace

TEST_CASE("search plans tables that are exchanged apart: by wire types, by modules, with batches of their own") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    std::string tables;
    const int count = 2 + static_cast<int>(rng.below(4));
    const DrawnKind kind{rng.below(4) == 0, rng.below(3) == 0, rng.below(3) == 0};
    for (int index = 0; index < count; ++index) tables += drawn_table(rng, index, kind);
    const std::string options = drawn_options(rng, kind);
    CAPTURE(seed);
    CAPTURE(options);
    CAPTURE(tables);
    const Workload workload = workload_from(tables, 128, options);
    const Cluster& cluster = shaped_cluster(1 + static_cast<int>(seed % 2), 4);
    SearchLab lab(workload, cluster);
    CHECK(missing_steps(lab, workload, cluster) == "");
    const double best = lab.ms(lab.plan("{name: search, evaluations: 300}"));
    CHECK(best <= lab.ms(lab.plan("{name: torchrec}")) * (1 + 1e-5));
  }
}

TEST_CASE("search leaves out types that the codec of a workload cannot add up or cut") {
  const Workload workload =
      workload_from(R"(
  - {name: a, rows: 400000, dim: 64, kind: pooled, pooling_factor: 30}
  - {name: b, rows: 300000, dim: 128, kind: pooled, pooling_factor: 17}
)",
                    512,
                    "wire_dtype: {forward: int8, backward: int8, kernels: true, quantize_dim: 64, "
                    "quantize_dim_backward: 64}\n");
  SearchLab lab(workload, shaped_cluster(1, 4));
  for (const Placement& placement : lab.plan("{name: search, evaluations: 500}").placements) {
    CHECK_FALSE(in_rows(placement.strategy));
    // 64 elements share the 8 bytes of a scale and an offset, of which vectors of 8, 16 and 32 have whole ones.
    CHECK((placement.columns() % 64 == 0 || 64 / placement.columns() <= 8));
  }
}

TEST_CASE("neuroshard halves columns as long as the codec of a workload can cut them") {
  const Workload workload =
      workload_from(R"(
  - {name: a, rows: 400000, dim: 128, kind: sequence, average_length: 30}
  - {name: b, rows: 300000, dim: 128, kind: sequence, average_length: 17}
)",
                    512,
                    "input_exchange: full\nwire_dtype: {forward: fp8, backward: fp8, quantize_dim: 32, "
                    "quantize_dim_backward: 64}\n");
  SearchLab lab(workload, shaped_cluster(1, 4));
  const Plan plan = lab.plan("{name: neuroshard, costs: closed_form, grid: 0}");
  CHECK_NOTHROW(lower(plan, workload, shaped_cluster(1, 4), {}));
  CHECK(plan.placements.size() > 2);
  for (const Placement& placement : plan.placements) CHECK(placement.columns() % 64 == 0);
}

TEST_CASE("under 2D parallelism search takes nothing that its simulation refuses") {
  const Workload workload = workload_from(R"(
  - {name: a, rows: 400000, dim: 64, kind: sequence, average_length: 30, access: {family: zipf, s: 1.2}}
  - {name: b, rows: 300000, dim: 64, kind: sequence, average_length: 17, access: {family: zipf, s: 1.2}}
)",
                                          512, "sharding_groups: {size: 4, sync_every: 2}\n");
  const Cluster& group = shaped_cluster(1, 4);
  SearchLab lab(workload, group);
  const search::TableChoices choices(workload, group, lab.context);
  Plan plan = lab.plan("{name: row_wise}");
  CHECK(choices.allows(plan));
  plan.placements[0] = whole_table(0, workload.tables[0], Strategy::flex, {all_ranks(4)});
  CHECK_FALSE(choices.allows(plan));
  plan = lab.plan("{name: row_wise}");
  plan.placements[1].compute_kernel = "fused_uvm";
  CHECK_FALSE(choices.allows(plan));
  for (const Placement& placement : lab.plan("{name: search, evaluations: 500}").placements)
    CHECK(placement.strategy != Strategy::flex);
}

}  // namespace shardsim::physics::search_test
