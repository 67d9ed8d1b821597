#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "python/core/request.h"
#include "study/sweep/point_result.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_result.h"

namespace shardsim::python {

// The points of a sweep, simulated by processes of this machine while Python looks at those that are finished.
class SweepPoints {
 public:
  // Errors: those of read_sweep().
  SweepPoints(const Request& request, const std::string& case_name, int jobs);
  ~SweepPoints();  // ends what still runs

  std::size_t size() const { return sweep_.points.size(); }
  // The next finished point, whichever it is; nothing when there is none left. Begins the work when it is first asked.
  // Errors: those of hand_out(); Failure::input in a process that was forked since; Interrupted.
  std::optional<PointResult> next();
  // (path, text) of each axis at a point.
  std::vector<std::pair<std::string, std::string>> values(std::size_t point) const;
  // The table of all points, in the order of the axes, as sweep.csv has it. Errors: Failure::input before all are
  // finished.
  std::vector<SweepColumn> columns() const;
  std::string csv() const { return sweep_csv(columns()); }

 private:
  void work();
  bool is_of_another_process() const;

  Sweep sweep_;
  int jobs_;
  std::thread worker_;
  pid_t owner_ = 0;  // in which the thread runs: a forked process has only its memory
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PointResult> ready_;
  std::vector<PointResult> finished_;
  bool over_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace shardsim::python
