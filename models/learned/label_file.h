#pragma once

#include <string>
#include <variant>

#include "models/learned/label_sets.h"

namespace shardsim {

// Shards or exchanges with what is known of their labels, as JSON (docs/formats/learned_models.md, "Shards and their
// labels"): schemas shardsim.shards/1 and shardsim.exchanges/1. The same file without labels is what is to be labelled,
// here or on a machine without HDF5. The same set gives the same bytes.
using LabelFile = std::variant<ShardSet, ExchangeSet>;

std::string label_file_text(const LabelFile& file);
// Errors (Failure::input with the line): another schema, keys missing or unknown, cut off, tables as read_workload()
// refuses them, a shard of a table or columns that are not there, lists of other lengths than the shards, labels that
// are not finite, not above 0 or above an hour, labels without their provider or device.
LabelFile read_label_file(const std::string& path);
// By which law the ids of measured labels were drawn, where a file says it: that of each table's access, or evenly.
inline constexpr const char* kIdsByAccess = "access";
inline constexpr const char* kIdsUniform = "uniform";
// Refuses ids of another law than that of the tables of the shard (Failure::input, at `place`).
void check_id_law(const std::string& law, const Shard& shard, const Workload& workload, const Place& place);
// True when the file names a provider of its labels; single labels may still be missing.
bool is_labelled(const LabelFile& file);

}  // namespace shardsim
