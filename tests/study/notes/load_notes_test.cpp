#include "study/notes/load_notes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/base/error_text.h"
#include "tests/physics/lab.h"

namespace shardsim::load_notes_test {

namespace {

struct Skewed {
  Scenario scenario;
  Case item;
  Plan plan;

  // One table on all eight ranks of the toy cluster, cut by rows.
  explicit Skewed(const std::string& table, Strategy strategy = Strategy::row_wise) {
    item.cluster = physics::cluster_spec("toy_2x4.yaml");
    item.cluster.gpu.sort_per_lookup = Seconds{1.5e-9};  // lookups, not exchanges, decide
    item.memory_model = physics::named("paper");
    item.compute_model = physics::named("roofline");
    item.network = physics::named("closed_form");
    item.workload = read_workload(
        parse_yaml(
            "schema: shardsim.workload/1\nname: skewed\nbatch_per_gpu: 512\ntables:\n  - {name: t, " + table + "}\n",
            "test"),
        "");
    const std::vector<int> ranks = strategy == Strategy::table_row_wise ? std::vector{0, 1, 2, 3} : all_ranks(8);
    plan.placements = {whole_table(0, item.workload.tables[0], strategy, {ranks})};
  }

  PreparedCase prepared() const { return {scenario, item, Cluster(item.cluster), plan}; }

  std::string notes(const Why* why = nullptr) const {
    const PreparedCase all = prepared();
    const auto loads = rank_loads(all.program());
    std::string text;
    if (loads) {
      for (const std::string& note : load_notes(*loads, all, {}, why)) text += note + "\n";
    }
    return text;
  }
};

std::string pooled(double s, std::uint64_t rows = 1'000'000, int dim = 64) {
  return fmt::format("rows: {}, dim: {}, kind: pooled, pooling_factor: 20, access: {{family: zipf, s: {}}}", rows, dim,
                     s);
}

}  // namespace

// The sum of i^-1.2 to 10^6 is 5.5916 - 5 x 10^-1.2 = 5.2761, so that the first row has 18.95 % and, of eight ranks,
// 1.516 times the mean.
TEST_CASE("a row that no cut divides is named, with what it costs any cut and what helps") {
  const Skewed skewed(pooled(1.2));
  const std::string notes = skewed.notes();
  CHECK(has(notes,
            "times as many rows as the mean rank; 'shardsim why' says whether the others wait for it. Table 't' adds "
            "most to it: 100 % of its lookups, "));
  CHECK(has(notes,
            "Table 't': its hottest row gets 19.0 % of the lookups, so no cut by rows over 8 ranks can bring the "
            "fullest rank below 1.52 times the mean."));
  // On four ranks of eight the mean rank is half as full.
  CHECK(
      has(Skewed(pooled(1.2), Strategy::table_row_wise).notes(), "over 4 ranks can bring the fullest rank below 1.52"));
}

// The critical path of an iteration of 10 ms, of which `ms` are waiting.
Why waiting_for(int rank, double ms = 2) {
  Why why;
  why.iteration_ms = 10;
  why.collectives = {{"exchange", 3, 1, ms, rank, "lookup_row_wise", "bag"}};
  return why;
}

TEST_CASE("the rank that is waited for is that of the critical path, whoever looks up most") {
  const Skewed skewed(pooled(1.2));
  const int fullest = rank_loads(skewed.prepared().program())->fullest, other = (fullest + 1) % 8;
  const Why of_fullest = waiting_for(fullest), of_other = waiting_for(other), of_nobody = waiting_for(fullest, 0.1);
  CHECK(has(skewed.notes(&of_fullest), "times as many rows as the mean rank, and the others wait for it. Table 't'"));
  CHECK(has(skewed.notes(&of_fullest), "its hottest row gets 19.0 % of the lookups"));
  CHECK(has(skewed.notes(&of_other),
            fmt::format(" The others do not wait for it, but for rank {}, which is longest in lookup_row_wise (mostly "
                        "table bag).",
                        other)));
  CHECK(has(skewed.notes(&of_nobody), " The others hardly wait for it."));
  for (const Why* why : {&of_other, &of_nobody}) CHECK_FALSE(has(skewed.notes(why), "its hottest row"));
}

TEST_CASE("advice for a rank of which nobody knows whether it is waited for is conditional") {
  const Skewed skewed(pooled(1.2, 2'000));
  CHECK(has(skewed.notes(), " If the others wait for that rank: replicating table 't' (data_parallel) makes"));
  CHECK_FALSE(has(skewed.notes(), ". Replicating table"));
}

TEST_CASE("of ranks that are as full as each other the one that is waited for is told") {
  Skewed even(pooled(1.2));
  even.plan.placements = {whole_table(0, even.item.workload.tables[0], Strategy::column_wise, {{2}}),
                          whole_table(0, even.item.workload.tables[0], Strategy::column_wise, {{6}})};
  even.plan.placements[0].column_end = even.plan.placements[1].column_begin = 32;
  const PreparedCase prepared = even.prepared();
  const Why of_second = waiting_for(6);
  const RankLoads loads = loads_of(prepared.program());
  CHECK(loads.fullest == 2);
  const std::string note = load_notes(loads, prepared, {}, &of_second).front();
  CHECK(has(note, "Rank 6 looks up 4.00 times as many rows"));
  CHECK(has(note, "100 % of its lookups; 2 of 8 ranks have the table, and this one no more of it than the others."));
}

TEST_CASE("a table that lies on one rank is not compared with its mean over ranks that have none of it") {
  Skewed whole(pooled(1.2));
  whole.plan.placements = {whole_table(0, whole.item.workload.tables[0], Strategy::table_wise, {{3}})};
  const PreparedCase prepared = whole.prepared();
  const std::string note = load_notes(loads_of(prepared.program()), prepared).front();
  CHECK(has(note, "Table 't' adds most to it: 100 % of its lookups, and this rank alone has it."));
  CHECK_FALSE(has(note, "times the mean of that table"));
  Skewed of_node(pooled(1.2), Strategy::table_row_wise);
  of_node.item.load.placement = 1;
  const std::string few = of_node.notes();
  CHECK(has(few, "100 % of its lookups, 1.51 times the mean of the 4 ranks that have some of it."));
}

TEST_CASE("of rows that lie together by their ids the cut is to blame, not one row") {
  Skewed skewed(pooled(0.8) + ", row_order: popularity");
  CHECK(has(skewed.notes(), "Rank 0 looks up 5.12 times as many rows"));  // real_load: zipf 0.8, 10^6 rows, 8 owners
  CHECK(has(skewed.notes(), "Cut it modulo instead (load: {row_cut: modulo})"));
  CHECK_FALSE(has(skewed.notes(), "its hottest row"));
  skewed.item.load.row_cut = RowCut::modulo;  // 1.07 times the mean
  CHECK(skewed.notes() == "");
}

TEST_CASE("what helps depends on what can be made of the table") {
  CHECK(
      has(Skewed("rows: 1000000, dim: 64, kind: sequence, average_length: 20, access: {family: zipf, s: 1.2}").notes(),
          "replicating its most popular rows may help: 'run --planners flexshard_2tier,flexshard_3tier' tries it."));
  // 18 thousand lookups of one row, and 2,000 rows to reduce in their place.
  CHECK(has(Skewed(pooled(1.2, 2'000)).notes(), "replicating table 't' (data_parallel) makes the iteration "));
  Skewed planned(pooled(1.2, 2'000));
  planned.item.planner = named_map("row_wise");
  CHECK(has(planned.notes(),
            "Simulate it: --set planner='{name: per_table, tables: {\"t\": data_parallel, \"*\": row_wise}}'."));
  CHECK(has(Skewed(pooled(1.2, 1'000'000, 512)).notes(),
            "cutting table 't' into 8 slices of columns (column_wise) makes the iteration "));
  const std::string narrow = Skewed(pooled(1.2, 1'000'000, 4)).notes();
  CHECK(has(narrow, "can bring the fullest rank below"));
  CHECK_FALSE(has(narrow, "cutting table"));
}

TEST_CASE("what the estimate or the planner search says not to help is not advised") {
  // A table that is all-reduced whole, and slices that all ids go to, beside rows of 256 bytes: neither is faster.
  CHECK(has(Skewed(pooled(1.2)).notes(), "whether the others wait for it"));
  CHECK_FALSE(has(Skewed(pooled(1.2)).notes(), " makes the iteration "));
  const std::string wide = Skewed(pooled(1.2, 15'000, 256)).notes();  // fewer rows than lookups, and yet
  CHECK_FALSE(has(wide, "replicating table"));
  CHECK(has(wide, "cutting table 't' into 8 slices of columns"));
  Skewed searched(pooled(1.2, 2'000));
  searched.item.planner = physics::named("search");
  CHECK(has(searched.notes(), "The planner search has already tried other ways to place it."));
  CHECK_FALSE(has(searched.notes(), "replicating table"));
  Skewed bound(pooled(1.2, 2'000));
  bound.item.constraints.by_table["t"].sharding_types = {Strategy::row_wise};
  CHECK_FALSE(has(bound.notes(), " makes the iteration "));
}

TEST_CASE("advice is the same whoever found the estimate of the case, and whatever its Programs know of each other") {
  for (const char* const table : {"1.2", "0.8"}) {
    const Skewed skewed(pooled(std::stod(table)));
    const PreparedCase known = skewed.prepared();
    const RankLoads loads = loads_of(known.program());
    CHECK(load_notes(loads, known, uncontended_ms(known)) == load_notes(loads, skewed.prepared()));
    CHECK(uncontended_ms(known) == simulate_case(known, *ResolvedCase::uncontended()).timeline.iteration_ms);
    CHECK(known.with_plan(known.plan).program() == skewed.prepared().program());
  }
}

TEST_CASE("even loads are not worth a note") {
  CHECK(Skewed(pooled(0)).notes() == "");
  Skewed even(pooled(1.2));
  even.item.load.row_shares = LoadOptions::RowShares::even;
  CHECK(even.notes() == "");
}

TEST_CASE("a bag whose first id decides the others asks for the hottest row with one id of its size") {
  const Skewed skewed(pooled(1.2) + ", bag_ids: first_id");
  const auto loads = rank_loads(skewed.prepared().program());
  REQUIRE(loads.has_value());
  CHECK(loads->hottest_row->share == doctest::Approx(0.1895 / 20).epsilon(1e-3));
}

// Table-wise, 512 x 8 x 20 ids on one rank of eight: eight times the mean, of lookups as of ids.
TEST_CASE("statistics of any plan: the fullest rank's lookups and ids over the mean rank's") {
  Skewed whole(pooled(1.2));
  whole.plan.placements = {whole_table(0, whole.item.workload.tables[0], Strategy::table_wise, {{3}})};
  CHECK(load_statistics(whole.prepared().program()) ==
        "Lookups of an iteration: rank 3 has 8.00 times the mean; table 't' adds most to it. Ids received: rank 3 has "
        "8.00 times the mean.");
  whole.plan.placements = {whole_table(0, whole.item.workload.tables[0], Strategy::data_parallel, {all_ranks(8)})};
  CHECK(load_statistics(whole.prepared().program()) ==
        "Lookups of an iteration: rank 0 has 1.00 times the mean. No ids are exchanged.");
}

}  // namespace shardsim::load_notes_test
