#pragma once

#include "models/workload/workload.h"
#include "plan/row_stores.h"
#include "sim/lower/group_member.h"

namespace shardsim {

// The memory in which the rows of a lookup live: HBM, host memory behind a cache in HBM, or host memory alone.
enum class RowMemory { hbm, cached, host };

// Errors (Failure::input): a compute kernel that cannot be lowered.
RowMemory memory_of(const GroupMember& member);
// None where the cache in HBM holds all rows.
RowStore store_of(const GroupMember& member);

// Errors (Failure::input): rows outside of HBM for HugeCTR's embeddings, which hold all of them there; a cache that the
// workload's pipeline cannot fill ahead.
void check_memory(const GroupMember& member, const Workload& workload);

}  // namespace shardsim
