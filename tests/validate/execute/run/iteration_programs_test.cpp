#include "validate/execute/fusion/iteration_programs.h"

#include <doctest/doctest.h>

#include <functional>
#include <numeric>

#include "base/error.h"
#include "program/timeline/traffic.h"
#include "tests/validate/execute/ranks.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/run/execute.h"

namespace shardsim::iteration_programs_test {

namespace {

// One case with batches of these sizes: as many Programs that differ in their sizes alone.
std::vector<Program> with_batches(const std::string& planner, const std::vector<std::int64_t>& sizes) {
  Workload workload = sample::workload(sample::kTwoTables);
  std::vector<Program> programs;
  for (const std::int64_t size : sizes) {
    workload.batch_per_gpu = size;
    programs.push_back(sample::lowered(planner, workload));
  }
  return programs;
}

std::string first_of(const std::vector<std::string>& errors) {
  for (const std::string& error : errors)
    if (!error.empty()) return error;
  return "";
}

std::string checked(const std::vector<Program>& programs, int iterations) {
  return first_of(test::in_world(programs.front().world_size, [&](Rendezvous& rendezvous) {
    const std::string difference = check_data(IterationPrograms(programs), rendezvous, {}, iterations);
    if (!difference.empty()) throw run_error(difference, "");
  }));
}

Timeline executed(const std::vector<Program>& programs, int warmup, int iterations) {
  Timeline seen;
  ExecuteOptions options;
  options.warmup = warmup;
  options.iterations = iterations;
  CHECK(first_of(test::in_world(programs.front().world_size, [&](Rendezvous& rendezvous) {
          Timeline own = execute(IterationPrograms(programs), rendezvous, options, [](const Timeline&) {});
          if (rendezvous.rank() == 0) seen = std::move(own);
        })) == "");
  return seen;
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::int64_t bytes_of(const Program& program) {
  Timeline counted;
  counted.world_size = program.world_size;
  add_traffic(counted, program);
  return sum(counted.bytes_out);
}

// Bytes of the exchange of ids in an iteration, summed over the ranks.
std::int64_t id_bytes_seen(const Timeline& timeline, int op, int iteration) {
  std::int64_t bytes = 0;
  for (const Span& span : timeline.spans) bytes += span.op == op && span.iteration == iteration ? span.bytes : 0;
  return bytes;
}

}  // namespace

TEST_CASE("iterations of different sizes equal a single process bit for bit") {
  for (const char* const planner :
       {"{name: row_wise}", "{name: table_wise}", "{name: data_parallel}", "{name: flex}"}) {
    CAPTURE(planner);
    CHECK(checked(with_batches(planner, {16, 5, 40}), 5) == "");
  }
}

TEST_CASE("iteration k executes Program k, in the warm-up too, and counts the bytes that it sends") {
  const std::vector<Program> programs = with_batches("{name: row_wise}", {16, 5, 40});
  const Timeline seen = executed(programs, 1, 3);
  REQUIRE(seen.iterations_run == 3);
  const int ids = sample::fusions(programs.front()).front().ids;
  CHECK(id_bytes_seen(seen, ids, 0) == 0);  // the warm-up
  CHECK(id_bytes_seen(seen, ids, 1) < id_bytes_seen(seen, ids, 3));
  CHECK(id_bytes_seen(seen, ids, 3) < id_bytes_seen(seen, ids, 2));
  // Really sent: what Programs 1, 2 and 0 say, a few bytes by which receivers call, and less than a byte of rounding
  // for each pair of ranks.
  const std::int64_t mean = (bytes_of(programs[1]) + bytes_of(programs[2]) + bytes_of(programs[0])) / 3;
  CHECK(sum(seen.bytes_out) == sum(seen.bytes_in));
  CHECK(sum(seen.bytes_out) > mean - 64);
  CHECK(sum(seen.bytes_out) < mean + 8 * 7 * 8);
}

TEST_CASE("Programs that differ in more than sizes are refused, and several under a pipeline") {
  std::vector<Program> programs = with_batches("{name: row_wise}", {16, 5});
  CHECK_NOTHROW(check_iteration_programs(IterationPrograms(programs)));
  programs[1].ops.pop_back();
  CHECK_THROWS_AS(check_iteration_programs(IterationPrograms(programs)), Error);
  const Workload ahead = sample::workload(sample::kTwoTables, "sparse_dist");
  const std::vector<Program> pipelined(2, sample::lowered("{name: row_wise}", ahead));
  CHECK_THROWS_AS(check_iteration_programs(IterationPrograms(pipelined)), Error);
  CHECK_NOTHROW(check_iteration_programs(pipelined.front()));
}

TEST_CASE("a Program whose ranks remove duplicates is refused, with the table's name") {
  Program program = sample::lowered("{name: row_wise}", sample::workload(sample::kTwoTables));
  program.tables.front().index_dedup = true;
  CHECK_THROWS_WITH_AS(check_iteration_programs(program),
                       doctest::Contains("' has index_dedup, which is simulated and cannot be executed"), Error);
}

TEST_CASE("a Program whose rows lie in a key-value store is refused, with the operation's name") {
  const Program program =
      sample::lowered({Strategy::row_wise}, sample::workload(sample::kTwoTables), {"fused", "key_value"});
  CHECK_THROWS_WITH_AS(check_iteration_programs(program),
                       doctest::Contains("'store_fetch' moves rows of a key-value store"), Error);
}

TEST_CASE("with drawn sizes every drawn id is asked for, and the data equal a single process bit for bit") {
  const char* const one_table =
      "  - {name: a, rows: 1000, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1.05}}\n";
  for (const char* const planner :
       {"{name: row_wise}", "{name: flexshard_3tier, memory_budget: 0 B, flex_stop: 'off'}"}) {
    CAPTURE(planner);
    const Program program = sample::lowered(planner, sample::workload(one_table));
    const std::vector<Program> drawn = with_drawn_sizes_of(program, 3);
    CHECK_NOTHROW(check_iteration_programs(IterationPrograms(drawn)));
    for (int batch = 0; batch < 3; ++batch) {
      const Program& own = drawn[static_cast<std::size_t>(batch)];
      for (const Fusion& fusion : sample::fusions(own)) {
        if (fusion.ids < 0) continue;
        for (int rank = 0; rank < program.world_size; ++rank) {
          const std::vector<std::int64_t> counts = id_counts(own, fusion, rank, false);
          CHECK(counts == drawn_counts(program, fusion, rank, batch));
          CHECK(sum(counts) == sum(id_counts(program, fusion, rank, false)));  // as many, for other owners
        }
      }
    }
    CHECK(checked(drawn, 4) == "");
  }
}

}  // namespace shardsim::iteration_programs_test
