#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/units.h"
#include "plan/column_shards/cost_source.h"
#include "plan/column_shards/piece_kinds.h"
#include "plan/planner.h"

namespace shardsim {
namespace {

// A table to be placed.
struct ScoredTable {
  std::size_t table = 0;
  int kind = 0;
  double score = 0, bytes = 0;
};

// The published heuristics (daochenzha/neuroshard sharders.py at ec7ca74; Zha et al., MLSys 2023, appendix E.1; `cost`:
// AutoShard's search without its policy): tables by (score, size, index), the last first, each whole to the rank with
// the least sum of scores among those where it fits; of equal ones that with the fewest bytes, then the lowest. The sum
// of the score `cost` is what the rank's shard is predicted to take with the table in it.
class Greedy : public Planner {
 public:
  explicit Greedy(MapReader& options)
      : score_(options.choice("score", {"size", "dim", "lookup", "size_lookup", "size_lookup_paper", "cost"}, "cost")),
        costs_(options) {
    if (options.has("costs") && score_ != "cost") {
      throw input_error(options.place_of("costs"), "'costs' has no effect with the score " + score_,
                        "Take score: cost, or leave costs out");
    }
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    std::unique_ptr<ShardCosts> costs;
    if (score_ == "cost") {
      costs_.check(workload, cluster, context);
      costs = costs_.shard_costs(workload, cluster, context);
    }
    PieceKinds kinds(workload, cluster, context, {true, false}, costs.get(), nullptr);
    auto capacity = static_cast<double>(cluster.memory_per_rank().count);
    const std::vector<ScoredTable> tables = sorted_tables(workload, kinds, capacity);
    Deal deal(slowness(cluster), capacity, costs.get());
    std::vector<int> rank_of(workload.tables.size());
    for (const ScoredTable& table : tables) {
      const int rank = deal.place(table);
      if (rank < 0) throw does_not_fit(table, workload, deal);
      rank_of[table.table] = rank;
    }
    if (costs) context.host.state("largest_shard_ms", deal.largest_sum() * 1e3);
    return plan_of(rank_of, kinds, context.seed);
  }

 private:
  // Ranks while tables are dealt to them.
  class Deal {
   public:
    Deal(std::vector<double> slowness, double capacity, ShardCosts* costs)
        : slowness_(std::move(slowness)),
          capacity_(capacity),
          costs_(costs),
          bytes_(slowness_.size(), 0.0),
          sums_(slowness_.size(), 0.0),
          kinds_(slowness_.size()) {}

    // The rank that takes the table; -1: it fits nowhere.
    int place(const ScoredTable& table) {
      int chosen = -1;
      std::pair<double, double> least;
      for (std::size_t rank = 0; rank < bytes_.size(); ++rank) {
        if (bytes_[rank] + table.bytes > capacity_) continue;
        const std::pair sum{costs_ ? sum_with(rank, table) : sums_[rank], bytes_[rank]};
        if (chosen >= 0 && sum >= least) continue;
        chosen = static_cast<int>(rank);
        least = sum;
      }
      if (chosen >= 0) add(static_cast<std::size_t>(chosen), table);
      return chosen;
    }

    double largest_sum() const { return *std::ranges::max_element(sums_); }
    double missing(double bytes) const { return *std::ranges::min_element(bytes_) + bytes - capacity_; }

   private:
    double sum_with(std::size_t rank, const ScoredTable& table) {
      if (!costs_) return sums_[rank] + table.score;
      const int which = static_cast<int>(rank);
      costs_->clear(which);
      for (const int kind : kinds_[rank]) costs_->add(which, kind);
      costs_->add(which, table.kind);
      return costs_->seconds(which) * slowness_[rank];
    }

    void add(std::size_t rank, const ScoredTable& table) {
      sums_[rank] = sum_with(rank, table);
      bytes_[rank] += table.bytes;
      kinds_[rank].push_back(table.kind);
    }

    std::vector<double> slowness_;
    double capacity_;
    ShardCosts* costs_;
    std::vector<double> bytes_, sums_;     // by rank
    std::vector<std::vector<int>> kinds_;  // by rank
  };

  // The tables, largest first. The memory that they need on every rank is subtracted from `capacity`.
  std::vector<ScoredTable> sorted_tables(const Workload& workload, PieceKinds& kinds, double& capacity) const {
    std::vector<ScoredTable> tables;
    for (std::size_t table = 0; table < workload.tables.size(); ++table) {
      const int kind = kinds.whole_table(table);
      tables.push_back({table, kind, score(workload.tables[table], kinds[kind]), kinds[kind].bytes});
      capacity -= kinds[kind].everywhere;
    }
    std::ranges::sort(tables, [&](const ScoredTable& a, const ScoredTable& b) {
      return std::tuple(a.score, size_of(workload, a), a.table) > std::tuple(b.score, size_of(workload, b), b.table);
    });
    return tables;
  }

  static double size_of(const Workload& workload, const ScoredTable& item) {
    const Table& table = workload.tables[item.table];
    return static_cast<double>(table.rows) * static_cast<double>(table.row_bytes());
  }

  double score(const Table& table, const PieceKind& kind) const {
    const auto rows = static_cast<double>(table.rows), dim = static_cast<double>(table.dim);
    const double size = rows * static_cast<double>(table.row_bytes());
    const double lookups = dim * table.distribution().total();
    if (score_ == "cost") return kind.seconds;
    if (score_ == "size") return size;
    if (score_ == "dim") return dim;
    if (score_ == "lookup") return lookups;
    return score_ == "size_lookup" ? lookups * std::log10(rows) : lookups * size;
  }

  static Error does_not_fit(const ScoredTable& table, const Workload& workload, const Deal& deal) {
    const Bytes missing{static_cast<std::int64_t>(std::ceil(deal.missing(table.bytes)))};
    return {Failure::infeasible, Place{},
            "table '" + workload.tables[table.table].name + "' fits on no GPU: " + to_text(missing) +
                " are missing on the emptiest",
            "Take more memory, more GPUs, or a planner that cuts tables (neuroshard)"};
  }

  static Plan plan_of(const std::vector<int>& rank_of, PieceKinds& kinds, std::uint64_t seed) {
    Plan plan;
    plan.hash_seed = seed;
    for (std::size_t table = 0; table < rank_of.size(); ++table) {
      plan.placements.push_back(kinds.placement(table, kinds.whole_table(table), 0, rank_of[table]));
    }
    return plan;
  }

  std::string score_;
  CostSource costs_;
};

}  // namespace

std::unique_ptr<Planner> make_greedy(MapReader& options) {
  return std::make_unique<Greedy>(options);
}

}  // namespace shardsim
