#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace shardsim {

inline constexpr std::size_t kMaxTextFile = std::size_t{2} << 30;
inline constexpr std::size_t kMaxYamlFile = std::size_t{64} << 20;

// What is at a path, links followed. What cannot be looked at (a name too long, a folder that may not be entered) is
// not there: the caller's message then says that it cannot be found.
bool is_there(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

// The whole file. Errors: Failure::input naming the path (unreadable, a folder, over `most` bytes).
std::string read_file(const std::string& path, std::size_t most = kMaxTextFile);

// A result file that appears whole or not at all: written beside under a temporary name, flushed, renamed by commit().
// Destroyed without commit(), the temporary file goes. One at a time per target and process. A library that writes by
// name makes and closes the file `temporary()` itself; then write() is not called. A target that is there and is no
// plain file (a folder, a device) is refused. Errors: Failure::run naming the path and the cause.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);  // makes missing parent folders
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& temporary() const { return temporary_; }  // for libraries that write by name
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

// Where a result file goes: links are followed, missing parent folders made; a folder or a device in its place is
// refused.
std::filesystem::path result_target(std::filesystem::path target);

// The failure of a write, to be thrown.
Error cannot_write(const std::filesystem::path& path, const std::string& why);

void write_file(const std::filesystem::path& path, std::string_view text);

// Result files of one run that appear together or not at all: they are written into a hidden folder inside the target,
// and commit() renames them into place, over those of an earlier run. Destroyed without commit(), the hidden folder
// goes, and what lay in the target is as it was. Errors: Failure::run naming the target's path and the cause.
class StagedFolder {
 public:
  explicit StagedFolder(std::filesystem::path target);  // makes the target and missing parents
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  // Calls `write` with the hidden folder; an Error that names it comes out naming the target.
  void fill(const std::function<void(const std::filesystem::path&)>& write) const;
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path hidden_;
  bool made_target_ = false;
};

// The folder that holds `scenarios/` and `plots/`: $SHARDSIM_DATA when set, else the nearest one at or above the
// executable (or its share/shardsim), else the source tree of the build. Errors: Failure::input when $SHARDSIM_DATA is
// no folder.
std::filesystem::path data_folder();

}  // namespace shardsim
