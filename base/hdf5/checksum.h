#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace shardsim {

// The last line of every HDF5 file that shardsim writes: a CRC-32 of all that stands before it. HDF5 ignores what
// follows its own data, so that everybody's tools read the file; but its library crashes on some damaged files, which
// must be found out before it opens them.
std::string checksum_line(std::string_view bytes);

enum class Checksum { right, wrong, missing };
// Reads the whole file, in pieces. Errors: Failure::input naming a file that cannot be read.
Checksum checksum_of(const std::filesystem::path& path);

}  // namespace shardsim
