#pragma once

#include <cstdint>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// One placement with what its sizes follow from, per source rank. Whole numbers (docs/lowering.md, "Whole numbers").
struct GroupMember {
  int shard = 0;  // index into Plan::placements and Program::shards
  const Placement* placement = nullptr;
  const Table* table = nullptr;
  AccessDistribution access;
  std::int64_t items = 0;          // X: ids in these rows
  std::int64_t weighted = 0;       // those of them that have a weight
  std::int64_t lengths = 0;        // features x batch
  std::int64_t vectors = 0;        // that the batch gets back: items of a sequence, bags of a pooled table
  std::int64_t row_bytes = 0;      // of its columns
  std::int64_t forward_bytes = 0;  // of one vector on the wire
  std::int64_t backward_bytes = 0;

  bool pooled() const { return table->kind == TableKind::pooled; }
  bool tier() const { return placement->rows() < table->rows; }
  // By position in the holders' list (of a replica group): 1 where rows are, 0 for an empty shard.
  std::vector<double> shares() const;
};

GroupMember make_member(int shard, const Placement& placement, const Workload& workload, bool observed_payload);

// Expected items of one rank's batch that fall into the placement's rows, rounded half up.
std::int64_t items_per_rank(const Placement& placement, const Workload& workload, const AccessDistribution& access,
                            bool observed_payload);

}  // namespace shardsim
