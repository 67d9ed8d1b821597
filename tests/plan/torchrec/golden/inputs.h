#pragma once

#include "plan/torchrec/search/planner_run.h"
#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"
#include "tests/case_file/fields.h"

namespace shardsim::golden {

// The `topology` of a case, as the version of the planner knows it.
torchrec::Topology read_topology(const Json& json, torchrec::PlannerVersion version);

// Storage and five times of one shard given as numbers: {hbm_bytes, ddr_bytes, ssd_bytes, perf5}.
torchrec::ShardRun read_given_shard(const Json& json);

torchrec::ReservationSettings read_reservation(const Json& json);  // but for the dense part; plan.cpp

// A table of the given rows and dim with TorchRec's defaults.
torchrec::ConstrainedTable plain_table(const std::string& name, const Json& json);
std::vector<torchrec::ShardingType> types_of(const Json& names);
torchrec::EstimateSettings batches_of(std::int64_t batch_size);  // of version 2025-10

Json perf_json(const torchrec::Perf& perf);  // its parts
torchrec::Optimizer optimizer_of(const std::string& name);

// The defaults of TorchRec's constants for a world of one host, as its unit tests of 2025-10 use them.
torchrec::Topology default_topology(int world_size, std::int64_t hbm_cap);

}  // namespace shardsim::golden
