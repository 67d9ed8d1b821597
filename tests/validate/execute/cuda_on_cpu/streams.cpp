#include "tests/validate/execute/cuda_on_cpu/streams.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "tests/validate/execute/cuda_on_cpu/faults.h"
#include "tests/validate/execute/cuda_on_cpu/seen.h"

namespace {

using Time = std::chrono::steady_clock::time_point;

std::mutex& mutex() {
  static std::mutex of_all;
  return of_all;
}
std::condition_variable& changed() {
  static std::condition_variable of_all;
  return of_all;
}

// The number of times that an event was recorded, the last of its records that has happened, and its time.
struct EventState {
  long recorded = 0, happened = 0;
  Time time;
};

std::atomic<bool> gpu_broken = false;
std::atomic<int> launch_error = cudaSuccess;  // of the last launch, until it is asked for
std::atomic<int> kernels = 0;

}  // namespace

struct CUevent_st {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

// A thread that does what it was given, in order.
struct CUstream_st {
  std::deque<std::function<void()>> work;
  bool busy = false, ending = false;
  std::thread thread;

  CUstream_st() : thread([this] { run(); }) {}

  void run() {
    std::unique_lock lock(mutex());
    while (true) {
      changed().wait(lock, [this] { return ending || !work.empty(); });
      if (work.empty()) return;
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      busy = true;
      lock.unlock();
      next();
      lock.lock();
      busy = false;
      changed().notify_all();
    }
  }
  bool idle() const { return work.empty() && !busy; }
};

namespace {

std::set<CUstream_st*>& streams() {
  static std::set<CUstream_st*> all;
  return all;
}

}  // namespace

namespace shardsim::on_cpu {

// Programs whose source sets no faults are told by STAND_IN_DIES_AT at which collective they are killed, half done.
Faults& faults() {
  static Faults of_process = [] {
    Faults told;
    const char* const dies_at = std::getenv("STAND_IN_DIES_AT");
    if (dies_at == nullptr) return told;
    told.dies_at = std::atoi(dies_at);
    told.when = Faults::When::in;
    return told;
  }();
  return of_process;
}

void break_gpu() {
  const std::lock_guard lock(mutex());
  gpu_broken = true;
  changed().notify_all();
}

cudaError_t broken() {
  return gpu_broken ? cudaErrorIllegalAddress : cudaSuccess;
}

void enqueue(cudaStream_t stream, std::function<void()> work) {
  if (gpu_broken) return;
  if (stream == nullptr) return work();
  const std::lock_guard lock(mutex());
  stream->work.push_back([work = std::move(work)] {
    if (!gpu_broken) work();
  });
  changed().notify_all();
}

void launch_kernel(cudaStream_t stream, std::function<void()> grid) {
  const int number = kernels++;
  if (number == faults().refused_kernel) {
    launch_error = static_cast<cudaError_t>(faults().refusal);
    return;
  }
  enqueue(stream, [number, stream, grid = std::move(grid)] {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    if (number == faults().faulty_kernel) return break_gpu();
    if (stream == nullptr) return grid();
    try {
      grid();
    } catch (const std::exception& error) {  // where a GPU would have gone wrong
      std::fprintf(stderr, "a kernel: %s\n", error.what());
      break_gpu();
    }
  });
}

}  // namespace shardsim::on_cpu

using shardsim::on_cpu::broken;

cudaError_t cudaGetLastError() {
  if (broken() != cudaSuccess) return broken();
  return static_cast<cudaError_t>(launch_error.exchange(cudaSuccess));
}

cudaError_t cudaDeviceSynchronize() {
  std::unique_lock lock(mutex());
  for (CUstream_st* const stream : std::set<CUstream_st*>(streams())) {
    changed().wait(lock, [stream] { return gpu_broken || stream->idle(); });
  }
  return broken();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  shardsim::on_cpu::see_start();
  const std::lock_guard lock(mutex());
  *stream = new CUstream_st();
  streams().insert(*stream);
  return broken();
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  shardsim::on_cpu::seen().priorities.push_back(priority);
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return broken();
}
// Waits until the stream has done all its work, so a stream that hangs keeps this waiting.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(mutex());
    stream->ending = true;
    streams().erase(stream);
    changed().notify_all();
  }
  stream->thread.join();
  delete stream;
  return broken();
}
// Takes a while to say no: who asks every few us of a GPU would otherwise take a processor from the thread that is
// asked for.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  constexpr std::chrono::milliseconds kPatience{1};
  std::unique_lock lock(mutex());
  const bool done =
      changed().wait_for(lock, kPatience, [stream] { return gpu_broken || stream == nullptr || stream->idle(); });
  if (broken() != cudaSuccess) return broken();
  return done ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  std::unique_lock lock(mutex());
  if (stream != nullptr) changed().wait(lock, [stream] { return gpu_broken || stream->idle(); });
  return broken();
}
// The record that counts is the last one before this call.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  long record = 0;
  {
    const std::lock_guard lock(mutex());
    record = event->state->recorded;
  }
  shardsim::on_cpu::enqueue(stream, [state = event->state, record] {
    std::unique_lock lock(mutex());
    changed().wait(lock, [&] { return gpu_broken || state->happened >= record; });
  });
  return broken();
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  ++shardsim::on_cpu::seen().events;
  *event = new CUevent_st();
  return broken();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return broken();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  long record = 0;
  {
    const std::lock_guard lock(mutex());
    record = ++event->state->recorded;
  }
  shardsim::on_cpu::enqueue(stream, [state = event->state, record] {
    const std::lock_guard lock(mutex());
    state->happened = record;
    state->time = std::chrono::steady_clock::now();
    changed().notify_all();
  });
  return broken();
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(mutex());
  if (broken() != cudaSuccess) return broken();
  return event->state->happened == event->state->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::unique_lock lock(mutex());
  changed().wait(lock, [&] { return gpu_broken || event->state->happened == event->state->recorded; });
  return broken();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const std::lock_guard lock(mutex());
  *milliseconds = std::chrono::duration<float, std::milli>(end->state->time - start->state->time).count();
  return broken();
}
