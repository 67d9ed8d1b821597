#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "sim/program/program.h"
#include "sim/timeline/timeline.h"
#include "validate/execute/devices/cuda_clock.h"

namespace shardsim {

// One operation that was launched, and the events around it.
struct Launched {
  int op = 0, iteration = 0;
  bool kept = false;  // leaves a span
  cudaEvent_t start = nullptr, end = nullptr;
};

// The streams of one GPU and what was launched on them: which operations an operation waits for, which are under way,
// and when they ran. Launches come from one thread; names() from any.
class CudaStreamQueue {
 public:
  explicit CudaStreamQueue(const Program& program);
  ~CudaStreamQueue();
  CudaStreamQueue(const CudaStreamQueue&) = delete;
  CudaStreamQueue& operator=(const CudaStreamQueue&) = delete;

  cuda::Stream stream(int index) const { return streams_[index]; }

  void begin();  // of a run: nothing is under way, and nothing of a run before counts
  // Makes the operation's stream wait for what it depends on. Between them comes the launch itself.
  void open(const Op& op, int iteration, bool kept);
  void close(const Op& op);

  // Forgets what has ended; how many are still under way, and how many have ended in all.
  int under_way();
  long ended() const { return ended_; }
  std::string names() const;
  void forget_under_way();  // after a failure: what has not ended by now leaves no span

  std::vector<Span> take_spans(int rank);

 private:
  struct Ended {
    int iteration = -1;
    cudaEvent_t event = nullptr;
  };
  void wait_for(const Op& op, int before, int iteration);

  const Program& program_;
  std::vector<cudaStream_t> streams_;
  std::vector<Ended> last_ends_;  // [2 x op + iteration mod 2] of the launches of this run
  EventPool pool_;
  CudaClock clock_;
  Launched open_;
  mutable std::mutex mutex_;
  std::vector<std::deque<Launched>> queues_;  // [stream] under way, in order
  std::vector<Launched> kept_;                // in launch order
  std::vector<cudaEvent_t> used_;             // of operations of this run that are not kept; free when it has ended
  long ended_ = 0;
};

}  // namespace shardsim
