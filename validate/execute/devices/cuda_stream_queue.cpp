#include "validate/execute/devices/cuda_stream_queue.h"

#include <utility>

#include "base/text.h"
#include "validate/execute/meet/clock.h"

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

namespace {

constexpr std::size_t kIterationsAtOnce = 24;  // events for so many are made beforehand

}  // namespace

CudaStreamQueue::CudaStreamQueue(const Program& program)
    : program_(program),
      last_ends_(2 * program.ops.size()),
      pool_(2 * kIterationsAtOnce * program.ops.size()),
      queues_(program.streams.size()) {
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    cuda::check(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking), "a stream");
  }
}

CudaStreamQueue::~CudaStreamQueue() {
  for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
}

// Events of a finished run serve again; `after_previous` of the first iteration of a run is fulfilled.
void CudaStreamQueue::begin() {
  const std::lock_guard lock(mutex_);
  for (std::deque<Launched>& queue : queues_) queue.clear();
  for (cudaEvent_t event : used_) pool_.give(event);
  used_.clear();
  last_ends_.assign(last_ends_.size(), {});
  if (kept_.empty()) clock_.calibrate(streams_.front());
}

// Operations of the same stream follow each other anyway.
void CudaStreamQueue::wait_for(const Op& op, int before, int iteration) {
  const Ended& ended = last_ends_[2 * before + iteration % 2];
  if (iteration < 0 || ended.iteration != iteration || program_.ops[before].stream == op.stream) return;
  cuda::check(cudaStreamWaitEvent(streams_[op.stream], ended.event, 0), op.name);
}

void CudaStreamQueue::open(const Op& op, int iteration, bool kept) {
  for (const int before : op.after) wait_for(op, before, iteration);
  for (const int before : op.after_previous) wait_for(op, before, iteration - 1);
  open_ = {op.id, iteration, kept, pool_.take(), pool_.take()};
  cuda::check(cudaEventRecord(open_.start, streams_[op.stream]), op.name);
}

void CudaStreamQueue::close(const Op& op) {
  cuda::check(cudaEventRecord(open_.end, streams_[op.stream]), op.name);
  last_ends_[2 * op.id + open_.iteration % 2] = {open_.iteration, open_.end};
  const std::lock_guard lock(mutex_);
  queues_[op.stream].push_back(open_);
  if (open_.kept) {
    kept_.push_back(open_);
  } else {
    used_.push_back(open_.start);
    used_.push_back(open_.end);
  }
}

int CudaStreamQueue::under_way() {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (std::deque<Launched>& queue : queues_) {
    while (!queue.empty() && has_happened(queue.front().end)) {
      queue.pop_front();
      ++ended_;
    }
    count += queue.size();
  }
  return static_cast<int>(count);
}

void CudaStreamQueue::forget_under_way() {
  const std::lock_guard lock(mutex_);
  for (std::deque<Launched>& queue : queues_) {
    for (const Launched& launched : queue) {
      if (cudaEventQuery(launched.end) == cudaSuccess) continue;
      std::erase_if(kept_, [&](const Launched& kept) { return kept.end == launched.end; });
    }
    queue.clear();
  }
}

std::string CudaStreamQueue::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const std::deque<Launched>& queue : queues_) {
    if (!queue.empty()) names.push_back(program_.ops[queue.front().op].name);
  }
  return join(names);
}

// The clock steps from iteration to iteration, so that differences stay short.
std::vector<Span> CudaStreamQueue::take_spans(int rank) {
  std::vector<Span> spans;
  int iteration = -1;
  for (const Launched& launched : kept_) {
    if (launched.iteration != iteration) clock_.move_to(launched.start);
    iteration = launched.iteration;
    spans.push_back({clock_.us(launched.start), clock_.us(launched.end), rank, program_.ops[launched.op].stream,
                     launched.op, launched.iteration, 0});
  }
  clock_.correct(streams_.front(), spans);
  for (const Launched& launched : kept_) {
    pool_.give(launched.start);
    pool_.give(launched.end);
  }
  kept_.clear();
  return spans;
}

}  // namespace shardsim
