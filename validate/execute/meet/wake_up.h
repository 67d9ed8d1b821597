#pragma once

#include "validate/execute/meet/tcp.h"

namespace shardsim {

// Wakes a thread that sleeps in poll: its descriptor can be read from raise() until clear().
class WakeUp {
 public:
  WakeUp();
  void raise();
  void clear();
  int fd() const { return event_.fd(); }

 private:
  Descriptor event_;
};

}  // namespace shardsim
