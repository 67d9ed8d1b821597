#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace shardsim {

// Calls `react` once, from a thread of its own, if it was armed and then neither armed again nor destroyed within the
// given time. It is for calls that may hang in a driver, because nothing else can end those.
class Watchdog {
 public:
  explicit Watchdog(std::function<void()> react);
  ~Watchdog() { stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From any thread; the time counts from now on.
  void arm(double seconds);
  void arm_first(double seconds);  // unless it was armed before
  void stop();                     // for good; waits for a reaction under way, unless called by it

 private:
  void watch(const std::stop_token& ending);

  std::function<void()> react_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  double deadline_ = 0;  // seconds of CLOCK_MONOTONIC; 0: not armed
  std::jthread thread_;
};

}  // namespace shardsim
