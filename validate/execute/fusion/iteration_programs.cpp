#include "validate/execute/fusion/iteration_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

using Counts = std::vector<std::vector<std::int64_t>>;  // [source][owner]

class DrawnSizes {
 public:
  DrawnSizes(Program& program, const Fusion& fusion, int batch) : program_(program), fusion_(fusion) {
    for (const std::vector<int>& set : program.groups.at(program.op(fusion.ids).group)) {
      of_sets_.emplace_back();
      for (const int rank : set) of_sets_.back().push_back(drawn_counts(program, fusion, rank, batch));
    }
  }

  // Exchanges from owners back to those who asked have the same sizes the other way round.
  void put() {
    put_matrix(fusion_.ids, false);
    put_matrix(fusion_.output, true);
    if (fusion_.gradient_exchange >= 0) put_matrix(fusion_.gradient_exchange, false);
    for (const Fusion::Part& part : fusion_.parts) {
      put_lookups(part.lookup);
      if (part.gradient >= 0) put_lookups(part.gradient);
    }
  }

 private:
  Op& op(int id) { return program_.ops[static_cast<std::size_t>(id)]; }

  void put_matrix(int id, bool back) {
    ByteMatrix drawn;
    drawn.kind = ByteMatrix::Kind::dense;
    drawn.unit_bytes = resolve_matrix(program_, op(id).matrix).unit_bytes;
    op(id).matrix = {static_cast<int>(program_.matrices.size()), back, of_sets_.size() > 1};
    for (std::size_t set = 0; set < of_sets_.size(); ++set) {
      drawn.dense = of_sets_[set];
      program_.matrices.push_back({"drawn_" + std::to_string(id) + "_" + std::to_string(set), drawn});
    }
  }

  void put_lookups(int id) {
    std::vector<double> lookups;
    for (const int rank : program_.ranks_of(op(id))) lookups.push_back(static_cast<double>(asked_of(rank)));
    op(id).lookups = {lookups};
  }

  std::int64_t asked_of(int rank) const {
    const Seat seat = seat_of(program_, program_.op(fusion_.ids), rank);
    std::int64_t asked = 0;
    for (const auto& of_source : of_sets_[seat.set]) asked += of_source[static_cast<std::size_t>(seat.position)];
    return asked;
  }

  Program& program_;
  const Fusion& fusion_;
  std::vector<Counts> of_sets_;
};

bool alike(const Op& a, const Op& b) {
  return a.name == b.name && a.op_class == b.op_class && a.role == b.role && a.fusion == b.fusion &&
         a.ranks == b.ranks && a.stream == b.stream && a.after == b.after && a.after_previous == b.after_previous &&
         a.group == b.group && a.shards == b.shards && a.optimizer == b.optimizer;
}

bool alike(const Program::Shard& a, const Program::Shard& b) {
  return static_cast<const Placement&>(a) == static_cast<const Placement&>(b) && a.tier == b.tier &&
         a.order == b.order && a.cut == b.cut;
}

template <typename Part>
bool all_alike(const std::vector<Part>& a, const std::vector<Part>& b) {
  return std::ranges::equal(a, b, [](const Part& one, const Part& other) { return alike(one, other); });
}

bool alike(const Program& a, const Program& b) {
  return a.world_size == b.world_size && a.ranks_per_node == b.ranks_per_node && a.id_bytes == b.id_bytes &&
         a.streams == b.streams && a.groups == b.groups && a.tables == b.tables && a.fusions == b.fusions &&
         all_alike(a.shards, b.shards) && all_alike(a.ops, b.ops);
}

// Who executes a Program has a host of its own.
void refuse_launches(const Program& program) {
  if (std::ranges::none_of(program.ops, [](const Op& op) { return op.op_class == OpClass::host; })) return;
  throw input_error({program.scenario},
                    "the program simulates a host (operations of class host), and is executed by one",
                    "Lower the case again without 'software'");
}

// Ranks draw ids to counts that the Program states. The number of different ones is known as a mean alone, which no
// draw meets, and the exchanges have fixed sizes.
void refuse_deduplication(const Program& program) {
  const auto found = std::ranges::find_if(program.tables, &Table::index_dedup);
  if (found == program.tables.end()) return;
  throw input_error({program.scenario},
                    fmt::format("table '{}' has index_dedup, which is simulated and cannot be executed", found->name),
                    "Lower the case again with index_dedup: false");
}

// Ranks keep rows in memory, and know of no store behind it.
void refuse_row_stores(const Program& program) {
  const auto found = std::ranges::find_if(program.ops, [](const Op& op) { return moves_stored_rows(op.role); });
  if (found == program.ops.end()) return;
  throw input_error({program.scenario},
                    fmt::format("operation {} '{}' moves rows of a key-value store, which is simulated and cannot be "
                                "executed",
                                found->id, found->name),
                    "Give its tables the compute kernel fused_uvm_caching, and lower the case again");
}

}  // namespace

Program with_drawn_sizes(const Program& program, int batch) {
  Program drawn = program;
  for (const Fusion& fusion : fusions_of(program, {})) {
    if (!fusion.pooled && fusion.ids >= 0 && fusion.output >= 0) DrawnSizes(drawn, fusion, batch).put();
  }
  return drawn;
}

std::vector<Program> with_drawn_sizes_of(const Program& program, int iterations) {
  std::vector<Program> all;
  for (int batch = 0; batch < iterations; ++batch) all.push_back(with_drawn_sizes(program, batch));
  return all;
}

void check_iteration_programs(const IterationPrograms& programs) {
  refuse_launches(programs.first());
  refuse_row_stores(programs.first());
  refuse_deduplication(programs.first());
  if (programs.size() == 1) return;
  const Program& first = programs.first();
  for (std::size_t turn = 1; turn < programs.size(); ++turn) {
    if (!alike(first, programs[turn]))
      throw input_error({first.scenario},
                        fmt::format("the programs of iterations 0 and {} differ in more than sizes", turn),
                        "Lower all of them from one case");
  }
  if (std::ranges::any_of(first.ops, [](const Op& op) { return op.batches_ahead > 0; }))
    throw input_error({first.scenario}, "drawn batches under a pipeline cannot be executed",
                      "Take the workload's pipeline: none, or load: {batches: expected}");
}

}  // namespace shardsim
