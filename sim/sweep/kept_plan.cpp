#include "sim/sweep/kept_plan.h"

#include <algorithm>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/packed.h"
#include "base/workers.h"
#include "models/compute/compute_model.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "sim/engine/op_work.h"
#include "sim/lower/known_shares.h"
#include "sim/planning/prepared_case.h"
#include "sim/study/drawn_batches.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostClusters = 64;
constexpr std::size_t kMostPrograms = 256;
constexpr std::size_t kMostComputed = 16;                // of each Program
constexpr double kMostProgramBytes = 128.0 * (1 << 20);  // of all Programs together

// The latest of something made, each beside what it was made of. What was asked for last stays longest.
template <typename Made>
class Recent {
 public:
  // The one that `is_it` holds for; null where there is none.
  template <typename Is>
  Made* find(const Is& is_it) {
    const auto found = std::ranges::find_if(kept_, is_it);
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return &kept_.front();
  }
  Made& add(Made made, std::size_t most) {
    while (kept_.size() >= most) kept_.pop_back();
    return kept_.emplace_front(std::move(made));
  }
  // Drops those that were not asked for lately while `too_many` holds; the last one asked for stays.
  template <typename TooMany>
  void drop_while(const TooMany& too_many) {
    while (kept_.size() > 1 && too_many(kept_)) kept_.pop_back();
  }

 private:
  std::list<Made> kept_;
};

// All that the seconds of compute operations are made of, beside the Program.
struct ComputeInputs {
  GpuSpec gpu;
  HostSpec host;
  PcieSpec pcie;
  std::vector<FaultSpec> faults;
  Tree model;

  static ComputeInputs of(const Case& item) {
    return {item.cluster.gpu, item.cluster.host, item.cluster.pcie, item.cluster.faults, item.compute_model};
  }
  bool describe(const Case& item) const {
    const ClusterSpec& cluster = item.cluster;
    return gpu == cluster.gpu && host == cluster.host && pcie == cluster.pcie && faults == cluster.faults &&
           model == item.compute_model;
  }
};

struct Computed {
  ComputeInputs inputs;
  std::vector<OpWork> works;  // collectives are empty
};

// All that a Program is made of, beside the plan. Of a cluster the lowering takes its shape and what slows its hosts.
struct LoweringInputs {
  Workload workload;
  int nodes = 0, gpus = 0;
  double host_time_factor = 1;
  bool overlap = true, row_growth = false;
  LoadOptions load;
  std::optional<Software> software;

  static LoweringInputs of(const Case& item) {
    return {item.workload,
            item.cluster.nodes,
            item.cluster.gpu.count,
            item.cluster.host.time_factor,
            item.overlap,
            asks_row_growth(item.compute_model),
            item.load,
            item.software};
  }
  bool describe(const Case& item) const {
    return nodes == item.cluster.nodes && gpus == item.cluster.gpu.count &&
           host_time_factor == item.cluster.host.time_factor && overlap == item.overlap &&
           row_growth == asks_row_growth(item.compute_model) && load == item.load && software == item.software &&
           workload == item.workload;
  }
};

// Roughly what it takes in memory.
double bytes_of(const Program& program) {
  double numbers = static_cast<double>(program.ops.size()) * program.world_size * 4;
  for (const Program::Matrix& matrix : program.matrices) {
    numbers += static_cast<double>(matrix.bytes.units.size());
    for (const auto& row : matrix.bytes.dense) numbers += static_cast<double>(row.size());
  }
  return 8 * numbers;
}

struct Lowered {
  LoweringInputs inputs;
  Program program;
  double bytes = 0;
  Recent<Computed> computed{};
};

struct ReadyCluster {
  ClusterSpec spec;
  std::shared_ptr<const Cluster> cluster;
};

struct Simulated {
  double iteration_ms = 0;
  Utilisation limit;
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Simulated> auto& simulated) {
  visit(simulated.iteration_ms, simulated.limit.what, simulated.limit.share);
}

std::string network_name(const Case& item) {
  const Tree* const name = item.network.find("name");
  return name == nullptr ? "" : name->scalar;
}

}  // namespace

class KeptPlan::Store {
 public:
  explicit Store(Plan plan) : plan_(std::move(plan)) {}

  const Plan& plan() const { return plan_; }

  PointFigures figures(const Case& item) {
    if (item.job) throw input_error(item.place, "a kept plan beside other jobs", "Leave 'jobs' out");
    const std::shared_ptr<const Cluster> cluster = cluster_for(item.cluster);
    PointFigures figures;
    figures.memory_capacity = cluster->memory_per_rank().count;
    figures.memory_bytes = checked_memory(item, *cluster);
    const Simulated result = network_name(item) == "simgrid" ? apart(item, cluster) : simulated(item, cluster);
    figures.iteration_ms = result.iteration_ms;
    figures.limit = result.limit;
    const double samples =
        static_cast<double>(cluster->world_size()) * static_cast<double>(item.workload.batch_per_gpu);
    figures.samples_per_s = samples / (figures.iteration_ms * 1e-3);
    return figures;
  }

 private:
  std::shared_ptr<const Cluster> cluster_for(const ClusterSpec& spec) {
    const ReadyCluster* known = clusters_.find([&](const ReadyCluster& each) { return each.spec == spec; });
    if (known == nullptr) known = &clusters_.add({spec, std::make_shared<const Cluster>(spec)}, kMostClusters);
    return known->cluster;
  }

  // Of the fullest rank, as whoever makes a plan checks it.
  std::int64_t checked_memory(const Case& item, const Cluster& cluster) const {
    try {
      check_plan(plan_, item.workload, cluster, item.place);
      if (!item.constraints.by_table.empty())
        check_constraints(plan_, item.workload, item.constraints, "the plan that is kept");
      const auto model = make_memory_model(item.memory_model);
      check_memory(plan_, item.workload, cluster, *model);
      return std::ranges::max(memory_per_rank(plan_, item.workload, cluster, *model));
    } catch (const Error& error) {
      throw in_case(item, error);
    }
  }

  Lowered& lowered(const Case& item, const Cluster& cluster) {
    if (Lowered* const known = programs_.find([&](const Lowered& each) { return each.inputs.describe(item); }))
      return *known;
    LoweringOptions options = lowering_options(item, false);
    options.known = shares_for(item.workload.tables);
    Program program = lower(plan_, item.workload, cluster, options);
    const double bytes = bytes_of(program);
    Lowered& made = programs_.add({LoweringInputs::of(item), std::move(program), bytes}, kMostPrograms);
    programs_.drop_while([](const std::list<Lowered>& kept) {
      double all = 0;
      for (const Lowered& each : kept) all += each.bytes;
      return all > kMostProgramBytes;
    });
    return made;
  }

  // They know tables by their names, so they serve as long as all tables are the same.
  std::shared_ptr<KnownShares> shares_for(const std::vector<Table>& tables) {
    if (shares_ && tables_ == tables) return shares_;
    tables_ = tables;
    return shares_ = std::make_shared<KnownShares>();
  }

  static const std::vector<OpWork>& compute_works(Lowered& lowered, const Case& item, const Cluster& cluster) {
    Recent<Computed>& all = lowered.computed;
    if (const Computed* known = all.find([&](const Computed& each) { return each.inputs.describe(item); }))
      return known->works;
    const auto model = make_compute_model(item.compute_model);
    return all.add({ComputeInputs::of(item), expand_compute(lowered.program, cluster, *model)}, kMostComputed).works;
  }

  Simulated simulated(const Case& item, const std::shared_ptr<const Cluster>& cluster) {
    if (item.load.batches == LoadOptions::Batches::drawn) return drawn(item, cluster);
    Lowered& program = lowered(item, *cluster);
    std::vector<OpWork> works = compute_works(program, item, *cluster);
    expand_collectives(works, program.program, *cluster, item.algorithms);
    const SteadyIteration iteration =
        steady_iteration(program.program, *cluster, works, *make_network(item.network), engine_options(item));
    return {iteration.time.ms(), iteration.busiest};
  }

  // Every batch has a Program of its own: nothing is kept.
  Simulated drawn(const Case& item, const std::shared_ptr<const Cluster>& cluster) const {
    const Scenario scenario;
    const PreparedCase prepared(scenario, item, cluster, plan_);
    const DrawnSimulation simulation = simulate_drawn(prepared, false);
    return {simulation.figures.iteration_ms.mean, simulation.nearest.busiest};
  }

  Simulated apart(const Case& item, const std::shared_ptr<const Cluster>& cluster) {
    const auto run = [&] { return packed(simulated(item, cluster)); };
    return unpacked<Simulated>(run_in_workers({{item.name, run}}, {1, {}, {}}).front());
  }

  Plan plan_;
  Recent<ReadyCluster> clusters_;
  Recent<Lowered> programs_;
  std::vector<Table> tables_;
  std::shared_ptr<KnownShares> shares_;
};

KeptPlan::KeptPlan(Plan plan) : store_(std::make_unique<Store>(std::move(plan))) {}
KeptPlan::~KeptPlan() = default;
KeptPlan::KeptPlan(KeptPlan&&) noexcept = default;
KeptPlan& KeptPlan::operator=(KeptPlan&&) noexcept = default;

const Plan& KeptPlan::plan() const {
  return store_->plan();
}

PointFigures KeptPlan::figures(const Case& item) {
  return store_->figures(item);
}

}  // namespace shardsim
