#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "plan/planner.h"
#include "plan/planners/tier_cut.h"

namespace shardsim {
namespace {

// HugeCTR's defaults (HugeCTR/src/parsers/create_embedding.cpp), except for kMostBatches: MLPerf's runs set the largest
// number of frequent categories to twice the batch.
constexpr double kMostRepeats = 0.01;
constexpr Bandwidth kAllReduce{130e9}, kAllToAll{190e9};
constexpr double kMostBatches = 2;

double positive(MapReader& options, std::string_view key, double usual) {
  return options.real(key, Bounds::above(0), usual);
}

// One vector travels per lookup of a row that is not replicated, so the tables must be sequences.
void refuse_pooled_tables(const Workload& workload) {
  for (const Table& table : workload.tables) {
    if (table.kind == TableKind::sequence) continue;
    throw input_error(table.place, "table '" + table.name + "' is pooled, but the hybrid embedding works on single ids",
                      "Make it a sequence (of average_length 1 with one id per sample), or take planner hugectr");
  }
}

std::uint64_t count(const RowMark& cut) {
  return std::accumulate(cut.begin(), cut.end(), std::uint64_t{0});
}

// HugeCTR's hybrid embedding, as MLPerf's DLRM was trained with from round v1.0 on (rules: docs/planners.md): the most
// frequent rows over all tables are replicated, all others are spread over the GPUs, row by row.
class HugectrHybrid : public Planner {
 public:
  explicit HugectrHybrid(MapReader& options) {
    if (options.has("frequent_categories")) {
      stated_ = static_cast<std::uint64_t>(options.count("frequent_categories"));
      return;  // the rules have no part in it, so their keys are refused
    }
    repeats_ = positive(options, "p_dup_max", kMostRepeats);
    all_reduce_ = options.rate("max_all_reduce_bandwidth", kAllReduce).bytes_per_second;
    all_to_all_ = options.rate("max_all_to_all_bandwidth", kAllToAll).bytes_per_second;
    efficiency_ = positive(options, "efficiency_bandwidth_ratio", 1);
    most_batches_ = positive(options, "max_num_frequent_categories", kMostBatches);
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    refuse_pooled_tables(workload);
    const MergedRows rows = merged_rows(workload);
    const std::uint64_t wanted = stated_.value_or(by_rule(rows, workload, cluster));
    const RowMark cut = rows.furthest(rows.none(), 0, [&](const RowMark& mark) { return count(mark) <= wanted; });
    if (context.host.listens()) {
      context.host.state("frequent_categories", static_cast<double>(count(cut)));
      context.host.state("share_of_frequent", share(rows, cut));
    }
    return tiered_plan({cut, rows.none()}, workload, cluster, context.seed);
  }

 private:
  // Expected occurrences in a sample from which on a row is frequent.
  double least_probability(const Workload& workload, const Cluster& cluster) const {
    const auto share_of_gpu = static_cast<double>(workload.batch_per_gpu);
    if (cluster.nodes() == 1) return std::sqrt(2 * repeats_ / (share_of_gpu * std::max(share_of_gpu - 1, 1.0)));
    const double nodes = cluster.nodes();
    const double per_batch = nodes * all_to_all_ / all_reduce_ * efficiency_ * nodes / (nodes - 1);
    return per_batch / (share_of_gpu * cluster.world_size());
  }

  // Rounded up to a multiple of the GPUs, as long as there are that many rows.
  std::uint64_t by_rule(const MergedRows& rows, const Workload& workload, const Cluster& cluster) const {
    const auto world = static_cast<std::uint64_t>(cluster.world_size());
    const double batch = static_cast<double>(workload.batch_per_gpu) * static_cast<double>(world);
    const double most = std::min(most_batches_ * batch, 1e15);
    const std::uint64_t frequent =
        std::min(count(rows.at_least(least_probability(workload, cluster))), static_cast<std::uint64_t>(most));
    const std::uint64_t rounded = (frequent + world - 1) / world * world;
    return rounded > count(rows.all()) ? rounded - world : rounded;
  }

  // The share of all lookups that goes to the rows in front of the cut.
  static double share(const MergedRows& rows, const RowMark& cut) {
    double found = 0, all = 0;
    for (std::size_t table = 0; table < rows.tables(); ++table) {
      found += rows.distribution(table).prefix(cut[table]);
      all += rows.distribution(table).total();
    }
    return all > 0 ? found / all : 0;
  }

  std::optional<std::uint64_t> stated_;
  double repeats_ = 0, efficiency_ = 0, most_batches_ = 0;
  double all_reduce_ = 0, all_to_all_ = 0;  // bytes per second
};

}  // namespace

std::unique_ptr<Planner> make_hugectr_hybrid(MapReader& options) {
  return std::make_unique<HugectrHybrid>(options);
}

}  // namespace shardsim
