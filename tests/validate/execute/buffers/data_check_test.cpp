#include "validate/execute/buffers/data_check.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "tests/base/error_text.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim::data_check_test {

namespace {

// Two ranks, a table of 4 rows of 1 column in row-wise pieces of 2; each rank asks each for one row, always position 0
// of the popularity order (all accesses fall on it), so that everything can be worked out by hand.
constexpr const char* kTwoRanks = R"({
 "schema": "shardsim.program/2", "scenario": "by hand", "case": "main", "seed": 1,
 "world_size": 2, "ranks_per_node": 2, "batch_per_rank": 2, "index_batches": 1,
 "streams": ["compute", "world"],
 "groups": {"world": ["0-1"]},
 "matrices": {"ids": {"kind": "even", "unit_bytes": 8, "units": 2},
              "grads": {"kind": "even", "unit_bytes": 4, "units": 2}},
 "tables": [{"name": "t", "rows": 4, "dim": 1, "dtype": "fp32", "dtype_bytes": 4, "id_bytes": 8, "kind": "sequence",
             "access": {"family": "explicit", "p": [1.0, 0.0, 0.0, 0.0]},
             "hash": {"name": "feistel_splitmix/1", "seed": 1}}],
 "shards": [{"table": 0, "tier": -1, "strategy": "row_wise", "order": "popularity", "rows": [0, 4],
             "columns": [0, 1], "holders": "0-1"}],
 "fusions": {"rw": {"kind": "sequence", "shards": [0]}},
 "ops": [
  {"id": 0, "name": "input_all_to_all", "class": "all_to_all", "role": "exchange_ids", "fusion": "rw", "stream": 1,
   "group": "world", "matrix": "ids", "after_previous": [4]},
  {"id": 1, "name": "lookup", "class": "lookup", "role": "lookup", "fusion": "rw", "stream": 0, "after": [0],
   "shards": [0], "lookups": 2},
  {"id": 2, "name": "global_all_to_all", "class": "all_to_all", "role": "exchange_output", "fusion": "rw", "stream": 1,
   "after": [1], "group": "world", "matrix": "grads", "transposed": true, "dtype": "fp32"},
  {"id": 3, "name": "global_all_to_all", "class": "all_to_all", "role": "exchange_gradient", "fusion": "rw",
   "stream": 1, "after": [2], "group": "world", "matrix": "grads", "dtype": "fp32"},
  {"id": 4, "name": "update", "class": "update", "role": "update", "fusion": "rw", "stream": 0, "after": [3],
   "shards": [0], "lookups": 2, "optimizer": "sgd"}
 ]
})";

Program two_ranks() {
  return program_from_tree(parse_json(kTwoRanks, "by_hand.json"));
}

// All elements of all tables, each copy once.
double mass(const Program& program, const Reference& reference) {
  double total = 0;
  for (std::size_t index = 0; index < program.shards.size(); ++index) {
    std::set<int> pieces;
    for (int rank = 0; rank < program.world_size; ++rank) {
      if (!pieces.insert(row_shard_of(program.shards[index], rank)).second) continue;
      const std::vector<float> rows = reference.shard_rows(rank, static_cast<int>(index));
      total = std::accumulate(rows.begin(), rows.end(), total);
    }
  }
  return total;
}

double gradient_mass(const Program& program, int iterations) {
  double total = 0;
  for (const Fusion& fusion : sample::fusions(program)) {
    const Program::Shard& shard = program.shards[static_cast<std::size_t>(fusion.shards.front())];
    for (int rank = 0; rank < program.world_size; ++rank) {
      for (int k = 0; k < iterations; ++k) {
        const auto ids =
            static_cast<std::int64_t>(draw_ids(program, fusion, rank, k % program.index_batches).ids.size());
        for (std::int64_t i = 0; i < ids; ++i) {
          for (std::int64_t c = 0; c < shard.column_end - shard.column_begin; ++c) {
            total += gradient_value(rank, fusion.lookup, i, c);
          }
        }
      }
    }
  }
  return total;
}

}  // namespace

// The numbers come from a second implementation of the rule, in another language.
TEST_CASE("whole numbers, the same on every machine") {
  const std::uint64_t key = fnv1a(sample::toy_program().tables[0].name);
  CHECK(key == 0x33428945bbd5f2ffULL);
  std::vector<float> first, last, gradients;
  for (int c = 0; c < 8; ++c) first.push_back(first_value(key, 0, c));
  for (int c = 0; c < 4; ++c) last.push_back(first_value(key, 7999, c));
  for (int c = 0; c < 8; ++c) gradients.push_back(gradient_value(3, 2, 17, c));
  CHECK(first == std::vector<float>{-4, 6, -3, 1, 4, -2, -7, 2});
  CHECK(last == std::vector<float>{6, -5, 4, 4});
  CHECK(gradients == std::vector<float>{-2, 0, 1, 0, 0, -1, -2, 1});
}

TEST_CASE("values and gradients take every number of their range, and no other") {
  std::set<float> values, gradients;
  for (int i = 0; i < 1000; ++i) {
    values.insert(first_value(1, static_cast<std::uint64_t>(i), 3));
    gradients.insert(gradient_value(1, 2, i, 3));
  }
  CHECK(values.size() == 16);
  CHECK(*values.begin() == -8);
  CHECK(*values.rbegin() == 7);
  CHECK(gradients == std::set<float>{-2, -1, 0, 1, 2});
}

TEST_CASE("two ranks and four rows, by hand") {
  const Program program = two_ranks();
  const Program::Shard& shard = program.shards[0];
  Reference reference(program);
  // Where the four rows live, and with which values.
  std::vector<std::vector<float>> rows(2, std::vector<float>(2));
  for (std::uint64_t position = 0; position < 4; ++position) {
    const RowOwner owner = row_owner(program, shard, position);
    rows[static_cast<std::size_t>(owner.shard)][owner.local_row] =
        first_value(piece_key(program, 0, owner.shard), owner.local_row, 0);
  }
  CHECK(reference.shard_rows(0, 0) == rows[0]);
  CHECK(reference.shard_rows(1, 0) == rows[1]);
  CHECK(reference.gathered(0, 1).empty());

  // Both ranks ask the owner of position 0 for it, and the other owner, of whom nothing was drawn, for its row 0.
  const RowOwner hot = row_owner(program, shard, 0);
  for (int iteration = 0; iteration < 3; ++iteration) {
    reference.iterate(1);
    std::vector<std::vector<float>> next = rows;
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<float> seen;
      for (int owner = 0; owner < 2; ++owner) {  // request 0 goes to rank 0, request 1 to rank 1
        const std::size_t local = owner == hot.shard ? hot.local_row : 0;
        seen.push_back(rows[static_cast<std::size_t>(owner)][local]);
        next[static_cast<std::size_t>(owner)][local] -= gradient_value(rank, 1, owner, 0);
      }
      CHECK(reference.gathered(rank, 1) == seen);
    }
    rows = next;
    CHECK(reference.shard_rows(0, 0) == rows[0]);
    CHECK(reference.shard_rows(1, 0) == rows[1]);
  }
}

TEST_CASE("several iterations at once are several iterations") {
  Reference one(sample::toy_program()), other(sample::toy_program());
  one.iterate(3);
  for (int i = 0; i < 3; ++i) other.iterate(1);
  CHECK(one.shard_rows(6, 2) == other.shard_rows(6, 2));
  CHECK(one.gathered(6, 3) == other.gathered(6, 3));
  CHECK(one.gathered(6, 3).size() == 320 * 64);
  CHECK(one.gathered(6, 6).empty());  // no lookup
}

TEST_CASE("copies of a row stay equal, and the pieces of other rows differ") {
  Reference reference(sample::toy_program());
  reference.iterate(2);
  CHECK(reference.shard_rows(0, 0) == reference.shard_rows(7, 0));  // data-parallel
  CHECK(reference.shard_rows(2, 1) == reference.shard_rows(6, 1));  // flex: the same position on both nodes
  CHECK(reference.shard_rows(2, 1) != reference.shard_rows(3, 1));
  CHECK(reference.shard_rows(2, 2) != reference.shard_rows(6, 2));
  CHECK(reference.shard_rows(0, 0).size() == 64 * 64);
}

TEST_CASE("what the tables lose is the sum of all gradients, whatever the plan") {
  for (const std::string& planner : sample::planners()) {
    for (const char* const pipeline : {"none", "sparse_dist"}) {
      CAPTURE(planner);
      const Program program = sample::lowered(planner, sample::workload(sample::kTwoTables, pipeline));
      Reference reference(program);
      const double before = mass(program, reference);
      reference.iterate(10);  // more than index_batches
      CHECK(before - mass(program, reference) == gradient_mass(program, 10));
      CHECK(gradient_mass(program, 10) != 0);
    }
  }
}

TEST_CASE("a piece starts with its own rows, whatever its columns and copies") {
  const Program program = sample::toy_program();
  CHECK(piece_key(program, 2, 0) != piece_key(program, 2, 1));
  CHECK(piece_key(program, 1, 0) != piece_key(program, 2, 0));  // other rows of the same table
  const Reference reference(program);
  const std::vector<float> rows = reference.shard_rows(3, 2);
  const int piece = row_shard_of(program.shards[2], 3);
  for (std::size_t i = 0; i < 3 * 64; ++i) {
    CHECK(rows[i] == first_value(piece_key(program, 2, piece), i / 64, static_cast<std::int64_t>(i % 64)));
  }
}

namespace {

// Checks that a rank's own reference agrees with the reference of everything on the same rows and vectors.
void check_sample(const Program& program, int rank, std::int64_t bytes, bool expect_all) {
  constexpr int kIterations = 3;
  Reference all(program), some(program, rank, kIterations, bytes);
  all.iterate(kIterations);
  some.iterate(kIterations);
  const auto picked = [](const std::vector<float>& from, const Reference::Chosen& chosen, std::size_t wide) {
    std::vector<float> values;
    for (const std::int64_t number : chosen.numbers) {
      const auto at = from.begin() + number * static_cast<std::ptrdiff_t>(wide);
      values.insert(values.end(), at, at + static_cast<std::ptrdiff_t>(wide));
    }
    return chosen.all ? from : values;
  };
  for (const Fusion& fusion : sample::fusions(program)) {
    const Reference::Chosen& vectors = some.chosen_vectors(rank, fusion.lookup);
    CHECK(vectors.all == expect_all);
    const std::vector<float> expected = all.gathered(rank, fusion.lookup);
    CHECK(some.gathered(rank, fusion.lookup) == picked(expected, vectors, 64));
    if (!expect_all) CHECK(vectors.numbers.size() * 64 < expected.size());
    CHECK(some.gathered((rank + 1) % 8, fusion.lookup).empty());
    for (const int shard : fusion.shards) {
      const Reference::Chosen& rows = some.chosen_rows(rank, shard);
      CHECK(some.shard_rows(rank, shard) == picked(all.shard_rows(rank, shard), rows, 64));
      if (!expect_all) CHECK(!rows.numbers.empty());
    }
  }
}

}  // namespace

TEST_CASE("a rank judges its own rows and vectors, all of them or as many as there is room for") {
  for (const int rank : {0, 5}) {
    check_sample(sample::toy_program(), rank, std::int64_t{1} << 30, true);
    check_sample(sample::toy_program(), rank, 100'000, false);
    check_sample(sample::lowered("{name: row_wise}", sample::workload(sample::kTwoTables, "sparse_dist")), rank, 50'000,
                 false);
  }
}

TEST_CASE("a table of more rows than any machine holds is judged by what fits") {
  std::string text = kTwoRanks;
  const auto replace = [&](const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  replace("\"rows\": 4,", "\"rows\": 1099511627776,");
  replace("\"rows\": [0, 4]", "\"rows\": [0, 1099511627776]");
  replace("{\"family\": \"explicit\", \"p\": [1.0, 0.0, 0.0, 0.0]}",
          "{\"family\": \"zipf\", \"s\": 1}, \"average_length\": 2");
  const Program program = program_from_tree(parse_json(text, "by_hand.json"));
  Reference reference(program, 1, 2, 1 << 20);
  reference.iterate(2);
  CHECK(reference.gathered(1, 1).size() == 2);
  const Reference::Chosen& rows = reference.chosen_rows(1, 0);
  CHECK_FALSE(rows.all);
  CHECK(rows.numbers.size() >= 64);
  CHECK(rows.numbers.size() < 200);
  CHECK(reference.shard_rows(1, 0).size() == rows.numbers.size());
}

TEST_CASE("a pipeline looks up the same batches as no pipeline") {
  const Program plain = sample::lowered("{name: row_wise}", sample::workload(sample::kTwoTables));
  const Program ahead = sample::lowered("{name: row_wise}", sample::workload(sample::kTwoTables, "sparse_dist"));
  REQUIRE(sample::fusions(ahead)[0].ids_came_before);
  Reference one(plain), other(ahead);
  one.iterate(1);
  other.iterate(1);
  // The gradients depend on the number of the lookup; the rows of the first iteration do not.
  CHECK(one.gathered(3, sample::fusions(plain)[0].lookup) == other.gathered(3, sample::fusions(ahead)[0].lookup));
}

TEST_CASE("programs without whole-number sums are refused") {
  const auto refusal = [](const std::function<void(Program&)>& spoil) {
    Program program = sample::toy_program();
    spoil(program);
    return error_of([&] { Reference{program}; });
  };
  CHECK(refusal([](Program&) {}).empty());
  CHECK(says(refusal([](Program& p) {
               p.tables[0].dtype = Dtype::fp16;
               for (Op& op : p.ops) op.dtype = "";
               sample::matrix_of(p, "rw_rows").unit_bytes = sample::matrix_of(p, "flex_rows").unit_bytes = 128;
             }),
             "table history is fp16"));
  CHECK(says(refusal([](Program& p) { p.ops[15].bytes = 16380; }), "16384"));
  CHECK(says(refusal([](Program& p) {
               p.ops[6].dtype = p.ops[10].dtype = "fp16";
               sample::matrix_of(p, "rw_rows").unit_bytes = 128;
             }),
             "it moves fp16"));
  CHECK(says(refusal([](Program& p) {
               p.ops.resize(8);
               for (Op& op : p.ops) op.after_previous.clear();
             }),
             "nothing updates its rows"));
  CHECK(says(error_of([] { Reference{sample::lowered("{name: row_wise}", sample::workload(sample::kTwoDims))}; }),
             "different dimensions"));
}

TEST_CASE("sums that fp32 would round are refused" * doctest::test_suite("long")) {
  Program program = two_ranks();
  const std::int64_t ids = 1 << 23;  // of one row in one iteration, up to 2 each
  for (const char* const name : {"ids", "grads"}) {
    ByteMatrix& matrix = sample::matrix_of(program, name);
    matrix.kind = ByteMatrix::Kind::dense;
    matrix.units.clear();
    matrix.dense = {{ids, 0}, {0, 0}};
  }
  Reference reference(program);
  CHECK(says(error_of([&] { reference.iterate(1); }), "exactly"));
}

TEST_CASE("the first difference is named") {
  CHECK(first_difference({1, 2, 3, 4}, {1, 2, 3, 4}, 2, "rank 3, lookup, request").empty());
  CHECK(first_difference({1, 2, 3, 5}, {1, 2, 3, 6}, 2, "rank 3, lookup, request") ==
        "rank 3, lookup, request 1, column 1: 5, not 6");
  CHECK(first_difference({1, 2}, {1, 2, 3, 4}, 2, "rank 3, lookup, request") ==
        "rank 3, lookup, request: 2 numbers, not 4");
  CHECK_FALSE(first_difference({0.0F}, {-0.0F}, 1, "rank 0, shard 0, row").empty());
}

}  // namespace shardsim::data_check_test
