#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/tree/map_reader.h"
#include "models/workload/workload.h"
#include "plan/flexshard_equations.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Bytes that one placement takes on each rank that holds it, and why.
struct PlacementMemory {
  double static_bytes = 0;   // weights, with what the model adds per replicated row
  double dynamic_bytes = 0;  // activations held at the peak
  double host_bytes = 0;     // rows with their optimizer states in the memory of the rank's node, not in the GPU's
  // Parts of static_bytes, where the model tells them apart (torchrec does).
  double optimizer_bytes = 0, cache_bytes = 0;

  PlacementMemory& operator+=(const PlacementMemory& other);
};

// Bytes per rank of a plan.
// Contract: pure; additive over placements; every rank of the world gets a number.
class MemoryModel {
 public:
  virtual ~MemoryModel() = default;
  virtual std::vector<PlacementMemory> on_ranks(const Placement& placement, const Workload& workload,
                                                const Cluster& cluster) const = 0;  // by rank
  PlacementMemory on_rank(const Placement& placement, int rank, const Workload& workload, const Cluster& cluster) const;
  // True when activations and buffers are counted in addition to the rows of tables. If they are not, a plan that fits
  // may still run out of memory.
  virtual bool counts_buffers() const { return true; }
  // The multiple of its own size that a replicated row counts, with its gradient and the states of the optimizer.
  virtual double replicated_row_factor() const { return 1; }
  // The parameters of the FlexShard equations, with their own bandwidths.
  CostParameters cost_parameters(const Workload& workload, const Cluster& cluster) const;

 private:
  // Overridden only if the numbers of copies differ from the defaults of the equations.
  virtual void set_copies(CostParameters& /*cost*/) const {}
};

using MemoryModelMaker = std::unique_ptr<MemoryModel>(MapReader& options);

struct MemoryModelEntry {
  std::string_view name;
  std::string_view help;
  MemoryModelMaker* make;
};

std::span<const MemoryModelEntry> memory_models();  // alphabetical

// Makes the implementation that `options` (a map with `name`) names. Errors: an unknown name (the known ones are
// listed), unknown options.
std::unique_ptr<MemoryModel> make_memory_model(const Tree& options);

// The memory that all placements of the plan take on one rank, part by part.
PlacementMemory memory_on_rank(const Plan& plan, int rank, const Workload& workload, const Cluster& cluster,
                               const MemoryModel& model);

// Bytes per rank, rounded up.
std::vector<std::int64_t> memory_per_rank(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                          const MemoryModel& model);

}  // namespace shardsim
