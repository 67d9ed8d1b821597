#include "plan/planners/plan_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "base/tree/map_reader.h"

namespace shardsim {
namespace {

// The workload without its tables. There may be as many parts as tables, so each part gets a copy of this and its own
// tables alone.
Workload without_tables(Workload workload) {
  workload.tables.clear();
  workload.sources.clear();
  return workload;
}

// Those of the part's own tables, and those for all that are not named: planners refuse names that they do not know.
Constraints constraints_of_part(const Constraints& constraints, const Workload& own) {
  Constraints some;
  const auto take = [&](const std::string& name) {
    const auto found = constraints.by_table.find(name);
    if (found != constraints.by_table.end()) some.by_table.insert(*found);
  };
  take("*");
  for (const Table& table : own.tables) take(table.name);
  return some;
}

// Memory that the parts planned so far take: bytes of each rank, and of each node's host memory.
class TakenMemory {
 public:
  TakenMemory(const Cluster& cluster, const MemoryModel& model)
      : cluster_(cluster), model_(model), device_(cluster.world_size(), 0.0), host_(cluster.nodes(), 0.0) {}

  void add(const Plan& plan, const Workload& own) {
    for (const Placement& placement : plan.placements) {
      const std::vector<PlacementMemory> memory = model_.on_ranks(placement, own, cluster_);
      for (std::size_t rank = 0; rank < memory.size(); ++rank) {
        device_[rank] += memory[rank].static_bytes + memory[rank].dynamic_bytes;
        host_[static_cast<std::size_t>(cluster_.node_of(static_cast<int>(rank)))] += memory[rank].host_bytes;
      }
    }
  }

  Bytes on_fullest_rank() const { return largest(device_); }
  Bytes on_fullest_node() const { return largest(host_); }

 private:
  static Bytes largest(const std::vector<double>& bytes) {
    return {static_cast<std::int64_t>(std::min(std::ceil(*std::ranges::max_element(bytes)), 0x1.0p62))};
  }

  const Cluster& cluster_;
  const MemoryModel& model_;
  std::vector<double> device_, host_;
};

class PartsRun {
 public:
  PartsRun(std::span<const PlanPart> parts, const Workload& workload, const Cluster& cluster,
           const PlannerContext& context)
      : parts_(parts),
        workload_(workload),
        rest_(without_tables(workload)),
        cluster_(cluster),
        context_(context),
        taken_(cluster, context.memory) {
    for (const PlanPart& part : parts) ++alike_[part.planner];
  }

  Plan plan() {
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      const PlanPart& part = parts_[index];
      try {
        add(part, index);
      } catch (const Error& error) {
        throw named_error(error, part.name);
      }
    }
    sort_placements(whole_);
    return std::move(whole_);
  }

 private:
  Workload workload_of(const PlanPart& part) const {
    Workload own = rest_;
    for (const int table : part.tables) own.tables.push_back(workload_.tables[static_cast<std::size_t>(table)]);
    return own;
  }

  void add(const PlanPart& part, std::size_t index) {
    const Workload own = workload_of(part);
    std::optional<Cluster> rest;
    if (index > 0) rest = cluster_with_rest();
    const Plan plan = planned(part, index, own, rest ? *rest : cluster_);
    const auto cut = [](const Placement& placement) { return placement.strategy != Strategy::data_parallel; };
    if (std::ranges::any_of(whole_.placements, cut) && plan.hash_seed != whole_.hash_seed) {
      throw input_error({}, "its rows are spread by a hash of another seed than those of the parts before it",
                        "Give all parts the scenario's seed");
    }
    lift(plan, part, whole_);
    taken_.add(plan, own);
    check_room();
  }

  Plan planned(const PlanPart& part, std::size_t index, const Workload& own, const Cluster& cluster) const {
    std::optional<Constraints> constraints;
    if (context_.constraints != nullptr) constraints = constraints_of_part(*context_.constraints, own);
    const PartHost host(*this, part, index);
    const PlannerContext context{context_.memory, context_.seed, host,
                                 constraints ? &*constraints : context_.constraints};
    return part.made->plan(own, cluster, context);
  }

  // Turns questions about the part's plans into questions about the whole workload's, and says whose notes they are.
  class PartHost : public HostOver {
   public:
    PartHost(const PartsRun& whole, const PlanPart& part, std::size_t index)
        : HostOver(whole.context_.host), whole_(whole), part_(part) {
      const bool several = whole.alike_.at(part.planner) > 1;
      prefix_ = part.planner + (several ? fmt::format("_{}", index + 1) : "") + "_";
    }

    PlacementLoad load_of(const Placement& placement) const override {
      return below().load_of(in_whole(placement, part_));
    }
    IterationOutline outline_of(const Plan& plan) const override {
      return below().outline_of(whole_.lifted(plan, part_));
    }
    Seconds estimated(const Plan& plan) const override { return below().estimated(whole_.lifted(plan, part_)); }
    Seconds simulated(const Plan& plan) const override { return below().simulated(whole_.lifted(plan, part_)); }
    PlanTrial tried(const Plan& plan) const override {
      return whole_.beside_others(below().tried(whole_.lifted(plan, part_)));
    }
    void say(const std::string& text) const override { below().say(part_.name + ": " + text); }
    void state(const std::string& name, double value) const override { below().state(prefix_ + name, value); }

   private:
    const PartsRun& whole_;
    const PlanPart& part_;
    std::string prefix_;
  };

  // The cluster with the memory that is left everywhere. Its links' faults in a job's part are not those of the job,
  // and nobody who plans for memory looks at them.
  Cluster cluster_with_rest() const {
    ClusterSpec spec = cluster_.spec();
    const Bytes taken = taken_.on_fullest_rank();
    if (taken >= cluster_.memory_per_rank()) {
      throw Error(Failure::infeasible, {}, "the parts before it leave no memory on the fullest rank",
                  "Give the parts before it a smaller budget, or put this part first");
    }
    spec.gpu.hbm = spec.gpu.hbm - taken;
    if (spec.host.memory) spec.host.memory = std::max(Bytes{0}, *spec.host.memory - taken_.on_fullest_node());
    return Cluster(std::move(spec));
  }

  void check_room() const {
    refuse_beyond(taken_.on_fullest_rank(), cluster_.memory_per_rank(), "the fullest rank", "device memory");
    if (const auto& host = cluster_.spec().host.memory) {
      refuse_beyond(taken_.on_fullest_node(), *host, "the fullest node", "host memory");
    }
  }

  static void refuse_beyond(Bytes taken, Bytes room, const char* where, const char* memory) {
    if (taken <= room) return;
    throw Error(Failure::infeasible, {},
                fmt::format("with the parts before it {} needs {} of {}, {} over its {}", where, to_text(taken), memory,
                            to_text(taken - room), to_text(room)),
                "Give a part before it a smaller budget, or these tables a planner that needs less");
  }

  static Placement in_whole(Placement placement, const PlanPart& part) {
    placement.table = part.tables[static_cast<std::size_t>(placement.table)];
    return placement;
  }

  static void sort_placements(Plan& plan) {
    std::ranges::stable_sort(plan.placements, {}, [](const Placement& placement) {
      return std::tuple(placement.table, placement.row_begin, placement.column_begin);
    });
  }

  // A trial of the whole as the part sees it, from whose cluster the memory of the parts before it is gone.
  PlanTrial beside_others(PlanTrial trial) const {
    trial.peak_bytes -= taken_.on_fullest_rank().count;
    return trial;
  }

  // The plan of the part as one of the whole workload, with those of the parts before it.
  Plan lifted(const Plan& plan, const PlanPart& part) const {
    Plan whole = whole_;
    lift(plan, part, whole);
    sort_placements(whole);
    return whole;
  }

  // Adds the plan of the part to those of the parts before it, with the placements behind theirs.
  static void lift(const Plan& plan, const PlanPart& part, Plan& whole) {
    whole.hash_seed = plan.hash_seed;
    for (const Placement& placement : plan.placements) whole.placements.push_back(in_whole(placement, part));
    for (const auto& [table, path] : plan.modules) whole.modules[part.tables[static_cast<std::size_t>(table)]] = path;
    for (const int table : plan.idle_caches) whole.idle_caches.push_back(part.tables[static_cast<std::size_t>(table)]);
  }

  std::span<const PlanPart> parts_;
  const Workload& workload_;
  const Workload rest_;
  const Cluster& cluster_;
  const PlannerContext& context_;
  std::map<std::string, int> alike_;  // how many parts each planner has
  TakenMemory taken_;
  Plan whole_;  // of the parts planned so far, one behind the other
};

}  // namespace

Plan plan_in_parts(std::span<const PlanPart> parts, const Workload& workload, const Cluster& cluster,
                   const PlannerContext& context) {
  const bool all_in_one = parts.size() == 1 && parts.front().tables.size() == workload.tables.size();
  if (all_in_one) return parts.front().made->plan(workload, cluster, context);
  return PartsRun(parts, workload, cluster, context).plan();
}

}  // namespace shardsim
