#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "plan/planners/hugectr_search.h"
#include "plan/planners/steps.h"

namespace shardsim {
namespace {

constexpr Bytes kMemoryCap{60'000'000'000};
constexpr double kRatioOfGpus = 7, kRatioOfNodes = 67;  // as NVIDIA's runs on H100 set it
constexpr double kLargestRatio = 1e6;

// Weights and optimizer state of the whole table.
double bytes_of(const Table& table, const Workload& workload) {
  const std::int64_t row = table.row_bytes() + optimizer_row_bytes(workload.optimizer, table.dim);
  return static_cast<double>(table.rows) * static_cast<double>(row);
}

// HugeCTR's planner of embedding collections, as MLPerf's DLRM-DCNv2 was trained with (rules: docs/planners.md). Every
// table is data-parallel, or cut by rows over the GPUs of its buckets, in ascending order; a table of one GPU is a cut
// into one shard, since all of them share their exchanges there.
class Hugectr : public Planner {
 public:
  explicit Hugectr(MapReader& options)
      : mode_(options.choice("mode", {"auto", "hier_auto", "round_robin", "uniform"}, "auto")),
        place_(options.tree().place) {
    if (mode_ == "round_robin" && options.has("distributed")) read_distributed(options);
    if (!searches()) return;
    const double usual = mode_ == "auto" ? kRatioOfGpus : kRatioOfNodes;
    ratio_ = options.real("bandwidth_ratio", Bounds::from(0).to(kLargestRatio), usual);
    threshold_ = static_cast<double>(options.bytes("data_parallel_threshold", Bytes{0}).count);
    if (options.has("memory_cap")) cap_ = options.bytes("memory_cap");
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::vector<std::vector<int>> buckets = mode_ == "hier_auto" ? node_groups(cluster) : single(cluster);
    if (mode_ == "hier_auto" && buckets.size() < 2) {
      throw input_error(place_, "planner hugectr: the mode hier_auto needs several nodes",
                        "Take more nodes, or mode: auto");
    }
    std::vector<std::vector<int>> holders(workload.tables.size());  // buckets of each table; none: data-parallel
    if (searches()) {
      holders = searched(workload, buckets, capacity(cluster), context);
    } else {
      holders = dealt(workload, cluster);
    }
    return plan_of(workload, cluster, buckets, holders, context.seed);
  }

 private:
  bool searches() const { return mode_ == "auto" || mode_ == "hier_auto"; }

  void read_distributed(MapReader& options) {
    for (const Tree& name : options.list("distributed"))
      distributed_.emplace_back(scalar_text(name, "a table"), name.place);
  }

  // Every table on all GPUs, or one after the other on the next GPU, but for those that are distributed.
  std::vector<std::vector<int>> dealt(const Workload& workload, const Cluster& cluster) const {
    std::vector<std::vector<int>> holders;
    for (const Table& table : workload.tables) {
      const bool all = mode_ == "uniform" || std::ranges::count(distributed_, table.name, &NamedPlace::first) > 0;
      const auto next = static_cast<int>(holders.size()) % cluster.world_size();
      holders.push_back(all ? all_ranks(cluster.world_size()) : std::vector{next});
    }
    for (const auto& [name, place] : distributed_) {
      if (std::ranges::count(workload.tables, name, &Table::name) == 0)
        throw input_error(place, "planner hugectr: there is no table " + excerpt(name), "Name a table of the workload");
    }
    return holders;
  }

  static std::vector<std::vector<int>> single(const Cluster& cluster) {
    std::vector<std::vector<int>> ranks;
    for (const int rank : all_ranks(cluster.world_size())) ranks.push_back({rank});
    return ranks;
  }

  double capacity(const Cluster& cluster) const {
    const Bytes usual{std::min(kMemoryCap.count, cluster.memory_per_rank().count)};
    return static_cast<double>(cap_.value_or(usual).count);
  }

  // `capacity`: bytes of one GPU.
  std::vector<std::vector<int>> searched(const Workload& workload, const std::vector<std::vector<int>>& buckets,
                                         double capacity, const PlannerContext& context) const {
    std::vector<BucketTable> tables;
    double room = capacity * static_cast<double>(buckets.front().size());
    for (std::size_t table = 0; table < workload.tables.size(); ++table) {
      const double bytes = bytes_of(workload.tables[table], workload);
      if (bytes < threshold_) {
        room -= bytes;
      } else {
        tables.push_back({static_cast<int>(table), workload.tables[table].distribution().total(), bytes});
      }
    }
    const std::optional<BucketPlan> best = search_buckets(
        tables,
        {static_cast<int>(buckets.size()), ratio_ / kCommunicationWork, room, [&] { context.host.stop_if_asked(); }});
    if (!best) throw no_room(buckets.size(), room);
    if (!tables.empty()) context.host.state("largest_bucket_cost", best->largest_cost);
    std::vector<std::vector<int>> holders(workload.tables.size());
    for (std::size_t i = 0; i < tables.size(); ++i) {
      holders[static_cast<std::size_t>(tables[i].table)] = best->buckets_of[i];
    }
    return holders;
  }

  Error no_room(std::size_t buckets, double room) const {
    const Bytes left{static_cast<std::int64_t>(std::max(room, 0.0))};
    return {Failure::infeasible, place_,
            fmt::format("planner hugectr: the tables do not fit into {} buckets of {}, however they are cut", buckets,
                        to_text(left)),
            "Take more GPUs, a larger memory_cap, or a smaller data_parallel_threshold"};
  }

  static Plan plan_of(const Workload& workload, const Cluster& cluster, const std::vector<std::vector<int>>& buckets,
                      const std::vector<std::vector<int>>& holders, std::uint64_t seed) {
    Plan plan;
    plan.hash_seed = seed;
    for (std::size_t table = 0; table < holders.size(); ++table) {
      std::vector<int> ranks;
      for (const int bucket : holders[table]) {
        const std::vector<int>& of_bucket = buckets[static_cast<std::size_t>(bucket)];
        ranks.insert(ranks.end(), of_bucket.begin(), of_bucket.end());
      }
      const Strategy strategy = ranks.empty() ? Strategy::data_parallel : Strategy::row_wise;
      if (ranks.empty()) ranks = all_ranks(cluster.world_size());
      plan.placements.push_back(
          whole_table(static_cast<int>(table), workload.tables[table], strategy, {std::move(ranks)}));
    }
    return plan;
  }

  using NamedPlace = std::pair<std::string, Place>;

  std::string mode_;
  Place place_;
  std::vector<NamedPlace> distributed_;  // tables that round_robin cuts over all GPUs
  double ratio_ = 0, threshold_ = 0;     // bytes
  std::optional<Bytes> cap_;             // of one GPU
};

}  // namespace

std::unique_ptr<Planner> make_hugectr(MapReader& options) {
  return std::make_unique<Hugectr>(options);
}

}  // namespace shardsim
