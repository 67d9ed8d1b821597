#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace shardsim {

// Calls `react` once, from a thread of its own, when it was armed and neither armed again nor gone within the time
// given then. For what may hang in a driver, which nothing else can end.
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
