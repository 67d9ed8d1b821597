#include "validate/execute/fusion/fusion.h"

#include <doctest/doctest.h>

#include <functional>

#include "tests/validate/execute/fusion_faults.h"
#include "tests/validate/execute/sample_programs.h"

namespace shardsim::fusion_test {

namespace {

// The error of fusions_of for the toy program after `spoil`.
std::string complaint(const std::function<void(Program&)>& spoil) {
  Program program = sample::toy_program();
  spoil(program);
  return sample::fusion_fault(program);
}

}  // namespace

TEST_CASE("the fusions of the worked example") {
  const std::vector<Fusion> fusions = sample::fusions(sample::toy_program());
  REQUIRE(fusions.size() == 3);
  CHECK(fusions[0] == Fusion{2, 1, false, 5, 9, {14}, {1}, {{2, 12, 17, {1}}}});
  CHECK(fusions[1] == Fusion{3, 0, false, 6, 10, {}, {2}, {{3, 13, -1, {2}}}});
  CHECK(fusions[2] == Fusion{4, -1, false, -1, -1, {15}, {0}, {{4, 11, 16, {0}}}});
}

TEST_CASE("what HugeCTR does is refused, with what to lower instead") {
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[2].indexed = true; }),
                                "HugeCTR's embedding collections"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[12].sort_bits = 32; }), "embedding_kernels: fused"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[12].role = OpRole::index_rows; }), "HugeCTR"));
  const auto joined = [](Program& p) {
    p.ops[15].role = OpRole::dense_all_reduce;
    p.ops[15].fusion = -1;
  };
  CHECK(sample::names_operation(complaint(joined), "in one all-reduce with those of the dense part"));
}

TEST_CASE("every planner, pipeline and stream option lowers to fusions that fit") {
  for (const std::string& tables : {sample::kTwoTables, sample::kTwoDims}) {
    for (const char* const pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
      for (const std::string& planner : sample::planners()) {
        for (const bool overlap : {true, false}) {
          CAPTURE(tables);
          CAPTURE(pipeline);
          CAPTURE(planner);
          CAPTURE(overlap);
          const Program program = sample::lowered(planner, sample::workload(tables, pipeline), overlap);
          const std::vector<Fusion> fusions = sample::fusions(program);
          CHECK_FALSE(fusions.empty());
          std::size_t shards = 0;
          for (const Fusion& fusion : fusions) {
            shards += fusion.shards.size();
            const Op& lookup = program.ops[static_cast<std::size_t>(fusion.lookup)];
            CHECK((fusion.ids >= 0) == !ops_in_role(program, lookup.fusion, OpRole::exchange_ids).empty());
            CHECK((fusion.output >= 0) == (fusion.ids >= 0));
            CHECK((fusion.gradient_exchange >= 0) == (fusion.ids >= 0));
            CHECK(fusion.ids_came_before == (fusion.ids >= 0 && std::string(pipeline) != "none"));
            REQUIRE(fusion.parts.size() == 1);
            CHECK(fusion.parts[0].gradient >= 0);
            const bool copies = replicated(program.shards[static_cast<std::size_t>(fusion.shards[0])].strategy);
            CHECK((fusion.parts[0].apply >= 0) == copies);
            CHECK(fusion.reduces.size() == (copies ? 1 : 0));
          }
          CHECK(shards == program.shards.size());
        }
      }
    }
  }
}

TEST_CASE("an exchange belongs to the iteration that its lookup waits for") {
  Program program = sample::toy_program();
  program.ops[3].after = {};
  CHECK(sample::names_operation(sample::fusion_fault(program), "does not wait for the exchange of its ids"));
  program.ops[0].batches_ahead = 1;
  CHECK(sample::names_operation(sample::fusion_fault(program), "does not wait for the exchange of its ids"));
  program.ops[3].after_previous = {0, 13};
  CHECK(sample::fusions(program)[1].ids_came_before);
  program.ops[0].batches_ahead = 2;
  CHECK(sample::names_operation(sample::fusion_fault(program), "more than one batch ahead"));
  program.ops[0].batches_ahead = 0;
  program.ops[3].after = {0};
  CHECK_FALSE(sample::fusions(program)[1].ids_came_before);
  program.ops[3].after = {};
  program.ops[3].after_previous = {13};
  program.ops[3].stream = 1;  // behind the exchange on its stream
  CHECK_FALSE(sample::fusions(program)[1].ids_came_before);
}

TEST_CASE("operations that do not belong together are refused") {
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[2].pooled = true; }),
                                "nothing adds up the partial sums"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[2].shards = {1, 2}; }), "read twice"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[2].shards = {}; }), "reads no shards"));
  CHECK(sample::names_operation(complaint([](Program& p) {
                                  p.ops[13].shards = {1, 2};
                                }),
                                "no lookup reads the same shards"));
  CHECK(
      sample::names_operation(complaint([](Program& p) { p.ops[13].after = {8}; }), "does not wait for operation 10"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[5].after = {}; }), "does not wait for operation 2"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[17].after = {}; }), "does not wait for operation 14"));
  CHECK(
      sample::names_operation(complaint([](Program& p) { p.ops[17].after = {15}; }), "does not wait for operation 14"));
  const auto none = [](int op) {
    return complaint([&](Program& p) { p.ops[static_cast<std::size_t>(op)].role = OpRole::none; });
  };
  CHECK(sample::names_operation(none(10), "nothing brings the gradients"));
  CHECK(sample::names_operation(none(5), "nothing returns them"));
  CHECK(sample::names_operation(none(14), "not summed over the ranks"));
  CHECK(sample::names_operation(none(16), "half of an update"));
  CHECK(sample::names_operation(none(1), "can ask 0 ranks"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[16].shards = {1}; }), "half of an update"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[2].fusion = -1; }), "belongs to no fusion group"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[6].fusion = 0; }), "second exchange_output"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[11].role = OpRole::apply; }),
                                "updates the same shards"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.ops[4].fusion = 0; }), "has another lookup"));
}

TEST_CASE("an iteration without a backward pass has no updates") {
  Program program = sample::toy_program();
  program.ops.resize(8);
  for (Op& op : program.ops) op.after_previous.clear();
  const std::vector<Fusion> fusions = sample::fusions(program);
  REQUIRE(fusions.size() == 3);
  CHECK(fusions[0] == Fusion{2, 1, false, 5, -1, {}, {1}, {{2, -1, -1, {1}}}});
}

TEST_CASE("rows are exchanged as they were asked for") {
  CHECK(sample::names_operation(complaint([](Program& p) { sample::matrix_of(p, "rw_rows").units = {328}; }),
                                "one row for each id"));
  CHECK(sample::names_operation(complaint([](Program& p) { sample::matrix_of(p, "rw_rows").unit_bytes = 128; }),
                                "one row for each id"));
  CHECK(complaint([](Program& p) {
          sample::matrix_of(p, "rw_rows").unit_bytes = 128;
          p.ops[6].dtype = p.ops[10].dtype = "fp16";
        }).empty());
  // 321 rows of each source: the odd one goes to another destination in every row, so the way back is the transpose.
  const auto odd = [](Program& p) {
    sample::matrix_of(p, "rw_rows").units = sample::matrix_of(p, "rw_ids").units = {321};
  };
  CHECK(complaint(odd).empty());
  CHECK(sample::names_operation(complaint([&](Program& p) {
                                  odd(p);
                                  sample::matrix_of(p, "rw_ids").units = {323};
                                  sample::matrix_of(p, "rw_rows").units = {323};
                                }),
                                "one row for each id"));
  // Rows that go the way back of their ids fit, stated from the side of the ids.
  CHECK(complaint([&](Program& p) {
          odd(p);
          sample::matrix_of(p, "rw_rows").units = sample::matrix_of(p, "rw_ids").units = {323};
          p.ops[6].matrix.transposed = true;
          p.ops[10].matrix.transposed = false;
        }).empty());
  CHECK(sample::names_operation(complaint([](Program& p) { sample::matrix_of(p, "rw_ids").unit_bytes = 4; }),
                                "units of 4 bytes"));
  const auto narrow = [](Program& p, std::uint64_t rows) {
    p.id_bytes = 4;
    for (const char* const ids : {"rw_ids", "flex_ids"}) sample::matrix_of(p, ids).unit_bytes = 4;
    p.tables[0].rows = p.shards[2].row_end = p.shards[2].row_begin + rows;
  };
  constexpr std::uint64_t kReach = 8 * ((std::uint64_t{1} << 31) - 1);  // of the eight ranks
  CHECK(complaint([&](Program& p) { narrow(p, kReach); }).empty());
  CHECK(sample::names_operation(complaint([&](Program& p) { narrow(p, kReach + 1); }),
                                "ids of 4 bytes would number 2147483648 rows"));
}

TEST_CASE("every row has one owner among those who are asked") {
  CHECK(sample::names_operation(complaint([](Program& p) { p.shards[2].holders = {{0, 1, 2, 3}}; }), "holds none"));
  CHECK(sample::names_operation(complaint([](Program& p) {
                                  p.shards[0].holders = {{0, 1, 2, 3, 4, 5, 6}};
                                }),
                                "can ask 0 ranks"));
  CHECK(sample::names_operation(complaint([](Program& p) {
                                  p.shards[1].strategy = Strategy::row_wise;
                                  p.shards[1].holders = {{0, 1, 2, 3}};
                                }),
                                "can ask 0 ranks"));
  CHECK(sample::names_operation(complaint([](Program& p) {
                                  p.shards[1].holders = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
                                }),
                                "can ask 2 ranks"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.shards[2].strategy = Strategy::table_wise; }),
                                "several holders"));
  CHECK(sample::names_operation(complaint([](Program& p) { p.shards[2].order = "row_id"; }), "order of row ids"));
}

TEST_CASE("copies are summed over exactly those who hold them") {
  CHECK(sample::names_operation(complaint([](Program& p) {
                                  p.shards[1].holders = {{0, 1, 2, 3}, {5, 4, 6, 7}};
                                }),
                                "not summed"));
  CHECK(sample::names_operation(complaint([](Program& p) {
                                  p.shards[0].strategy = Strategy::table_wise;
                                  p.shards[0].holders = {{0}};
                                  p.ops[4].ranks = {0};
                                }),
                                "one holder each"));
}

}  // namespace shardsim::fusion_test
