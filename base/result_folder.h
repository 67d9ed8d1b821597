#pragma once

#include <filesystem>
#include <functional>

namespace shardsim {

// Writes the result files of one run so that they appear together or not at all. `write` gets a hidden folder inside
// the target (which is created if it is missing), and the files that it writes there are then renamed into place. Files
// that an earlier run left in the target (their names are listed in `.shardsim-files`) are removed then, so that a
// folder holds the results of a single run. A file that no run of shardsim wrote is never replaced. If `write` throws,
// the target stays as it was, and an Error that names the hidden folder is changed to name the target. A run that is
// killed before its files have their names leaves the target as it was; one that is killed while they get them leaves
// files of its own only, and none that programs read: JSON and CSV files of the folder itself arrive when all others
// are there, so a folder with `result.json` is whole. The next run removes what a killed one left. Errors
// (Failure::run, naming the path and the cause): a failed write; another process that writes to the target at the same
// time; a file with the name of a result that no run of shardsim wrote.
// `foreign`: what becomes of such a file, if somebody asked for it to be replaced.
enum class ForeignFiles { refused, replaced };
void write_folder(const std::filesystem::path& target, const std::function<void(const std::filesystem::path&)>& write,
                  ForeignFiles foreign = ForeignFiles::refused);

// Checks that a result file can be written there, so that a failure is reported before the work and not after it: makes
// a temporary file beside it, as write_file does, and removes it. Errors: those of write_file().
void check_writable(const std::filesystem::path& path);

// Removes the temporary files that killed processes left in a folder (write_file, base/files.h); those that are being
// written now stay. What cannot be removed stays, too.
void remove_abandoned_files(const std::filesystem::path& folder);

}  // namespace shardsim
