#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/compute/compute_model.h"
#include "sim/engine/op_work.h"
#include "sim/lower/draws/row_draws.h"
#include "study/scenario/scenario.h"

// The parts that a KeptPlan keeps, each together with all inputs from which it was made. `describe` says whether a case
// has the same inputs, and so would make the same.
namespace shardsim::kept {

// A cache of the results that were used last, each together with the inputs from which it was made.
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
  std::size_t size() const { return kept_.size(); }
  const Made& oldest() const { return kept_.back(); }
  void drop_oldest() { kept_.pop_back(); }
  template <typename Do>
  void each(const Do& act) const {
    std::ranges::for_each(kept_, act);
  }
  // Drops those that were not asked for lately while `too_many` holds; the last one asked for stays.
  template <typename TooMany>
  void drop_while(const TooMany& too_many) {
    while (kept_.size() > 1 && too_many(kept_)) kept_.pop_back();
  }

 private:
  std::list<Made> kept_;
};

// All inputs, besides the Program, on which the times of compute operations depend.
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

// All inputs, besides the plan, on which a Program depends. The lowering uses only a cluster's shape and what slows its
// hosts down.
struct LoweringInputs {
  Workload workload;
  int nodes = 0, gpus = 0;
  std::string device;
  double host_time_factor = 1;
  bool overlap = true, row_growth = false, row_tables = false;
  LoadOptions load;
  std::optional<Software> software;

  static LoweringInputs of(const Case& item) {
    return {item.workload,
            item.cluster.nodes,
            item.cluster.gpu.count,
            item.cluster.device,
            item.cluster.host.time_factor,
            item.overlap,
            asks_row_growth(item.compute_model),
            asks_tables(item.compute_model),
            item.load,
            item.software};
  }
  bool describe(const Case& item) const {
    return nodes == item.cluster.nodes && gpus == item.cluster.gpu.count && device == item.cluster.device &&
           host_time_factor == item.cluster.host.time_factor && overlap == item.overlap &&
           row_growth == asks_row_growth(item.compute_model) && row_tables == asks_tables(item.compute_model) &&
           load == item.load && software == item.software && workload == item.workload;
  }
};

// A Program of a case, with its rows where they lie in one draw.
struct Lowered {
  Program program;
  std::optional<RowDraws> draws{};  // those that it is typical of; none where one was asked for
  Recent<Computed> computed{};
  std::size_t bytes = 0;  // that it takes in memory, roughly
};

// All Programs of one case: some thirty, where its rows may lie differently.
struct LoweredCase {
  LoweringInputs inputs;
  std::optional<Lowered> typical{};  // as the load fixes it, or typically drawn
  std::map<int, Lowered> drawn{};    // by draw of where rows lie, for its spread alone
  std::size_t bytes = 0;             // of all of them
};

// All inputs, besides the Cluster, on which the loads of a reduction depend. Only reductions are kept: the bytes of an
// exchange change with the batch, whereas the gradients of replicated rows and of the dense part have the same size for
// every batch.
struct ReductionInputs {
  OpClass op_class = OpClass::all_reduce;
  std::int64_t bytes = 0, launch_ns = 0;
  int every = 1;  // iterations, each of which is charged with its part
  std::vector<std::int64_t> bytes_by_set;
  std::vector<std::vector<int>> sets;
  std::map<std::string, std::string> algorithms;

  static ReductionInputs of(const Op& op, const Program& program, const Case& item) {
    return {op.op_class,    op.bytes, op.launch_ns, op.every, op.bytes_by_set, program.groups.at(op.group),
            item.algorithms};
  }
  bool describe(const Op& op, const Program& program, const Case& item) const {
    return op_class == op.op_class && bytes == op.bytes && launch_ns == op.launch_ns && every == op.every &&
           bytes_by_set == op.bytes_by_set && sets == program.groups.at(op.group) && algorithms == item.algorithms;
  }
};

struct Reduction {
  ReductionInputs inputs;
  OpWork work;
};

struct ReadyCluster {
  ClusterSpec spec;
  std::shared_ptr<const Cluster> cluster;
  Recent<Reduction> reductions{};
};

}  // namespace shardsim::kept
