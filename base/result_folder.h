#pragma once

#include <filesystem>
#include <functional>

namespace shardsim {

// Writes the result files of one run so that they appear together or not at all. `write` gets a hidden folder inside
// the target (which is created if it is missing), and the files that it writes there are then renamed into place. Files
// that an earlier run left in the target (their names are listed in `.shardsim-files`) are removed then, so that a
// folder holds the results of a single run. A file that no run of shardsim wrote is never replaced. If `write` throws,
// the target stays as it was, and an Error that names the hidden folder is changed to name the target. Half-written
// files of a killed run are removed by the next one. Errors (Failure::run, naming the path and the cause): a failed
// write; another process that writes to the target at the same time; a file with the name of a result that no run of
// shardsim wrote.
void write_folder(const std::filesystem::path& target, const std::function<void(const std::filesystem::path&)>& write);

}  // namespace shardsim
