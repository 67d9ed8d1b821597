#include "program/program.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/tree/json.h"
#include "program/program_file.h"
#include "tests/base/error_text.h"

namespace shardsim::program_test {

namespace {

Program toy() {
  return read_program_file(SHARDSIM_SOURCE_DIR "/tests/program/data/toy_program.json");
}

// The error of check_program for the toy program after `spoil`; "" when there is none.
std::string complaint(const std::function<void(Program&)>& spoil) {
  Program program = toy();
  spoil(program);
  return input_error_of([&] { check_program(program, Place{"here", 0, 0}); });
}

bool says(const std::string& message, const std::string& part) {
  INFO(message);
  return message.starts_with("here: ") && message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every operation class has a name that finds it, and six are collectives") {
  int collectives = 0;
  for (const OpClass op_class :
       {OpClass::lookup, OpClass::update, OpClass::dense, OpClass::all_to_all, OpClass::all_reduce,
        OpClass::reduce_scatter, OpClass::all_gather, OpClass::broadcast, OpClass::send_recv, OpClass::host}) {
    CHECK(op_class_names().at(static_cast<std::size_t>(op_class)) == op_class_name(op_class));
    const auto kind = collective_kind(op_class);
    if (kind) CHECK(collective_kind_name(*kind) == op_class_name(op_class));
    collectives += kind ? 1 : 0;
  }
  CHECK(collectives == 6);
  CHECK(op_class_names().size() == 10);
}

TEST_CASE("an operation without ranks runs on the whole world") {
  Program program = toy();
  CHECK(program.ranks_of(program.ops[0]) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  program.ops[0].ranks = {3, 1};
  CHECK(program.ranks_of(program.ops[0]) == std::vector<int>{3, 1});
}

TEST_CASE("a sound program passes") {
  CHECK(complaint([](Program&) {}).empty());
}

TEST_CASE("a wait that never ends is refused") {
  CHECK(says(complaint([](Program& p) { p.ops[5].after = {5}; }), "waits for operation 5"));
  CHECK(says(complaint([](Program& p) { p.ops[5].after = {6}; }), "waits for operation 6"));
  CHECK(says(complaint([](Program& p) { p.ops[5].after = {-1}; }), "waits for operation -1"));
  CHECK(complaint([](Program& p) { p.ops[5].after_previous = {17}; }).empty());
  CHECK(says(complaint([](Program& p) { p.ops[5].after_previous = {18}; }), "does not exist"));
  CHECK(says(complaint([](Program& p) { std::swap(p.ops[5], p.ops[6]); }), "operation 5 has id 6"));
}

TEST_CASE("what the host does takes time and moves nothing") {
  const auto launch = [](Program& p) -> Op& {
    Op& op = p.ops[1];
    Op plain;
    plain.id = op.id;
    plain.name = "launch";
    plain.op_class = OpClass::host;
    plain.role = OpRole::launch;
    plain.fixed_ns = 5000;
    return op = plain;
  };
  CHECK(complaint([&](Program& p) { launch(p); }).empty());
  CHECK(says(complaint([&](Program& p) { launch(p).fixed_ns = 0; }), "fixed_ns"));
  CHECK(says(complaint([&](Program& p) { launch(p).flops.values = {1}; }), "computes nothing"));
  CHECK(says(complaint([&](Program& p) { launch(p).op_class = OpClass::dense; }), "does not fit its class"));
}

TEST_CASE("kernels and products are counted, and products are of dense operations") {
  const OpProduct product{{{8}}, {{16}}, {{32}}, 2};
  const auto dense = [&](Program& p) -> Op& {
    Op& op = *std::ranges::find(p.ops, OpClass::dense, &Op::op_class);
    op.products = {product};
    op.kernels = 3;
    return op;
  };
  CHECK(complaint([&](Program& p) { dense(p); }).empty());
  CHECK(says(complaint([&](Program& p) { dense(p).kernels = -1; }), "kernels"));
  CHECK(says(complaint([&](Program& p) { dense(p).products[0].count = 0; }), "a product 0 times"));
  CHECK(says(complaint([&](Program& p) { dense(p).products[0].m.values = {1, 2}; }), "products.m"));
  CHECK(says(
      complaint([&](Program& p) { std::ranges::find(p.ops, OpClass::lookup, &Op::op_class)->products = {product}; }),
      "not dense"));
  // A file holds what there is.
  Program program = toy();
  dense(program);
  Op launch;
  launch.id = static_cast<int>(program.ops.size());
  launch.name = "launch";
  launch.op_class = OpClass::host;
  launch.role = OpRole::launch;
  launch.fixed_ns = 5000;
  program.ops.push_back(launch);
  CHECK(program_from_tree(parse_json(program_to_json(program), "p.json")) == program);
}

TEST_CASE("a rank that misses a collective of its group is refused") {
  CHECK(says(complaint([](Program& p) { p.groups["node"] = {{0, 1, 2, 3}}; }), "group \"node\""));
  CHECK(says(complaint([](Program& p) { p.ops[0].ranks = {0, 1, 2, 3, 4, 5, 6}; }), "Every rank of a group"));
  CHECK(complaint([](Program& p) { p.ops[0].ranks = {7, 0, 1, 2, 3, 4, 5, 6}; }).empty());
}

TEST_CASE("groups are disjoint sets of equal length inside the world") {
  CHECK(says(complaint([](Program& p) { p.groups["node"] = {{0, 1, 2, 3}, {3, 5, 6, 7}}; }), "rank 3 twice"));
  CHECK(says(complaint([](Program& p) { p.groups["node"] = {{0, 1, 2, 3, 4}, {5, 6, 7}}; }), "sets of 5 and of 3"));
  CHECK(says(complaint([](Program& p) { p.groups["world"][0][7] = 8; }), "outside the world"));
  CHECK(says(complaint([](Program& p) { p.groups["node"] = {}; }), "has no ranks"));
}

TEST_CASE("names and indices resolve") {
  CHECK(says(complaint([](Program& p) { p.ops[0].group = "wordl"; }), "Did you mean"));
  CHECK(says(complaint([](Program& p) { p.ops[0].matrix = {4}; }), "no matrix 4"));
  CHECK(says(complaint([](Program& p) { p.ops[0].matrix = {}; }), "no matrix -1"));
  CHECK(says(complaint([](Program& p) { p.ops[2].matrix = {0}; }), "a compute operation has no"));
  CHECK(says(complaint([](Program& p) { p.ops[14].matrix = {0}; }), "no matrix"));
  CHECK(says(complaint([](Program& p) { p.ops[2].stream = 4; }), "no stream 4"));
  CHECK(says(complaint([](Program& p) { p.ops[2].shards = {3}; }), "no shard 3"));
  CHECK(says(complaint([](Program& p) { p.shards[0].table = 1; }), "of table 1"));
  CHECK(says(complaint([](Program& p) { p.ops[5].dtype = "fp31"; }), "Did you mean"));
  CHECK(says(complaint([](Program& p) { p.ops[5].name.clear(); }), "no name"));
  CHECK(says(complaint([](Program& p) { p.streams = {"a", "a", "b", "c"}; }), "same name"));
}

TEST_CASE("a matrix is moved either way round") {
  const Program program = toy();
  ByteMatrix back = program.matrices[static_cast<std::size_t>(program.ops[6].matrix.index)].bytes;
  CHECK(resolve_matrix(program, program.ops[6].matrix) == back);
  back.transposed = true;
  CHECK(resolve_matrix(program, program.ops[10].matrix) == back);
  CHECK(index_named(program.matrices, "rw_rows") == program.ops[6].matrix.index);
  CHECK(index_named(program.matrices, "rw") == -1);
  CHECK(says(complaint([](Program& p) { p.matrices[1].name = p.matrices[0].name; }), "no name of its own"));
  CHECK(complaint([](Program& p) { p.ops[6].matrix.transposed = true; }).empty());
}

TEST_CASE("every role has a name that finds it, and the class that its operations have") {
  CHECK(op_role_names().size() == 55);
  for (std::size_t role = 0; role < op_role_names().size(); ++role) {
    CHECK(op_role_name(static_cast<OpRole>(role)) == op_role_names()[role]);
  }
  CHECK(class_of(OpRole::sum_output) == OpClass::reduce_scatter);
  CHECK_FALSE(class_of(OpRole::none).has_value());
}

TEST_CASE("a role fits its operation") {
  CHECK(says(complaint([](Program& p) { p.ops[6].role = OpRole::update; }), "does not fit its class all_to_all"));
  CHECK(says(complaint([](Program& p) { p.ops[6].fusion = -1; }), "its role exchange_output needs a fusion group"));
  CHECK(says(complaint([](Program& p) { p.ops[7].fusion = 0; }), "works for all of them"));
  CHECK(says(complaint([](Program& p) { p.ops[6].fusion = 3; }), "no fusion group 3"));
  CHECK(says(complaint([](Program& p) { p.ops[6].fusion = -2; }), "no fusion group -2"));
  CHECK(says(complaint([](Program& p) { p.ops[0].batches_ahead = -1; }), "-1 batches ahead"));
  CHECK(says(complaint([](Program& p) { p.ops[0].batches_ahead = 17; }), "17 batches ahead"));
  CHECK(complaint([](Program& p) { p.ops[6].role = OpRole::none, p.ops[6].fusion = -1; }).empty());
}

TEST_CASE("bytes of a key-value store are those of operations that move its rows") {
  const auto moved = [](Program& p) { p.ops[7].ssd_bytes.values = {4096}; };
  CHECK(says(complaint(moved), "it moves no rows of a key-value store"));
  CHECK(says(complaint([&](Program& p) { moved(p), p.ops[7].ssd_reads.values = {-1}; }), "ssd_reads"));
}

TEST_CASE("a fusion group holds shards of one kind, and no two hold the same") {
  CHECK(says(complaint([](Program& p) { p.fusions[0].shards = {}; }), "has no shards"));
  CHECK(says(complaint([](Program& p) { p.fusions[0].shards = {3}; }), "shard 3, which does not exist"));
  CHECK(says(complaint([](Program& p) { p.fusions[0].shards = {-1}; }), "shard -1, which does not exist"));
  CHECK(says(complaint([](Program& p) { p.fusions[0].shards = {0, 0}; }), "in a fusion group already"));
  CHECK(says(complaint([](Program& p) { p.fusions[0].shards = {0, 1}; }), "in a fusion group already"));
  CHECK(says(complaint([](Program& p) { p.fusions[0].kind = TableKind::pooled; }), "of the other kind"));
  CHECK(says(complaint([](Program& p) { p.fusions[0].name = p.fusions[1].name; }), "no name of its own"));
  CHECK(says(complaint([](Program& p) { p.ops[2].shards = {2}; }), "shard 2 is not of its fusion group"));
  CHECK(says(complaint([](Program& p) { p.ops[2].pooled = true; }),
             "of another kind (pooled or sequence) than fusion group"));
}

TEST_CASE("matrices have the shape of their kind and of their group") {
  const auto with = [](const ByteMatrix& matrix) {
    return complaint(
        [&](Program& p) { p.matrices[static_cast<std::size_t>(index_named(p.matrices, "rw_ids"))].bytes = matrix; });
  };
  using Kind = ByteMatrix::Kind;
  CHECK(with({Kind::by_destination, 8, {40, 40, 40, 40, 40, 40, 40, 41}, {}, false}).empty());
  CHECK(says(with({Kind::by_destination, 8, {1, 2, 3}, {}, false}), "for 3 members"));
  CHECK(says(with({Kind::even, 8, {1, 2}, {}, false}), "shape of its kind"));
  CHECK(says(with({Kind::even, 0, {1}, {}, false}), "unit_bytes"));
  CHECK(says(with({Kind::even, 8, {-1}, {}, false}), "negative"));
  CHECK(says(with({Kind::even, 1 << 20, {1LL << 40}, {}, false}), "2^53"));
  CHECK(says(with({Kind::dense, 8, {}, {{1, 2}, {3}}, false}), "not square"));
  CHECK(says(with({Kind::dense, 8, {}, {{1, 2}, {3, 4}}, false}), "for 2 members"));
}

TEST_CASE("numbers per rank are as many as ranks, finite and not negative") {
  CHECK(complaint([](Program& p) { p.ops[2].lookups.values.assign(8, 160); }).empty());
  CHECK(says(complaint([](Program& p) { p.ops[2].lookups.values.assign(7, 160); }), "7 numbers for 8 ranks"));
  CHECK(says(complaint([](Program& p) { p.ops[2].lookups.values.clear(); }), "0 numbers for 8 ranks"));
  CHECK(says(complaint([](Program& p) { p.ops[2].flops = {{-1}}; }), "negative"));
  CHECK(says(complaint([](Program& p) { p.ops[2].flops = {{std::numeric_limits<double>::infinity()}}; }), "finite"));
  CHECK(says(complaint([](Program& p) { p.ops[7].fixed_ns = -1; }), "fixed_ns"));
  CHECK(says(complaint([](Program& p) { p.ops[15].bytes = -1; }), "0 or more"));
}

TEST_CASE("numbers that no machine has, and optimizers that nobody knows, are refused") {
  const auto op_of = [](Program& p, OpClass op_class) -> Op& {
    return *std::ranges::find(p.ops, op_class, &Op::op_class);
  };
  CHECK(says(complaint([&](Program& p) { op_of(p, OpClass::lookup).hbm_bytes.values = {1e300}; }),
             "hbm_bytes is 1e+300"));
  CHECK(says(complaint([&](Program& p) { op_of(p, OpClass::lookup).lookups.values = {0x1p53}; }),
             "lookups is 9.007e+15"));
  CHECK(says(complaint([&](Program& p) { op_of(p, OpClass::dense).flops.values = {1e25}; }), "flops is 1e+25"));
  CHECK(says(complaint([&](Program& p) { op_of(p, OpClass::dense).fixed_ns = std::int64_t{1} << 60; }), "fixed_ns is"));
  CHECK(
      says(complaint([&](Program& p) { op_of(p, OpClass::update).optimizer = "nope"; }), "unknown optimizer \"nope\""));
  CHECK(complaint([&](Program& p) { op_of(p, OpClass::update).optimizer = "none"; }).empty());
  OpProduct wide;
  wide.m.values = {1e10};
  wide.k.values = {1e9};
  CHECK(says(complaint([&](Program& p) { op_of(p, OpClass::dense).products = {wide}; }), "more than 1e+18 elements"));
  CHECK(says(complaint([](Program& p) { p.batch_per_rank = 2'000'000'000; }), "batch_per_rank is 2000000000"));
  CHECK(says(complaint([](Program& p) { p.tables[0].rows = std::uint64_t{1} << 53; }), "2^57 elements or more"));
  CHECK(says(complaint([](Program& p) { p.matrices[0].bytes.unit_bytes = std::int64_t{1} << 53; }),
             "unit_bytes is 2^53"));
}

TEST_CASE("every value of a table is in one shard") {
  CHECK(complaint([](Program&) {}).empty());
  CHECK(says(complaint([](Program& p) { p.shards[0].row_end += 1; }), "some of them are in both"));
  CHECK(says(complaint([](Program& p) { p.shards[0].row_end -= 1; }), "the shards of table"));
  CHECK(says(complaint([](Program& p) { p.shards[0].column_end = 32; }), "of 64 columns"));
  // Blocks of columns and rows may stand in any order, as those of grid_shard do.
  const auto in_blocks = [](Program& p, std::int64_t between) {
    p.shards.push_back(p.shards[2]);
    p.shards[2].column_begin = 40;
    p.shards[3].column_end = between;
  };
  CHECK(complaint([&](Program& p) { in_blocks(p, 40); }).empty());
  CHECK(says(complaint([&](Program& p) { in_blocks(p, 41); }), "some of them are in both"));
  CHECK(says(complaint([&](Program& p) { in_blocks(p, 39); }), "of its 512,000 values"));
}

TEST_CASE("lookups, updates, the exchange of ids and the sums of gradients agree") {
  const auto ops = [](Program& p, OpRole role) {
    std::vector<Op*> found;
    for (Op& op : p.ops) {
      if (op.role == role) found.push_back(&op);
    }
    return found;
  };
  CHECK(says(complaint([&](Program& p) {
               for (const OpRole role : {OpRole::lookup, OpRole::update, OpRole::sum_gradient}) {
                 for (Op* const op : ops(p, role)) op->lookups.values = {1};
               }
             }),
             "asks it for"));
  CHECK(says(complaint([&](Program& p) { ops(p, OpRole::update).front()->lookups.values = {1}; }),
             "and its updates have gradients for 1"));
  CHECK(says(complaint([&](Program& p) { ops(p, OpRole::lookup).front()->ranks = {0, 1, 2, 3}; }), "on rank 4"));
  Program program = toy();
  for (const Op* const op : ops(program, OpRole::reduce_gradient)) {
    const int id = op->id;
    CHECK(says(complaint([&](Program& p) { p.ops[static_cast<std::size_t>(id)].bytes -= 1; }), "on each holder"));
    CHECK(complaint([&](Program& p) { p.ops[static_cast<std::size_t>(id)].bytes += 1; }).empty());
  }
}

TEST_CASE("shards lie inside their table and are held by ranks of the world") {
  CHECK(says(complaint([](Program& p) { p.shards[2].row_end = 8001; }), "8000 rows"));
  CHECK(says(complaint([](Program& p) { p.shards[2].row_begin = 8000; }), "not empty"));
  CHECK(says(complaint([](Program& p) { p.shards[2].column_end = 65; }), "64 columns"));
  CHECK(says(complaint([](Program& p) { p.shards[2].holders = {{8}}; }), "outside the world"));
  CHECK(says(complaint([](Program& p) { p.shards[2].holders = {{0}, {1}}; }), "too many sets"));
  CHECK(says(complaint([](Program& p) { p.shards[1].holders = {{0, 1}, {2}}; }), "different length"));
  CHECK(says(complaint([](Program& p) { p.shards[1].tier = -2; }), "impossible tier"));
}

TEST_CASE("sizes of the world fit each other") {
  CHECK(says(complaint([](Program& p) { p.ranks_per_node = 3; }), "does not divide"));
  CHECK(says(complaint([](Program& p) { p.world_size = 0; }), "world_size is 0"));
  CHECK(says(complaint([](Program& p) { p.seed = 1ULL << 53; }), "2^53"));
}

}  // namespace shardsim::program_test
