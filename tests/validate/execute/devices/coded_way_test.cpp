#include "validate/execute/devices/coded_way.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/validate/execute/checked_run.h"
#include "tests/validate/execute/fusion_faults.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/buffers/data_check.h"

namespace shardsim::coded_way_test {
namespace {

Workload sent_as(const std::string& tables, const std::string& wire, const std::string& pipeline = "none") {
  return sample::workload(tables, pipeline + "\ninput_exchange: full\nwire_dtype: {" + wire + ", kernels: true}");
}

Program coded(Strategy strategy, const std::string& type, const std::string& pipeline = "none") {
  const std::string wire = "forward: " + type + ", backward: " + type;
  return sample::lowered(std::vector<Strategy>{strategy}, sent_as(sample::kPooledTables, wire, pipeline));
}

// Bytes of vectors and gradients between ranks, by the Program's matrices.
std::int64_t vector_bytes(const Program& program) {
  std::int64_t all = 0;
  for (const Op& op : program.ops) {
    if (op.role != OpRole::exchange_output && op.role != OpRole::exchange_gradient) continue;
    const ByteMatrix matrix = resolve_matrix(program, op.matrix);
    for (int from = 0; from < program.world_size; ++from) {
      for (int to = 0; to < program.world_size; ++to) {
        if (from != to) all += matrix.bytes_between(from, to, program.world_size);
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("behind a codec, bags are what comes back from the wire, and rows equal a single process bit for bit" *
          doctest::test_suite("long")) {
  for (const Strategy strategy : sample::strategies()) {
    for (const char* const type : {"fp16", "bf16", "fp8"}) {
      CAPTURE(strategy_name(strategy));
      CAPTURE(type);
      CHECK(test::checked(coded(strategy, type), 3) == "");
    }
  }
}

TEST_CASE("codecs of sequences, under pipelines, and of one direction alone") {
  for (const char* const pipeline : {"sparse_dist", "prefetch_sparse_dist"}) {
    CAPTURE(pipeline);
    const Workload workload = sent_as(sample::kTwoTables, "forward: fp8, backward: bf16", pipeline);
    CHECK(test::checked(sample::lowered("{name: row_wise}", workload), 9) == "");
    CHECK(test::checked(coded(Strategy::table_row_wise, "fp8", pipeline), 3) == "");
  }
  const Workload out = sent_as(sample::kPooledTables, "forward: fp16, backward: fp32");
  CHECK(test::checked(sample::lowered(std::vector<Strategy>{Strategy::grid_shard}, out), 3) == "");
}

// Some numbers are none that fp8 can hold, so equal ones cannot come from a wire that leaves them as they are.
TEST_CASE("the codec changes what is gathered") {
  const Program program = coded(Strategy::table_wise, "fp8");
  Reference reference(program);
  reference.iterate(3);
  const Fusion fusion = sample::fusions(program).front();
  const std::vector<float> exact = reference.gathered(0, fusion.lookup);
  std::vector<float> rounded = exact;
  const WireRounding rounding = rounding_of(program, fusion);
  CHECK(rounding.exact());
  rounding.round(rounded);
  CHECK(rounded != exact);
  // Sums of fp16 depend on the order of ranks, so they are judged within roundings of the numbers that were summed.
  const Program sums = coded(Strategy::row_wise, "fp16");
  const WireRounding of_sums = rounding_of(sums, sample::fusions(sums).front());
  CHECK(of_sums.of_sums == 9.0 / 2048);
  CHECK(first_beyond({100.4F}, {100}, {100}, of_sums, 1, "x").empty());
  CHECK(first_beyond({100.5F}, {100}, {100}, of_sums, 1, "x") == "x 0, column 0: 100.5, not 100 within 0.439453125");
  CHECK(first_beyond({}, {100}, {100}, of_sums, 1, "x") == "x: 0 numbers, not 1");
}

TEST_CASE("the bytes that ranks send shrink as the types do") {
  const Program plain = sample::lowered(std::vector<Strategy>{Strategy::table_wise},
                                        sample::workload(sample::kPooledTables, "none\ninput_exchange: full"));
  const std::int64_t vectors = vector_bytes(plain), all = test::bytes_sent(plain);
  const std::int64_t halves = test::bytes_sent(coded(Strategy::table_wise, "fp16"));
  CHECK(vectors > 0);
  CHECK(all - halves == vectors / 2);
  CHECK(halves - test::bytes_sent(coded(Strategy::table_wise, "fp8")) == vectors / 4);
}

TEST_CASE("what the executor has no codec for is refused by name") {
  const auto of = [](const std::string& wire) {
    return sample::fusion_fault(
        sample::lowered(std::vector<Strategy>{Strategy::table_wise}, sent_as(sample::kPooledTables, wire)));
  };
  CHECK(of("forward: int8, quantize_dim: 32").find("sends \"int8\", which the executor has no codec for") !=
        std::string::npos);
  CHECK(of("forward: fp8, quantize_dim: 32").find("sends scales beside its vectors") != std::string::npos);
  Program half = coded(Strategy::table_wise, "fp16");
  std::ranges::find(half.ops, OpRole::decode_output, &Op::role)->role = OpRole::order_output;
  CHECK(sample::fusion_fault(half).find("a part of a codec") != std::string::npos);
  Program early = coded(Strategy::table_wise, "fp16");
  std::ranges::find(early.ops, OpRole::exchange_output, &Op::role)->after.clear();
  CHECK(sample::fusion_fault(early).find("does not wait for operation") != std::string::npos);
}

}  // namespace shardsim::coded_way_test
