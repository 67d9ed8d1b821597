#include <doctest/doctest.h>

#include "tests/physics/two_tables.h"

namespace shardsim::sharding_types_test {

// The bytes of every sharding type, pooled and sequence, against hand counts (docs/lowering.md, "Worked byte counts").
// Own chunks are in `total`; `sent` and `received` are per rank.

using namespace shardsim::physics;

namespace {

using Each = std::vector<std::int64_t>;  // one number for all ranks, or one per rank

struct Counts {
  std::int64_t total = 0, wire = 0, off_node = 0;
  Each sent, received;
};

struct Expected {
  Strategy strategy;
  std::string prefix;
  Counts lengths, ids;
  Counts rows;  // sequence output
};

Each on(std::initializer_list<std::pair<int, std::int64_t>> ranks) {
  Each bytes(8, 0);
  for (const auto& entry : ranks) bytes[static_cast<std::size_t>(entry.first)] = entry.second;
  return bytes;
}

// Tables B2 and B4 of the counts: lengths, ids and rows of sequences.
std::vector<Expected> expected() {
  return {
      {Strategy::table_wise,
       "tw",
       {2'048, 1'792, 1'024, {256}, on({{0, 1'024}, {5, 1'024}})},
       {10'240, 8'960, 5'120, {1'280}, on({{0, 6'144}, {5, 4'096}})},
       {327'680, 286'720, 163'840, on({{0, 196'608}, {5, 131'072}}), {40'960}}},
      {Strategy::column_wise,
       "cw",
       {4'096, 3'584, 2'048, {512}, on({{0, 1'024}, {1, 1'024}, {2, 1'024}, {5, 1'024}})},
       {20'480, 17'920, 10'240, {2'560}, on({{0, 6'144}, {1, 6'144}, {2, 4'096}, {5, 4'096}})},
       {327'680, 286'720, 163'840, on({{0, 98'304}, {1, 98'304}, {2, 65'536}, {5, 65'536}}), {40'960}}},
      {Strategy::table_column_wise,
       "twcw",
       {4'096, 3'584, 2'048, {512}, on({{0, 1'024}, {1, 1'024}, {4, 1'024}, {5, 1'024}})},
       {20'480, 17'920, 10'240, {2'560}, on({{0, 6'144}, {1, 6'144}, {4, 4'096}, {5, 4'096}})},
       {327'680, 286'720, 163'840, on({{0, 98'304}, {1, 98'304}, {4, 65'536}, {5, 65'536}}), {40'960}}},
      {Strategy::row_wise,
       "rw",
       {16'384, 14'336, 8'192, {2'048}, {2'048}},
       {10'240, 8'960, 5'120, {1'280}, {1'280}},
       {327'680, 286'720, 163'840, {40'960}, {40'960}}},
      {Strategy::table_row_wise,
       "twrw",
       {8'192, 7'168, 4'096, {1'024}, {1'024}},
       {10'240, 8'960, 5'120, {1'280}, {1'536, 1'536, 1'536, 1'536, 1'024, 1'024, 1'024, 1'024}},
       {327'680, 286'720, 163'840, {49'152, 49'152, 49'152, 49'152, 32'768, 32'768, 32'768, 32'768}, {40'960}}},
      {Strategy::grid_shard,
       "gs",
       {16'384, 14'336, 8'192, {2'048}, {2'048}},
       {20'480, 17'920, 10'240, {2'560}, {2'560}},
       {327'680, 286'720, 163'840, {40'960}, {40'960}}},
      {Strategy::flex,
       "flex",
       {8'192, 6'144, 0, {1'024}, {1'024}},
       {10'240, 7'680, 0, {1'280}, {1'280}},
       {327'680, 245'760, 0, {40'960}, {40'960}}},
  };
}

void check_each(const Each& bytes, const Each& counted) {
  CHECK(bytes == (counted.size() == 1 ? Each(bytes.size(), counted[0]) : counted));
}

void check_moved(const PairBytes& bytes, const Counts& counts) {
  CHECK(bytes.total == counts.total);
  CHECK(bytes.wire == counts.wire);
  CHECK(bytes.off_node == counts.off_node);
  check_each(bytes.sent, counts.sent);
  check_each(bytes.received, counts.received);
}

const Op& with_matrix(const Program& program, const std::string& matrix) {
  const Op* found = nullptr;
  for (const Op& op : program.ops) {
    if (carried(program, op) == matrix) found = &op;
  }
  INFO(matrix);
  REQUIRE(found != nullptr);
  return *found;
}

Program lowered_type(Strategy strategy, TableKind kind, const std::string& more = "input_exchange: full\n") {
  return lowered_plan(plan_of(strategy), two_tables_of(kind, more), toy_cluster());
}

const Op& only(const Program& program, const std::string& name) {
  const auto found = ops_named(program, name);
  INFO(name);
  REQUIRE(found.size() == 1);
  return *found[0];
}

}  // namespace

TEST_CASE("splits, lengths and ids of every type, pooled and sequence alike") {
  for (const Expected& type : expected()) {
    for (const TableKind kind : {TableKind::sequence, TableKind::pooled}) {
      CAPTURE(type.prefix);
      const Program program = lowered_type(type.strategy, kind);
      const std::string prefix = (kind == TableKind::pooled ? "pooled_" : "") + type.prefix;
      check_moved(moved(program, with_matrix(program, prefix + "_lengths")), type.lengths);
      check_moved(moved(program, with_matrix(program, prefix + "_ids")), type.ids);
      const bool node = type.strategy == Strategy::flex;
      const PairBytes splits = moved(program, only(program, "input_splits_all_to_all"));
      CHECK(splits.total == 8 * (node ? 96 : 192));  // 3 numbers of 8 bytes to each of 4 or 8 ranks
      check_each(splits.sent, {node ? 96 : 192});
      CHECK(only(program, "input_splits_all_to_all").group == (node ? "node" : "world"));
      CHECK(only(program, "input_all_to_all").group == (node ? "node" : "world"));  // also TWRW's and GS's: world
      CHECK(ops_named(program, "input_weights_all_to_all").empty());
    }
  }
  for (const TableKind kind : {TableKind::sequence, TableKind::pooled}) {
    for (const Op& op : lowered_type(Strategy::data_parallel, kind).ops) CHECK(op.op_class != OpClass::all_to_all);
  }
}

TEST_CASE("sequences: rows go straight to who asked, gradients back") {
  for (const Expected& type : expected()) {
    CAPTURE(type.prefix);
    const Program program = lowered_type(type.strategy, TableKind::sequence);
    const Op& rows = with_matrix(program, type.prefix + "_rows");
    const Op& gradients = with_matrix(program, type.prefix + "_grads");
    CHECK(rows.name == (type.strategy == Strategy::flex ? "intra_node_all_to_all" : "global_all_to_all"));
    check_moved(moved(program, rows), type.rows);
    Counts back = type.rows;
    std::swap(back.sent, back.received);
    check_moved(moved(program, gradients), back);
  }
}

TEST_CASE("pooled, whole rows at one owner: 8,192 B per owner and source, halves by columns") {
  struct Case {
    Strategy strategy;
    std::string prefix;
    Each sent;
  };
  for (const Case& type :
       {Case{Strategy::table_wise, "tw", on({{0, 65'536}, {5, 65'536}})},
        Case{Strategy::column_wise, "cw", on({{0, 32'768}, {1, 32'768}, {2, 32'768}, {5, 32'768}})},
        Case{Strategy::table_column_wise, "twcw", on({{0, 32'768}, {1, 32'768}, {4, 32'768}, {5, 32'768}})}}) {
    CAPTURE(type.prefix);
    const Program program = lowered_type(type.strategy, TableKind::pooled);
    const PairBytes rows = moved(program, with_matrix(program, "pooled_" + type.prefix + "_rows"));
    check_moved(rows, {131'072, 114'688, 65'536, type.sent, {16'384}});
    const PairBytes gradients = moved(program, with_matrix(program, "pooled_" + type.prefix + "_grads"));
    check_moved(gradients, {131'072, 114'688, 65'536, {16'384}, type.sent});
  }
}

TEST_CASE("pooled row-wise: partial sums are reduced over the world, 131,072 B in chunks of 16,384") {
  const Program program = lowered_type(Strategy::row_wise, TableKind::pooled);
  const Op& forward = only(program, "global_reduce_scatter");
  const Op& backward = only(program, "global_all_gather");
  for (const Op* op : {&forward, &backward}) {
    CHECK(op->bytes == 131'072);
    CHECK(op->bytes / 8 == 16'384);
    CHECK(op->group == "world");
  }
  CHECK(ops_named(program, "global_all_to_all").empty());
}

TEST_CASE("pooled table-row-wise and grid: reduced in the node, then exchanged across nodes") {
  for (const Strategy strategy : {Strategy::table_row_wise, Strategy::grid_shard}) {
    const std::string prefix = strategy == Strategy::grid_shard ? "pooled_gs" : "pooled_twrw";
    CAPTURE(prefix);
    const Program program = lowered_type(strategy, TableKind::pooled);
    const Op& scatter = only(program, "intra_node_reduce_scatter");
    CHECK(scatter.bytes == 65'536);  // chunk 16,384
    CHECK(scatter.bytes_by_set.empty());
    CHECK(only(program, "intra_node_all_gather").bytes == 65'536);
    const Op& cross = with_matrix(program, prefix + "_cross_rows");
    CHECK(cross.group == "cross_node");
    CHECK(program.groups.at("cross_node") == std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
    const ByteMatrix matrix = resolve_matrix(program, cross.matrix);
    for (int s = 0; s < 2; ++s) {
      for (int d = 0; d < 2; ++d) CHECK(matrix.bytes_between(s, d, 2) == 8'192);
    }
    check_moved(moved(program, cross), {131'072, 65'536, 65'536, {16'384}, {16'384}});
    check_moved(moved(program, with_matrix(program, prefix + "_cross_grads")),
                {131'072, 65'536, 65'536, {16'384}, {16'384}});
    // Strictly one after the other: the exchange waits for the whole reduction.
    CHECK(cross.after == std::vector<int>{scatter.id});
  }
}

TEST_CASE("nodes that hold different tables reduce different sizes") {
  Plan plan = plan_of(Strategy::table_row_wise);
  plan.placements[1].holders = {{0, 1, 2, 3}};
  const Program program = lowered_plan(plan, two_tables_of(TableKind::pooled), toy_cluster());
  const Op& scatter = only(program, "intra_node_reduce_scatter");
  CHECK(scatter.bytes_by_set == std::vector<std::int64_t>{131'072, 0});
  CHECK(scatter.bytes == 131'072);
  const PairBytes cross = moved(program, with_matrix(program, "pooled_twrw_cross_rows"));
  check_moved(cross, {131'072, 65'536, 65'536, {32'768, 32'768, 32'768, 32'768, 0, 0, 0, 0}, {16'384}});
}

TEST_CASE("pooled flex: reduced in the node, its rows across nodes") {
  const Program program = lowered_type(Strategy::flex, TableKind::pooled);
  CHECK(only(program, "intra_node_reduce_scatter").bytes == 65'536);
  CHECK(only(program, "intra_node_all_gather").bytes == 65'536);
  CHECK(only(program, "cross_node_all_reduce").bytes == 102'400);
  CHECK(ops_named(program, "cross_node_all_to_all").empty());
}

TEST_CASE("data-parallel tables are reduced whole, pooled or not") {
  for (const TableKind kind : {TableKind::sequence, TableKind::pooled}) {
    CHECK(only(lowered_type(Strategy::data_parallel, kind), "global_all_reduce").bytes == 409'600);
  }
}

TEST_CASE("FlexShard's tiers: each has its own splits, lengths and ids") {
  Plan plan;
  for (const int table : {0, 1}) {
    const std::uint64_t scale = table == 0 ? 5 : 3;
    const Strategy strategies[] = {Strategy::data_parallel, Strategy::flex, Strategy::row_wise};
    const std::uint64_t ends[] = {0, 8 * scale, 40 * scale, 200 * scale};
    for (int tier = 0; tier < 3; ++tier) {
      Placement placement = plan_of(strategies[tier]).placements[static_cast<std::size_t>(table)];
      placement.row_begin = ends[tier];
      placement.row_end = ends[tier + 1];
      plan.placements.push_back(placement);
    }
  }
  // Accesses by hand: 0.5, 0.25, 0.25.
  Workload workload = two_tables_of(TableKind::sequence, "input_exchange: full\n");
  for (Table& table : workload.tables) {
    const std::uint64_t scale = table.rows / 200;
    table.runtime = ObservedAccess{};
    table.runtime->average_length = table.average_length;
    table.runtime->shares = {{8 * scale, 0.5}, {40 * scale, 0.75}};
  }
  const Program program = lower(plan, workload, toy_cluster(), {true, true});
  check_program(program, Place{"test"});
  check_moved(moved(program, with_matrix(program, "rw_lengths")), {16'384, 14'336, 8'192, {2'048}, {2'048}});
  check_moved(moved(program, with_matrix(program, "rw_ids")), {2'560, 2'240, 1'280, {320}, {320}});
  check_moved(moved(program, with_matrix(program, "rw_rows")), {81'920, 71'680, 40'960, {10'240}, {10'240}});
  check_moved(moved(program, with_matrix(program, "flex_lengths")), {8'192, 6'144, 0, {1'024}, {1'024}});
  check_moved(moved(program, with_matrix(program, "flex_ids")), {2'560, 1'920, 0, {320}, {320}});
  check_moved(moved(program, with_matrix(program, "flex_rows")), {81'920, 61'440, 0, {10'240}, {10'240}});
  CHECK(only(program, "cross_node_all_reduce").bytes == 16'384);
  CHECK(only(program, "global_all_reduce").bytes == 16'384);
  CHECK(ops_named(program, "input_splits_all_to_all").size() == 2);
  CHECK(only(program, "tier_merge").hbm_bytes.at(0) == 2 * 40'960);
  CHECK(only(program, "tier_split").hbm_bytes.at(0) == 160 * (8 + 8 + 4));
}

TEST_CASE("weights of ids are sent as ids are, 4 bytes each, and one more split") {
  Workload workload = two_tables_of(TableKind::pooled);
  for (Table& table : workload.tables) table.features[0].weighted = true;
  const Program program = lowered_plan(plan_of(Strategy::row_wise), workload, toy_cluster());
  check_moved(moved(program, only(program, "input_weights_all_to_all")), {5'120, 4'480, 2'560, {640}, {640}});
  CHECK(moved(program, only(program, "input_splits_all_to_all")).sent[0] == 4 * 8 * 8);
  workload.tables[1].features[0].weighted = false;  // 96 of 160 ids have a weight
  const Program half = lowered_plan(plan_of(Strategy::row_wise), workload, toy_cluster());
  check_moved(moved(half, only(half, "input_weights_all_to_all")), {3'072, 2'688, 1'536, {384}, {384}});
  CHECK(ops_named(half, "lookup_row_wise").size() == 2);  // one call for weighted tables, one for the others
}

// 13*64 + 64 + 64*32 + 32 = 2,976 parameters.
TEST_CASE("the dense part of two layers: 11,904 B in one bucket, 184,320 and 315,392 FLOP") {
  const Program program = lowered_type(Strategy::table_wise, TableKind::pooled,
                                       "dense: {layers: [{name: l0, in: 13, out: 64}, {name: l1, in: 64, out: 32}]}\n");
  CHECK(only(program, "dense_all_reduce").bytes == 11'904);
  CHECK(only(program, "dense_forward").flops.at(0) == 184'320);
  CHECK(only(program, "dense_backward").flops.at(0) == 315'392);
}

TEST_CASE("pooled lookups write one vector per bag of all whom they serve") {
  const Program table = lowered_type(Strategy::table_wise, TableKind::pooled);
  const Op& whole = only(table, "lookup_table_wise");
  CHECK(whole.pooled);
  CHECK(whole.lookups.values == std::vector<double>{768, 0, 0, 0, 0, 512, 0, 0});
  CHECK(whole.bags.values == std::vector<double>{256, 0, 0, 0, 0, 256, 0, 0});
  const Program rows = lowered_type(Strategy::row_wise, TableKind::pooled);
  const Op& part = only(rows, "lookup_row_wise");
  CHECK(part.lookups.values == std::vector<double>{160});  // 96 + 64 of its own rows, whoever asks
  CHECK(part.bags.values == std::vector<double>{512});     // a partial sum for every bag
  CHECK_FALSE(only(lowered_type(Strategy::row_wise, TableKind::sequence), "lookup_row_wise").pooled);
}

}  // namespace shardsim::sharding_types_test
