#include "python/core/sweep_points.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/packed.h"
#include "base/workers.h"
#include "python/core/watch.h"
#include "study/sweep/crew.h"
#include "study/sweep/point_simulator.h"
#include "study/sweep/read_sweep.h"

namespace shardsim::python {
namespace {

Sweep read_request(const Request& request, const std::string& case_name) {
  SweepRequest wanted;
  wanted.only_case = case_name;
  return sweep_from_text(request.text(), request.path(), request.changes(), wanted);
}

}  // namespace

SweepPoints::SweepPoints(const Request& request, const std::string& case_name, int jobs)
    : sweep_(read_request(request, case_name)), jobs_(jobs) {}

SweepPoints::~SweepPoints() {
  stopped_ = true;
  if (is_of_another_process()) {
    worker_.detach();
  } else if (worker_.joinable()) {
    worker_.join();
  }
}

bool SweepPoints::is_of_another_process() const {
  return worker_.joinable() && owner_ != ::getpid();
}

// In a thread of its own: the processes that simulate end with the thread that made them.
void SweepPoints::work() {
  const auto stop = [this] {
    if (stopped_) throw Interrupted{};
  };
  try {
    std::vector<std::uint32_t> points(size());
    std::iota(points.begin(), points.end(), 0U);
    PointSimulator simulator(sweep_);
    simulator.make_kept_plans(points, {jobs_, {}, [this] { return stopped_.load(); }});
    const auto crew = make_local_crew(std::min(jobs_, static_cast<int>(points.size())),
                                      [&](std::uint32_t point) { return packed(simulator.simulate(point)); });
    hand_out(*crew, points,
             {[this](const PointResult& result) {
                const std::lock_guard lock(mutex_);
                ready_.push_back(result);
                changed_.notify_one();
              },
              stop},
             [&](std::uint32_t point) { return simulator.group_of(point); });
  } catch (const Interrupted&) {
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_one();
}

std::optional<PointResult> SweepPoints::next() {
  constexpr std::chrono::milliseconds kPatience(100);
  if (is_of_another_process()) {
    if (finished_.size() == size()) return std::nullopt;
    throw input_error({sweep_.path}, "the sweep was begun in another process, which alone gets its points",
                      "Begin the sweep in the process that asks for them");
  }
  const auto interrupted = interrupted_in_python();
  if (!worker_.joinable()) {
    owner_ = ::getpid();
    worker_ = std::thread([this] { work(); });
  }
  std::unique_lock lock(mutex_);
  while (ready_.empty() && !over_) {
    changed_.wait_for(lock, kPatience);
    lock.unlock();
    throw_if_interrupted(interrupted);
    lock.lock();
  }
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  finished_.push_back(std::move(ready_.front()));
  ready_.pop_front();
  return finished_.back();
}

std::vector<std::pair<std::string, std::string>> SweepPoints::values(std::size_t point) const {
  std::vector<std::pair<std::string, std::string>> values;
  const std::vector<std::size_t> at = sweep_.coordinates(point);
  for (std::size_t dimension = 0; dimension < at.size(); ++dimension) {
    for (const Axis& axis : sweep_.dimensions[dimension].axes)
      values.emplace_back(axis.path, axis.values[at[dimension]].text);
  }
  return values;
}

std::vector<SweepColumn> SweepPoints::columns() const {
  if (finished_.size() < size())
    throw input_error({sweep_.path}, "the sweep is not finished", "Take all its points first");
  std::vector<PointResult> results = finished_;
  std::ranges::sort(results, {}, &PointResult::point);
  return sweep_columns(sweep_result(sweep_, std::move(results)));
}

}  // namespace shardsim::python
