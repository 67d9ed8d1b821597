#include "base/error.h"
#include "validate/execute/buffers/data_check.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/run/attempt.h"

namespace shardsim {
namespace {

// Replaces the machine's tables and gradients by whole numbers that every rank can work out: those that `reference`
// starts with.
void load_data(RankOps& ops, const Program& program, const Reference& reference,
               const std::vector<LookupBuffers>& lookups, int rank) {
  for (std::size_t shard = 0; shard < program.shards.size(); ++shard) {
    const std::vector<float> rows = reference.shard_rows(rank, static_cast<int>(shard));
    if (!rows.empty()) ops.load_rows(static_cast<int>(shard), rows);
  }
  for (const LookupBuffers& buffers : lookups) {
    const int lookup = buffers.fusion.lookup;
    std::vector<float> gradients;
    std::int64_t vector = 0;
    for (const ReturnedVectors& of : buffers.returned) {
      for (std::int64_t bag = 0; bag < of.bags; ++bag, ++vector) {
        for (std::int64_t c = 0; c < of.dim; ++c) gradients.push_back(gradient_value(rank, lookup, vector, c));
      }
    }
    ops.load_gradients(lookup, gradients);
  }
}

// Shard by shard: their vectors may have different widths.
std::string compare_vectors(RankOps& ops, const Program& program, const Reference& reference,
                            const LookupBuffers& buffers, int rank) {
  const int lookup = buffers.fusion.lookup;
  const std::string name = program.ops[lookup].name, who = "rank " + std::to_string(rank);
  const std::vector<float> got = ops.gathered(lookup), expected = reference.gathered(rank, lookup);
  std::size_t at = 0;
  for (const ReturnedVectors& of : buffers.returned) {
    const std::size_t end = at + static_cast<std::size_t>(of.bags * of.dim);
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(std::min(at, all.size())),
                                all.begin() + static_cast<std::ptrdiff_t>(std::min(end, all.size())));
    };
    const std::string& table = program.tables[program.shards[of.shard].table].name;
    const std::string what = buffers.fusion.pooled ? "bags of '" + table + "' by " + name : "rows gathered by " + name;
    const std::string difference = first_difference(part(got), part(expected), of.dim, who + ", " + what);
    if (!difference.empty()) return difference;
    at = end;
  }
  return first_difference(got, expected, 1, who + ", vectors by " + name);
}

std::string compare_shards(RankOps& ops, const Program& program, const Reference& reference, int rank) {
  for (std::size_t index = 0; index < program.shards.size(); ++index) {
    const int shard = static_cast<int>(index);
    const Program::Shard& about = program.shards[index];
    const std::string difference = first_difference(
        ops.shard_rows(shard), reference.shard_rows(rank, shard), about.column_end - about.column_begin,
        "rank " + std::to_string(rank) + ", updated rows of '" + program.tables[about.table].name + "'");
    if (!difference.empty()) return difference;
  }
  return {};
}

// "" when the vectors that the machine gathered last, and its updated rows, are those of `reference`; else where they
// differ first.
std::string compare_data(RankOps& ops, const Program& program, const Reference& reference,
                         const std::vector<LookupBuffers>& lookups, int rank) {
  for (const LookupBuffers& buffers : lookups) {
    const std::string difference = compare_vectors(ops, program, reference, buffers, rank);
    if (!difference.empty()) return difference;
  }
  return compare_shards(ops, program, reference, rank);
}

std::string checked(RankRun& run, const IterationPrograms& programs, Rendezvous& rendezvous, int iterations) {
  const int rank = rendezvous.rank();
  const Program& program = programs.first();
  std::vector<LookupBuffers> lookups, last;  // with the most gradients, and of the last iteration
  for (const std::vector<LookupBuffers>& turns : lookup_buffers(programs, rank)) {
    lookups.push_back(most_returned(turns));
    last.push_back(turns[programs.turn(iterations - 1)]);
  }
  Reference reference(programs);
  load_data(run.machine().ops(), program, reference, lookups, rank);
  for (int iteration = 0; iteration < iterations; ++iteration) run.iterate(iteration, 1, iterations);
  reference.iterate(iterations);
  const std::string own = compare_data(run.machine().ops(), program, reference, last, rank);
  for (const std::string& difference : rendezvous.all_gather(own, "comparing data")) {
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace

std::string check_data(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options,
                       int iterations) {
  ExecuteOptions exact = options;
  exact.machine.check_data = true;
  exact.iterations = iterations;
  std::string difference;
  Attempt(rendezvous, exact).run(programs, [&](RankRun& run) {
    difference = checked(run, programs, rendezvous, iterations);
  });
  return difference;
}

}  // namespace shardsim
