#include <doctest/doctest.h>

#include "sim/memory/memory_profile.h"
#include "tests/physics/two_tables.h"

namespace shardsim::quantised_exchanges_test {

// The codecs of TorchRec's exchanges: laws of bytes on the wire, of the passes that convert, of memory.

using namespace shardsim::physics;

namespace {

Workload sent_as(const std::string& wire, TableKind kind = TableKind::pooled, const std::string& more = "") {
  return two_tables_of(kind, "input_exchange: full\n" + (wire.empty() ? "" : "wire_dtype: {" + wire + "}\n") +
                                 "dense: {layers: [{name: over, in: 128, out: 64}]}\n" + more);
}

Program program_of(Strategy strategy, const std::string& wire, TableKind kind = TableKind::pooled) {
  return lowered_plan(plan_of(strategy), sent_as(wire, kind), toy_cluster());
}

// All bytes on the wire of the exchanges in this role.
std::int64_t wire_bytes(const Program& program, OpRole role) {
  std::int64_t bytes = 0;
  for (const Op& op : program.ops) {
    if (op.role != role) continue;
    bytes += op.op_class == OpClass::all_to_all ? moved(program, op).total : op.bytes;
  }
  return bytes;
}

const Op& only(const Program& program, const std::string& name) {
  const std::vector<const Op*> found = ops_named(program, name);
  REQUIRE(found.size() == 1);
  return *found.front();
}

std::string refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& failure) {
    return failure.what();
  }
  return "";
}

constexpr Strategy kOfVectors[] = {Strategy::table_wise, Strategy::column_wise, Strategy::table_column_wise};

}  // namespace

TEST_CASE("fp8 halves the bytes of fp16 on the wire, and with a scale for each row takes 8 bytes more a row") {
  for (const Strategy strategy : kOfVectors) {
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence}) {
      for (const OpRole role : {OpRole::exchange_output, OpRole::exchange_gradient}) {
        const std::int64_t fp16 = wire_bytes(program_of(strategy, "forward: fp16, backward: fp16", kind), role);
        CHECK(2 * wire_bytes(program_of(strategy, "forward: fp8, backward: fp8", kind), role) == fp16);
        CHECK(wire_bytes(program_of(strategy, "forward: bf16, backward: bf16", kind), role) == fp16);
        const std::int64_t scaled = wire_bytes(
            program_of(strategy, "forward: fp8, backward: fp8, quantize_dim: 16, quantize_dim_backward: 32", kind),
            role);
        CHECK(scaled * (role == OpRole::exchange_output ? 16 : 32) ==
              fp16 / 2 * (role == OpRole::exchange_output ? 24 : 40));
      }
    }
  }
}

TEST_CASE("a row that shares a scale is filled up to four elements, as fbgemm writes it") {
  const std::int64_t plain = wire_bytes(program_of(Strategy::table_wise, "forward: fp8"), OpRole::exchange_output);
  const std::int64_t by_two =
      wire_bytes(program_of(Strategy::table_wise, "forward: fp8, quantize_dim: 2"), OpRole::exchange_output);
  CHECK(by_two * 2 == plain * 12);
}

TEST_CASE("partial sums of fp8 travel as fp16, and their gradients as bf16, with and without scales") {
  for (const Strategy strategy : {Strategy::row_wise, Strategy::table_row_wise, Strategy::grid_shard}) {
    const Program fp8 = program_of(strategy, "forward: fp8, backward: fp8, quantize_dim: 16");
    const Program half = program_of(strategy, "forward: fp16, backward: bf16");
    for (const OpRole role : {OpRole::sum_output, OpRole::gather_gradient, OpRole::exchange_output})
      CHECK(wire_bytes(fp8, role) == wire_bytes(half, role));
  }
}

TEST_CASE("a kernel in front of each exchange and one behind it convert all vectors once") {
  const Program program = program_of(Strategy::table_wise, "forward: fp16, backward: fp8, kernels: true");
  const Op &encode = only(program, "encode_vectors"), &decode = only(program, "decode_vectors");
  // 8 ranks x 32 bags x 64 columns: 4 bytes each in the table, 2 on the wire.
  CHECK(encode.hbm_bytes.at(0) == 8 * 32 * 64 * 6);
  CHECK(encode.hbm_bytes.at(5) == 8 * 32 * 64 * 6);
  CHECK(encode.hbm_bytes.at(1) == 0);
  CHECK(decode.hbm_bytes.at(3) == 2 * 32 * 64 * 6);
  CHECK(only(program, "encode_gradients").hbm_bytes.at(3) == 2 * 32 * 64 * 5);
  CHECK(only(program, "decode_gradients").hbm_bytes.at(5) == 8 * 32 * 64 * 5);
  const Op& exchange = *std::ranges::find(program.ops, OpRole::exchange_output, &Op::role);
  CHECK(waits_for(program, exchange, encode.id));
  CHECK(waits_for(program, decode, exchange.id));
  CHECK(waits_for(program, only(program, "concat_permute"), decode.id));
}

TEST_CASE("sums that cross nodes are converted before, between and behind the two exchanges") {
  const Program program = program_of(Strategy::table_row_wise, "forward: fp16, backward: bf16, kernels: true");
  // A node's ranks bring sums for 8 ranks x 32 bags, and get a quarter of them each.
  CHECK(only(program, "encode_vectors").hbm_bytes.at(0) == 8 * 32 * 64 * 6);
  CHECK(only(program, "recode_vectors").hbm_bytes.at(0) == 2 * 8 * 32 * 64 * 6 / 4);
  CHECK(only(program, "decode_vectors").hbm_bytes.at(0) == 2 * 32 * 64 * 6);
  CHECK(only(program, "recode_gradients").hbm_bytes.at(7) == 2 * 8 * 32 * 64 * 6 / 4);
  CHECK(only(program, "decode_gradients").hbm_bytes.at(7) == 8 * 32 * 64 * 6);
}

TEST_CASE("fp32 has no codec, and a direction that stays fp32 has no kernel") {
  CHECK(ops_named(program_of(Strategy::table_wise, "forward: fp16, kernels: true"), "encode_gradients").empty());
  const Program kernels = program_of(Strategy::row_wise, "forward: fp16, kernels: true");
  const Program plain = program_of(Strategy::row_wise, "forward: fp16");
  CHECK(kernels.ops.size() == plain.ops.size() + 2);
}

TEST_CASE("kernels take time and memory: what is sent lies beside what was looked up") {
  const Cluster cluster = toy_cluster();
  for (const Strategy strategy : {Strategy::table_wise, Strategy::row_wise, Strategy::table_row_wise}) {
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence}) {
      if (kind == TableKind::sequence && strategy == Strategy::table_row_wise) continue;
      const auto figures = [&](const std::string& wire) {
        const Plan plan = plan_of(strategy);
        const Workload workload = sent_as(wire, kind);
        const Program program = lowered_plan(plan, workload, cluster);
        const Timeline timeline = simulated(program, cluster);
        return std::pair(timeline.iteration_ms, memory_profile(program, timeline, plan, workload).highest().bytes());
      };
      const auto plain = figures("forward: fp16, backward: fp16");
      const auto converted = figures("forward: fp16, backward: fp16, kernels: true");
      CHECK(converted.first > plain.first);
      CHECK(converted.second >= plain.second);
    }
  }
}

TEST_CASE("codecs that no kernel has, and keys without effect, are refused") {
  const auto of = [](const std::string& wire, const std::string& more = "") {
    return refused([&] { sent_as(wire, TableKind::pooled, more); });
  };
  CHECK(of("forward: int8, kernels: true").find("no kernel of TorchRec sends int8 without scales") !=
        std::string::npos);
  CHECK(of("forward: int8, kernels: true, quantize_dim: 16").empty());
  CHECK(of("kernels: true").find("needs no conversion") != std::string::npos);
  CHECK(of("forward: fp16, quantize_dim: 16").find("nothing is fp8 or int8") != std::string::npos);
  CHECK(of("forward: fp4").find("fp4") != std::string::npos);
  CHECK(of("forward: fp16, kernels: true", "embedding_kernels: per_table\n").find("per_table") != std::string::npos);
  CHECK(refused([] {
          program_of(Strategy::table_wise, "forward: fp8, quantize_dim: 24");
        }).find("no whole rows of 24") != std::string::npos);
  // What is fp8 on no wire, replicas and the sums of row_wise tables, has no scales.
  for (const Strategy strategy : {Strategy::data_parallel, Strategy::row_wise})
    CHECK(refused([&] {
            program_of(strategy, "forward: fp8, backward: fp8, quantize_dim: 24, quantize_dim_backward: 24");
          }).empty());
  CHECK(refused([] {
          program_of(Strategy::row_wise, "forward: int8, kernels: true, quantize_dim: 16");
        }).find("added up as int8") != std::string::npos);
}

}  // namespace shardsim::quantised_exchanges_test
