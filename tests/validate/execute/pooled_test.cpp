#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "study/run/study.h"
#include "tests/validate/execute/checked_run.h"
#include "tests/validate/execute/fusion_faults.h"
#include "tests/validate/execute/ranks.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/buffers/data_check.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/pooled_layout.h"
#include "validate/execute/run/execute.h"

namespace shardsim::pooled_test {

using test::checked;

namespace {

// It looks rows up beside layers that take vectors of another batch.
constexpr const char* kSemiSync = "semi_sync\ndense: {layers: [{name: top, in: 64, out: 8}]}";

Program pooled_program(Strategy strategy, const std::string& pipeline = "none") {
  return sample::lowered(std::vector<Strategy>{strategy}, sample::workload(sample::kPooledTables, pipeline));
}

// Table a alone: 16 samples of 3 ids.
Program one_table(Strategy strategy, const std::string& pipeline = "none") {
  return sample::lowered(
      std::vector<Strategy>{strategy},
      sample::workload("  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3, access: {family: zipf, s: "
                       "1}}\n",
                       pipeline));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHARDSIM_SANITIZED 1
#endif
#endif

// Under sanitizers, where eight ranks take a minute for what takes a second, the one that keeps most buffers in flight.
std::vector<const char*> pipelines() {
#ifdef SHARDSIM_SANITIZED
  return {"prefetch_sparse_dist"};
#else
  return {"none", "sparse_dist", "prefetch_sparse_dist", kSemiSync};
#endif
}

// The error of fusions_of for a program after `spoil`.
std::string complaint(Program program, const std::function<void(Program&)>& spoil) {
  spoil(program);
  return sample::fusion_fault(program);
}

Op& op_of(Program& program, OpClass op_class) {
  return *std::ranges::find(program.ops, op_class, &Op::op_class);
}

// Two ranks, a table of 4 rows of 1 column in row-wise pieces of 2; each rank has two bags, of two ids each: one of
// rank 0's piece and one of rank 1's. All accesses fall on position 0 of the popularity order; who has drawn nothing of
// an owner asks it for its row 0.
constexpr const char* kTwoRanks = R"({
 "schema": "shardsim.program/2", "scenario": "by hand", "case": "main", "seed": 1,
 "world_size": 2, "ranks_per_node": 2, "batch_per_rank": 2, "index_batches": 1,
 "streams": ["compute", "world"],
 "groups": {"world": ["0-1"]},
 "matrices": {"ids": {"kind": "even", "unit_bytes": 8, "units": 4}},
 "tables": [{"name": "t", "rows": 4, "dim": 1, "dtype": "fp32", "dtype_bytes": 4, "id_bytes": 8, "kind": "pooled",
             "features": [{"name": "f", "pooling_factor": 2}],
             "access": {"family": "explicit", "p": [2.0, 0.0, 0.0, 0.0]},
             "hash": {"name": "feistel_splitmix/1", "seed": 1}}],
 "shards": [{"table": 0, "tier": -1, "strategy": "row_wise", "order": "popularity", "rows": [0, 4],
             "columns": [0, 1], "holders": "0-1"}],
 "fusions": {"rw": {"kind": "pooled", "shards": [0]}},
 "ops": [
  {"id": 0, "name": "input_all_to_all", "class": "all_to_all", "role": "exchange_ids", "fusion": "rw", "stream": 1,
   "group": "world", "matrix": "ids", "after_previous": [4]},
  {"id": 1, "name": "lookup", "class": "lookup", "role": "lookup", "fusion": "rw", "stream": 0, "after": [0],
   "shards": [0], "lookups": 4, "pooled": true, "bags": 4},
  {"id": 2, "name": "global_reduce_scatter", "class": "reduce_scatter", "role": "sum_output", "fusion": "rw",
   "stream": 1, "after": [1], "group": "world", "bytes": 16, "dtype": "fp32"},
  {"id": 3, "name": "global_all_gather", "class": "all_gather", "role": "gather_gradient", "fusion": "rw", "stream": 1,
   "after": [2], "group": "world", "bytes": 16, "dtype": "fp32"},
  {"id": 4, "name": "update", "class": "update", "role": "update", "fusion": "rw", "stream": 0, "after": [3],
   "shards": [0], "lookups": 4, "optimizer": "sgd"}
 ]
})";

}  // namespace

TEST_CASE("ids spread evenly over the bags of their feature") {
  const Program program = sample::lowered(std::vector<Strategy>{Strategy::table_wise},
                                          sample::workload(sample::kPooledTables));  // batch 16
  CHECK(bags_per_rank(program, program.tables[0]) == 16);
  CHECK(bags_per_rank(program, program.tables[2]) == 20);  // 16 and a fourth of them
  CHECK(bag_lengths(program, program.tables[0], 48, 0, 1) == std::vector<std::int64_t>(16, 3));
  // 20 ids over 16 bags: bag j begins at floor(20 j / 16).
  CHECK(bag_lengths(program, program.tables[0], 20, 0, 1) ==
        std::vector<std::int64_t>{1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2});
  // Features of 16 bags of 2 and 4 of 5.5: 32 : 22 of 54 ids.
  std::vector<std::int64_t> two(16, 2);
  two.insert(two.end(), {5, 6, 5, 6});
  CHECK(bag_lengths(program, program.tables[2], 54, 0, 1) == two);
  // 6 ids on each of 8 pieces: the extra ones in turn.
  CHECK(bag_lengths(program, program.tables[0], 6, 0, 8) ==
        std::vector<std::int64_t>{0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1});
  CHECK(bag_lengths(program, program.tables[0], 6, 4, 8) ==
        std::vector<std::int64_t>{0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0});
  CHECK(bag_lengths(program, program.tables[0], 0, 0, 1) == std::vector<std::int64_t>(16, 0));
}

TEST_CASE("over all pieces of its rows a bag has what an even split gives it") {
  const Program program = one_table(Strategy::row_wise);
  for (const int pieces : {1, 2, 4, 7, 8}) {
    for (const std::int64_t ids : {1, 5, 6, 12, 31}) {
      std::vector<std::int64_t> sums(16, 0);
      for (int piece = 0; piece < pieces; ++piece) {
        const std::vector<std::int64_t> lengths = bag_lengths(program, program.tables[0], ids, piece, pieces);
        CHECK(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == ids);
        for (std::size_t bag = 0; bag < sums.size(); ++bag) sums[bag] += lengths[bag];
      }
      for (std::int64_t bag = 0; bag < 16; ++bag) {
        CHECK(sums[static_cast<std::size_t>(bag)] == (bag + 1) * ids * pieces / 16 - bag * ids * pieces / 16);
      }
    }
  }
}

TEST_CASE("who adds up and who passes on, by sharding type") {
  const auto of = [](Strategy strategy) { return sample::fusions(one_table(strategy)).front(); };
  for (const Strategy strategy : {Strategy::table_wise, Strategy::column_wise, Strategy::table_column_wise}) {
    const Fusion fusion = of(strategy);
    CHECK(fusion.scatter == -1);
    CHECK(fusion.gather == -1);
    CHECK(fusion.output > fusion.lookup);
    CHECK(fusion.gradient_exchange > fusion.output);
  }
  for (const Strategy strategy : {Strategy::row_wise, Strategy::flex}) {
    const Fusion fusion = of(strategy);
    CHECK(fusion.scatter > fusion.lookup);
    CHECK(fusion.gather > fusion.scatter);
    CHECK(fusion.output == -1);
    CHECK(fusion.gradient_exchange == -1);
    CHECK(fusion.reduces.size() == (strategy == Strategy::flex ? 1 : 0));
  }
  for (const Strategy strategy : {Strategy::table_row_wise, Strategy::grid_shard}) {
    const Fusion fusion = of(strategy);
    CHECK(fusion.scatter > fusion.lookup);
    CHECK(fusion.output > fusion.scatter);
    CHECK(fusion.gradient_exchange > fusion.output);
    CHECK(fusion.gather > fusion.gradient_exchange);
  }
  const Fusion copies = of(Strategy::data_parallel);
  CHECK(copies.ids == -1);
  CHECK(copies.reduces.size() == 1);
}

TEST_CASE("lookups that share exchanges or an all-reduce are one fusion") {
  for (const Strategy strategy : sample::strategies()) {
    CAPTURE(strategy_name(strategy));
    const Program program = pooled_program(strategy);
    const std::vector<Fusion> fusions = sample::fusions(program);
    REQUIRE(fusions.size() == 1);
    CHECK(fusions[0].parts.size() == 2);  // the weighted table is looked up apart
    CHECK(fusions[0].shards.size() == program.shards.size());
  }
}

TEST_CASE("all-reduces in buckets cover the rows from their end") {
  const std::string big =
      "  - {name: a, rows: 20000, dim: 64, kind: pooled, access: {family: zipf, s: 1}}\n"
      "  - {name: b, rows: 9000, dim: 64, kind: pooled, access: {family: zipf, s: 1}}\n";
  const Program program = sample::lowered(std::vector<Strategy>{Strategy::data_parallel}, sample::workload(big));
  const LookupBuffers buffers = lookup_buffers(program, {}, 3).front();
  REQUIRE(buffers.reduced.size() == 2);  // the first bucket is full at 1 MiB
  CHECK(buffers.reduced[0].first == 20000 * 64);
  CHECK(buffers.reduced[0].count == 9000 * 64);
  CHECK(buffers.reduced[1].first == 0);
  CHECK(buffers.reduced[1].count == 20000 * 64);
  CHECK(checked(program, 2).empty());
}

TEST_CASE("chunks go to the ranks whose bags they hold") {
  const Program rows = one_table(Strategy::row_wise), node = one_table(Strategy::table_row_wise);
  const Fusion by_rows = sample::fusions(rows).front(), by_node = sample::fusions(node).front();
  CHECK(sources_of(rows, by_rows, 5) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  // The rank at each place of the node passes on to those at that place of all nodes.
  CHECK(sources_of(node, by_node, 5) == std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(set_of(rows, by_rows.output, 5) == std::vector<int>{5});
  CHECK(set_of(node, by_node.output, 5) == std::vector<int>{1, 5});
  CHECK(chunk_of(rows, by_rows, 5).elements == 16 * 64);
  CHECK(chunk_of(node, by_node, 0).elements == 16 * 64);
  CHECK(chunk_of(node, by_node, 4).elements == 0);  // no table on that node
}

TEST_CASE("vectors of equally many bags lie side by side") {
  const Program program = pooled_program(Strategy::row_wise);
  const Fusion fusion = sample::fusions(program).front();
  const VectorChunk chunk = chunk_of(program, fusion, 0);
  REQUIRE(chunk.blocks.size() == 3);  // a and b; c, which has more bags; d, which is looked up apart
  CHECK(chunk.blocks[0].shards == std::vector<int>{0, 1});
  CHECK(chunk.blocks[0].first == std::vector<std::int64_t>{0, 64});
  CHECK(chunk.blocks[0].dim == 160);
  CHECK(chunk.blocks[1].bags == 20);
  CHECK(chunk.blocks[1].first_element == 16 * 160);
  CHECK(chunk.blocks[2].first_element == 16 * 160 + 20 * 64);
  CHECK(chunk.elements == 16 * 160 + 20 * 64 + 16 * 32);
}

TEST_CASE("two ranks and two bags, by hand") {
  const Program program = program_from_tree(parse_json(kTwoRanks, "by_hand.json"));
  Reference reference(program);
  std::vector<std::vector<float>> rows{reference.shard_rows(0, 0), reference.shard_rows(1, 0)};
  const RowOwner hot = row_owner(program, program.shards[0], 0);
  // Row of each piece that all bags read.
  const auto read = [&](int piece) -> float& {
    return rows[static_cast<std::size_t>(piece)][piece == hot.shard ? hot.local_row : 0];
  };
  for (int iteration = 0; iteration < 3; ++iteration) {
    reference.iterate(1);
    const float sum = read(0) + read(1);
    // Each bag: 2 ids of each rank at each piece are one for each of the two bags.
    for (int rank = 0; rank < 2; ++rank) CHECK(reference.gathered(rank, 1) == std::vector<float>{sum, sum});
    float gradients = 0;
    for (int rank = 0; rank < 2; ++rank) {
      for (int bag = 0; bag < 2; ++bag) gradients += gradient_value(rank, 1, bag, 0);
    }
    for (int piece = 0; piece < 2; ++piece) read(piece) -= gradients;
    CHECK(reference.shard_rows(0, 0) == rows[0]);
    CHECK(reference.shard_rows(1, 0) == rows[1]);
  }
  CHECK(checked(program, 3).empty());
}

// The columns of a table draw the same rows, and its bags hold the same of them.
TEST_CASE("columns apart sum what the whole table sums") {
  const Program whole = pooled_program(Strategy::table_wise), halves = pooled_program(Strategy::column_wise);
  Reference one(whole), other(halves);
  one.iterate(1);
  other.iterate(1);
  const std::vector<float> rows = one.gathered(6, sample::fusions(whole)[0].lookup);
  const std::vector<float> split = other.gathered(6, sample::fusions(halves)[0].lookup);
  REQUIRE(rows.size() == split.size());
  std::size_t at = 0;
  for (const Table& table : whole.tables) {
    const auto bags = static_cast<std::size_t>(bags_per_rank(whole, table)), dim = static_cast<std::size_t>(table.dim);
    for (std::size_t bag = 0; bag < bags; ++bag) {
      for (std::size_t c = 0; c < dim; ++c) {
        const std::size_t half = c / (dim / 2), column = c % (dim / 2);
        REQUIRE(rows[at + bag * dim + c] == split[at + half * bags * dim / 2 + bag * dim / 2 + column]);
      }
    }
    at += bags * dim;
  }
  CHECK(at == rows.size());
}

// Without what any layout does: a bag's gradient, times the ids of the bag.
TEST_CASE("what the tables lose is each bag's gradient for each of its ids") {
  const Program program = one_table(Strategy::table_wise);
  const Fusion fusion = sample::fusions(program).front();
  Reference reference(program);
  const std::vector<float> before = reference.shard_rows(1, 0);
  reference.iterate(2);
  const std::vector<float> after = reference.shard_rows(1, 0);
  double lost = 0, expected = 0;
  for (std::size_t i = 0; i < before.size(); ++i) lost += before[i] - after[i];
  for (int rank = 0; rank < 8; ++rank) {
    for (int bag = 0; bag < 16; ++bag) {
      for (int c = 0; c < 64; ++c) expected += 2 * 3 * gradient_value(rank, fusion.lookup, bag, c);
    }
  }
  CHECK(lost == expected);
  CHECK(expected != 0);
}

TEST_CASE("every sharding type equals a single process bit for bit, under every pipeline") {
  for (const Strategy strategy : sample::strategies()) {
    for (const char* const pipeline : pipelines()) {
      CAPTURE(strategy_name(strategy));
      CAPTURE(pipeline);
      CHECK(checked(pooled_program(strategy, pipeline), 3) == "");
    }
  }
}

// The first three tables of a module, and the one with weights of another.
TEST_CASE("collections apart equal a single process bit for bit, one by one and ahead") {
  std::string tables = sample::kPooledTables;
  tables.replace(tables.find("pooling: mean,"), 0, "module: weighted_ebc, ");
  for (const char* const pipeline : {"none", "base", "sparse_dist", "fused_sparse_dist", "staged"}) {
    CAPTURE(pipeline);
    const Program program = sample::lowered(
        std::vector<Strategy>{Strategy::table_wise},
        sample::workload(tables, std::string(pipeline) + "\nmodules: {exchanges: each}\ninput_exchange: full"));
    CHECK(program.fusions.size() == 2);
    CHECK(checked(program, 3) == "");
  }
}

TEST_CASE("semi_sync looks the next batch up in rows that lack the update of this one") {
  const Program program = one_table(Strategy::table_wise, kSemiSync);
  const Fusion fusion = sample::fusions(program).front();
  Reference reference(program);
  reference.iterate(1);
  // By hand: the second batch, bags of three ids, in the rows of the start.
  const std::vector<std::int64_t> ids = draw_ids(program, fusion, 3, 1).ids;
  std::vector<float> expected(ids.size() / 3 * 64, 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t c = 0; c < 64; ++c) {
      expected[i / 3 * 64 + c] +=
          first_value(piece_key(program, 0, 0), static_cast<std::uint64_t>(ids[i]), static_cast<std::int64_t>(c));
    }
  }
  CHECK(reference.gathered(3, fusion.lookup) == expected);
}

TEST_CASE("features with batches of their own, of every sharding type") {
  const std::string tables =
      "  - {name: a, rows: 1000, dim: 64, kind: pooled, features: [{name: a1, pooling_factor: 3, batch: 5}], access: "
      "{family: zipf, s: 1}}\n"
      "  - {name: b, rows: 600, dim: 32, kind: pooled, features: [{name: b1, pooling_factor: 2, batch: 16}, {name: b2, "
      "pooling_factor: 1.5, batch: 3}], access: {family: zipf, s: 0.8}}\n";
  for (const Strategy strategy : sample::strategies()) {
    for (const char* const pipeline : {"none", kSemiSync}) {
      CAPTURE(strategy_name(strategy));
      CAPTURE(pipeline);
      const Program program = sample::lowered(std::vector<Strategy>{strategy}, sample::workload(tables, pipeline));
      CHECK(bags_per_rank(program, program.tables[0]) == 5);
      CHECK(bags_per_rank(program, program.tables[1]) == 19);
      CHECK(checked(program, 3) == "");
    }
  }
}

TEST_CASE("an iteration without a backward pass is executed") {
  for (Program program : {one_table(Strategy::row_wise), sample::toy_program()}) {
    const auto first = std::ranges::find_if(program.ops, [](const Op& op) {
      return op.name == "dense_backward" || op.op_class == OpClass::all_gather || op.name == "tier_split_gradient";
    });
    program.ops.erase(first, program.ops.end());
    for (Op& op : program.ops) op.after_previous.clear();
    REQUIRE(std::ranges::count(program.ops, OpClass::update, &Op::op_class) == 0);
    const std::vector<std::string> errors = test::in_world(program.world_size, [&](Rendezvous& rendezvous) {
      ExecuteOptions options;
      options.warmup = 0;
      options.iterations = 2;
      const Timeline seen = execute(program, rendezvous, options, [](const Timeline&) {});
      if (rendezvous.rank() == 0 && !seen.complete) throw run_error("not complete", "");
    });
    for (const std::string& error : errors) CHECK(error == "");
  }
}

TEST_CASE("all sharding types in one program, pooled tables and sequences") {
  for (const char* const pipeline : pipelines()) {
    CAPTURE(pipeline);
    CHECK(checked(sample::mixed_program(pipeline), 9) == "");  // more than index_batches
  }
}

TEST_CASE("a sample is judged where all rows are too many") {
  CHECK(checked(sample::mixed_program("sparse_dist"), 3, 200'000) == "");
}

TEST_CASE("rows in host memory and behind a cache, beside rows in device memory") {
  for (const char* const pipeline : pipelines()) {
    CAPTURE(pipeline);
    const Program program = sample::hosted_program(pipeline);
    std::int64_t device = 0, host = 0;
    for (const Fusion& fusion : sample::fusions(program)) {
      const RankRows rows = rank_rows(program, fusion, 0);
      device += rows.elements;
      host += rows.host_elements;
    }
    CHECK(device > 0);
    CHECK(host > 0);
    CHECK(checked(program, 9) == "");
  }
}

// No partial sums then: the exchange across nodes is all there is.
TEST_CASE("table_row_wise on nodes of one GPU") {
  ClusterSpec spec = read_cluster(load_named("toy_2x4", "clusters", SHARDSIM_SOURCE_DIR "/scenarios", {}));
  spec.nodes = 3;
  spec.gpu.count = 1;
  const Cluster cluster(spec);
  const Workload workload = sample::workload(sample::kPooledTables);
  Plan plan;
  for (int number = 0; number < 4; ++number) {
    Placement placement =
        sample::placements(number, workload.tables[static_cast<std::size_t>(number)], Strategy::table_row_wise).front();
    placement.holders = {{number % 3}};
    plan.placements.push_back(placement);
  }
  const Program program = lower(plan, workload, cluster, {});
  const Fusion fusion = sample::fusions(program).front();
  CHECK(fusion.scatter == -1);
  CHECK(fusion.output >= 0);
  CHECK(checked(program, 3) == "");
}

TEST_CASE("ids of four bytes") {
  Workload workload = sample::workload(sample::kPooledTables);
  workload.id_bytes = 4;
  CHECK(checked(sample::lowered(std::vector<Strategy>{Strategy::table_row_wise}, workload), 2) == "");
}

// Too large for this machine, but nothing in them is refused.
TEST_CASE("the shipped scenario of every sharding type fits") {
  const Scenario scenario = read_scenario(SHARDSIM_SOURCE_DIR "/scenarios/mixed.yaml", {});
  REQUIRE(scenario.cases.size() == 3);
  for (const Case& item : scenario.cases) {
    CAPTURE(item.name);
    const Cluster cluster = cluster_of(item);
    const Plan plan = make_plan(item, cluster, scenario.seed, {});
    const std::vector<Fusion> fusions = sample::fusions(make_program(item, cluster, plan, scenario, false));
    CHECK(std::ranges::count(fusions, true, &Fusion::pooled) == 7);  // those of TorchRec
    CHECK(std::ranges::count(fusions, false, &Fusion::pooled) >= 2);
  }
}

TEST_CASE("pooled lookups whose exchanges do not fit are refused") {
  const Program rows = one_table(Strategy::row_wise), node = one_table(Strategy::table_row_wise),
                whole = one_table(Strategy::table_wise), copies = one_table(Strategy::flex);
  CHECK(complaint(rows, [](Program&) {}).empty());
  CHECK(sample::names_operation(complaint(rows, [](Program& p) { op_of(p, OpClass::lookup).bags.values = {129}; }),
                                "129 bags"));
  CHECK(sample::names_operation(complaint(rows, [](Program& p) { op_of(p, OpClass::reduce_scatter).bytes += 4; }),
                                "bytes for rank 0"));
  CHECK(sample::names_operation(complaint(rows, [](Program& p) { op_of(p, OpClass::all_gather).bytes_by_set = {16}; }),
                                "bytes for rank"));
  CHECK(sample::names_operation(complaint(rows, [](Program& p) { op_of(p, OpClass::reduce_scatter).after = {}; }),
                                "does not wait for"));
  CHECK(sample::names_operation(complaint(rows,
                                          [](Program& p) {
                                            for (Op& op : p.ops) {
                                              if (op.op_class == OpClass::update) op.after = {};
                                            }
                                          }),
                                "does not wait for"));
  CHECK(sample::names_operation(complaint(rows, [](Program& p) { op_of(p, OpClass::all_gather).role = OpRole::none; }),
                                "nothing brings the gradients"));
  CHECK(sample::names_operation(
      complaint(rows, [](Program& p) { op_of(p, OpClass::reduce_scatter).role = OpRole::none; }),
      "nothing returns them"));
  CHECK(sample::names_operation(
      complaint(whole, [](Program& p) { sample::matrix_of(p, "pooled_tw_grads").units[1] += 1; }), "moves"));
  CHECK(sample::names_operation(
      complaint(node, [](Program& p) { sample::matrix_of(p, "pooled_twrw_cross_grads").units[0] += 1; }), "moves"));
  CHECK(sample::names_operation(complaint(copies, [](Program& p) { p.tables[0].features[0].num_poolings = 0.01; }),
                                "no bag"));
  CHECK(sample::names_operation(
      complaint(pooled_program(Strategy::table_wise), [](Program& p) { p.tables[1].dtype = Dtype::fp16; }),
      "different types"));
  CHECK(sample::names_operation(complaint(pooled_program(Strategy::row_wise),
                                          [](Program& p) {
                                            for (Op& op : p.ops) {
                                              if (op.op_class == OpClass::lookup && op.shards.size() == 1)
                                                op.after = {0};
                                            }
                                          }),
                                "does not wait for the exchange of its ids"));
}

}  // namespace shardsim::pooled_test
