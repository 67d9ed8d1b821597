#include "study/sweep/kept_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/packed.h"
#include "base/workers.h"
#include "models/compute/compute_model.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "plan/torchrec_types.h"
#include "sim/lower/draws/row_draws.h"
#include "sim/lower/known_shares.h"
#include "sim/memory/memory_profile.h"
#include "study/confidence/interval.h"
#include "study/planning/prepared_case.h"
#include "study/run/drawn_batches.h"
#include "study/sweep/kept_parts.h"

namespace shardsim {
namespace {

// The parts that are kept take some 100 MB at most of each kind, however large the worlds are.
constexpr std::size_t kMostClusters = 64;
constexpr int kMostClusterRanks = 1 << 15;      // of all Clusters together
constexpr std::size_t kMostReductions = 16;     // of each Cluster
constexpr std::size_t kMostLoweredCases = 256;  // of which there are Programs
constexpr std::size_t kMostComputed = 4;        // of each Program

struct Simulated {
  double iteration_ms = 0;
  Interval interval;
  Utilisation limit;
  std::int64_t peak_bytes = 0;
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Simulated> auto& simulated) {
  visit(simulated.iteration_ms, simulated.interval, simulated.limit.what, simulated.limit.share, simulated.peak_bytes);
}

// Roughly what it takes in memory.
std::size_t bytes_of(const kept::Lowered& lowered) {
  std::size_t numbers = 0;
  for (const Op& op : lowered.program.ops) {
    for (const PerRank* each :
         {&op.lookups, &op.bags, &op.hbm_bytes, &op.host_bytes, &op.flops, &op.distinct_rows, &op.distinct_growth,
          &op.row_bytes, &op.vector_bytes, &op.ssd_bytes, &op.ssd_reads, &op.memory_bytes})
      numbers += each->values.size();
    for (const OpTable& table : op.tables) numbers += table.lookups.values.size() + sizeof table / sizeof(double);
    numbers += sizeof op / sizeof(double);
  }
  for (const Program::Matrix& matrix : lowered.program.matrices) {
    numbers += matrix.bytes.units.size();
    for (const auto& row : matrix.bytes.dense) numbers += row.size();
  }
  for (const Program::Shard& shard : lowered.program.shards)
    numbers += shard.lookups.size() + sizeof shard / sizeof(double);
  lowered.computed.each([&](const kept::Computed& computed) {
    for (const OpWork& work : computed.works) numbers += work.seconds.size() + sizeof work / sizeof(double);
  });
  return numbers * sizeof(double);
}

std::string network_name(const Case& item) {
  const Tree* const name = item.network.find("name");
  return name == nullptr ? "" : name->scalar;
}

}  // namespace

class KeptPlan::Store {
 public:
  Store(Plan plan, std::shared_ptr<const IterationJudge> judge, std::shared_ptr<KeptShares> shares,
        std::size_t most_program_bytes)
      : plan_(std::move(plan)),
        judge_(std::move(judge)),
        shares_(std::move(shares)),
        most_program_bytes_(most_program_bytes) {
    if (!shares_) shares_ = std::make_shared<KeptShares>(KeptShares::Tried::kept);
  }

  const Plan& plan() const { return plan_; }

  PointFigures figures(const Case& item) {
    if (item.job) throw input_error(item.place, "keep_plan cannot be used with 'jobs'", "Leave 'jobs' out");
    kept::ReadyCluster& ready = cluster_for(item.cluster);
    const Cluster& cluster = *ready.cluster;
    PointFigures figures;
    figures.memory_capacity = cluster.memory_per_rank().count;
    figures.memory_bytes = checked_memory(item, cluster);
    Simulated result = network_name(item) == "simgrid" ? apart(item, ready) : simulated(item, ready);
    figures.iteration_ms = result.iteration_ms;
    figures.interval = std::move(result.interval);
    figures.limit = std::move(result.limit);
    figures.peak_bytes = result.peak_bytes;
    figures.buffers_counted = make_memory_model(item.memory_model)->counts_buffers();
    const double samples = static_cast<double>(cluster.world_size()) * static_cast<double>(item.workload.batch_per_gpu);
    figures.samples_per_s = samples / (figures.iteration_ms * 1e-3);
    return figures;
  }

 private:
  kept::ReadyCluster& cluster_for(const ClusterSpec& spec) {
    if (auto* const known = clusters_.find([&](const kept::ReadyCluster& each) { return each.spec == spec; }))
      return *known;
    kept::ReadyCluster& made = clusters_.add({spec, std::make_shared<const Cluster>(spec)}, kMostClusters);
    clusters_.drop_while([](const std::list<kept::ReadyCluster>& clusters) {
      int ranks = 0;
      for (const kept::ReadyCluster& each : clusters) ranks += each.cluster->world_size();
      return ranks > kMostClusterRanks;
    });
    return made;
  }

  // Returns the bytes of the fullest rank, as whoever makes a plan checks it.
  std::int64_t checked_memory(const Case& item, const Cluster& cluster) const {
    try {
      check_plan(plan_, item.workload, cluster, item.place);
      if (!item.constraints.by_table.empty())
        check_constraints(plan_, item.workload, item.constraints, row_ranks(item.workload, item.cluster),
                          "the plan that is kept");
      const auto model = make_memory_model(item.memory_model);
      const std::int64_t bytes = std::ranges::max(memory_per_rank(plan_, item.workload, cluster, *model));
      if (bytes > cluster.memory_per_rank().count || std::ranges::any_of(plan_.placements, on_host))
        check_memory(plan_, item.workload, cluster, *model);
      return bytes;
    } catch (const Error& error) {
      throw in_case(item, error);
    }
  }

  // The Programs of cases that were asked for lately are kept.
  kept::LoweredCase& programs_of(const Case& item) {
    const auto is_same = [&](const kept::LoweredCase& each) { return each.inputs.describe(item); };
    if (kept::LoweredCase* const known = cases_.find(is_same)) return *known;
    while (cases_.size() >= kMostLoweredCases) drop_oldest_case();
    return cases_.add({kept::LoweringInputs::of(item)}, kMostLoweredCases);
  }

  void drop_oldest_case() {
    case_bytes_ -= cases_.oldest().bytes;
    cases_.drop_oldest();
  }

  // Sums are kept up to date instead of taken anew: a sweep asks for them with every Program that it makes.
  void count(kept::LoweredCase& programs, kept::Lowered& lowered) {
    const std::size_t before = lowered.bytes;
    lowered.bytes = bytes_of(lowered);
    programs.bytes = programs.bytes - before + lowered.bytes;
    case_bytes_ = case_bytes_ - before + lowered.bytes;
  }

  // Cases other than the last one that was asked for make room for a Program of it.
  void make_room(std::size_t bytes) {
    while (cases_.size() > 1 && case_bytes_ + bytes > most_program_bytes_) drop_oldest_case();
  }

  kept::Lowered& typical(const Case& item, const Cluster& cluster) {
    kept::LoweredCase& programs = programs_of(item);
    if (programs.typical) return *programs.typical;
    const LoweringOptions options = planned_options(item);
    RowDraws draws(plan_, item.workload, cluster, options);
    Program program = lower(plan_, item.workload, cluster, draws.placed(options));
    kept::Lowered made{std::move(program), std::move(draws)};
    make_room(bytes_of(made));
    count(programs, programs.typical.emplace(std::move(made)));
    return *programs.typical;
  }

  // Where there is no room for all draws of the case, the first ones stay: whoever asks for one asks for all, in order.
  kept::Lowered& drawn_program(const Case& item, const Cluster& cluster, int draw) {
    kept::LoweredCase& programs = programs_of(item);
    if (const auto known = programs.drawn.find(draw); known != programs.drawn.end()) return known->second;
    kept::Lowered made{lower(plan_, item.workload, cluster, RowDraws::tried(planned_options(item), draw))};
    const std::size_t bytes = bytes_of(made);
    make_room(bytes);
    if (programs.bytes + bytes > most_program_bytes_) return unkept_ = std::move(made);
    kept::Lowered& added = programs.drawn.emplace(draw, std::move(made)).first->second;
    count(programs, added);
    return added;
  }

  LoweringOptions planned_options(const Case& item) {
    LoweringOptions options = lowering_options(item, false);
    options.known = shares_->of(item.workload.tables);
    return options;
  }

  const std::vector<OpWork>& compute_works(kept::Lowered& lowered, const ResolvedCase& resolved) {
    const Case& item = resolved.item;
    kept::Recent<kept::Computed>& all = lowered.computed;
    if (const kept::Computed* known = all.find([&](const kept::Computed& each) { return each.inputs.describe(item); }))
      return known->works;
    std::vector<OpWork> works = expand_compute(lowered.program, resolved.cluster, resolved.compute());
    const std::vector<OpWork>& added = all.add({kept::ComputeInputs::of(item), std::move(works)}, kMostComputed).works;
    if (&lowered != &unkept_) count(programs_of(item), lowered);
    return added;
  }

  static OpWork collective_work(const Op& op, const Program& program, const Case& item, kept::ReadyCluster& ready) {
    const auto expanded = [&] { return expand_collective_op(op, program, *ready.cluster, item.algorithms); };
    if (!op.matrix.empty()) return expanded();
    kept::Recent<kept::Reduction>& all = ready.reductions;
    if (const kept::Reduction* known =
            all.find([&](const kept::Reduction& each) { return each.inputs.describe(op, program, item); }))
      return known->work;
    return all.add({kept::ReductionInputs::of(op, program, item), expanded()}, kMostReductions).work;
  }

  Simulated simulated(const Case& item, kept::ReadyCluster& ready) {
    if (item.load.drawn()) return drawn(item, ready.cluster);
    const ResolvedCase resolved(item, ready.cluster);
    kept::Lowered& of_case = typical(item, *ready.cluster);
    const RowDraws& draws = *of_case.draws;
    const SteadyIteration iteration =
        resolved.steady(of_case.program, works_of(of_case, resolved, ready), *resolved.network());
    const std::int64_t peak =
        memory_profile(of_case.program, iteration.timeline, plan_, item.workload).highest().bytes();
    const double ms = iteration.time.ms();
    const std::vector<PathTime> path = path_times(of_case.program, iteration.path);
    const auto network = resolved.repeatable_network();
    DrawnSpread spread;
    const auto moved = [&] { return share_moved_by_rows(of_case.program, path, ms); };
    const auto time_of = [&](int draw) {
      kept::Lowered& of_draw = drawn_program(item, *ready.cluster, draw);
      return resolved.time(of_draw.program, works_of(of_draw, resolved, ready), *network).ms();
    };
    spread.placements = draws.log_times(time_of, moved);
    return {ms, judge_->wordless_interval(item, {ms, iteration.timeline, path, std::move(spread)}), iteration.busiest,
            peak};
  }

  std::vector<OpWork> works_of(kept::Lowered& of_case, const ResolvedCase& resolved, kept::ReadyCluster& ready) {
    const Case& item = resolved.item;
    of_case.program.case_name = item.name;  // for messages; cases of other names may share the Program
    const Program& program = of_case.program;
    std::vector<OpWork> works = compute_works(of_case, resolved);
    for (std::size_t at = 0; at < works.size(); ++at) {
      if (program.ops[at].is_collective()) works[at] = collective_work(program.ops[at], program, item, ready);
    }
    return works;
  }

  // Every batch has a Program of its own: nothing is kept.
  Simulated drawn(const Case& item, const std::shared_ptr<const Cluster>& cluster) const {
    const Scenario scenario;
    const PreparedCase prepared(scenario, item, cluster, plan_);
    const DrawnSimulation simulation = simulate_drawn(prepared, false);
    const auto& mean = simulation.figures.iteration_ms;
    const std::vector<PathTime> path = path_times(prepared.program(), simulation.nearest.path);
    const auto moved = [&] { return share_moved_by_rows(prepared.program(), path, mean.mean); };
    const JudgedIteration judged{mean.mean,
                                 simulation.nearest.timeline,
                                 path,
                                 {mean.standard_error / mean.mean, prepared.placement_log_times(moved)}};
    return {mean.mean, judge_->wordless_interval(item, judged), simulation.nearest.busiest,
            simulation.memory.highest().bytes()};
  }

  Simulated apart(const Case& item, kept::ReadyCluster& ready) {
    const auto run = [&] { return packed(simulated(item, ready)); };
    return unpacked<Simulated>(run_in_workers({{item.name, run}}, {1, {}, {}}).front());
  }

  Plan plan_;
  std::shared_ptr<const IterationJudge> judge_;
  kept::Recent<kept::ReadyCluster> clusters_;
  kept::Recent<kept::LoweredCase> cases_;
  std::size_t case_bytes_ = 0;  // of all of them
  kept::Lowered unkept_;        // the last Program for which there was no room
  std::shared_ptr<KeptShares> shares_;
  std::size_t most_program_bytes_;
};

KeptPlan::KeptPlan(Plan plan, std::shared_ptr<const IterationJudge> judge, std::shared_ptr<KeptShares> shares,
                   std::size_t most_program_bytes)
    : store_(std::make_unique<Store>(std::move(plan), std::move(judge), std::move(shares), most_program_bytes)) {}
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
