#include <doctest/doctest.h>

#include "models/compute/kernels/kernels.h"
#include "sim/engine/row_facts.h"
#include "sim/memory/buffers.h"
#include "tests/physics/lab.h"
#include "tests/physics/two_tables.h"

namespace shardsim::hugectr_lowering_test {

// HugeCTR's embedding collections (docs/lowering.md, "HugeCTR"), counted by hand. 2 nodes of 4 ranks, batch 32, rows of
// 64 floats with Adagrad's state, vectors in fp16, ids of 4 bytes; a: 1000 rows with 3 ids a bag, on ranks 0, 1 and 4;
// b: 600 rows with 2, on rank 5; c: 10 rows with 1, on all.

using namespace shardsim::physics;

namespace {

constexpr double kRow = 256, kVector = 128;  // bytes
const std::string kHugectr = "embedding_kernels: hugectr\npipeline: hugectr\n";
const std::string kOneCall = "all_reduce: {calls: one, dtype: fp16}, ";

Workload three_tables(const std::string& keys, const std::string& dense) {
  return read_workload(parse_yaml("schema: shardsim.workload/1\nname: three_tables\nbatch_per_gpu: 32\nid_bytes: 4\n"
                                  "optimizer: {name: adagrad}\nwire_dtype: {forward: fp16, backward: fp16}\n"
                                  "output_exchange: uniform\n" +
                                      keys + "dense: {" + dense + R"(layers: [
  {name: bottom_0, in: 13, out: 64}, {name: over_0, in: 192, out: 1}]}
tables:
  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3}
  - {name: b, rows: 600, dim: 64, kind: pooled, pooling_factor: 2}
  - {name: c, rows: 10, dim: 64, kind: pooled, pooling_factor: 1}
)",
                                  "three_tables"),
                       "");
}

Program lowered_tables(const Workload& workload, const LoweringOptions& options = even_rows()) {
  Plan plan;
  const auto place = [&](int table, Strategy strategy, const std::vector<int>& ranks) {
    plan.placements.push_back(whole_table(table, workload.tables[static_cast<std::size_t>(table)], strategy, {ranks}));
  };
  place(0, Strategy::row_wise, {0, 1, 4});
  place(1, Strategy::row_wise, {5});
  place(2, Strategy::data_parallel, all_ranks(8));
  Program program = lower(plan, workload, toy_cluster(), options);
  check_program(program, Place{"test"});
  return program;
}

Program hugectr_program(const std::string& dense = kOneCall) {
  return lowered_tables(three_tables(kHugectr, dense));
}

const Op& only(const Program& program, OpRole role, const std::string& name = "") {
  const Op* found = nullptr;
  for (const Op& op : program.ops) {
    if (op.role != role || (!name.empty() && op.name != name)) continue;
    REQUIRE(found == nullptr);
    found = &op;
  }
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("a lookup reads rows, writes vectors as they travel, and 20 bytes of keys and pointers") {
  const Program program = hugectr_program();
  const Op& lookup = only(program, OpRole::lookup, "lookup_row_wise");
  const double of_a = 32 * 3 * 8 / 3.0, of_b = 32 * 2 * 8, bags = 32 * 8;
  CHECK(lookup.lookups.values == std::vector<double>{of_a, of_a, 0, 0, of_a, of_b, 0, 0});
  CHECK(lookup.hbm_bytes.at(0) == (kRow + 20) * of_a + kVector * bags);
  CHECK(lookup.hbm_bytes.at(5) == (kRow + 20) * of_b + kVector * bags);
  CHECK(lookup.indexed);
  CHECK(lookup.row_bytes.at(0) == kRow);
  CHECK(lookup.vector_bytes.at(0) == kVector);
  CHECK(stream_of(program, lookup) == "compute");
  // Rows that are exchanged are looked up first; replicated rows follow, beside that exchange.
  CHECK(lookup.id < only(program, OpRole::lookup, "lookup_data_parallel").id);
}

TEST_CASE("index work is an operation of its own, beside the dense part and in front of the update") {
  const Program program = hugectr_program();
  const Op& index = only(program, OpRole::index_rows, "index_row_wise");
  const Op& update = only(program, OpRole::update);
  CHECK(stream_of(program, index) == "side");
  CHECK(stream_of(program, update) == "side");
  CHECK(index.lookups == update.lookups);
  CHECK(index.sort_bits == 32);
  CHECK(index.hbm_bytes.at(5) == 70.0 * 32 * 2 * 8);
  CHECK(index.after == std::vector<int>{only(program, OpRole::keep_ids).id});
  CHECK(waits_for(program, update, index.id));
  CHECK(waits_for(program, update, only(program, OpRole::exchange_gradient).id));
  CHECK_FALSE(waits_for(program, only(program, OpRole::dense_forward), index.id));
  // A gradient a lookup, the sums written and read, rows and states read and written.
  const double distinct = update.distinct_rows.at(0);
  CHECK(distinct > 0);
  CHECK(update.hbm_bytes.at(0) ==
        doctest::Approx(kVector * index.lookups.at(0) + (2 * kVector + 4 * kRow) * distinct).epsilon(1e-12));
}

TEST_CASE("replicated tables have a full gradient, in the one all-reduce with the dense part's") {
  const Program program = hugectr_program();
  const std::int64_t parameters = 13 * 64 + 64 + 192 + 1, rows = 10;
  const Op& reduced = only(program, OpRole::dense_all_reduce);
  CHECK(reduced.bytes == 2 * (parameters + rows * 64));
  CHECK(reduced.dtype == "fp16");
  const Op& sum = only(program, OpRole::sum_gradient);
  const Op& apply = only(program, OpRole::apply);
  CHECK(waits_for(program, reduced, sum.id));
  CHECK(waits_for(program, reduced, only(program, OpRole::bottom_backward).id));
  CHECK(apply.after == std::vector<int>{reduced.id});
  CHECK(waits_for(program, only(program, OpRole::dense_update), reduced.id));
  for (const Op& op : program.ops) CHECK(op.role != OpRole::reduce_gradient);
  // Sums in fp16 are set to 0, written, and read beside rows and states.
  const double touched = sum.distinct_rows.at(0);
  CHECK(sum.hbm_bytes.at(0) == doctest::Approx(kVector * 32 + kVector * touched + kVector * rows).epsilon(1e-12));
  CHECK(apply.hbm_bytes.at(0) == (kVector + 4 * kRow) * rows);
}

TEST_CASE("keys of the next batch: counts from the start, keys behind the wait and in front of the gradients") {
  const Program program = hugectr_program();
  const Op& sort = only(program, OpRole::bucketize);
  CHECK(sort.lookups.values == std::vector<double>{32 * 5});  // c is exchanged with nobody
  CHECK(sort.sort_bits == 3);                                 // 8 owners
  CHECK(moved(program, only(program, OpRole::exchange_splits)).total == 8 * 8 * 2 * 8);
  CHECK(moved(program, only(program, OpRole::exchange_ids)).total == 8 * 32 * 5 * 4);
  for (const Op& op : program.ops) CHECK(op.role != OpRole::exchange_lengths);  // all bags are as long
  const Op& wait = only(program, OpRole::wait_for_splits);
  CHECK(wait.after == std::vector<int>{sort.id});
  CHECK(waits_for(program, only(program, OpRole::exchange_ids), wait.id));
  CHECK(waits_for(program, only(program, OpRole::exchange_gradient), wait.id));
  std::vector<OpRole> order;
  for (const Op& op : program.ops) {
    if (stream_of(program, op) == "world") order.push_back(op.role);
    const bool next = op.role > OpRole::copy_inputs && op.role <= OpRole::recat;
    CHECK(op.batches_ahead == (op.role == OpRole::copy_inputs ? 2 : next ? 1 : 0));
  }
  CHECK(order == std::vector<OpRole>{OpRole::exchange_splits, OpRole::exchange_output, OpRole::exchange_ids,
                                     OpRole::exchange_gradient, OpRole::dense_all_reduce});
  const Op& keep = only(program, OpRole::keep_ids);
  const auto follows = [&](OpRole role) {
    return std::ranges::find(keep.after_previous, only(program, role).id) != keep.after_previous.end();
  };
  CHECK(follows(OpRole::recat));
  CHECK(follows(OpRole::update));
  CHECK(follows(OpRole::apply));
  CHECK(follows(OpRole::dense_update));
  CHECK(waits_for(program, only(program, OpRole::lookup, "lookup_row_wise"), keep.id));
}

TEST_CASE("lengths travel where bags differ in length") {
  Workload workload = three_tables(kHugectr, kOneCall);
  workload.tables[0].lengths.family = "poisson";
  const Program program = lowered_tables(workload);
  CHECK(moved(program, only(program, OpRole::exchange_lengths)).sent[0] == 4 * 32 * (3 + 1));
}

TEST_CASE("where it is hierarchical, what crosses the network keeps the order of the one communicator") {
  Workload workload = three_tables(kHugectr, kOneCall);
  workload.output_exchange = "hierarchical";
  const Program program = lowered_tables(workload);
  CHECK(stream_of(program, only(program, OpRole::exchange_output)) == "world");
  CHECK(stream_of(program, only(program, OpRole::sum_output)) == "node");
}

TEST_CASE("side work is hidden behind the dense part, and is not where nothing overlaps") {
  for (const bool overlap : {true, false}) {
    CAPTURE(overlap);
    LoweringOptions options = even_rows();
    options.overlap = overlap;
    Program program = lowered_tables(three_tables(kHugectr, kOneCall), options);
    for (Op& op : program.ops) {
      if (op.role == OpRole::dense_backward) op.fixed_ns = 1'000'000;
    }
    const double with = simulated(program, toy_cluster()).iteration_ms;
    for (Op& op : program.ops) {
      if (op.role != OpRole::index_rows) continue;
      op.lookups = op.hbm_bytes = {};
      op.sort_bits = 0;
    }
    const double without = simulated(program, toy_cluster()).iteration_ms;
    if (overlap) {
      CHECK(with == without);
    } else {
      CHECK(with > without);
    }
  }
}

TEST_CASE("one call and its type are asked for; by default buckets in fp32, and nothing of HugeCTR's") {
  const Workload usual = three_tables("", "");
  CHECK(lowered_tables(usual) ==
        lowered_tables(three_tables("embedding_kernels: fused\n", "all_reduce: {calls: buckets, dtype: fp32}, ")));
  const Program halved = lowered_tables(three_tables("", "all_reduce: {dtype: bf16}, "));
  CHECK(only(lowered_tables(usual), OpRole::dense_all_reduce).bytes == 4 * 1089);
  CHECK(only(halved, OpRole::dense_all_reduce).bytes == 2 * 1089);
  CHECK(only(halved, OpRole::dense_all_reduce).dtype == "bf16");
  // Replicated tables join it without HugeCTR's kernels, too.
  const Program joined = lowered_tables(three_tables("", kOneCall));
  CHECK(only(joined, OpRole::dense_all_reduce).bytes == 2 * (1089 + 640));
  CHECK_NOTHROW(simulated(joined, toy_cluster()));
}

TEST_CASE("how different rows grow follows from the access laws, and changes nothing of the roofline") {
  const Workload workload = three_tables("", "");
  LoweringOptions options = even_rows();
  const Program usual = lowered_tables(workload, options);
  options.row_growth = true;
  const Program told = lowered_tables(workload, options);
  CHECK(only(usual, OpRole::lookup, "lookup_row_wise").distinct_growth == PerRank{});
  // Even access to 1,000 and to 600 rows, 768 and 512 lookups; a tenth more lookups, where the curve is flatter.
  const Op& lookup = only(told, OpRole::lookup, "lookup_row_wise");
  CHECK(lookup.distinct_growth.at(0) == doctest::Approx(even_growth(768 * 1.05, 1000)).epsilon(0.01));
  CHECK(lookup.distinct_growth.at(5) == doctest::Approx(even_growth(512 * 1.05, 600)).epsilon(0.01));
  CHECK(lookup.distinct_growth.at(2) == 0);
  CHECK(simulated(usual, toy_cluster()).iteration_ms == simulated(told, toy_cluster()).iteration_ms);
}

TEST_CASE("what each table does is stated where it is asked for, and changes nothing of the roofline") {
  const Workload workload = three_tables("", "");
  LoweringOptions options = even_rows();
  const Program usual = lowered_tables(workload, options);
  options.row_tables = true;
  const Program told = lowered_tables(workload, options);
  CHECK(only(usual, OpRole::lookup, "lookup_row_wise").tables.empty());
  const Op& lookup = only(told, OpRole::lookup, "lookup_row_wise");
  REQUIRE(lookup.tables.size() == lookup.shards.size());
  for (std::size_t rank = 0; rank < 8; ++rank) {
    double lookups = 0;
    for (const OpTable& table : lookup.tables) lookups += table.lookups.at(rank);
    CHECK(lookups == doctest::Approx(lookup.lookups.at(rank)));
  }
  const RowFacts facts(told);
  double distinct = 0;
  for (const TableWork& table : facts.of(lookup).tables_at(0)) {
    CHECK(table.share() > 0);
    CHECK(table.share() <= 1);
    distinct += table.share() * table.reuse.distinct;
  }
  CHECK(distinct == doctest::Approx(facts.of(lookup).at(0).distinct).epsilon(0.01));
  CHECK(simulated(usual, toy_cluster()).iteration_ms == simulated(told, toy_cluster()).iteration_ms);
}

TEST_CASE("bags that follow from their first id grow as these do") {
  Workload workload = three_tables("", "");
  Table& table = workload.tables[0];
  table.bag_ids = BagIds::first_id;
  table.rows = 1'000'000;
  table.access.family = "zipf";
  table.access.s = 1.05;
  LoweringOptions options = even_rows();
  options.row_growth = true;
  const Program program = lowered_tables(workload, options);
  const auto firsts = [&](double bags) { return table.distribution().expected_distinct(0, table.rows, bags); };
  const double growth = std::log(firsts(256 * 1.1) / firsts(256)) / std::log(1.1);
  CHECK(growth < 0.95);
  CHECK(only(program, OpRole::lookup, "lookup_row_wise").distinct_growth.at(0) ==
        doctest::Approx(growth).epsilon(0.01));
}

TEST_CASE("keys are held twice: as they come, and aside for the batch that is trained; the index until the update") {
  const Workload workload = three_tables(kHugectr, kOneCall);
  const Program program = lowered_tables(workload);
  const auto written = [&](const Op& writer) {
    const std::vector<Buffer> buffers = buffers_of(program, workload);
    const auto found = std::ranges::find(buffers, writer.id, &Buffer::writer);
    REQUIRE(found != buffers.end());
    return *found;
  };
  const auto readers = [&](const Buffer& buffer) {
    std::set<OpRole> roles;
    for (const Buffer::Reader& reader : buffer.readers) roles.insert(program.op(reader.op).role);
    return roles;
  };
  const Op& keep = only(program, OpRole::keep_ids);
  const Buffer came = written(only(program, OpRole::recat)), kept = written(keep);
  CHECK(came.bytes == kept.bytes);
  CHECK(came.bytes[5] == 4 * 32 * 2 * 8);
  CHECK(came.ahead == 1);
  CHECK(kept.ahead == 0);
  CHECK(readers(came) == std::set<OpRole>{OpRole::keep_ids});
  CHECK(readers(kept) == std::set<OpRole>{OpRole::lookup, OpRole::index_rows, OpRole::update});
  CHECK(written(only(program, OpRole::lookup, "lookup_row_wise")).bytes[5] == 128 * 32 * 8);  // vectors in fp16
  const Buffer index = written(only(program, OpRole::index_rows, "index_row_wise"));
  CHECK(index.bytes[5] == 8 * 32 * 2 * 8);
  CHECK(readers(index) == std::set<OpRole>{OpRole::update});
}

TEST_CASE("rows of HugeCTR lie in device memory") {
  const Workload workload = three_tables(kHugectr, kOneCall);
  Plan plan;
  for (int table = 0; table < 3; ++table) {
    plan.placements.push_back(
        whole_table(table, workload.tables[static_cast<std::size_t>(table)], Strategy::row_wise, {all_ranks(8)}));
    plan.placements.back().compute_kernel = "fused_uvm";
  }
  std::string message;
  try {
    lower(plan, workload, toy_cluster(), {});
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("device memory") != std::string::npos);
}

}  // namespace shardsim::hugectr_lowering_test
