#include "sim/engine/transfer_log.h"

namespace shardsim {

void TransferLog::add(TransferId transfer, Entry entry) {
  if (entries_.empty()) first_ = transfer;
  entries_.resize(static_cast<std::size_t>(transfer - first_));  // others' in between
  entries_.push_back(entry);
}

TransferLog::Entry TransferLog::take(TransferId transfer) {
  Entry& entry = entries_[static_cast<std::size_t>(transfer - first_)];
  const Entry taken = entry;
  entry.running = -1;
  for (; !entries_.empty() && entries_.front().running < 0; ++first_) entries_.pop_front();
  return taken;
}

}  // namespace shardsim
