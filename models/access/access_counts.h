#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shardsim {

// Apart from access_distribution.h, since the build for bare compute nodes has no HDF5
// (validate/bare/access_counts.cpp). Reads access counts from an HDF5 file: dataset /tables/TABLE/count (whole numbers,
// one per row) with the attribute `samples` (docs/formats/workload.md, "access counts"). Returns count / samples, by
// row id. Errors (Failure::input, naming file and table): no such file, not HDF5, no such table, another shape or type,
// `samples` below 1, negative counts.
std::vector<double> read_access_counts(const std::filesystem::path& file, const std::string& table, std::uint64_t rows);

}  // namespace shardsim
