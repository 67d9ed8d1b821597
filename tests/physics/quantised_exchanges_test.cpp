#include <doctest/doctest.h>

#include "sim/memory/memory_profile.h"
#include "tests/base/error_text.h"
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

const Op& op_in_role(const Program& program, const std::string& name, OpRole role) {
  std::vector<const Op*> found = ops_named(program, name);
  std::erase_if(found, [&](const Op* op) { return op->role != role; });
  REQUIRE(found.size() == 1);
  return *found.front();
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
    for (const OpRole role : {OpRole::sum_output, OpRole::gather_gradient})
      CHECK(wire_bytes(fp8, role) == wire_bytes(half, role));
  }
}

// TorchRec's TwRwPooledEmbeddingDist takes the codecs of the all-to-all for its second step, which fall back to
// nothing.
TEST_CASE("sums that cross nodes are vectors of the type that was asked for, with its scales") {
  for (const Strategy strategy : {Strategy::table_row_wise, Strategy::grid_shard}) {
    const Program half = program_of(strategy, "forward: fp16, backward: bf16");
    const Program fp8 = program_of(strategy, "forward: fp8, backward: fp8");
    const Program scaled =
        program_of(strategy, "forward: fp8, backward: fp8, quantize_dim: 16, quantize_dim_backward: 32");
    for (const OpRole role : {OpRole::exchange_output, OpRole::exchange_gradient}) {
      CHECK(2 * wire_bytes(fp8, role) == wire_bytes(half, role));
      const int row = role == OpRole::exchange_output ? 16 : 32;
      CHECK(row * wire_bytes(scaled, role) == (row + 8) * wire_bytes(fp8, role));
    }
    CHECK(op_in_role(fp8, "cross_node_all_to_all", OpRole::exchange_output).dtype == "fp8");
    CHECK(op_in_role(fp8, "cross_node_all_to_all", OpRole::exchange_gradient).dtype == "fp8");
    CHECK(only_op(fp8, "intra_node_reduce_scatter").dtype == "fp16");
    CHECK(only_op(fp8, "intra_node_all_gather").dtype == "bf16");
  }
}

TEST_CASE("tables that ask for fp8 and for fp16 themselves do not cross nodes together") {
  Workload workload = sent_as("forward: fp16, backward: bf16");
  workload.tables[0].wire_forward = WireDtype{Dtype::fp8};
  workload.tables[0].wire_backward = WireDtype{Dtype::fp8};
  workload.tables[1].wire_forward = WireDtype{Dtype::fp16};
  workload.tables[1].wire_backward = WireDtype{Dtype::bf16};
  const Program program = lowered_plan(plan_of(Strategy::table_row_wise), workload, toy_cluster());
  REQUIRE(program.fusions.size() == 2);
  CHECK(program.fusions[0].name != program.fusions[1].name);
}

TEST_CASE("mx4 has half a byte for each element and an exponent for each group, but not where sums are reduced") {
  for (const Strategy strategy : kOfVectors) {
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence}) {
      for (const OpRole role : {OpRole::exchange_output, OpRole::exchange_gradient}) {
        const std::int64_t fp8 = wire_bytes(program_of(strategy, "forward: fp8, backward: fp8", kind), role);
        const auto mx4 = [&](const std::string& more) {
          return wire_bytes(program_of(strategy, "forward: mx4, backward: mx4" + more, kind), role);
        };
        CHECK(32 * mx4("") == 17 * fp8);
        CHECK(16 * mx4(", mx4_group: 16") == 9 * fp8);
      }
    }
  }
  for (const Strategy strategy : {Strategy::row_wise, Strategy::table_row_wise, Strategy::grid_shard}) {
    const Program mx4 = program_of(strategy, "forward: mx4, backward: mx4");
    const Program half = program_of(strategy, "forward: fp16, backward: bf16");
    for (const OpRole role : {OpRole::sum_output, OpRole::gather_gradient})
      CHECK(wire_bytes(mx4, role) == wire_bytes(half, role));
  }
  const Program coded = program_of(Strategy::table_wise, "forward: mx4, backward: mx4, kernels: true");
  // 8 ranks x 32 bags x 64 columns: 4 bytes each in the table, 34 of a vector on the wire.
  CHECK(only_op(coded, "encode_vectors").hbm_bytes.at(0) == 8 * 32 * (64 * 4 + 34));
  CHECK(only_op(coded, "decode_gradients").hbm_bytes.at(5) == 8 * 32 * (64 * 4 + 34));
}

TEST_CASE("a row that shares a scale may have several vectors, where those of a rank are whole rows") {
  for (const int vectors : {2, 4, 8}) {
    const auto bytes = [&](const std::string& more) {
      return wire_bytes(program_of(Strategy::table_wise, "forward: fp8" + more), OpRole::exchange_output);
    };
    const int row = 64 * vectors;
    CHECK(bytes(fmt::format(", quantize_dim: {}", row)) * row == bytes("") * (row + 8));
  }
  const auto refusal = [](const std::string& wire, TableKind kind) {
    return error_of([&] { program_of(Strategy::table_wise, wire, kind); });
  };
  // 32 bags are no whole rows of three; 3 ids of a sample are as many as there are.
  CHECK(refusal("forward: fp8, quantize_dim: 192", TableKind::pooled).find("no whole rows of 192") !=
        std::string::npos);
  CHECK(refusal("forward: fp8, quantize_dim: 128", TableKind::sequence).find("no whole rows of 128") !=
        std::string::npos);
  CHECK(refusal("forward: mx4, mx4_group: 48", TableKind::pooled).find("'mx4_group' that divides") !=
        std::string::npos);
  CHECK(refusal("forward: mx4, mx4_group: 7", TableKind::pooled).find("even number") != std::string::npos);
  CHECK(refusal("forward: fp8, mx4_group: 16", TableKind::pooled).find("nothing is mx4") != std::string::npos);
}

TEST_CASE("a kernel in front of each exchange and one behind it convert all vectors once") {
  const Program program = program_of(Strategy::table_wise, "forward: fp16, backward: fp8, kernels: true");
  const Op &encode = only_op(program, "encode_vectors"), &decode = only_op(program, "decode_vectors");
  // 8 ranks x 32 bags x 64 columns: 4 bytes each in the table, 2 on the wire.
  CHECK(encode.hbm_bytes.at(0) == 8 * 32 * 64 * 6);
  CHECK(encode.hbm_bytes.at(5) == 8 * 32 * 64 * 6);
  CHECK(encode.hbm_bytes.at(1) == 0);
  CHECK(decode.hbm_bytes.at(3) == 2 * 32 * 64 * 6);
  CHECK(only_op(program, "encode_gradients").hbm_bytes.at(3) == 2 * 32 * 64 * 5);
  CHECK(only_op(program, "decode_gradients").hbm_bytes.at(5) == 8 * 32 * 64 * 5);
  const Op& exchange = *std::ranges::find(program.ops, OpRole::exchange_output, &Op::role);
  CHECK(waits_for(program, exchange, encode.id));
  CHECK(waits_for(program, decode, exchange.id));
  CHECK(waits_for(program, only_op(program, "concat_permute"), decode.id));
}

TEST_CASE("sums that cross nodes are converted before, between and behind the two exchanges") {
  const Program program = program_of(Strategy::table_row_wise, "forward: fp16, backward: bf16, kernels: true");
  // A node's ranks bring sums for 8 ranks x 32 bags, and get a quarter of them each.
  CHECK(only_op(program, "encode_vectors").hbm_bytes.at(0) == 8 * 32 * 64 * 6);
  CHECK(only_op(program, "recode_vectors").hbm_bytes.at(0) == 2 * 8 * 32 * 64 * 6 / 4);
  CHECK(only_op(program, "decode_vectors").hbm_bytes.at(0) == 2 * 32 * 64 * 6);
  CHECK(only_op(program, "recode_gradients").hbm_bytes.at(7) == 2 * 8 * 32 * 64 * 6 / 4);
  CHECK(only_op(program, "decode_gradients").hbm_bytes.at(7) == 8 * 32 * 64 * 6);
}

TEST_CASE("between the two exchanges sums leave the codec of the one and enter that of the other") {
  const Program fp8 = program_of(Strategy::table_row_wise, "forward: fp8, backward: fp8, kernels: true");
  CHECK(only_op(fp8, "encode_vectors").hbm_bytes.at(0) == 8 * 32 * 64 * 6);
  CHECK(only_op(fp8, "recode_vectors").hbm_bytes.at(0) == 2 * 32 * 64 * (6 + 5));
  CHECK(only_op(fp8, "decode_vectors").hbm_bytes.at(0) == 2 * 32 * 64 * 5);
  CHECK(only_op(fp8, "encode_gradients").hbm_bytes.at(0) == 2 * 32 * 64 * 5);
  CHECK(only_op(fp8, "recode_gradients").hbm_bytes.at(7) == 2 * 32 * 64 * (6 + 5));
  CHECK(only_op(fp8, "decode_gradients").hbm_bytes.at(7) == 8 * 32 * 64 * 6);
}

TEST_CASE("where a node has one GPU or all are in one node there is one exchange, and one codec") {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml", 8);
  spec.gpu.count = 1;
  const Workload workload = sent_as("forward: fp8, backward: fp8, kernels: true");
  const Plan apart{{placed(0, Strategy::table_row_wise, {{0}}), placed(1, Strategy::table_row_wise, {{5}})}};
  const Program across = lowered_plan(apart, workload, Cluster(spec));
  CHECK(ops_named(across, "recode_vectors").empty());
  CHECK(only_op(across, "encode_vectors").hbm_bytes.at(0) == 8 * 32 * 64 * 5);
  CHECK(only_op(across, "decode_vectors").hbm_bytes.at(0) == 2 * 32 * 64 * 5);
  const Plan together{
      {placed(0, Strategy::table_row_wise, {{0, 1, 2, 3}}), placed(1, Strategy::table_row_wise, {{0, 1, 2, 3}})}};
  const Program inside = lowered_plan(together, workload, Cluster(cluster_spec("toy_2x4.yaml", 1)));
  CHECK(ops_named(inside, "recode_vectors").empty());
  CHECK(only_op(inside, "encode_vectors").hbm_bytes.at(0) == 4 * 2 * 32 * 64 * 6);
  CHECK(only_op(inside, "decode_vectors").hbm_bytes.at(0) == 2 * 32 * 64 * 6);
}

// TorchRec decodes gradients and then divides them (torchrec/distributed/comm_ops.py).
TEST_CASE("behind a codec gradients are divided and ordered in the type of their tables, else as they came") {
  const std::pair<Strategy, TableKind> cases[] = {{Strategy::table_wise, TableKind::pooled},
                                                  {Strategy::row_wise, TableKind::pooled},
                                                  {Strategy::table_row_wise, TableKind::pooled},
                                                  {Strategy::table_wise, TableKind::sequence},
                                                  {Strategy::row_wise, TableKind::sequence}};
  for (const auto& [strategy, kind] : cases) {
    CAPTURE(strategy_name(strategy));
    const auto passes = [&, of = strategy, kind = kind](const std::string& wire, Dtype rows = Dtype::fp32) {
      Workload workload = sent_as(wire, kind);
      for (Table& table : workload.tables) table.dtype = rows;
      const Program program = lowered_plan(plan_of(of), workload, toy_cluster());
      std::vector<double> bytes;
      for (const Op& op : program.ops)
        if (op.role == OpRole::divide_gradient || op.role == OpRole::order_received_gradient)
          for (std::size_t rank = 0; rank < 8; ++rank) bytes.push_back(op.hbm_bytes.at(rank));
      REQUIRE(std::accumulate(bytes.begin(), bytes.end(), 0.0) > 0);
      return bytes;
    };
    const std::vector<double> plain = passes("");
    CHECK(passes("forward: fp16, backward: fp16, kernels: true") == plain);
    CHECK(passes("forward: fp8, backward: fp8, kernels: true") == plain);
    CHECK(passes("", Dtype::fp16) == plain);  // fp32 on the wire, whatever the rows are
    std::vector<double> halves = plain;
    for (double& each : halves) each /= 2;
    CHECK(passes("forward: fp16, backward: fp16") == halves);
    CHECK(passes("forward: fp16, backward: fp16, kernels: true", Dtype::fp16) == halves);
  }
}

TEST_CASE("a collection of almost no ids exchanges nothing, and no codec converts nothing") {
  const Cluster cluster = toy_cluster();
  Workload workload = sent_as("forward: fp16, backward: fp16, kernels: true", TableKind::sequence);
  for (Table& table : workload.tables) {
    table.average_length = 1e-4;
    for (Feature& feature : table.features) feature.pooling_factor = 1e-4;
  }
  const Plan plan = plan_of(Strategy::table_wise);
  const Program program = lowered_plan(plan, workload, cluster);
  for (const Op& op : program.ops) CHECK(op.role != OpRole::encode_gradient);
  CHECK(memory_profile(program, simulated(program, cluster), plan, workload).highest().bytes() > 0);
}

TEST_CASE("gradients that were decoded take the memory that they take without a codec") {
  const Cluster cluster = toy_cluster();
  const auto peak = [&](const std::string& wire) {
    const Plan plan = plan_of(Strategy::row_wise);
    const Workload workload = sent_as(wire);
    const Program program = lowered_plan(plan, workload, cluster);
    return memory_profile(program, simulated(program, cluster), plan, workload).highest().bytes();
  };
  CHECK(peak("forward: fp16, backward: fp16, kernels: true") >= peak(""));
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
    return error_of([&] { sent_as(wire, TableKind::pooled, more); });
  };
  const auto ran = [](const std::string& wire, Strategy strategy = Strategy::table_wise) {
    return error_of([&] { program_of(strategy, wire); });
  };
  CHECK(of("forward: int8").empty());  // TorchRec's planner counts a byte for each element
  for (const char* const wire :
       {"forward: int8", "forward: int8, kernels: true", "backward: int8", "forward: fp16, backward: int8"})
    CHECK(ran(wire).find("no kernel of TorchRec sends int8 without scales") != std::string::npos);
  CHECK(ran("forward: int8", Strategy::data_parallel).empty());
  for (const char* const wire :
       {"forward: int8, quantize_dim_backward: 16", "forward: fp16, backward: int8, quantize_dim: 16"})
    CHECK_FALSE(of(wire).empty());
  CHECK(of("forward: int8, quantize_dim: 16").empty());
  CHECK(of("forward: int8, kernels: true, quantize_dim: 16").empty());
  CHECK(of("kernels: true").find("needs no conversion") != std::string::npos);
  CHECK(of("forward: fp16, quantize_dim: 16").find("nothing is fp8 or int8") != std::string::npos);
  CHECK(of("forward: fp4").find("fp4") != std::string::npos);
  CHECK(of("forward: fp16, kernels: true", "embedding_kernels: per_table\n").find("per_table") != std::string::npos);
  CHECK(error_of([] {
          program_of(Strategy::table_wise, "forward: fp8, quantize_dim: 24");
        }).find("no whole rows of 24") != std::string::npos);
  // Replicas and the sums of row_wise tables are fp8 on no wire, so they have no scales.
  for (const Strategy strategy : {Strategy::data_parallel, Strategy::row_wise})
    CHECK(error_of([&] {
            program_of(strategy, "forward: fp8, backward: fp8, quantize_dim: 24, quantize_dim_backward: 24");
          }).empty());
  CHECK(error_of([] {
          program_of(Strategy::table_row_wise, "forward: fp8, quantize_dim: 24");
        }).find("no whole rows of 24") != std::string::npos);
  CHECK(error_of([] { program_of(Strategy::row_wise, "forward: fp8, quantize_dim: 24"); }).empty());
  CHECK(error_of([] { program_of(Strategy::row_wise, "forward: int8, quantize_dim: 16"); }).find("added up as int8") !=
        std::string::npos);
}

}  // namespace shardsim::quantised_exchanges_test
