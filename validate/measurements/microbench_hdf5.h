#pragma once

#include <filesystem>

#include "validate/microbench/microbench.h"

namespace shardsim {

// The set with its raw samples as an HDF5 file that xarray opens, schema shardsim.microbench/1 (docs/formats.md): axes
// point, sample, bin, table and fact. Written whole or not at all.
void save_measured_hdf5(const MeasuredSet& set, const std::filesystem::path& path);

}  // namespace shardsim
