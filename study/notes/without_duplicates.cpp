#include "study/notes/without_duplicates.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "study/notes/notes.h"

namespace shardsim {
namespace {

constexpr int kMostRanksAskedTwice = 64;
constexpr double kTellingSaving = 0.01;  // of an iteration

bool may_remove_duplicates(const Table& table) {
  return table.kind == TableKind::sequence && !table.index_dedup;
}

// Returns the bytes of exchanges of sequences in this role, over all ranks.
double bytes_exchanged(const Program& program, OpRole role) {
  double bytes = 0;
  for (const Op& op : program.ops) {
    if (op.role != role || program.fusions[static_cast<std::size_t>(op.fusion)].kind != TableKind::sequence) continue;
    const std::vector<std::vector<int>>& sets = program.groups.at(op.group);
    for (std::size_t set = 0; set < sets.size(); ++set) {
      const ByteMatrix matrix = resolve_matrix(program, op.matrix, op.matrix.per_set ? set : 0);
      const std::vector<std::int64_t> of_set = matrix.all_received(static_cast<int>(sets[set].size()));
      bytes += static_cast<double>(std::accumulate(of_set.begin(), of_set.end(), std::int64_t{0}));
    }
  }
  return bytes;
}

double of_vectors(const Program& program) {
  return bytes_exchanged(program, OpRole::exchange_output) + bytes_exchanged(program, OpRole::exchange_gradient);
}

double times_fewer(double before, double after) {
  return after > 0 ? before / after : 1;
}

}  // namespace

std::string fewer_text(double times) {
  return times < 1.095 ? fmt::format("{:.2f}", times) : fmt::format("{:.2g}", times);
}

bool asks_without_duplicates(const Case& item) {
  return !item.job && !item.load.drawn() && item.published.empty() && item.workload.embedding_kernels == "fused" &&
         item.cluster.nodes * item.cluster.gpu.count <= kMostRanksAskedTwice &&
         std::ranges::any_of(item.workload.tables, may_remove_duplicates);
}

std::optional<WithoutDuplicates> without_duplicates(const PreparedCase& prepared) {
  if (!asks_without_duplicates(prepared.item)) return std::nullopt;
  Case item = prepared.item;
  for (Table& table : item.workload.tables) table.index_dedup = table.kind == TableKind::sequence;
  const PreparedCase changed(prepared.scenario, item, prepared.shared_cluster(), prepared.plan);
  const Program &before = prepared.program(), &after = changed.program();
  return WithoutDuplicates{
      simulated_ms(changed),
      times_fewer(bytes_exchanged(before, OpRole::exchange_ids), bytes_exchanged(after, OpRole::exchange_ids)),
      times_fewer(of_vectors(before), of_vectors(after))};
}

// States the time that index_dedup would save, where that is telling.
Notes duplicates_note(const Known& known) {
  if (known.without_duplicates == nullptr) return {};
  const WithoutDuplicates& without = *known.without_duplicates;
  const double saved = 1 - without.iteration_ms / known.result->iteration_ms;
  if (saved < kTellingSaving) return {};
  return {fmt::format(
      "An id that a rank's batch has twice is exchanged twice. With 'index_dedup: true' in the workload, an option of "
      "TorchRec's sequence modules, sequences exchange {} times fewer ids and {} times fewer bytes of vectors "
      "and gradients: the iteration takes {:.4g} ms, {:.2g} % less, with this plan kept; planned anew it may take "
      "less.",
      fewer_text(without.fewer_ids), fewer_text(without.fewer_bytes), without.iteration_ms, 100 * saved)};
}

}  // namespace shardsim
