#include "study/sweep/point_simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/packed.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "plan/plan.h"
#include "plan/torchrec_types.h"
#include "study/planning/prepared_case.h"

namespace shardsim {

// The members of a plan, for the pipe between processes. Files have a form of their own (plan/plan_file.h).

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Bytes> auto& bytes) {
  visit(bytes.count);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Placement> auto& placement) {
  visit(placement.table, placement.row_begin, placement.row_end, placement.column_begin, placement.column_end,
        placement.strategy, placement.holders, placement.compute_kernel, placement.cache_load_factor, placement.most_l1,
        placement.l2, placement.bucket_rows);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Plan> auto& plan) {
  visit(plan.placements, plan.hash_seed, plan.modules, plan.idle_caches);
}

namespace {

int world_size_of(const Case& item) {
  return item.cluster.nodes * item.cluster.gpu.count;
}

constexpr std::size_t kMostPlansAhead = 1000;  // more are made by those who ask for them

// A plan, and for how many GPUs it was made.
struct MadePlan {
  Plan plan;
  int world_size = 0;
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<MadePlan> auto& made) {
  visit(made.plan, made.world_size);
}

// In the host memory of the node that has most rows there. Most plans have none, and need no Cluster to know it.
std::int64_t host_bytes_of(const Plan& plan, const Case& item) {
  const auto takes_some = [](const Placement& each) { return on_host(each) || each.l2.count > 0; };
  if (std::ranges::none_of(plan.placements, takes_some)) return 0;
  const auto model = make_memory_model(item.memory_model);
  const std::vector<double> nodes = host_memory_of_nodes(plan, item.workload, cluster_of(item), *model);
  return std::llround(std::ranges::max(nodes));
}

MadePlan made_plan(const Case& item, std::uint64_t seed) {
  return {make_plan(item, cluster_of(item), seed, {}), world_size_of(item)};
}

}  // namespace

PointSimulator::Kept& PointSimulator::keep(const KeptKey& key, Plan plan, int world_size) {
  return kept_.emplace(key, Kept{KeptPlan(std::move(plan), judge_, shares_), world_size}).first->second;
}

PointSimulator::Kept& PointSimulator::kept_for(std::size_t point) {
  const KeptKey key = cases_.kept_key(point);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
  if (const auto found = refused_.find(key); found != refused_.end()) throw Error(found->second);
  try {
    MadePlan made = made_plan(cases_.kept_case(point), sweep_.seed);
    return keep(key, std::move(made.plan), made.world_size);
  } catch (const Error& error) {
    refused_.emplace(key, error);
    throw;
  }
}

void PointSimulator::make_kept_plans(const std::vector<std::uint32_t>& points, const WorkerOptions& workers) {
  if (!sweep_.keep_plan) return;
  std::map<KeptKey, std::size_t> missing;  // one point of each
  for (const std::uint32_t point : points) {
    KeptKey key = cases_.kept_key(point);
    if (!kept_.contains(key)) missing.try_emplace(std::move(key), point);
    if (missing.size() > kMostPlansAhead) return;
  }
  std::vector<WorkerTask> tasks;
  for (const auto& each : missing) {
    const KeptKey& key = each.first;
    WorkerTask task;
    task.name = "the plan of " + sweep_.base.name;
    task.run = [this, point = each.second] { return packed(made_plan(cases_.kept_case(point), sweep_.seed)); };
    task.taken = [this, &key](std::string_view bytes) {
      MadePlan made = unpacked<MadePlan>(bytes);
      keep(key, std::move(made.plan), made.world_size);
    };
    // A process that died may have wanted memory: whoever asks for the plan tries again, and its points say so.
    task.failed = [this, &key](const Error& error) {
      if (error.failure() != Failure::run) refused_.emplace(key, error);
    };
    tasks.push_back(std::move(task));
  }
  run_in_workers(tasks, workers);
}

// The plan of a point: one that is kept, or made for this point, which may turn out to be that of the point before.
KeptPlan& PointSimulator::plan_for(const Case& item, std::size_t point) {
  if (!sweep_.keep_plan) {
    Plan plan = make_plan(item, cluster_of(item), sweep_.seed, {});
    if (!made_ || made_->plan() != plan) made_.emplace(std::move(plan), judge_, shares_);
    return *made_;
  }
  Kept& kept = kept_for(point);
  if (world_size_of(item) == kept.world_size) return kept.plan;
  throw input_error(
      {},
      fmt::format("the kept plan was made for {} GPUs, but this point has {}", kept.world_size, world_size_of(item)),
      "Leave 'keep_plan' out if the number of GPUs changes");
}

PointResult PointSimulator::simulated(std::size_t point) {
  const Case item = cases_.at(point);
  KeptPlan* plan = nullptr;
  PointFigures figures = done_in_case(item, [&] {
    plan = &plan_for(item, point);
    return plan->figures(item);
  });
  PointResult result;
  result.world_size = world_size_of(item);
  result.batch_per_gpu = item.workload.batch_per_gpu;
  result.iteration_ms = figures.iteration_ms;
  result.interval = std::move(figures.interval);
  result.samples_per_s = figures.samples_per_s;
  result.memory_bytes = figures.memory_bytes;
  result.peak_bytes = figures.peak_bytes;
  result.buffers_counted = figures.buffers_counted;
  result.host_bytes = host_bytes_of(plan->plan(), item);
  result.memory_capacity = figures.memory_capacity;
  result.beyond_torchrec = beyond_torchrec(plan->plan(), item.workload, row_ranks(item.workload, item.cluster));
  result.limited_by = figures.limit.what;
  result.limit_share = figures.limit.share;
  if (item.cluster.cost_per_gpu_hour) result.cost_per_hour = *item.cluster.cost_per_gpu_hour * result.world_size;
  result.currency = item.cluster.currency;
  return result;
}

std::optional<WithoutDuplicates> PointSimulator::without_duplicates(std::size_t point) {
  const Case item = cases_.at(point);
  if (!asks_without_duplicates(item)) return std::nullopt;
  return done_in_case(item, [&] {
    const Scenario scenario;
    return shardsim::without_duplicates({scenario, item, cluster_of(item), plan_for(item, point).plan()});
  });
}

PointResult PointSimulator::simulate(std::size_t point) {
  PointResult result;
  try {
    result = simulated(point);
  } catch (const Error& error) {
    using Outcome = PointResult::Outcome;
    result.outcome = error.failure() == Failure::infeasible ? Outcome::does_not_fit : Outcome::failed;
    result.message = error.what();
  } catch (const std::bad_alloc&) {
    result.outcome = PointResult::Outcome::failed;
    result.message = out_of_memory().what();
  } catch (const std::exception& error) {
    result.outcome = PointResult::Outcome::failed;
    result.message = error.what();
  }
  result.point = static_cast<std::uint32_t>(point);
  result.sweep = digest_;
  return result;
}

}  // namespace shardsim
