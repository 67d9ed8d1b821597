#pragma once

#include <string>
#include <vector>

#include "base/hdf5/hdf5.h"
#include "program/timeline/named_times.h"
#include "program/timeline/timeline.h"

namespace shardsim {

// One Timeline as the group `root` ("/cases/NAME") of timeline.h5 (docs/formats/timeline.md): columns side by side, one
// coordinate per axis. Beyond the published columns it holds what makes a Timeline complete: attributes `world_size`,
// `ranks_per_node`, `iterations_run`, `steady`; stream/name; op/alone_us, op/group, op/dtype, op/algorithm; group/name
// and group_member/{group, set, rank}.
// `ranks`: its rank_times() where they are known; null: they are computed.
// Errors: std::logic_error for a Timeline that timeline_fault() refuses; else as Hdf5Writer.
void write_timeline_columns(Hdf5Writer& out, const std::string& root, const Timeline& timeline,
                            const std::vector<RankTimes>* ranks = nullptr);

// Columns that the writer leaves out when they are empty (hbm_bytes, bytes_out, bytes_in, flow) may be missing; so may
// those beyond the published ones. The caller checks timeline_fault(). Errors: as Hdf5Reader, and columns of one axis
// that differ in length.
Timeline read_timeline_columns(const Hdf5Reader& in, const std::string& root);

}  // namespace shardsim
