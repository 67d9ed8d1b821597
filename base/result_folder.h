#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// The one way in which commands write results. A file is replaced or removed only if the same command wrote it and
// nobody has changed it since (FolderRecord, base/folder_record.h), or if --force was given. A file that this process
// has read (read_files.h) is never replaced, and nothing is written or removed through a link in a folder of results.

// Who writes: the command as it is typed, "shardsim run".
struct ResultWriter {
  std::string command;
  bool force = false;  // --force: files of others, and those that somebody has changed, are replaced, too
};

// Writes the result files of one run so that they appear together or not at all. `write` gets a hidden folder inside
// the target (which is created if it is missing), and the files that it writes there are then renamed into place. Files
// that an earlier run of the same command left in the target are removed then, so that those of a single run are there;
// files of other commands stay. If `write` throws, the target stays as it was, and an Error that names the hidden
// folder is changed to name the target. A run that is killed before its files have their names leaves the target as it
// was; one that is killed while they get them leaves files of its own only, and none that programs read: JSON and CSV
// files of the folder itself arrive when all others are there, so a folder with `result.json` is whole. The next run
// removes what a killed one left. Errors: Failure::run, naming the path and the cause, for a failed write, a link, and
// another process that writes to the target at the same time; Failure::input for a file that may not be replaced.
void write_folder(const std::filesystem::path& target, const ResultWriter& writer,
                  const std::function<void(const std::filesystem::path&)>& write);

// The same, but what else the command wrote into the folder stays: for parts that processes write side by side, and for
// files that a user names one by one. Where another process writes into the folder, this one waits for some time.
void add_to_folder(const std::filesystem::path& target, const ResultWriter& writer,
                   const std::function<void(const std::filesystem::path&)>& write);

// One result file, which appears whole or not at all. `write` gets the path to write it to. If `path` is a link, the
// file that it leads to is meant. A pipe or a character device gets the whole result, too (result_stream.h). Errors: as
// write_folder(), and those of result_target().
void write_result(const std::filesystem::path& path, const ResultWriter& writer,
                  const std::function<void(const std::filesystem::path&)>& write);
void write_result(const std::filesystem::path& path, const ResultWriter& writer, std::string_view text);

// Checks before the work, not after it, that the folder or the file can be written and that what is there may be
// replaced; `names`: the files that write_folder() will write, as far as they are known. Errors: as there.
void check_results(const std::filesystem::path& target, const ResultWriter& writer,
                   const std::vector<std::string>& names);
void check_result(const std::filesystem::path& path, const ResultWriter& writer);

// Removes the temporary files that killed processes left in a folder (write_file, base/files.h); those that are being
// written now stay, and so do those that cannot be removed.
void remove_abandoned_files(const std::filesystem::path& folder);

}  // namespace shardsim
