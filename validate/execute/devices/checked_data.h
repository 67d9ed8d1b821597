#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/devices/device_port.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {

// For checks of data, which are larger than what a process should hold twice: which ones, rising (null: all), and what
// an element is to be.
using Numbers = std::vector<std::int64_t>;
using ValueAt = std::function<float(std::int64_t number, std::int64_t column)>;

// The vectors of the own batch, which begin at element `begin` of the memory. Those that lie apart on the wire come one
// by one.
std::vector<float> downloaded_vectors(DevicePort& device, const DeviceMemory& memory, std::int64_t begin,
                                      const std::vector<ReturnedVectors>& returned, const Numbers* vectors);
// Sets every one of them. Part of the wire after part, as what is between the vectors stays.
void upload_vectors(DevicePort& device, const DeviceMemory& memory, std::int64_t begin,
                    const std::vector<ReturnedVectors>& returned, const ValueAt& value);

// Rows of fp32 that a rank holds of a shard, in its memory of rows.
std::vector<float> downloaded_rows(DevicePort& device, const DeviceMemory& arena, const RankRows::Part& part,
                                   const Numbers* rows);
void upload_rows(DevicePort& device, const DeviceMemory& arena, const RankRows::Part& part, const ValueAt& value);

}  // namespace shardsim
