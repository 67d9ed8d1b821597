#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace shardsim {

struct DeviceFacts;
class Rendezvous;

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

// The measurements that ranks make together: every rank knows which there are, so that all make the same calls, and
// rank 0 keeps them in the journal beside its output.
class SharedJournal {
 public:
  // `what` says what is measured, as Journal has it, but for the machines. `opened`: called on rank 0 when the journal
  // is open.
  SharedJournal(std::filesystem::path output, std::string what, std::function<void(const Journal&)> opened)
      : output_(std::move(output)), what_(std::move(what)), opened_(std::move(opened)) {}
  virtual ~SharedJournal() = default;

  // Collective. `device`: that of this rank. Errors: those of Journal, on rank 0; it tells the others first.
  void begin(Rendezvous& rendezvous, const std::string& device);
  void remove();
  const Journal* journal() const { return journal_ ? &*journal_ : nullptr; }  // on rank 0, once begun

 protected:
  bool keeps() const { return journal_.has_value(); }
  void keep(const std::string& line) { journal_->add(line); }

 private:
  virtual void take(const Journal::Line& line) = 0;    // on rank 0: what was measured before
  virtual std::vector<std::string> known() const = 0;  // on rank 0: the words, without commas, of what there is
  virtual void know(const std::string& word) = 0;      // on the others: there is this
  void open(const std::string& machines);

  std::filesystem::path output_;
  std::string what_;
  std::function<void(const Journal&)> opened_;
  std::optional<Journal> journal_;
};

// A line of a journal that is none of this measurement; the caller throws it.
Error no_line_of(const Journal::Line& line);

// "VERSION; on HOST; DEVICE", the parts of `what` that all journals of this program have: times of two machines, GPUs
// or versions are never mixed.
std::string journal_origin(const std::string& device);
// The text that tells this device from others: its name, its threads, its place in the machine.
std::string device_identity(const DeviceFacts& facts);

}  // namespace shardsim
