#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "program/program.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {

// The operations of one rank that have ended, and in which iteration; threads of its streams wait here for what they
// depend on.
class StreamOrder {
 public:
  StreamOrder(const Program& program, int rank)
      : ops_of_stream_(program.streams.size()), takes_part_(program.ops.size()), ended_(program.ops.size()) {
    for (const Op& op : program.ops) {
      takes_part_[op.id] = takes_part(program, op, rank) ? 1 : 0;
      if (takes_part_[op.id] != 0) ops_of_stream_[op.stream].push_back(op.id);
    }
  }

  int streams() const { return static_cast<int>(ops_of_stream_.size()); }
  const std::vector<int>& ops_of(int stream) const { return ops_of_stream_[stream]; }  // of this rank, in list order

  // Returns when the operation may start in that iteration. Throws Error (Failure::run) after stop().
  void wait_for(const Op& op, int iteration) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || ready(op, iteration); });
    if (stopped_) throw run_error("stopped before " + op.name, "");
  }

  void ended(int op) {
    {
      const std::lock_guard lock(mutex_);
      ++ended_[op];
    }
    changed_.notify_all();
  }

  void stop() {  // for good
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  bool ready(const Op& op, int iteration) const {
    const auto has_ended = [&](int before, int times) { return takes_part_[before] == 0 || ended_[before] >= times; };
    return std::all_of(op.after.begin(), op.after.end(), [&](int id) { return has_ended(id, iteration + 1); }) &&
           std::all_of(op.after_previous.begin(), op.after_previous.end(),
                       [&](int id) { return has_ended(id, iteration); });
  }

  std::vector<std::vector<int>> ops_of_stream_;
  std::vector<char> takes_part_;  // [op]
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> ended_;  // [op] iterations that have ended
  bool stopped_ = false;
};

}  // namespace shardsim
