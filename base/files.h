#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shardsim {

// The Error for a failed read, which the caller throws; `error_number` is errno. It is Failure::input, or Failure::run
// if the process has no descriptors or memory left, because that is no fault of the file.
Error cannot_read(const std::string& path, int error_number);

inline constexpr std::size_t kMaxTextFile = std::size_t{2} << 30;
inline constexpr std::size_t kMaxYamlFile = std::size_t{64} << 20;

// True when such an entry exists at the path; links are followed. A path that cannot be examined (its name is too long,
// or a folder may not be entered) counts as not existing: the caller's message then says that it cannot be found.
bool is_there(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

// The whole file. Errors: Failure::input naming the path (unreadable, a folder, over `most` bytes).
std::string read_file(const std::string& path, std::size_t most = kMaxTextFile);

// Creates the missing folders of a result's path, and at the end removes those that are still empty, so that a failed
// command leaves none behind.
class MadeFolders {
 public:
  explicit MadeFolders(const std::filesystem::path& folder);
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // innermost first
};

// Where a result file goes: links are followed, missing parent folders made; a folder or a device in its place is
// refused.
std::filesystem::path result_target(std::filesystem::path target);

// The Error for a failed write; the caller throws it.
Error cannot_write(const std::filesystem::path& path, const std::string& why);

// Writes a file that appears whole or not at all: it is written beside its target under a temporary name and then
// renamed. It takes the place of whatever is there: results of commands go through result_folder.h, which asks whose
// that is. A process may write a target only once at a time. Errors: Failure::run naming the path and the cause;
// those of result_target().
void write_file(const std::filesystem::path& path, std::string_view text);

// The folder of the file that this code was linked into: a program, or a library that another program has loaded (the
// Python module). Empty where the system does not say.
std::filesystem::path code_folder();

// The folder that holds `scenarios/` and `plots/`: $SHARDSIM_DATA when set, else the nearest one at or above
// code_folder() (or its share/shardsim), else the source tree of the build. Errors: Failure::input when $SHARDSIM_DATA
// is no folder.
std::filesystem::path data_folder();

// `git describe` of the build, or the release number outside a checkout.
std::string version();

}  // namespace shardsim
