#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/torchrec/spec/names.h"

namespace shardsim::golden {

// "fqn|sharding_type|compute_kernel|cache_load_factor|num_shards", the text that TorchRec hashes to find an option of a
// stored plan again.
std::string storage_hash_text(const std::string& fqn, torchrec::ShardingType type, torchrec::ComputeKernel kernel,
                              std::optional<double> load_factor, int shards);

// BLAKE2b of the text with a digest of 7 bytes, read as a big-endian number.
std::uint64_t storage_hash(const std::string& text);

}  // namespace shardsim::golden
