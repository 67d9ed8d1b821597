#pragma once

#include <string>
#include <vector>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

// The bytes of some equal shards of one table, step by step.
struct ShardExplanation {
  int first = 0, count = 0;  // shards, in the option's order
  std::vector<int> ranks;    // that hold them
  std::int64_t rows = 0, cols = 0;
  ShardStorage storage;
};

struct TableExplanation {
  const TableSpec* table = nullptr;
  const ShardingOption* option = nullptr;
  TableStorage stored;
  BatchLoad load;
  double inputs_per_shard = 0;
  std::vector<ShardExplanation> shards;  // of one size each
};

// Of every table of a found plan, in its order. `run` outlives it.
std::vector<TableExplanation> explain(const RunResult& run, const RunSettings& settings);

// An overview, and the steps of each table. Tables that are equal in every figure are one entry there; figures are of
// one of them. `statistics` has the same tables.
std::string explanation_text(const std::vector<TableExplanation>& tables, const Statistics& statistics);
std::string explanation_json(const std::vector<TableExplanation>& tables);  // a JSON list

}  // namespace shardsim::torchrec
