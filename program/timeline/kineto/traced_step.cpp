#include "program/timeline/kineto/traced_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/kineto/step_windows.h"

namespace shardsim {
namespace {

using Kernel = KinetoTrace::Kernel;
using Phase = TracedStep::Phase;
using RangeKind = KinetoTrace::Range::Kind;

constexpr double kMostUnlaunched = 0.5;  // of the kernels
constexpr double kMostBroken = 0.5;      // of the kernels
constexpr double kMostWithoutOperator =
    0.6;  // of the kernels: from there on most of a backward pass looks like forward
constexpr std::size_t kNamedKernels = 5;

// A stretch of GPU work in a step.
struct Piece {
  enum class Kind { compute, exchange, copy };
  double start_us = 0, end_us = 0;
  Kind kind = Kind::compute;
  Phase phase = Phase::forward;
  bool optimizer = false;
};

class StepReader {
 public:
  explicit StepReader(const KinetoTrace& trace) : trace_(trace), rank_(trace) {}

  TracedModel read() {
    check();
    windows_ = step_windows(trace_, rank_);
    TracedModel model;
    model.path = trace_.path;
    model.device = trace_.device;
    model.device_memory = trace_.device_memory;
    model.world_size = std::max<std::int64_t>(1, trace_.world_size.value_or(1));
    model.rank = std::max<std::int64_t>(0, trace_.rank.value_or(rank_in_name(trace_.path).value_or(0)));
    model.world_known = trace_.world_size.value_or(0) > 0 || !has_exchanges();
    model.steps = std::ssize(windows_.kept);
    model.left_out = windows_.left_out;
    const StepWindow& median = windows_.median();
    model.shortest = {windows_.kept.front().us() * 1e-6};
    model.longest = {windows_.kept.back().us() * 1e-6};
    count_operators(model, median);
    count_lost(model, median);
    passes_known_ = model.passes_known;
    model.step = step(median);
    model.shapes = traced_shapes(trace_, median.host_start_us, median.host_end_us);
    describe(model, median);
    say_what_is_missing(model, median);
    return model;
  }

 private:
  [[noreturn]] void refuse(const std::string& wrong, const char* remedy) const {
    throw input_error({trace_.path}, wrong, remedy);
  }

  void check() const {
    check_durations();
    check_one_rank(trace_);
    if (!trace_.steps.empty()) check_launches();
  }

  // Copies have durations of their own, which say nothing of kernels.
  void check_durations() const {
    constexpr const char* kRemedy = "Profile with ProfilerActivity.CPU and ProfilerActivity.CUDA";
    const auto timed = std::ranges::count_if(trace_.kernels, [](const Kernel& kernel) { return !kernel.copies; });
    const std::int64_t broken = trace_.broken_kernels, all = timed + broken;
    if (all == 0) refuse("no GPU kernel is in the trace", kRemedy);
    if (timed == 0)
      refuse(fmt::format("none of its {} has a start and a duration", counted(broken, "GPU kernel")), kRemedy);
    if (static_cast<double>(broken) > kMostBroken * static_cast<double>(all))
      refuse(fmt::format("of {} GPU kernels, {} have no start or no duration", all, broken), kRemedy);
  }

  void check_launches() const {
    std::int64_t unlaunched = 0, backward = 0, of_graphs = 0;
    for (const Kernel& kernel : trace_.kernels) {
      const auto launch = trace_.launches.find(kernel.correlation);
      if (launch == trace_.launches.end()) ++unlaunched;
      if (launch != trace_.launches.end() && launch->second.graph) ++of_graphs;
      if (is_backward(kernel)) ++backward;
    }
    if (static_cast<double>(unlaunched) > kMostUnlaunched * static_cast<double>(trace_.kernels.size()))
      refuse(fmt::format("of {} kernels, {} have no launch with their correlation", trace_.kernels.size(), unlaunched),
             "Profile with ProfilerActivity.CPU, too");
    if (backward == 0 && of_graphs == 0 && trace_.of_timeline())
      refuse(
          "it was written of a timeline of shardsim, which has no ranges of a backward pass; what was predicted is no "
          "measurement to import",
          "Run the scenario of that timeline again, or profile training steps");
    if (backward == 0 && of_graphs == 0 && trace_.operators.empty())
      refuse("no operator of the host is in the trace, so nothing says what a kernel is for",
             "Profile with ProfilerActivity.CPU, too");
    if (backward == 0 && of_graphs == 0)
      refuse("no kernel of a backward pass is in the trace: it is one of inference", "Profile training steps");
  }

  bool has_exchanges() const {
    return std::ranges::any_of(trace_.kernels, [&](const Kernel& kernel) { return rank_.communicates(kernel); });
  }

  bool is_backward(const Kernel& kernel) const {
    return rank_.within(kernel, RangeKind::backward) || rank_.class_of(kernel) == "update";
  }

  Piece piece_of(const Kernel& kernel) const {
    Piece piece{kernel.start_us, kernel.start_us + kernel.duration_us};
    const std::string name = rank_.class_of(kernel);
    if (rank_.communicates(kernel)) piece.kind = Piece::Kind::exchange;
    if (kernel.copies) piece.kind = Piece::Kind::copy;
    const bool optimizer = rank_.within(kernel, RangeKind::optimizer);
    if (name == "lookup") {
      piece.phase = Phase::lookup;
    } else if (name == "update") {
      piece.phase = Phase::update;
    } else if (optimizer || rank_.within(kernel, RangeKind::backward)) {
      piece.phase = passes_known_ ? Phase::backward : Phase::forward;
      piece.optimizer = optimizer;
    }
    return piece;
  }

  // Lists what the GPU does in the step, clipped to it, by start.
  std::vector<Piece> pieces(const StepWindow& window) const {
    const double first = window.start_us, last = window.end_us;
    std::vector<Piece> found;
    for (const Kernel& kernel : trace_.kernels) {
      if (kernel.start_us >= last || kernel.start_us + kernel.duration_us <= first) continue;
      Piece piece = piece_of(kernel);
      piece.start_us = std::max(piece.start_us, first);
      piece.end_us = std::min(piece.end_us, last);
      found.push_back(piece);
    }
    std::ranges::stable_sort(found, {}, &Piece::start_us);
    return found;
  }

  TracedStep step(const StepWindow& window) const {
    TracedStep result;
    result.length = {window.us() * 1e-6};
    const std::vector<Piece> found = pieces(window);
    for (const Piece& piece : found)
      if (piece.optimizer && piece.kind == Piece::Kind::compute)
        result.optimizer = result.optimizer + Seconds{(piece.end_us - piece.start_us) * 1e-6};
    share_out(found, window.start_us, window.end_us, result);
    return result;
  }

  // Sweeps over the step: compute hides copies, both hide exchanges, as in Timelines; what is left waits for the next
  // compute.
  static void share_out(const std::vector<Piece>& found, double first, double last, TracedStep& result) {
    double covered = first;  // by compute
    const auto is_copy = [](const Piece& piece) { return piece.kind == Piece::Kind::copy; };
    const auto is_no_compute = [](const Piece& piece) { return piece.kind != Piece::Kind::compute; };
    const auto copies = spans_of(found, is_copy), either = spans_of(found, is_no_compute);
    Phase phase = Phase::forward;
    const auto gap = [&](double from, double to, Phase of) {
      if (to <= from) return;
      TracedStep::Part& part = result.parts[of];
      const double copied = overlap(copies, from, to), exposed = overlap(either, from, to) - copied;
      part.exchange = part.exchange + Seconds{exposed * 1e-6};
      part.copies = part.copies + Seconds{copied * 1e-6};
      part.waiting = part.waiting + Seconds{(to - from - exposed - copied) * 1e-6};
    };
    for (const Piece& piece : found) {
      if (piece.kind != Piece::Kind::compute) continue;
      phase = piece.phase;
      gap(covered, piece.start_us, phase);
      const double from = std::max(covered, piece.start_us);
      if (piece.end_us > from)
        result.parts[phase].compute = result.parts[phase].compute + Seconds{(piece.end_us - from) * 1e-6};
      covered = std::max(covered, piece.end_us);
    }
    gap(covered, last, phase);
  }

  // Disjoint, by start.
  template <typename Wanted>
  static std::vector<std::pair<double, double>> spans_of(const std::vector<Piece>& found, const Wanted& wanted) {
    std::vector<std::pair<double, double>> spans;
    for (const Piece& piece : found) {
      if (!wanted(piece)) continue;
      if (!spans.empty() && piece.start_us <= spans.back().second) {
        spans.back().second = std::max(spans.back().second, piece.end_us);
      } else {
        spans.emplace_back(piece.start_us, piece.end_us);
      }
    }
    return spans;
  }

  static double overlap(const std::vector<std::pair<double, double>>& spans, double from, double to) {
    auto at = std::ranges::partition_point(spans, [&](const auto& span) { return span.second <= from; });
    double sum = 0;
    for (; at != spans.end() && at->first < to; ++at) sum += std::min(to, at->second) - std::max(from, at->first);
    return sum;
  }

  void describe(TracedModel& model, const StepWindow& window) const {
    std::map<std::string, double> by_name, unknown;
    std::map<std::string_view, TracedKernels> by_kind;
    for (const Kernel& kernel : trace_.kernels) {
      if (kernel.start_us < window.start_us || kernel.start_us >= window.end_us) continue;
      const std::string name = rank_.class_of(kernel);
      if (name == "lookup") ++model.lookup_kernels;
      if (name == "update") ++model.update_kernels;
      if (name != "dense" || kernel.copies || rank_.communicates(kernel)) continue;
      const std::string_view kind = kernel_kind(kernel.name);
      by_name[std::string(kernel.name)] += kernel.duration_us * 1e-6;
      if (kind.empty()) unknown[std::string(kernel.name)] += kernel.duration_us * 1e-6;
      TracedKernels& kernels = by_kind[kind];
      kernels.kind = kind;
      ++kernels.count;
      kernels.time = kernels.time + Seconds{kernel.duration_us * 1e-6};
    }
    model.largest = longest_of(by_name);
    model.unknown = longest_of(unknown);
    for (auto& [kind, kernels] : by_kind) model.kernels.push_back(std::move(kernels));
    std::ranges::stable_sort(model.kernels, std::greater{}, [](const auto& each) { return each.time.value; });
  }

  static std::vector<std::pair<std::string, Seconds>> longest_of(const std::map<std::string, double>& by_name) {
    std::vector<std::pair<std::string, Seconds>> longest;
    for (const auto& [name, seconds] : by_name) longest.emplace_back(name, Seconds{seconds});
    std::ranges::stable_sort(longest, std::greater{}, [](const auto& each) { return each.second.value; });
    if (longest.size() > kNamedKernels) longest.resize(kNamedKernels);
    return longest;
  }

  // The operator that launched a kernel says whether it is of the backward pass. Where most operators are missing, what
  // looks like forward is either.
  void count_operators(TracedModel& model, const StepWindow& window) const {
    std::int64_t all = 0, without = 0, backward = 0;
    for (const Kernel& kernel : trace_.kernels) {
      if (kernel.start_us < window.start_us || kernel.start_us >= window.end_us || kernel.copies) continue;
      const auto launch = trace_.launches.find(kernel.correlation);
      if (launch == trace_.launches.end() || launch->second.graph) continue;
      ++all;
      if (!rank_.has_operator(kernel)) ++without;
      if (rank_.within(kernel, RangeKind::backward)) ++backward;
    }
    if (without > 0) note_operators(model, all, without);
    if (all == 0 || !model.passes_known || backward > 0) return;
    model.passes_known = false;
    model.notes.emplace_back(
        "No kernel of the step was launched by an operator of the backward pass of autograd, as where that is compiled "
        "as a whole: forward and backward pass of the dense part cannot be told apart, and both count as forward.");
  }

  static void note_operators(TracedModel& model, std::int64_t all, std::int64_t without) {
    model.passes_known = static_cast<double>(without) <= kMostWithoutOperator * static_cast<double>(all);
    model.notes.push_back(
        fmt::format("Of {} kernels of the step, {} ({}) were launched by no operator that is in the trace{}.", all,
                    without, share_text(without, all),
                    model.passes_known ? ": they count by their names alone, and as forward where these say nothing"
                                       : ", so forward and backward pass of the dense part cannot be told apart: both "
                                         "count as forward"));
  }

  // Launches without a kernel, and operators without a launch, tell what the profiler lost.
  void count_lost(TracedModel& model, const StepWindow& window) const {
    model.lost_exchanges = window.lost_exchanges;
    if (window.lost > 0) {
      model.waiting_known = window.is_whole();
      model.notes.push_back(fmt::format("Of{}: the time of these counts as waiting for the host{}.",
                                        window.lost_text("the step"), unknown_cost(model)));
    }
    count_idle_operators(model, window);
  }

  static std::string unknown_cost(const TracedModel& model) {
    return model.waiting_known ? "" : ", so what the host costs is not known";
  }

  // Launches whose correlation is missing are there, too.
  void count_idle_operators(TracedModel& model, const StepWindow& window) const {
    if (has_unlaunched(window)) return;
    std::map<std::int64_t, std::vector<double>> launches;  // by thread
    for (const auto& [correlation, launch] : trace_.launches) launches[launch.thread].push_back(launch.start_us);
    for (auto& [thread, starts] : launches) std::ranges::sort(starts);
    std::int64_t all = 0, idle = 0;
    for (const KinetoTrace::Range& range : trace_.ranges) {
      const bool inside = range.start_us >= window.host_start_us && range.end_us <= window.host_end_us;
      if (range.kind != RangeKind::launches || !inside) continue;
      ++all;
      const std::vector<double>& starts = launches[range.thread];
      const auto next = std::ranges::lower_bound(starts, range.start_us);
      if (next == starts.end() || *next > range.end_us) ++idle;
    }
    if (static_cast<double>(idle) <= kMostLost * static_cast<double>(all)) return;
    model.waiting_known = false;
    model.notes.push_back(fmt::format(
        "Of {} products and other operators of the host that never run without a kernel, {} ({}) launch none that is "
        "in the trace: kernels and their launches were left out of it, and their time counts as waiting for the "
        "host{}.",
        all, idle, share_text(idle, all), unknown_cost(model)));
  }

  bool has_unlaunched(const StepWindow& window) const {
    return std::ranges::any_of(trace_.kernels, [&](const Kernel& kernel) {
      return !kernel.copies && kernel.start_us >= window.start_us && kernel.start_us < window.end_us &&
             !trace_.launches.contains(kernel.correlation);
    });
  }

  static std::string share_text(std::int64_t part, std::int64_t all) {
    return fmt::format("{:.3g} %", 100 * static_cast<double>(part) / static_cast<double>(all));
  }

  void say_what_is_missing(TracedModel& model, const StepWindow& window) const {
    std::int64_t all = 0, unlaunched = 0, of_graphs = 0;
    for (const Kernel& kernel : trace_.kernels) {
      if (kernel.start_us < window.start_us || kernel.start_us >= window.end_us) continue;
      ++all;
      const auto launch = trace_.launches.find(kernel.correlation);
      if (launch == trace_.launches.end()) ++unlaunched;
      if (launch != trace_.launches.end() && launch->second.graph) ++of_graphs;
    }
    for (const std::string& note : windows_.notes) model.notes.push_back(note);
    if (trace_.broken_events > 0)
      model.notes.push_back(fmt::format("{} without a start or a duration {} left out.",
                                        counted(trace_.broken_events, "GPU kernel"),
                                        trace_.broken_events == 1 ? "is" : "are"));
    if (trace_.repeated > 0)
      model.notes.push_back(fmt::format(
          "{} in the trace more than once; each counts once.",
          trace_.repeated == 1 ? "1 event of the GPU is" : fmt::format("{} events of the GPU are", trace_.repeated)));
    if (!model.world_known)
      model.notes.emplace_back(
          "The trace has collectives and does not say of how many ranks: it is taken as one that stands alone, whose "
          "exchanges are as measured. Add distributedInfo {\"rank\": R, \"world_size\": N} to it.");
    if (unlaunched > 0)
      model.notes.push_back(
          fmt::format("Of {} kernels of the step, {} have no launch with their correlation: they "
                      "count by the time at which they run, not by the operator that launched them.",
                      all, unlaunched));
    if (of_graphs > 0)
      model.notes.push_back(
          fmt::format("{} of {} kernels of the step are of CUDA graphs, which do not say what each is for: but "
                      "for lookups and updates they count as the dense part forward.",
                      of_graphs, all));
    if (model.steps == 1)
      model.notes.emplace_back("Only one whole step is in the trace, so nothing says how far steps differ.");
    std::string names;
    for (const auto& [name, time] : model.unknown)
      names += fmt::format("{}{} {:.3f} ms", names.empty() ? "" : "; ", excerpt(name), time.ms());
    if (!names.empty()) model.notes.push_back("Kernels whose names are not known count as dense: " + names + ".");
  }

  const KinetoTrace& trace_;
  const KinetoRank rank_;
  StepWindows windows_;
  bool passes_known_ = true;
};

}  // namespace

TracedModel traced_model(const KinetoTrace& trace) {
  return StepReader(trace).read();
}

}  // namespace shardsim
