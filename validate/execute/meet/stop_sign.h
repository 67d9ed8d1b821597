#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "validate/execute/meet/wake_up.h"

namespace shardsim {

// Says once, to any number of threads that poll its descriptor, that they have to stop, and why.
class StopSign {
 public:
  void raise(const std::string& why);
  bool raised() const { return raised_; }
  std::string why() const;
  int fd() const { return wake_.fd(); }  // can be read from then on

 private:
  std::atomic<bool> raised_ = false;
  mutable std::mutex mutex_;
  std::string why_;
  WakeUp wake_;
};

}  // namespace shardsim
