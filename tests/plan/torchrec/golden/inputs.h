#pragma once

#include "plan/torchrec/sharding_option.h"
#include "plan/torchrec/topology.h"
#include "tests/plan/torchrec/golden/fields.h"

namespace shardsim::golden {

// The `topology` of a case.
torchrec::Topology read_topology(const Json& json);

// Storage and five times of one shard given as numbers: {hbm_bytes, ddr_bytes, perf5}.
torchrec::ShardRun read_given_shard(const Json& json);

Json perf_json(const torchrec::Perf& perf);  // the five parts
torchrec::Optimizer optimizer_of(const std::string& name);

// The defaults of TorchRec's constants for a world of one host, as its unit tests use them.
torchrec::Topology default_topology(int world_size, std::int64_t hbm_cap);

}  // namespace shardsim::golden
