#include "validate/execute/devices/cuda_clock.h"

#include <utility>

#include "validate/execute/meet/monotonic.h"

namespace shardsim {
namespace {

constexpr int kTries = 20;
constexpr double kClockPatience = 0.1;  // seconds
constexpr double kLeastStretch = 1e5;   // us; over less, alignment is worse than the drift

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  cuda::check(cudaEventCreate(&event), "an event");
  return event;
}

}  // namespace

bool has_happened(cudaEvent_t event) {
  const cudaError_t code = cudaEventQuery(event);
  if (code == cudaErrorNotReady) {
    cudaGetLastError();  // "not yet" would count as the error of the next launch
    return false;
  }
  cuda::check(code, "waiting for the GPU");
  return true;
}

EventPool::EventPool(std::size_t count) {
  while (all_.size() < count) give(all_.emplace_back(new_event()));
}

EventPool::~EventPool() {
  for (cudaEvent_t event : all_) cudaEventDestroy(event);
}

cudaEvent_t EventPool::take() {
  if (free_.empty()) give(all_.emplace_back(new_event()));
  const cudaEvent_t event = free_.back();
  free_.pop_back();
  return event;
}

CudaClock::CudaClock() : base_(new_event()), spare_(new_event()), reference_(base_) {}

CudaClock::~CudaClock() {
  cudaEventDestroy(base_);
  cudaEventDestroy(spare_);
}

// An event on an idle stream happens between the call that records it and the return of the one that waits for it; of
// several tries the one with the shortest such interval counts, at its middle.
double CudaClock::record_between(cuda::Stream stream, double& shortest) {
  double middle = 0;
  shortest = 1e300;
  for (int i = 0; i < kTries; ++i) {
    const double before = monotonic_seconds();
    cuda::check(cudaEventRecord(spare_, stream), "alignment of clocks");
    cuda::check(cudaEventSynchronize(spare_), "alignment of clocks");
    const double after = monotonic_seconds();
    if (after - before >= shortest) continue;
    shortest = after - before;
    middle = (before + after) / 2;
    std::swap(base_, spare_);
  }
  return middle * 1e6;
}

void CudaClock::calibrate(cuda::Stream stream) {
  double interval = 0;
  reference_us_ = start_us_ = record_between(stream, interval);
  reference_ = base_;
  residual_us_ = interval / 2 * 1e6;
}

void CudaClock::correct(cuda::Stream stream, std::vector<Span>& spans) {
  if (spans.empty()) return;
  cuda::check(cudaEventRecord(spare_, stream), "alignment of clocks");
  const double deadline = monotonic_seconds() + kClockPatience;
  while (!has_happened(spare_)) {
    if (monotonic_seconds() > deadline) return;
  }
  double interval = 0;
  const double here = record_between(stream, interval), there = us(base_);
  if (there - start_us_ < kLeastStretch) return;
  const double stretch = (here - start_us_) / (there - start_us_);
  for (Span& span : spans) {
    span.start_us = start_us_ + (span.start_us - start_us_) * stretch;
    span.end_us = start_us_ + (span.end_us - start_us_) * stretch;
  }
}

double CudaClock::us(cudaEvent_t event) const {
  float milliseconds = 0;
  cuda::check(cudaEventElapsedTime(&milliseconds, reference_, event), "times of events");
  return reference_us_ + static_cast<double>(milliseconds) * 1e3;
}

void CudaClock::move_to(cudaEvent_t event) {
  reference_us_ = us(event);
  reference_ = event;
}

}  // namespace shardsim
