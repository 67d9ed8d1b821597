#pragma once

#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"
#include "tests/case_file/fields.h"

namespace shardsim::golden {

// The `topology` of a case.
torchrec::Topology read_topology(const Json& json);

// Storage and five times of one shard given as numbers: {hbm_bytes, ddr_bytes, perf5}.
torchrec::ShardRun read_given_shard(const Json& json);

// A table of the given rows and dim with TorchRec's defaults.
torchrec::ConstrainedTable plain_table(const std::string& name, const Json& json);
std::vector<torchrec::ShardingType> types_of(const Json& names);
torchrec::EstimateSettings batches_of(std::int64_t batch_size);

Json perf_json(const torchrec::Perf& perf);  // the five parts
torchrec::Optimizer optimizer_of(const std::string& name);

// The defaults of TorchRec's constants for a world of one host, as its unit tests use them.
torchrec::Topology default_topology(int world_size, std::int64_t hbm_cap);

}  // namespace shardsim::golden
