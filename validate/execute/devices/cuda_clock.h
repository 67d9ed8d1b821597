#pragma once

#include <vector>

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

}  // namespace shardsim
