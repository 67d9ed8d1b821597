#include "validate/execute/devices/cuda_stream_queue.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "validate/execute/meet/clock.h"

namespace shardsim {
namespace {

constexpr int kTries = 20;
constexpr double kClockPatience = 0.1;   // seconds
constexpr double kLeastStretch = 1e5;    // us; over less, alignment is worse than the drift
constexpr double kStep = 1e4;            // us from one reference to the next: differences keep a few ns in fp32 ms
constexpr std::size_t kSpareEvents = 4;  // operations: the one being launched, and references of the clock

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
  while (all_.size() < count) free_.push_back(all_.emplace_back(new_event()));
}

EventPool::~EventPool() {
  for (cudaEvent_t event : all_) cudaEventDestroy(event);
}

EventPool::Event EventPool::take() {
  if (free_.empty()) free_.push_back(all_.emplace_back(new_event()));
  const cudaEvent_t event = free_.back();
  free_.pop_back();
  return {event, [this](cudaEvent_t unused) { free_.push_back(unused); }};
}

CudaClock::CudaClock() : base_(new_event()), end_(new_event()), spare_(new_event()) {}

CudaClock::~CudaClock() {
  for (cudaEvent_t event : {base_, end_, spare_}) cudaEventDestroy(event);
}

// An event on an idle stream happens between the call that records it and the return of the one that waits for it; of
// several tries the one with the shortest such interval counts, at its middle, and is the one left in `best`.
double CudaClock::record_between(cuda::Stream stream, cudaEvent_t& best, double& shortest) {
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
    std::swap(best, spare_);
  }
  return middle * 1e6;
}

void CudaClock::calibrate(cuda::Stream stream) {
  double interval = 0;
  reference_us_ = start_us_ = record_between(stream, base_, interval);
  reference_.reset();
  residual_us_ = std::max(residual_us_, interval / 2 * 1e6);
}

void CudaClock::correct(cuda::Stream stream, std::vector<Span>& spans) {
  if (spans.empty()) return;
  cuda::check(cudaEventRecord(spare_, stream), "alignment of clocks");
  const double deadline = monotonic_seconds() + kClockPatience;
  while (!has_happened(spare_)) {
    if (monotonic_seconds() > deadline) return;
  }
  double interval = 0;
  const double here = record_between(stream, end_, interval), there = us_of(end_);
  residual_us_ = std::max(residual_us_, interval / 2 * 1e6);
  if (there - start_us_ < kLeastStretch) return;
  const double stretch = (here - start_us_) / (there - start_us_);
  for (Span& span : spans) {
    span.start_us = start_us_ + (span.start_us - start_us_) * stretch;
    span.end_us = start_us_ + (span.end_us - start_us_) * stretch;
  }
}

double CudaClock::us_of(cudaEvent_t event) const {
  float milliseconds = 0;
  cuda::check(cudaEventElapsedTime(&milliseconds, reference_ ? reference_.get() : base_, event), "times of events");
  return reference_us_ + static_cast<double>(milliseconds) * 1e3;
}

double CudaClock::us(const EventPool::Event& event) const {
  return us_of(event.get());
}

void CudaClock::step_to(const EventPool::Event& event) {
  const double now = us(event);
  if (now - reference_us_ < kStep) return;
  reference_us_ = now;
  reference_ = event;
}

CudaStreamQueue::CudaStreamQueue(const Program& program, int most_ahead, bool collectives_first)
    : program_(program),
      pool_(2 * (static_cast<std::size_t>(most_ahead) + kSpareEvents) + 2 * program.ops.size()),
      last_ends_(2 * program.ops.size()),
      queues_(program.streams.size()) {
  create_streams(collectives_first);
  find_needed_ends();
}

void CudaStreamQueue::create_streams(bool collectives_first) {
  int least = 0, most = 0;
  cuda::check(cudaDeviceGetStreamPriorityRange(&least, &most), "priorities of streams");
  for (std::size_t i = 0; i < program_.streams.size(); ++i) {
    const bool first = collectives_first && std::ranges::any_of(program_.ops, [&](const Op& op) {
                         return op.stream == static_cast<int>(i) && op.is_collective();
                       });
    cuda::check(cudaStreamCreateWithPriority(&streams_.emplace_back(), cudaStreamNonBlocking, first ? most : least),
                "a stream");
  }
}

void CudaStreamQueue::find_needed_ends() {
  needed_.assign(program_.ops.size(), 0);
  std::vector<int> last(program_.streams.size(), -1);
  for (const Op& op : program_.ops) {
    last[static_cast<std::size_t>(op.stream)] = op.id;
    for (const std::vector<int>* before : {&op.after, &op.after_previous}) {
      for (const int id : *before) {
        if (program_.op(id).stream != op.stream) needed_[static_cast<std::size_t>(id)] = 1;
      }
    }
    if (op.role == OpRole::wait_for_splits) needed_[static_cast<std::size_t>(op.id)] = 1;
  }
  for (const int id : last) {
    if (id >= 0) needed_[static_cast<std::size_t>(id)] = 1;
  }
}

CudaStreamQueue::~CudaStreamQueue() {
  for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
}

// `after_previous` of the first iteration of a run is fulfilled.
void CudaStreamQueue::begin() {
  const std::lock_guard lock(mutex_);
  for (std::deque<Launched>& queue : queues_) queue.clear();
  last_ends_.assign(last_ends_.size(), {});
  if (spans_.empty()) clock_.calibrate(streams_.front());
}

// Operations of the same stream follow each other anyway.
void CudaStreamQueue::wait_for(const Op& op, int before, int iteration) {
  const Ended& ended = last_ends_[2 * before + iteration % 2];
  if (iteration < 0 || ended.iteration != iteration || program_.ops[before].stream == op.stream) return;
  cuda::check(cudaStreamWaitEvent(streams_[op.stream], ended.event.get(), 0), op.name);
}

void CudaStreamQueue::open(const Op& op, int iteration, bool kept) {
  for (const int before : op.after) wait_for(op, before, iteration);
  for (const int before : op.after_previous) wait_for(op, before, iteration - 1);
  open_ = {op.id, iteration, kept, nullptr, nullptr};
  if (kept || needed_[static_cast<std::size_t>(op.id)] != 0) open_.end = pool_.take();
  if (!kept) return;
  open_.start = pool_.take();
  cuda::check(cudaEventRecord(open_.start.get(), streams_[op.stream]), op.name);
}

void CudaStreamQueue::close(const Op& op) {
  if (!open_.end) return;
  cuda::check(cudaEventRecord(open_.end.get(), streams_[op.stream]), op.name);
  last_ends_[2 * op.id + open_.iteration % 2] = {open_.iteration, open_.end};
  const std::lock_guard lock(mutex_);
  queues_[op.stream].push_back(std::move(open_));
}

void CudaStreamQueue::note_end(const Launched& launched) {
  ++ended_;
  if (!launched.kept) return;
  const Span span{clock_.us(launched.start),
                  clock_.us(launched.end),
                  0,
                  program_.ops[launched.op].stream,
                  launched.op,
                  launched.iteration,
                  0};
  clock_.step_to(launched.start);
  const std::lock_guard lock(mutex_);
  spans_.push_back(span);
}

// Calls to the GPU are made without the mutex: should one hang, the other threads can still ask.
int CudaStreamQueue::under_way() {
  std::size_t count = 0;
  for (std::deque<Launched>& queue : queues_) {
    while (!queue.empty() && has_happened(queue.front().end.get())) {
      note_end(queue.front());
      const std::lock_guard lock(mutex_);
      queue.pop_front();
    }
    count += queue.size();
  }
  return static_cast<int>(count);
}

void CudaStreamQueue::forget_under_way() {
  try {
    under_way();
  } catch (const Error&) {  // the GPU is broken: what broke it is known already
  }
  cudaGetLastError();
  const std::lock_guard lock(mutex_);
  failed_ = true;
  for (std::deque<Launched>& queue : queues_) queue.clear();
}

std::string CudaStreamQueue::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const std::deque<Launched>& queue : queues_) {
    if (!queue.empty()) names.push_back(program_.ops[queue.front().op].name);
  }
  return join(names);
}

std::vector<Span> CudaStreamQueue::take_spans() {
  std::vector<Span> spans;
  bool broken = false;
  {
    const std::lock_guard lock(mutex_);
    spans.swap(spans_);
    broken = failed_;
  }
  if (!broken) clock_.correct(streams_.front(), spans);
  std::ranges::sort(spans, {}, [](const Span& span) { return std::pair(span.iteration, span.op); });
  return spans;
}

}  // namespace shardsim
