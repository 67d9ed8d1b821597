#include "sim/engine/transfer_log.h"

#include <utility>

namespace shardsim {
namespace {

constexpr std::size_t kMostEnded = 4096;  // entries of ended transfers that are kept, where others are fewer

}  // namespace

void TransferLog::start_anew(TransferId transfer) {
  entries_.clear();
  oldest_ = 0;
  first_ = transfer;
}

// Moves the others to the front, rarely enough that an entry is moved once in the mean.
void TransferLog::forget_ended() {
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  first_ += static_cast<TransferId>(std::exchange(oldest_, 0));
}

TransferLog::Entry TransferLog::take(TransferId transfer) {
  Entry& entry = entries_[static_cast<std::size_t>(transfer - first_)];
  const Entry taken = entry;
  entry.running = -1;
  while (oldest_ < entries_.size() && entries_[oldest_].running < 0) ++oldest_;
  if (oldest_ > kMostEnded && oldest_ > entries_.size() / 2 && oldest_ < entries_.size()) forget_ended();
  return taken;
}

}  // namespace shardsim
