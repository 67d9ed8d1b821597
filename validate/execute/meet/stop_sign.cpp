#include "validate/execute/meet/stop_sign.h"

namespace shardsim {

void StopSign::raise(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (raised_) return;
  why_ = why;
  raised_ = true;
  wake_.raise();
}

std::string StopSign::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

}  // namespace shardsim
