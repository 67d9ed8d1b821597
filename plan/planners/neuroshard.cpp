#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "plan/check.h"
#include "plan/column_shards/column_search.h"
#include "plan/column_shards/cost_source.h"
#include "plan/planner.h"

namespace shardsim {
namespace {

// NeuroShard (Zha et al., MLSys 2023): tables are cut into halves of their columns and dealt to single ranks, so that a
// predicted iteration of lookups, updates and exchanges is short.
class Neuroshard : public Planner {
 public:
  explicit Neuroshard(MapReader& options) : costs_(options) {
    as_published_ = options.flag("as_published", false);
    search_.extended = !as_published_;
    search_.candidates = number(options, "candidates", 1, 10);
    search_.beam = number(options, "beam", 1, 3);
    search_.rounds = number(options, "rounds", 0, 10);
    search_.grid.scales = number(options, "grid", 0, 11);
    search_.grid.caching = options.flag("cache", true);
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    costs_.check(workload, cluster, context);
    const auto shard_costs = costs_.shard_costs(workload, cluster, context);
    const auto plan_costs = costs_.plan_costs(cluster, context, !as_published_ && workload.pipeline == "none");
    PieceKinds kinds(workload, cluster, context, {false, as_published_}, shard_costs.get(), plan_costs.get());
    const auto memory = static_cast<double>(cluster.memory_per_rank().count);
    ColumnSearch search(kinds, *shard_costs, *plan_costs, slowness(cluster), memory, search_);
    const PieceList best = search.best(first_pieces(workload, kinds, memory), [&] { context.host.stop_if_asked(); });
    if (best.rank_of.empty()) throw no_plan(best, workload, kinds);
    state(best, search.counts(), context);
    return plan_of(best, workload, kinds, context.seed);
  }

 private:
  static int number(MapReader& options, std::string_view key, std::int64_t least, std::int64_t fallback) {
    constexpr std::int64_t kMostTries = 1000;
    return static_cast<int>(options.count(key, Bounds::from(static_cast<double>(least)).to(kMostTries), fallback));
  }

  // Whole tables; those that take more than half of what is left on a rank are halved until they do not, for the search
  // halves but a few.
  std::vector<TablePiece> first_pieces(const Workload& workload, PieceKinds& kinds, double memory) const {
    std::vector<TablePiece> pieces;
    for (std::size_t table = 0; table < workload.tables.size(); ++table) {
      pieces.push_back({kinds.whole_table(table), static_cast<std::uint32_t>(table)});
      memory -= kinds[pieces.back().kind].everywhere;
    }
    for (std::size_t i = 0; i < pieces.size() && !as_published_; ++i) {
      while (kinds[pieces[i].kind].bytes > memory / 2 && kinds[pieces[i].kind].splits) {
        pieces[i].kind = kinds.half_of(pieces[i].kind);
        pieces.push_back(pieces[i]);
      }
    }
    return pieces;
  }

  static void state(const PieceList& best, const SearchCounts& counts, const PlannerContext& context) {
    context.host.state("cost_ms", best.seconds * 1e3);
    context.host.state("searches", static_cast<double>(counts.searches));
    context.host.state("passes", static_cast<double>(counts.passes));
    context.host.state("predictions", static_cast<double>(counts.predictions));
    context.host.state("cache_hits", static_cast<double>(counts.known));
    if (counts.asked == 0) return;
    context.host.state("cache_hit_rate", static_cast<double>(counts.known) / static_cast<double>(counts.asked));
  }

  // The pieces of a table take its columns in the order of their list.
  static Plan plan_of(const PieceList& list, const Workload& workload, const PieceKinds& kinds, std::uint64_t seed) {
    std::vector<std::vector<std::size_t>> of_table(workload.tables.size());
    for (std::size_t i = 0; i < list.pieces.size(); ++i) of_table[list.pieces[i].table].push_back(i);
    Plan plan;
    plan.hash_seed = seed;
    for (std::size_t table = 0; table < of_table.size(); ++table) {
      std::int64_t begin = 0;
      for (const std::size_t i : of_table[table]) {
        const int kind = list.pieces[i].kind;
        plan.placements.push_back(kinds.placement(table, kind, begin, list.rank_of[i]));
        begin += kinds[kind].columns;
      }
    }
    return plan;
  }

  static Error no_plan(const PieceList& list, const Workload& workload, const PieceKinds& kinds) {
    std::vector<std::pair<std::string, double>> tables;
    for (const TablePiece& piece : list.pieces) {
      tables.emplace_back(workload.tables[piece.table].name, kinds[piece.kind].bytes);
    }
    const std::string largest = largest_tables_text(std::move(tables));
    const Bytes more{static_cast<std::int64_t>(list.over.fullest) + 1};
    if (list.over.all <= 0) {
      return {Failure::infeasible, Place{}, "no plan was found; the largest pieces: " + largest,
              "Leave as_published out: then tables that are large for a GPU are cut first"};
    }
    return {Failure::infeasible, Place{},
            "no plan of column slices fits: the best one found has " +
                to_text(Bytes{static_cast<std::int64_t>(list.over.all) + 1}) +
                " too many, the largest pieces: " + largest,
            "With " + to_text(more) + " more memory per GPU it fits; or take more GPUs, or a planner that cuts rows"};
  }

  CostSource costs_;
  bool as_published_ = false;
  ColumnSearchOptions search_;
};

}  // namespace

std::unique_ptr<Planner> make_neuroshard(MapReader& options) {
  return std::make_unique<Neuroshard>(options);
}

}  // namespace shardsim
