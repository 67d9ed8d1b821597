#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "sim/program/program.h"
#include "sim/timeline/timeline.h"
#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim {

// Errors: Failure::run when something on the GPU has failed.
bool has_happened(cudaEvent_t event);

// CUDA events that are made once and used again.
class EventPool {
 public:
  explicit EventPool(std::size_t count);
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  cudaEvent_t take();  // a new one when none is left
  void give(cudaEvent_t event) { free_.push_back(event); }

 private:
  std::vector<cudaEvent_t> free_, all_;
};

// Times of events on this host's CLOCK_MONOTONIC. The driver gives differences of two events in fp32 milliseconds, so
// distant ones are reached in steps: see move_to.
class CudaClock {
 public:
  CudaClock();
  ~CudaClock();
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;

  void calibrate(cuda::Stream stream);  // nothing may be running
  // Stretches the spans measured since calibrate() to what this host's clock says has passed: the two clocks drift by
  // some parts in a million. Leaves them alone where the stream is busy.
  void correct(cuda::Stream stream, std::vector<Span>& spans);
  double residual_us() const { return residual_us_; }
  double us(cudaEvent_t event) const;  // us of CLOCK_MONOTONIC; the event has happened
  void move_to(cudaEvent_t event);     // later times are measured from it; it must not be recorded again

 private:
  double record_between(cuda::Stream stream, double& shortest);  // sets base_; returns its time

  double start_us_ = 0;
  cudaEvent_t base_ = nullptr, spare_ = nullptr, reference_ = nullptr;
  double reference_us_ = 0, residual_us_ = 0;
};

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
