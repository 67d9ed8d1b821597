#include "validate/execute/fusion/iteration_programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace shardsim {
namespace {

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
