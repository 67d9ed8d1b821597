#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace shardsim {

// The bytes that `read` gives, called in a process of its own: the HDF5 library of Debian 12 (1.10.8) crashes on some
// broken files (one in a hundred of files with one to three random bytes), mostly where the heap of texts is damaged.
// For files that anybody may have written; those that must bear our checksum are refused before the library sees them.
// Errors: those of `read`; Failure::input naming the file where the library broke down over it or took over two
// minutes; Failure::run where no process can be started, where somebody else ended it, or where the library crashed
// while memory is limited (ulimit -v), without which it crashes on good files, too.
std::string read_apart(const std::filesystem::path& path, const std::function<std::string()>& read);

}  // namespace shardsim
