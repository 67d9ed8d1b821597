#include <doctest/doctest.h>

#include <map>
#include <numeric>

#include "program/program_file.h"
#include "sim/engine/op_work.h"
#include "tests/physics/lab.h"

namespace shardsim::lowered_bytes_test {

// The bytes of lowered plans against hand counts: 2 nodes of 4 ranks, batch 32, tables A (1000 x 64, 3 items a sample)
// and B (600 x 64, 2 items), fp32, 8-byte ids (docs/lowering.md, "Worked byte counts"). Own chunks are in `total`.

using namespace shardsim::physics;

namespace {

constexpr const char* kTwoTables = R"(
schema: shardsim.workload/1
name: two_tables
batch_per_gpu: 32
tables:
  - {name: a, rows: 1000, dim: 64, kind: sequence, average_length: 3,
     runtime: {average_length: 3, shares: [{rows: 40, share: 0.5}, {rows: 200, share: 0.75}], source: by hand}}
  - {name: b, rows: 600, dim: 64, kind: sequence, average_length: 2,
     runtime: {average_length: 2, shares: [{rows: 24, share: 0.5}, {rows: 120, share: 0.75}], source: by hand}}
)";

Workload two_tables() {
  return read_workload(parse_yaml(kTwoTables, "two_tables"), "");
}

Cluster toy() {
  return Cluster(cluster_spec("toy_2x4.yaml"));
}

const std::vector<int> kWorld = {0, 1, 2, 3, 4, 5, 6, 7};

Placement rows_of(int table, std::uint64_t begin, std::uint64_t end, Strategy strategy) {
  Placement placement;
  placement.table = table;
  placement.row_begin = begin;
  placement.row_end = end;
  placement.column_end = 64;
  placement.strategy = strategy;
  placement.holders = {kWorld};
  if (strategy == Strategy::flex) placement.holders = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  placement.compute_kernel = default_kernel(strategy);
  return placement;
}

Placement on_rank(int table, std::int64_t column_begin, std::int64_t column_end, Strategy strategy, int rank) {
  Placement placement = rows_of(table, 0, table == 0 ? 1000 : 600, strategy);
  placement.column_begin = column_begin;
  placement.column_end = column_end;
  placement.holders = {{rank}};
  return placement;
}

Plan uniform(Strategy strategy) {
  return {{rows_of(0, 0, 1000, strategy), rows_of(1, 0, 600, strategy)}};
}

Plan tiers() {
  return {{rows_of(0, 0, 40, Strategy::data_parallel), rows_of(0, 40, 200, Strategy::flex),
           rows_of(0, 200, 1000, Strategy::row_wise), rows_of(1, 0, 24, Strategy::data_parallel),
           rows_of(1, 24, 120, Strategy::flex), rows_of(1, 120, 600, Strategy::row_wise)}};
}

Program lowered_by_hand(const Plan& plan, Workload workload = two_tables(), bool observed = true) {
  const Program program = lower(plan, workload, toy(), even_rows(observed));
  check_program(program, Place{"test"});
  return program;
}

PairBytes bytes_of(const Program& program, const Op& op) {
  return pair_bytes(program, op, resolve_matrix(program, op.matrix));
}

struct Totals {
  std::int64_t total, wire, off_node;
};

void check_totals(const PairBytes& bytes, const Totals& expected) {
  CHECK(bytes.total == expected.total);
  CHECK(bytes.wire == expected.wire);
  CHECK(bytes.off_node == expected.off_node);
}

void check_each(const std::vector<std::int64_t>& bytes, std::int64_t expected) {
  for (std::int64_t of_rank : bytes) CHECK(of_rank == expected);
}

// One exchange of ids, one of rows, one of gradients, the last two each other's transpose.
struct Exchanges {
  PairBytes ids, rows, gradients;
};

Exchanges exchanges(const Program& program, const std::string& prefix, const std::string& name) {
  Exchanges found;
  for (const Op& op : program.ops) {
    const std::string what = carried(program, op);
    if (what == prefix + "_ids") found.ids = bytes_of(program, op);
    if (what == prefix + "_rows") found.rows = bytes_of(program, op);
    if (what == prefix + "_grads") found.gradients = bytes_of(program, op);
    if (what == prefix + "_rows" || what == prefix + "_grads") CHECK(op.name == name);
    if (what == prefix + "_ids") CHECK(op.name == "input_all_to_all");
  }
  CHECK(found.gradients.sent == found.rows.received);
  CHECK(found.gradients.received == found.rows.sent);
  return found;
}

}  // namespace

TEST_CASE("row-wise: 40,960 B of rows per rank and direction, 1,280 B of ids") {
  const Exchanges moved = exchanges(lowered_by_hand(uniform(Strategy::row_wise)), "rw", "global_all_to_all");
  check_totals(moved.ids, {10'240, 8'960, 5'120});
  check_each(moved.ids.sent, 1'280);
  check_each(moved.ids.received, 1'280);
  check_totals(moved.rows, {327'680, 286'720, 163'840});
  check_totals(moved.gradients, {327'680, 286'720, 163'840});
  check_each(moved.rows.sent, 40'960);
  check_each(moved.rows.received, 40'960);
}

TEST_CASE("table-wise: the owners send all, everybody receives the same") {
  const Plan plan{{on_rank(0, 0, 64, Strategy::table_wise, 0), on_rank(1, 0, 64, Strategy::table_wise, 5)}};
  const Exchanges moved = exchanges(lowered_by_hand(plan), "tw", "global_all_to_all");
  check_totals(moved.ids, {10'240, 8'960, 5'120});
  check_each(moved.ids.sent, 1'280);
  CHECK(moved.ids.received == std::vector<std::int64_t>{6'144, 0, 0, 0, 0, 4'096, 0, 0});
  check_totals(moved.rows, {327'680, 286'720, 163'840});
  CHECK(moved.rows.sent == std::vector<std::int64_t>{196'608, 0, 0, 0, 0, 131'072, 0, 0});
  check_each(moved.rows.received, 40'960);
}

TEST_CASE("column-wise: ids are sent once per column shard") {
  const Plan plan{{on_rank(0, 0, 32, Strategy::column_wise, 0), on_rank(0, 32, 64, Strategy::column_wise, 1),
                   on_rank(1, 0, 32, Strategy::column_wise, 2), on_rank(1, 32, 64, Strategy::column_wise, 5)}};
  const Exchanges moved = exchanges(lowered_by_hand(plan), "cw", "global_all_to_all");
  check_totals(moved.ids, {20'480, 17'920, 10'240});
  check_each(moved.ids.sent, 2'560);
  CHECK(moved.ids.received == std::vector<std::int64_t>{6'144, 6'144, 4'096, 0, 0, 4'096, 0, 0});
  check_totals(moved.rows, {327'680, 286'720, 163'840});
  CHECK(moved.rows.sent == std::vector<std::int64_t>{98'304, 98'304, 65'536, 0, 0, 65'536, 0, 0});
  check_each(moved.rows.received, 40'960);
}

TEST_CASE("flex: rows stay in the node, a quarter of the table is reduced across nodes") {
  const Program program = lowered_by_hand(uniform(Strategy::flex));
  const Exchanges moved = exchanges(program, "flex", "intra_node_all_to_all");
  check_totals(moved.ids, {10'240, 7'680, 0});
  check_totals(moved.rows, {327'680, 245'760, 0});
  check_each(moved.rows.sent, 40'960);
  check_each(moved.rows.received, 40'960);
  const auto reduce = ops_named(program, "cross_node_all_reduce");
  REQUIRE(reduce.size() == 1);
  CHECK(reduce[0]->bytes == 102'400);
  CHECK(program.groups.at("cross_node") == std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
}

TEST_CASE("data-parallel: no exchange, the whole table is reduced") {
  const Program program = lowered_by_hand(uniform(Strategy::data_parallel));
  CHECK(program.matrices.empty());
  for (const Op& op : program.ops) CHECK(op.op_class != OpClass::all_to_all);
  const auto reduce = ops_named(program, "global_all_reduce");
  REQUIRE(reduce.size() == 1);
  CHECK(reduce[0]->bytes == 409'600);
}

// DistributedDataParallel reduces gradients, and those of integer rows are not integers.
TEST_CASE("the gradient of replicated int8 rows is reduced as fp32, that of fp16 rows as fp16") {
  for (const auto& [dtype, bytes] : {std::pair{Dtype::int8, 409'600}, {Dtype::fp16, 204'800}}) {
    Workload workload = two_tables();
    for (Table& table : workload.tables) table.dtype = dtype;
    const Program program = lowered_by_hand(uniform(Strategy::data_parallel), workload);
    const auto reduce = ops_named(program, "global_all_reduce");
    REQUIRE(reduce.size() == 1);
    CHECK(reduce[0]->bytes == bytes);
  }
}

TEST_CASE("three tiers: a quarter of the items goes over the world, a quarter stays in the node, half needs nothing") {
  const Program program = lowered_by_hand(tiers());
  const Exchanges rw = exchanges(program, "rw", "global_all_to_all");
  check_totals(rw.ids, {2'560, 2'240, 1'280});
  check_totals(rw.rows, {81'920, 71'680, 40'960});
  check_each(rw.rows.sent, 10'240);
  const Exchanges flex = exchanges(program, "flex", "intra_node_all_to_all");
  check_totals(flex.ids, {2'560, 1'920, 0});
  check_totals(flex.rows, {81'920, 61'440, 0});
  check_each(flex.rows.received, 10'240);
  CHECK(ops_named(program, "cross_node_all_reduce").at(0)->bytes == 16'384);
  CHECK(ops_named(program, "global_all_reduce").at(0)->bytes == 16'384);
  // The merge reads and writes 160 items of 256 B.
  CHECK(ops_named(program, "tier_merge").at(0)->hbm_bytes.at(0) == 2 * 40'960);
  CHECK(ops_named(program, "tier_split_gradient").at(0)->hbm_bytes.at(0) == 2 * 40'960);
}

TEST_CASE("an empty tier has no operation, a group of one no collective") {
  const Program two =
      lowered_by_hand({{rows_of(0, 0, 40, Strategy::data_parallel), rows_of(0, 40, 1000, Strategy::row_wise),
                        rows_of(1, 0, 600, Strategy::row_wise)}});
  for (const Op& op : two.ops) {
    CAPTURE(op.name);
    CHECK(op.name.find("flex") == std::string::npos);
    CHECK(op.group != "node");
    CHECK(op.group != "cross_node");
  }
  const Cluster one_node(cluster_spec("toy_2x4.yaml", 1));
  const Program flex = lowered("{name: flex}", two_tables(), one_node);
  CHECK(ops_named(flex, "cross_node_all_reduce").empty());
}

TEST_CASE("every rank of a group takes part in each of its collectives") {
  for (const Plan& plan : {uniform(Strategy::row_wise), uniform(Strategy::flex), tiers()}) {
    for (const Op& op : lowered_by_hand(plan).ops) {
      if (op.is_collective()) CHECK(op.ranks.empty());
    }
  }
}

TEST_CASE("twice the batch moves twice the ids and rows and reduces the same") {
  Workload twice = two_tables();
  twice.batch_per_gpu = 64;
  for (const Plan& plan : {uniform(Strategy::row_wise), uniform(Strategy::flex), tiers()}) {
    const Program once = lowered_by_hand(plan);
    const Program doubled = lowered_by_hand(plan, twice);
    REQUIRE(once.ops.size() == doubled.ops.size());
    for (std::size_t index = 0; index < once.ops.size(); ++index) {
      const Op& op = once.ops[index];
      CAPTURE(op.name);
      CHECK(doubled.ops[index].bytes == op.bytes);
      if (op.op_class == OpClass::lookup) CHECK(doubled.ops[index].lookups.at(0) == 2 * op.lookups.at(0));
      if (op.op_class != OpClass::all_to_all) continue;
      CHECK(bytes_of(doubled, doubled.ops[index]).total == 2 * bytes_of(once, op).total);
      CHECK(bytes_of(doubled, doubled.ops[index]).off_node == 2 * bytes_of(once, op).off_node);
    }
  }
}

TEST_CASE("another wire type changes its direction alone") {
  Workload half = two_tables();
  half.wire_forward = WireDtype{Dtype::fp16};
  const Program program = lowered_by_hand(uniform(Strategy::row_wise), half);
  for (const Op& op : program.ops) {
    if (carried(program, op) == "rw_rows") check_totals(bytes_of(program, op), {163'840, 143'360, 81'920});
    if (carried(program, op) == "rw_grads") check_totals(bytes_of(program, op), {327'680, 286'720, 163'840});
  }
}

// Partial sums of int8 rows are fp32, as TorchRec's lookups return them: so are what is exchanged and its gradients.
TEST_CASE("int8 rows travel as fp32 unless the workload asks for another type") {
  Workload narrow = two_tables();
  for (Table& table : narrow.tables) table.dtype = Dtype::int8;
  const auto exchanged = [&](const Workload& workload, OpRole role) {
    const Program program = lowered_by_hand(uniform(Strategy::row_wise), workload);
    const std::vector<int> ops = ops_in_role(program, 0, role);
    REQUIRE(ops.size() == 1);
    const Op& op = program.ops[static_cast<std::size_t>(ops.front())];
    return std::pair(op.dtype, bytes_of(program, op).total);
  };
  CHECK(exchanged(narrow, OpRole::exchange_output) == std::pair<std::string, std::int64_t>("fp32", 327'680));
  CHECK(exchanged(narrow, OpRole::exchange_gradient) == std::pair<std::string, std::int64_t>("fp32", 327'680));
  narrow.wire_backward = WireDtype{Dtype::bf16};
  CHECK(exchanged(narrow, OpRole::exchange_output) == std::pair<std::string, std::int64_t>("fp32", 327'680));
  CHECK(exchanged(narrow, OpRole::exchange_gradient) == std::pair<std::string, std::int64_t>("bf16", 163'840));
  narrow.wire_forward = WireDtype{};  // the table's
  CHECK_THROWS_WITH(
      lowered_by_hand(uniform(Strategy::row_wise), narrow),
      doctest::Contains("no kernel of TorchRec sends int8 without scales, as vectors of table 'a' would be"));
}

// Two collections of TorchRec with codecs of their own: two exchanges, each of its table's bytes.
TEST_CASE("tables of different types on the wire are exchanged apart") {
  Workload apart = two_tables();
  const auto exchanges = [&](OpRole role) {
    const Program program = lowered_by_hand(uniform(Strategy::row_wise), apart);
    std::map<std::string, std::int64_t> bytes;
    for (std::size_t fusion = 0; fusion < program.fusions.size(); ++fusion)
      for (const int id : ops_in_role(program, static_cast<int>(fusion), role)) {
        const Op& op = program.ops[static_cast<std::size_t>(id)];
        bytes[op.dtype] += bytes_of(program, op).total;
      }
    return bytes;
  };
  const auto whole = exchanges(OpRole::exchange_output);
  REQUIRE(whole.size() == 1);
  apart.tables[0].wire_forward = WireDtype{Dtype::fp8};
  const auto split = exchanges(OpRole::exchange_output);
  REQUIRE(split.size() == 2);
  CHECK(4 * split.at("fp8") + split.at("fp32") == whole.at("fp32"));
  CHECK(exchanges(OpRole::exchange_gradient).at("fp32") == whole.at("fp32"));
}

TEST_CASE("a table that states the type that it has anyway is exchanged with the others") {
  Workload plain = two_tables(), half = two_tables();
  half.wire_forward = half.wire_backward = WireDtype{Dtype::fp16};
  for (const Strategy strategy : {Strategy::row_wise, Strategy::table_wise, Strategy::table_row_wise})
    for (const Workload& workload : {plain, half}) {
      const Program together = lowered_by_hand(uniform(strategy), workload);
      Workload stated = workload;
      stated.tables[0].wire_forward = WireDtype{forward_wire(workload, workload.tables[0])};
      CHECK(lowered_by_hand(uniform(strategy), stated) == together);
      stated.tables[1].wire_backward = WireDtype{backward_wire(workload, workload.tables[1])};
      CHECK(lowered_by_hand(uniform(strategy), stated) == together);
    }
  plain.tables[0].wire_forward = WireDtype{};  // that of its rows, which are fp32
  CHECK(lowered_by_hand(uniform(Strategy::row_wise), plain) ==
        lowered_by_hand(uniform(Strategy::row_wise), two_tables()));
}

// B L D s per rank and direction for row-wise rows, (E/W) D s and E D s for reduced ones (FlexShard paper, Table 3).
TEST_CASE("the study's Programs move what FlexShard's equations count, to the byte") {
  const Cluster cluster(cluster_spec("a100_mesh_4x8.yaml"));
  for (const std::string model : {"rm1.yaml", "rm2.yaml", "rm3.yaml", "rm4.yaml"}) {
    CAPTURE(model);
    const Workload workload = shipped_workload(model);
    const Plan plan = planned("{name: flexshard_3tier}", workload, cluster);
    const Program program = lower(plan, workload, cluster, even_rows());
    const AccessDistribution access = workload.tables[0].distribution();
    for (const Placement& placement : plan.placements) {
      const auto items =
          static_cast<std::int64_t>(std::floor(4096 * access.sum(placement.row_begin, placement.row_end) + 0.5));
      const auto rows = static_cast<std::int64_t>(placement.rows());
      if (placement.strategy == Strategy::data_parallel) {
        CHECK(ops_named(program, "global_all_reduce").at(0)->bytes == rows * 1024);
        continue;
      }
      const bool flex = placement.strategy == Strategy::flex;
      if (flex) CHECK(ops_named(program, "cross_node_all_reduce").at(0)->bytes == rows / 8 * 1024);
      for (const Op* op : ops_named(program, flex ? "intra_node_all_to_all" : "global_all_to_all")) {
        check_each(bytes_of(program, *op).sent, items * 1024);
        check_each(bytes_of(program, *op).received, items * 1024);
      }
    }
  }
}

// The example of docs/formats/program.md: 640 items a rank, a quarter each data-parallel and flex, half
// row-wise.
TEST_CASE("the example Program of the formats takes the times worked out beside it") {
  const Program program = read_program_file(SHARDSIM_SOURCE_DIR "/tests/program/data/toy_program.json");
  const Cluster cluster = toy();
  const Timeline timeline = simulated(program, cluster);
  const PairBytes world = bytes_of(program, *ops_named(program, "global_all_to_all").at(0));
  check_each(world.sent, 81'920);
  CHECK(world.off_node == 8 * 40'960);
  CHECK(resolve_matrix(program, {index_named(program.matrices, "rw_rows")}).units_between(0, 5, 8) == 40);
  const PairBytes node = bytes_of(program, *ops_named(program, "intra_node_all_to_all").at(0));
  CHECK(node.wire == 8 * 30'720);
  CHECK(node.off_node == 0);
  CHECK(ops_named(program, "cross_node_all_reduce").at(0)->bytes == 51'200);
  CHECK(ops_named(program, "global_all_reduce").at(0)->bytes == 16'384);
  for (const Op* op : ops_named(program, "global_all_to_all")) {
    CHECK(off(timeline.ops[op->id].alone_us, 6.096) <= 1e-9);  // 40,960 B at 10 GB/s and 2 us
  }
  for (const Op* op : ops_named(program, "intra_node_all_to_all")) {
    CHECK(off(timeline.ops[op->id].alone_us, 1.3072) <= 1e-9);  // 30,720 B at 100 GB/s and 1 us
  }
  CHECK(std::accumulate(timeline.bytes_out.begin(), timeline.bytes_out.end(), std::int64_t{0}) ==
        std::accumulate(timeline.bytes_in.begin(), timeline.bytes_in.end(), std::int64_t{0}));
}

}  // namespace shardsim::lowered_bytes_test
