#include "study/sweep/sweep.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/packed.h"
#include "base/workers.h"
#include "python/core/bindings.h"
#include "python/core/request.h"
#include "study/sweep/crew.h"
#include "study/sweep/point_result.h"
#include "study/sweep/point_simulator.h"
#include "study/sweep/read_sweep.h"
#include "study/sweep/sweep_result.h"

namespace shardsim::python {
namespace {

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

Sweep read_request(const Request& request, const std::string& case_name) {
  SweepRequest wanted;
  wanted.only_case = case_name;
  return sweep_from_text(request.text(), request.path(), request.changes(), wanted);
}

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

const char* word_of(PointResult::Outcome outcome) {
  switch (outcome) {
    case PointResult::Outcome::ok:
      return "ok";
    case PointResult::Outcome::does_not_fit:
      return "does not fit";
    case PointResult::Outcome::failed:
      return "failed";
    case PointResult::Outcome::died:
      break;
  }
  return "died";
}

py::dict point_dict(const SweepPoints& sweep, const PointResult& of) {
  py::dict values;
  for (const auto& [path, text] : sweep.values(of.point)) values[py::str(path)] = text;
  py::dict dict;
  dict["point"] = of.point;
  dict["values"] = values;
  dict["outcome"] = word_of(of.outcome);
  dict["message"] = of.message;
  const bool ok = of.outcome == PointResult::Outcome::ok;
  dict["iteration_ms"] = ok ? py::cast(of.iteration_ms) : py::none();
  dict["interval"] = ok ? interval_dict(of.interval) : py::none();
  dict["samples_per_s"] = ok ? py::cast(of.samples_per_s) : py::none();
  dict["world_size"] = of.world_size;
  dict["batch_per_gpu"] = of.batch_per_gpu;
  dict["memory_bytes"] = of.memory_bytes;
  dict["peak_bytes"] = of.peak_bytes;
  dict["memory_capacity_bytes"] = of.memory_capacity;
  dict["limited_by"] = of.limited_by;
  dict["limit_share_pct"] = 100 * of.limit_share;
  dict["beyond_torchrec"] = of.beyond_torchrec;
  dict["cost_per_hour"] = of.cost_per_hour;
  return dict;
}

py::list column_list(const SweepPoints& sweep) {
  py::list columns;
  for (const SweepColumn& column : sweep.columns()) {
    const py::object values = std::visit(
        [](const auto& all) -> py::object {
          using Value = typename std::decay_t<decltype(all)>::value_type;
          if constexpr (std::is_same_v<Value, double>) return array_of(all);
          return py::cast(all);
        },
        column.values);
    columns.append(py::make_tuple(column.name, column.unit, column.meaning, values));
  }
  return columns;
}

}  // namespace

void bind_sweep(py::module_& module) {
  py::class_<SweepPoints>(module, "SweepPoints")
      .def(py::init([](const Request& request, const std::string& name, int jobs) {
             return without_gil(
                 [&] { return std::make_unique<SweepPoints>(request, name, jobs > 0 ? jobs : processors()); });
           }),
           py::arg("request"), py::arg("case"), py::arg("jobs"))
      .def("__len__", &SweepPoints::size)
      .def("next",
           [](SweepPoints& sweep) -> py::object {
             const auto point = without_gil([&] { return sweep.next(); });
             return point ? py::object(point_dict(sweep, *point)) : py::none();
           })
      .def("columns", &column_list)
      .def("csv", &SweepPoints::csv);
}

}  // namespace shardsim::python
