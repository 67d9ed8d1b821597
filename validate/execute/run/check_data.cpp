#include <algorithm>

#include "base/error.h"
#include "validate/execute/buffers/data_check.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/run/attempt.h"

namespace shardsim {
namespace {

// Replaces the machine's tables and gradients by whole numbers that every rank can work out: those that a Reference
// starts with.
void load_data(RankOps& ops, const Program& program, const std::vector<LookupBuffers>& lookups, int rank) {
  for (std::size_t index = 0; index < program.shards.size(); ++index) {
    const int shard = static_cast<int>(index), piece = row_shard_of(program.shards[index], rank);
    if (piece < 0) continue;
    const std::uint64_t key = piece_key(program, shard, piece);
    ops.load_rows(shard, [key, first = program.shards[index].column_begin](std::int64_t row, std::int64_t column) {
      return first_value(key, static_cast<std::uint64_t>(row), first + column);
    });
  }
  for (const LookupBuffers& buffers : lookups) {
    const int lookup = buffers.fusion.lookup;
    ops.load_gradients(lookup, [rank, lookup](std::int64_t vector, std::int64_t column) {
      return gradient_value(rank, lookup, vector, column);
    });
  }
}

const Numbers* numbers_of(const Reference::Chosen& chosen) {
  return chosen.all ? nullptr : &chosen.numbers;
}

// "" or where they differ first: of so many chosen ones from `first` on.
std::string difference_of(const std::vector<float>& got, const std::vector<float>& expected, std::int64_t columns,
                          const std::string& what, const Reference::Chosen& chosen) {
  return first_difference(got, expected, columns, chosen.all ? what : what + " (of those that were chosen)");
}

// The part of some numbers, of whichever kind, that there is.
template <typename Number>
std::vector<Number> part_of(const std::vector<Number>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(std::min(begin, all.size())),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(end, all.size()))};
}

// Shard by shard: their vectors may have different widths.
std::string compare_vectors(RankOps& ops, const Program& program, const Reference& reference,
                            const LookupBuffers& buffers, int rank) {
  const int lookup = buffers.fusion.lookup;
  const std::string name = program.ops[lookup].name, who = "rank " + std::to_string(rank);
  const Reference::Chosen& chosen = reference.chosen_vectors(rank, lookup);
  const WireRounding rounding = rounding_of(program, buffers.fusion);
  const std::vector<float> got = ops.gathered(lookup, numbers_of(chosen));
  std::vector<float> expected = reference.gathered(rank, lookup);
  rounding.round(expected);
  const std::vector<double> sizes = reference.sizes(rank, lookup);
  std::size_t at = 0;
  std::int64_t first = 0;
  for (const ReturnedVectors& of : buffers.returned) {
    const auto number = [&](std::int64_t vector) { return std::ranges::lower_bound(chosen.numbers, vector); };
    const std::int64_t vectors = chosen.all ? of.bags : number(first + of.bags) - number(first);
    const std::size_t end = at + static_cast<std::size_t>(vectors * of.dim);
    const std::string& table = program.tables[program.shards[of.shard].table].name;
    const std::string what =
        who + ", " + (buffers.fusion.pooled ? "bags of '" + table + "' by " + name : "rows gathered by " + name);
    const std::vector<float> own = part_of(got, at, end), right = part_of(expected, at, end);
    const std::string difference = rounding.exact()
                                       ? difference_of(own, right, of.dim, what, chosen)
                                       : first_beyond(own, right, part_of(sizes, at, end), rounding, of.dim, what);
    if (!difference.empty()) return difference;
    at = end;
    first += of.bags;
  }
  if (got.size() == expected.size()) return {};
  return first_difference(got, expected, 1, who + ", vectors by " + name);
}

std::string compare_shards(RankOps& ops, const Program& program, const Reference& reference, int rank) {
  for (std::size_t index = 0; index < program.shards.size(); ++index) {
    const int shard = static_cast<int>(index);
    const Program::Shard& about = program.shards[index];
    const Reference::Chosen& chosen = reference.chosen_rows(rank, shard);
    const std::string difference = difference_of(
        ops.shard_rows(shard, numbers_of(chosen)), reference.shard_rows(rank, shard), about.columns(),
        "rank " + std::to_string(rank) + ", updated rows of '" + program.tables[about.table].name + "'", chosen);
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

std::string checked(RankRun& run, const IterationPrograms& programs, Rendezvous& rendezvous,
                    const ExecuteOptions& options) {
  const int iterations = options.iterations;
  const int rank = rendezvous.rank();
  const Program& program = programs.first();
  std::vector<LookupBuffers> lookups, last;  // with the most gradients, and of the last iteration
  for (const std::vector<LookupBuffers>& turns : lookup_buffers(programs, rank)) {
    lookups.push_back(most_returned(turns));
    last.push_back(turns[programs.turn(iterations - 1)]);
  }
  load_data(run.machine().ops(), program, lookups, rank);
  for (int iteration = 0; iteration < iterations; ++iteration) run.iterate(iteration, 1, iterations);
  Reference reference(programs, rank, iterations, options.check_bytes);
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
    difference = checked(run, programs, rendezvous, exact);
  });
  return difference;
}

}  // namespace shardsim
