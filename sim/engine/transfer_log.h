#pragma once

#include <cstddef>
#include <vector>

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
  void add(TransferId transfer, Entry entry) {
    if (oldest_ == entries_.size()) start_anew(transfer);
    entries_.resize(static_cast<std::size_t>(transfer - first_));  // others' in between
    entries_.push_back(entry);
  }
  const Entry& of(TransferId transfer) const { return entries_[static_cast<std::size_t>(transfer - first_)]; }
  Entry take(TransferId transfer);

 private:
  void start_anew(TransferId transfer);
  void forget_ended();

  std::vector<Entry> entries_;
  TransferId first_ = 0;    // of the first entry
  std::size_t oldest_ = 0;  // the entry of the oldest transfer that still moves
};

}  // namespace shardsim
