#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "plan/planners/steps.h"

namespace shardsim {
namespace {

// One piece of a table: its elements, and the table.
using Piece = std::pair<double, std::size_t>;

// Placement of NVIDIA-Merlin/distributed-embeddings, strategy "memory_balanced" (dist_model_parallel.py at c6b2e2f):
// a table with more than `threshold` elements is cut into the least power of two of column slices that are not larger,
// at most as many as ranks or columns; all pieces, largest first and among equals the last table first, are dealt to
// the ranks there and back. Every piece is column-wise, so that all share one exchange as they do there.
class MemoryBalanced : public Planner {
 public:
  explicit MemoryBalanced(double threshold) : threshold_(threshold) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::int64_t together = columns_together(context.host);
    const std::vector<std::vector<int>> ranks = deal(workload, cluster.world_size(), together);
    Plan plan;
    plan.hash_seed = context.seed;
    for (std::size_t t = 0; t < ranks.size(); ++t) {
      const std::vector<ColumnSlice> slices =
          column_slices(workload.tables[t].dim, 1, static_cast<std::int64_t>(ranks[t].size()), together);
      for (std::size_t i = 0; i < slices.size(); ++i) {
        add_slice(plan, workload, t, Strategy::column_wise, {ranks[t][i]}, slices[i]);
      }
    }
    return plan;
  }

 private:
  std::int64_t slices_of(const Table& table, int world) const {
    double elements = static_cast<double>(table.rows) * static_cast<double>(table.dim);
    std::int64_t slices = 1;
    for (; threshold_ > 0 && elements > threshold_; elements /= 2) slices *= 2;
    return std::min({slices, static_cast<std::int64_t>(world), table.dim});
  }

  std::vector<Piece> pieces_of(const Workload& workload, int world, std::int64_t together) const {
    std::vector<Piece> pieces;
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      const Table& table = workload.tables[t];
      for (const ColumnSlice& slice : column_slices(table.dim, 1, slices_of(table, world), together)) {
        pieces.emplace_back(static_cast<double>(table.rows) * static_cast<double>(slice.end - slice.begin), t);
      }
    }
    std::ranges::sort(pieces, std::greater<>());
    return pieces;
  }

  // The ranks of each table's slices, lowest first: a rank takes the next columns that are left.
  std::vector<std::vector<int>> deal(const Workload& workload, int world, std::int64_t together) const {
    std::vector<std::vector<int>> ranks(workload.tables.size());
    const std::vector<Piece> pieces = pieces_of(workload, world, together);
    const auto turn = static_cast<std::size_t>(2 * world);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto at = static_cast<int>(i % turn);
      ranks[pieces[i].second].push_back(std::min(at, 2 * world - 1 - at));
    }
    for (std::vector<int>& of_table : ranks) std::sort(of_table.begin(), of_table.end());
    return ranks;
  }

  double threshold_;  // elements; 0: none
};

}  // namespace

std::unique_ptr<Planner> make_memory_balanced(MapReader& options) {
  const bool stated = options.has("column_slice_threshold");
  return std::make_unique<MemoryBalanced>(stated ? static_cast<double>(options.count("column_slice_threshold")) : 0);
}

}  // namespace shardsim
