#include "validate/execute/run/watchdog.h"

#include <chrono>

#include "validate/execute/meet/clock.h"

namespace shardsim {

Watchdog::Watchdog(std::function<void()> react)
    : react_(std::move(react)), thread_([this](const std::stop_token& ending) { watch(ending); }) {}

void Watchdog::arm(double seconds) {
  const std::lock_guard lock(mutex_);
  deadline_ = monotonic_seconds() + seconds;
  changed_.notify_all();
}

void Watchdog::arm_first(double seconds) {
  {
    const std::lock_guard lock(mutex_);
    if (deadline_ > 0) return;
  }
  arm(seconds);
}

void Watchdog::stop() {
  thread_.request_stop();
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

void Watchdog::watch(const std::stop_token& ending) {
  std::unique_lock lock(mutex_);
  while (!ending.stop_requested()) {
    const double left = deadline_ - monotonic_seconds();
    if (deadline_ > 0 && left <= 0) break;
    const double before = deadline_;
    const auto moved = [this, before] { return deadline_ != before; };
    if (before > 0) {
      changed_.wait_for(lock, ending, std::chrono::duration<double>(left), moved);
    } else {
      changed_.wait(lock, ending, moved);
    }
  }
  if (ending.stop_requested()) return;
  lock.unlock();
  react_();
}

}  // namespace shardsim
