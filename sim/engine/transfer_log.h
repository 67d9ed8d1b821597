#pragma once

#include <deque>

#include "sim/engine/network.h"

namespace shardsim {

// The collective and the link of each transfer that moves. Ids rise, so the entries reach from the oldest transfer that
// still moves to the newest.
class TransferLog {
 public:
  struct Entry {
    int running = -1;  // collective; -1: none of ours, or ended
    int used = 0;      // link, among those in use
  };
  void add(TransferId transfer, Entry entry);
  Entry take(TransferId transfer);

 private:
  std::deque<Entry> entries_;
  TransferId first_ = 0;
};

}  // namespace shardsim
