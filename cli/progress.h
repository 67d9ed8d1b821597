#pragma once

#include <chrono>
#include <string>

namespace shardsim {

// One line on stderr that is overwritten, at most ten times a second; nothing at all when not `enabled`.
class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace shardsim
