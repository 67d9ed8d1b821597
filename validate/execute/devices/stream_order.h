#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "sim/program/program.h"

namespace shardsim {

// Which operations of one rank have ended in which iteration; threads of its streams wait here for what they depend on.
class StreamOrder {
 public:
  StreamOrder(const Program& program, int rank);

  int streams() const { return static_cast<int>(ops_of_stream_.size()); }
  const std::vector<int>& ops_of(int stream) const { return ops_of_stream_[stream]; }  // of this rank, in list order

  // Returns when the operation may start in that iteration. Throws Error (Failure::run) after stop().
  void wait_for(const Op& op, int iteration);
  void ended(int op);
  void stop();  // for good

 private:
  bool ready(const Op& op, int iteration) const;

  std::vector<std::vector<int>> ops_of_stream_;
  std::vector<char> takes_part_;  // [op]
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> ended_;  // [op] iterations that have ended
  bool stopped_ = false;
};

}  // namespace shardsim
