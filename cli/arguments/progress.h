#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace shardsim {

// A line on stderr, where that is a terminal, of what goes on: for how long, or how much of it is done, how fast, and
// how long the rest takes. It is there from the second second on, each second anew, so that nobody takes a long search
// for a program that hangs; what is said or printed meanwhile takes its place. There is one line: an inner Progress
// tells in place of the outer one as long as it lives.
class Progress {
 public:
  // `what` is told while nothing is counted. "": nothing is told then, and no thread looks at the clock, which would
  // disturb a program that measures.
  explicit Progress(const std::string& what, bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Tells this from now on, and how long it has taken since.
  void now(const std::string& what);
  // A line of the caller's own, until the next one.
  void show(const std::string& text);
  // "3 of 12 cases, 1.5 a second, 6 s left" and `more`; `done` is 1 or more.
  void count(const std::string& of, std::int64_t done, std::int64_t total, const std::string& more = "");
  void clear();

 private:
  bool told_, outermost_;
  std::string what_before_, shown_before_;
  std::chrono::steady_clock::time_point begin_before_{}, begin_;
  std::int64_t counted_ = 0;
};

// Before anything else is written to the terminal: the line is drawn again a second later.
void put_progress_away();

}  // namespace shardsim
