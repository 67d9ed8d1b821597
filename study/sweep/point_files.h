#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/sweep/point_result.h"
#include "study/sweep/sweep.h"

namespace shardsim {

// Holds a lock file as long as it lives; the system lets go of it when the process ends, however it does.
class FolderLock {
 public:
  enum class Kind { alone, shared };
  // Empty if another process holds a lock that excludes this one. Errors: Failure::run, a file that cannot be made.
  static std::optional<FolderLock> try_lock(const std::filesystem::path& file, Kind kind);
  static FolderLock wait_for(const std::filesystem::path& file);  // alone
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int file) : file_(file) {}
  int file_;
};

// The folder of the finished points of a sweep and of what belongs to them.
std::filesystem::path points_folder(const std::filesystem::path& output);

// The finished points of a sweep in its output folder, in the folder `points` there: `sweep.txt` says which sweep it
// is, and each process appends what it finishes to a file of its own. A record has its length and its checksum before
// it: what a process that was killed left half written at the end is left out, and written over by the next one. It
// also has the digest of its sweep: files may be moved from folder to folder, and `sweep.txt` may be lost.
class PointFiles {
 public:
  // Makes the folder where it is missing. Errors: Failure::input naming the other sweep when it holds the points of
  // another one, or of another version of the program; Failure::run when it cannot be written.
  PointFiles(const std::filesystem::path& output, const Sweep& sweep);

  // All results that are there, by point; nothing for points that nobody has finished. Those that died are tried again.
  // Errors: Failure::input naming a file with points of another sweep, or one that cannot be read.
  std::vector<std::optional<PointResult>> read() const;

  // Returns the files that are named like a file of points and are none of this version; read() leaves them out.
  std::vector<std::filesystem::path> unusable() const;

  const std::filesystem::path& folder() const { return folder_; }
  std::uint64_t digest() const { return digest_; }  // of the sweep

 private:
  PointFiles(const std::filesystem::path& output, const Sweep& sweep, const std::string& identity);

  std::filesystem::path folder_;
  std::size_t points_;
  std::uint64_t digest_;
};

// Appends to one file of points. One process at a time writes to it.
class PointWriter {
 public:
  // Goes on where the last whole record ends. Errors: Failure::run naming the file and the cause; a folder, a pipe or a
  // device in its place.
  explicit PointWriter(const std::filesystem::path& file);
  ~PointWriter();
  PointWriter(const PointWriter&) = delete;
  PointWriter& operator=(const PointWriter&) = delete;

  // Errors: Failure::run naming the file and the cause, a full disk, say.
  void append(const PointResult& result);

 private:
  std::filesystem::path path_;
  int file_;
};

}  // namespace shardsim
