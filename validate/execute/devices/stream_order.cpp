#include "validate/execute/devices/stream_order.h"

#include <algorithm>

#include "base/error.h"
#include "validate/execute/buffers/rank_buffers.h"

namespace shardsim {

StreamOrder::StreamOrder(const Program& program, int rank)
    : ops_of_stream_(program.streams.size()), takes_part_(program.ops.size()), ended_(program.ops.size()) {
  for (const Op& op : program.ops) {
    takes_part_[op.id] = takes_part(program, op, rank) ? 1 : 0;
    if (takes_part_[op.id] != 0) ops_of_stream_[op.stream].push_back(op.id);
  }
}

bool StreamOrder::ready(const Op& op, int iteration) const {
  const auto has_ended = [&](int before, int times) { return takes_part_[before] == 0 || ended_[before] >= times; };
  return std::all_of(op.after.begin(), op.after.end(), [&](int id) { return has_ended(id, iteration + 1); }) &&
         std::all_of(op.after_previous.begin(), op.after_previous.end(),
                     [&](int id) { return has_ended(id, iteration); });
}

void StreamOrder::wait_for(const Op& op, int iteration) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || ready(op, iteration); });
  if (stopped_) throw run_error("stopped before " + op.name, "");
}

void StreamOrder::ended(int op) {
  {
    const std::lock_guard lock(mutex_);
    ++ended_[op];
  }
  changed_.notify_all();
}

void StreamOrder::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace shardsim
