#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "program/program.h"
#include "program/timeline/timeline.h"
#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim {

// Errors: Failure::run when something on the GPU has failed.
bool has_happened(cudaEvent_t event);

// CUDA events that are made once and used again: making one while a GPU is measured costs time and may wait for it.
class EventPool {
 public:
  // Goes back to the pool when nobody holds it any more. The pool must outlive it.
  using Event = std::shared_ptr<CUevent_st>;

  explicit EventPool(std::size_t count);
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  Event take();  // a new one when none is left
  std::size_t made() const { return all_.size(); }

 private:
  std::vector<cudaEvent_t> free_, all_;
};

// Times of events on this host's CLOCK_MONOTONIC. The driver gives differences of two events in fp32 milliseconds, so
// distant ones are reached in steps: see step_to.
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
  double residual_us() const { return residual_us_; }  // how far off times may be: the worst of both ends
  double us(const EventPool::Event& event) const;      // us of CLOCK_MONOTONIC; the event has happened
  void step_to(const EventPool::Event& event);  // later times may be measured from it, which keeps it out of its pool

 private:
  // Leaves the event in `best`; returns its time.
  double record_between(cuda::Stream stream, cudaEvent_t& best, double& shortest);

  double us_of(cudaEvent_t event) const;

  double start_us_ = 0;
  cudaEvent_t base_ = nullptr, end_ = nullptr, spare_ = nullptr;
  EventPool::Event reference_;  // null: base_
  double reference_us_ = 0, residual_us_ = 0;
};

// One operation that was launched, and the events around it.
struct Launched {
  int op = 0, iteration = 0;
  bool kept = false;  // leaves a span
  EventPool::Event start, end;
};

// The streams of one GPU and what was launched on them: which operations an operation waits for, which are under way,
// and when they ran. An operation's times are read as soon as it is seen to have ended, so that they are not lost if
// the GPU fails later, and so that its events can be used again. Launches come from one thread; names() and
// take_spans() from any.
class CudaStreamQueue {
 public:
  // most_ahead: operations that are under way when another is launched, at most; events for so many are made now.
  // collectives_first: their streams have the highest priority.
  CudaStreamQueue(const Program& program, int most_ahead, bool collectives_first = false);
  ~CudaStreamQueue();
  CudaStreamQueue(const CudaStreamQueue&) = delete;
  CudaStreamQueue& operator=(const CudaStreamQueue&) = delete;

  cuda::Stream stream(int index) const { return streams_[index]; }

  void begin();  // of a run: nothing is under way, and nothing of a run before counts
  // Makes the operation's stream wait for what it depends on. Between them comes the launch itself. An operation whose
  // span is not kept has its end alone recorded, and only where another stream, or the count of what is under way,
  // needs it.
  void open(const Op& op, int iteration, bool kept);
  void close(const Op& op);

  // Takes the times of what has ended; how many are still under way, and how many have ended in all.
  int under_way();
  long ended() const { return ended_; }
  bool idle(int stream) const { return queues_[static_cast<std::size_t>(stream)].empty(); }  // of what has been taken
  std::string names() const;
  void forget_under_way();  // after a failure: what has not ended by now leaves no span; nothing is launched again

  // In launch order. After a failure without a call to the GPU, which may not answer.
  std::vector<Span> take_spans();
  double clock_residual_us() const { return clock_.residual_us(); }
  std::size_t events_made() const { return pool_.made(); }

 private:
  struct Ended {
    int iteration = -1;
    EventPool::Event event;
  };
  void create_streams(bool collectives_first);
  void find_needed_ends();
  void wait_for(const Op& op, int before, int iteration);
  void note_end(const Launched& launched);

  const Program& program_;
  std::vector<cudaStream_t> streams_;
  std::vector<char> needed_;  // [op] its end, by another stream or as the last on its own
  EventPool pool_;
  std::vector<Ended> last_ends_;  // [2 x op + iteration mod 2] of the launches of this run
  CudaClock clock_;
  Launched open_;
  long ended_ = 0;
  // For other threads, which only read the queues: the launching thread reads them without the mutex.
  mutable std::mutex mutex_;
  std::vector<std::deque<Launched>> queues_;  // [stream] under way, in order
  std::vector<Span> spans_;                   // rank 0 in all of them
  bool failed_ = false;
};

}  // namespace shardsim
