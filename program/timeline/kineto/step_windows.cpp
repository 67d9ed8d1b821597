#include "program/timeline/kineto/step_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr double kStepOutlier = 1.3;    // times the median: a step with allocations, or the start of the profiler
constexpr double kStepPause = 3;        // times the median: more than a warm-up
constexpr double kStepLag = 0.02;       // of a step: so far behind the host the GPU keeps up with it
constexpr double kEarlyUs = 100;        // by which clocks of host and GPU may differ
constexpr double kEarlyKernels = 0.01;  // of all
constexpr double kMostMissing = 0.1;    // of the kernels of every step
constexpr double kNoEnd = -std::numeric_limits<double>::infinity();

class WindowFinder {
 public:
  WindowFinder(const KinetoTrace& trace, const KinetoRank& rank) : trace_(trace), rank_(rank), steps_(trace.steps) {
    std::ranges::stable_sort(steps_, {}, &KinetoTrace::Step::start_us);
    drop_copies();
  }

  StepWindows find() {
    check_number();
    std::optional<StepWindows> windows = find_whole();
    if (!windows)
      refuse("of no step is there work of the GPU from one end to the other",
             "Profile three steps or more: schedule(wait=1, warmup=2, active=3)");
    return std::move(*windows);
  }

  std::optional<StepWindows> find_whole() {
    if (steps_.size() < 2) return std::nullopt;
    check_steps();
    find_ends();
    StepWindows windows;
    for (std::size_t i = 0; i < steps_.size(); ++i) add_window(i, windows.kept);
    if (windows.kept.empty()) return std::nullopt;
    note_empty(windows);
    leave_out(windows);
    count_lost(windows.kept);
    keep_whole(windows);
    windows.left_out = std::ssize(steps_) - std::ssize(windows.kept);
    return windows;
  }

 private:
  [[noreturn]] void refuse(const std::string& wrong, const char* remedy) const {
    throw input_error({trace_.path}, wrong, remedy);
  }

  // Some versions write a step as an annotation and as an operator.
  void drop_copies() {
    constexpr double kSameUs = 50;
    const auto same = [](const KinetoTrace::Step& a, const KinetoTrace::Step& b) {
      return a.number == b.number && a.process == b.process && std::abs(a.start_us - b.start_us) < kSameUs;
    };
    steps_.erase(std::unique(steps_.begin(), steps_.end(), same), steps_.end());
  }

  void check_number() const {
    if (steps_.empty())
      refuse("no step is marked in the trace (ProfilerStep#N)",
             "Profile with a schedule and call prof.step() after each training step");
    check_processes();
    if (steps_.size() == 1)
      refuse("only one step is in the trace, so nothing says how far steps differ",
             "Profile three steps or more: schedule(wait=1, warmup=2, active=3)");
  }

  void check_processes() const {
    std::set<std::int64_t> processes;
    for (const KinetoTrace::Step& step : steps_) processes.insert(step.process);
    if (processes.size() > 1)
      refuse(fmt::format("steps of {} processes are in one file", processes.size()), "Give one file for each rank");
  }

  void check_steps() const {
    check_processes();
    for (std::size_t i = 1; i < steps_.size(); ++i) check_pair(steps_[i - 1], steps_[i]);
    check_clocks();
  }

  void check_pair(const KinetoTrace::Step& before, const KinetoTrace::Step& after) const {
    constexpr const char* kRemedy = "Give the trace of one process as the profiler wrote it";
    if (after.start_us + 1 < before.end_us)
      refuse(fmt::format("steps {} and {} overlap: the clock jumped, or several processes are in one file",
                         before.number, after.number),
             kRemedy);
    if (after.number <= before.number)
      refuse(fmt::format("step {} comes after step {}: the clock jumped, or several processes are in one file",
                         after.number, before.number),
             kRemedy);
  }

  // No kernel runs before its launch, but for the little by which the two clocks differ.
  void check_clocks() const {
    std::int64_t launched = 0, early = 0;
    double most = 0;
    for (const KinetoTrace::Kernel& kernel : trace_.kernels) {
      if (rank_.thread_of(kernel) < 0) continue;
      ++launched;
      const double ahead = rank_.launch_us(kernel) - kernel.start_us;
      if (ahead > kEarlyUs) ++early;
      most = std::max(most, ahead);
    }
    if (static_cast<double>(early) <= kEarlyKernels * static_cast<double>(launched)) return;
    refuse(fmt::format("{} of {} kernels run up to {:.3g} ms before the host launches them: a clock jumped", early,
                       launched, most * 1e-3),
           "Give the trace as the profiler wrote it, or profile again");
  }

  double host_end_us(std::size_t index) const {
    return follows(index + 1) ? steps_[index + 1].start_us : steps_[index].end_us;
  }
  // True of the step right behind another one: profilers may leave some out.
  bool follows(std::size_t index) const {
    return index > 0 && index < steps_.size() && steps_[index].number == steps_[index - 1].number + 1;
  }

  // [step] When the work that it launched has ended.
  void find_ends() {
    ends_.assign(steps_.size(), kNoEnd);
    for (const KinetoTrace::Kernel& kernel : trace_.kernels) {
      if (rank_.thread_of(kernel) < 0) continue;
      const auto after = std::ranges::upper_bound(steps_, rank_.launch_us(kernel), {}, &KinetoTrace::Step::start_us);
      if (after == steps_.begin()) continue;
      const auto index = static_cast<std::size_t>(after - steps_.begin() - 1);
      if (rank_.launch_us(kernel) < host_end_us(index))
        ends_[index] = std::max(ends_[index], kernel.start_us + kernel.duration_us);
    }
  }

  // True where the GPU is not behind the host at the end of its step: then the host's marks are those of the training.
  bool keeps_up(std::size_t index) const {
    const KinetoTrace::Step& step = steps_[index];
    return ends_[index] > kNoEnd && ends_[index] - step.end_us <= kStepLag * (step.end_us - step.start_us);
  }

  // Where the GPU is behind, a step is between the ends of its work, and the first one has no end before it.
  void add_window(std::size_t index, std::vector<StepWindow>& windows) const {
    if (ends_[index] <= kNoEnd) return;
    const double host_start = steps_[index].start_us, host_end = host_end_us(index);
    const bool before = !follows(index) || keeps_up(index - 1);
    if (keeps_up(index) && before) {
      windows.push_back({steps_[index].number, host_start, host_end, host_start, host_end});
    } else if (follows(index) && ends_[index - 1] > kNoEnd && ends_[index - 1] < ends_[index]) {
      windows.push_back({steps_[index].number, ends_[index - 1], ends_[index], host_start, host_end});
    }
  }

  // The first step may be long for many reasons. A later one has a pause in it, and says so, for a clock may have
  // jumped.
  void leave_out(StepWindows& windows) const {
    std::vector<StepWindow>& kept = windows.kept;
    std::ranges::stable_sort(kept, {}, &StepWindow::us);
    const double median = kept[(kept.size() - 1) / 2].us();
    for (const StepWindow& window : kept)
      if (window.us() > kStepPause * median && window.number != steps_.front().number)
        windows.notes.push_back(fmt::format(
            "Step {} takes {:.3f} ms, {:.3g} times the median: a clock jumped in it, or the host paused. It "
            "is left out.",
            window.number, window.us() * 1e-3, window.us() / median));
    std::erase_if(kept, [&](const StepWindow& window) {
      return window.us() > kStepOutlier * median || window.us() * kStepOutlier < median;
    });
  }

  // A profiler whose buffer is full goes on with the host alone.
  void note_empty(StepWindows& windows) const {
    const auto empty = std::ranges::count(ends_, kNoEnd);
    if (empty > 0)
      windows.notes.push_back(
          fmt::format("Steps that launch no kernel of the trace ({} of {}) are left out.", empty, steps_.size()));
  }

  // Kernels that the profiler lost leave their launches behind. One that lost its correlation is there all the same.
  void count_lost(std::vector<StepWindow>& windows) const {
    std::unordered_set<std::int64_t> run;
    for (const KinetoTrace::Kernel& kernel : trace_.kernels) run.insert(kernel.correlation);
    std::vector<StepWindow*> by_start;
    for (StepWindow& window : windows) by_start.push_back(&window);
    std::ranges::sort(by_start, {}, [](const StepWindow* window) { return window->host_start_us; });
    for (const auto& [correlation, launch] : trace_.launches) {
      StepWindow* const window = at(by_start, launch.start_us, &StepWindow::host_start_us, &StepWindow::host_end_us);
      if (window == nullptr || !launch.kernel) continue;
      ++window->launched;
      if (run.contains(correlation)) continue;
      ++window->lost;
      KinetoTrace::Kernel lost;
      lost.correlation = correlation;
      if (rank_.collective_of(lost).known()) ++window->lost_exchanges;
    }
    for (const KinetoTrace::Kernel& kernel : trace_.kernels) {
      if (kernel.copies || trace_.launches.contains(kernel.correlation)) continue;
      StepWindow* const window = at(by_start, kernel.start_us, &StepWindow::start_us, &StepWindow::end_us);
      if (window != nullptr) window->lost = std::max<std::int64_t>(0, window->lost - 1);
    }
    for (StepWindow& window : windows) window.lost_exchanges = std::min(window.lost_exchanges, window.lost);
  }

  static StepWindow* at(const std::vector<StepWindow*>& by_start, double us, double StepWindow::*from,
                        double StepWindow::*to) {
    const auto after =
        std::ranges::upper_bound(by_start, us, {}, [from](const StepWindow* window) { return window->*from; });
    if (after == by_start.begin()) return nullptr;
    StepWindow* const window = *(after - 1);
    return us < window->*to ? window : nullptr;
  }

  // The time of missing kernels looks like waiting for the host, so steps that have all of their kernels come first.
  void keep_whole(StepWindows& windows) const {
    std::vector<StepWindow>& kept = windows.kept;
    const auto whole = std::ranges::count_if(kept, &StepWindow::is_whole);
    if (whole == std::ssize(kept)) return;
    const auto [least, most] = std::ranges::minmax_element(kept, {}, &StepWindow::lost_share);
    if (whole > 0) {
      windows.notes.push_back(fmt::format(
          "Steps that launch kernels which are not in the trace ({} of {}, up to {:.3g} % of their kernels) "
          "are left out.",
          std::ssize(kept) - whole, kept.size(), 100 * most->lost_share()));
      std::erase_if(kept, [](const StepWindow& window) { return !window.is_whole(); });
    } else if (least->lost_share() > kMostMissing) {
      refuse(fmt::format(
                 "of{}, and no other step has more of them: what they take cannot be told from waiting for the host",
                 least->lost_text(fmt::format("step {}", least->number))),
             "Give the whole trace, or profile fewer steps at once");
    }
  }

  const KinetoTrace& trace_;
  const KinetoRank& rank_;
  std::vector<KinetoTrace::Step> steps_;
  std::vector<double> ends_;
};

}  // namespace

bool StepWindow::is_whole() const {
  return lost_share() <= kMostLost && lost_exchanges == 0;
}

std::string StepWindow::lost_text(const std::string& step) const {
  return fmt::format(" {} that the host launches in {}, {} ({:.3g} %) {} not in the trace{}",
                     counted(launched, "kernel"), step, lost, 100 * lost_share(), lost == 1 ? "is" : "are",
                     lost_exchanges > 0 ? fmt::format(", {} of them of collectives", lost_exchanges) : "");
}

StepWindows step_windows(const KinetoTrace& trace, const KinetoRank& rank) {
  return WindowFinder(trace, rank).find();
}

std::optional<StepWindows> whole_steps(const KinetoTrace& trace, const KinetoRank& rank) {
  return WindowFinder(trace, rank).find_whole();
}

}  // namespace shardsim
