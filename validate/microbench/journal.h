#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace shardsim {

struct DeviceFacts;

// The measurements so far, line by line in the file OUTPUT.journal, so that nothing that ends the process takes them: a
// line is on the disk when add() returns. The journal goes when the output is whole. While one lives, no other process
// has it.
class Journal {
 public:
  // Opens or begins it. `what` says in parts with "; " between what is measured, how and on what: a journal that holds
  // lines of something else is refused (Failure::input, naming the journal and the first part that differs). A last
  // line that was cut off is left out. Failure::run: another process has it; it cannot be written.
  Journal(const std::filesystem::path& output, const std::string& what);
  ~Journal();  // takes an empty one away
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  struct Line {
    std::string text;
    Place place;
  };
  const std::vector<Line>& lines() const { return lines_; }  // those of before
  // Errors (Failure::run): it cannot be written.
  void add(const std::string& line);
  void remove();

  bool empty() const { return lines_.empty() && !added_; }
  const std::filesystem::path& path() const { return path_; }
  // For the message that ends a run: where what was measured is, and how to go on.
  std::string remedy() const;

 private:
  void lock();
  void take(const std::string& head);
  void append(const std::string& text) const;

  MadeFolders folders_;
  std::filesystem::path path_;
  int file_ = -1;
  std::vector<Line> lines_;
  bool added_ = false;
};

// A line of a journal that is none of this measurement; the caller throws it.
Error no_line_of(const Journal::Line& line);

// "VERSION; on HOST; DEVICE", the parts of `what` that all journals of this program have: times of two machines, GPUs
// or versions are never mixed.
std::string journal_origin(const std::string& device);
// The text that tells this device from others: its name, its threads, its place in the machine.
std::string device_identity(const DeviceFacts& facts);

}  // namespace shardsim
