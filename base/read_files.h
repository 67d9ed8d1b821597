#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// Which files this process has read, so that no result ever takes the place of its own input (result_folder.h). This is
// the second piece of global state of the program beside that of stop_signals.h: a scenario names clusters, workloads,
// plans, policies and measurements, which name others, so no command can list what it has read, and every reader of a
// file would have to hand such a list up to the command.

// The file at `path` is read by this process. read_file() and the readers of HDF5 say so; a reader that opens a file in
// another way does, too. A path that cannot be examined is passed over.
void note_read(const std::filesystem::path& path);

// A file whose reader takes it in pieces, noted as read. Errors: those of cannot_read() (base/files.h), where it cannot
// be opened.
std::ifstream open_to_read(const std::filesystem::path& path);

// All that was read, as bytes for another process: a worker says at its end what it has read.
std::string packed_reads();
// Counts the files that another process has read as read by this one, too.
void note_packed_reads(std::string_view reads);

// Counts the file as not read, so that it may be replaced, because its successor keeps its content (labels that a
// command continues, for example).
void forget_read(const std::filesystem::path& path);

// True when the file at `path` was read, under this or another name, and has not been written since.
bool was_read(const std::filesystem::path& path);

// Gathers what its thread reads while it lives, so that whoever keeps a result can ask whether it is still true. One
// within another one takes what is read for itself.
class ReadsHere {
 public:
  ReadsHere();
  ~ReadsHere();
  ReadsHere(const ReadsHere&) = delete;
  ReadsHere& operator=(const ReadsHere&) = delete;

  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  friend void note_read(const std::filesystem::path& path);

  std::vector<std::filesystem::path> paths_;
  ReadsHere* outer_;
};

}  // namespace shardsim
