#pragma once

#include <map>
#include <string>

#include "models/learned/label_sets.h"
#include "plan/placement_load.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The work that the fused lookups and updates of a shard ask of a device, in the lowering's own numbers.
class ShardWork {
 public:
  // Takes the lookups and updates of one more placement.
  void add(const PlacementLoad& load);
  ComputeWork lookup() const { return merged(ComputeWork::Kind::lookup); }
  ComputeWork update() const { return merged(ComputeWork::Kind::update); }
  // Operations of one key are one kernel call.
  ShardSeconds seconds(const ComputeModel& compute, const GpuSpec& gpu) const;

 private:
  ComputeWork merged(ComputeWork::Kind kind) const;
  std::map<std::string, ComputeWork> ops_;
};

// The work of shards whose tables serve `batch` samples, on the first rank of a cluster. Pieces are lowered once.
// `by_table`: with what each table does, which compute models that go table by table ask for (asks_tables()).
// Errors (Failure::input): a batch that the ranks of the cluster cannot share evenly.
class ShardWorks {
 public:
  ShardWorks(const Workload& workload, std::int64_t batch, const Cluster& cluster, bool by_table = false);
  ShardWork of(const Shard& shard);

 private:
  const PlacementLoad& load_of(const ShardPiece& piece);

  Workload workload_;
  const Cluster& cluster_;
  bool by_table_;
  std::map<ShardPiece, PlacementLoad> loads_;
};

// Seconds of each rank of the exchange by the collective model, alone on ranks 0, 1, ... of the cluster: the forward
// one begins when the last rank does, so a rank's seconds hold its waiting. Vectors are fp32.
// Errors (Failure::input): a cluster with fewer GPUs, a batch that the ranks cannot share evenly.
ExchangeSeconds closed_form_exchange(const Exchange& exchange, std::int64_t batch, const Cluster& cluster);

}  // namespace shardsim
