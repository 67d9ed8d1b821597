#include "program/timeline/kineto/traced_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "program/timeline/kineto/kineto_names.h"

namespace shardsim {
namespace {

using Kernel = KinetoTrace::Kernel;
using Phase = TracedStep::Phase;
using RangeKind = KinetoTrace::Range::Kind;

constexpr double kOutlier = 1.3;         // times the median: a step with allocations, or the start of the profiler
constexpr double kMostUnlaunched = 0.5;  // of the kernels
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
  explicit StepReader(const KinetoTrace& trace) : trace_(trace), rank_(trace), steps_(trace.steps) {
    std::ranges::sort(steps_, {}, &KinetoTrace::Step::start_us);
  }

  TracedModel read() {
    check();
    TracedModel model;
    model.path = trace_.path;
    model.device = trace_.device;
    model.world_size = std::max<std::int64_t>(1, trace_.world_size.value_or(1));
    const std::vector<std::size_t> kept = kept_steps();
    model.steps = std::ssize(kept);
    model.left_out = std::ssize(steps_) - model.steps;
    const std::size_t median = kept[(kept.size() - 1) / 2];
    model.shortest = {length_us(kept.front()) * 1e-6};
    model.longest = {length_us(kept.back()) * 1e-6};
    model.step = step(median);
    describe(model, median);
    return model;
  }

 private:
  [[noreturn]] void refuse(const std::string& wrong, const char* remedy) const {
    throw input_error({trace_.path}, wrong, remedy);
  }

  void check() const {
    if (trace_.kernels.empty())
      refuse("no GPU kernel is in the trace", "Profile with ProfilerActivity.CPU and ProfilerActivity.CUDA");
    if (trace_.device.find("AMD") != std::string::npos || trace_.backend == "rccl")
      refuse(fmt::format("a trace of ROCm ({}), whose kernels are not known here", excerpt(trace_.device)),
             "Give one of CUDA");
    if (steps_.empty())
      refuse("no step is marked in the trace (ProfilerStep#N)",
             "Profile with a schedule and call prof.step() after each training step");
    if (steps_.size() == 1)
      refuse("only one step is in the trace, so nothing says how far steps differ",
             "Profile three steps or more: schedule(wait=1, warmup=2, active=3)");
    std::set<std::int64_t> devices;
    for (const Kernel& kernel : trace_.kernels) devices.insert(kernel.device);
    if (devices.size() > 1)
      refuse(fmt::format("kernels of {} devices or processes are in one file", devices.size()),
             "Give one file for each rank");
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      if (steps_[i].start_us + 1 < steps_[i - 1].end_us)
        refuse(fmt::format("steps {} and {} overlap: the clock jumped, or several processes are in one file",
                           steps_[i - 1].number, steps_[i].number),
               "Give the trace of one process as the profiler wrote it");
    }
    check_launches();
  }

  void check_launches() const {
    std::int64_t unlaunched = 0, backward = 0;
    for (const Kernel& kernel : trace_.kernels) {
      if (rank_.thread_of(kernel) < 0) ++unlaunched;
      if (is_backward(kernel)) ++backward;
    }
    if (static_cast<double>(unlaunched) > kMostUnlaunched * static_cast<double>(trace_.kernels.size()))
      refuse(fmt::format("of {} kernels, {} have no launch with their correlation", trace_.kernels.size(), unlaunched),
             "Profile with ProfilerActivity.CPU, too");
    if (backward == 0)
      refuse("no kernel of a backward pass is in the trace: it is one of inference", "Profile training steps");
  }

  bool is_backward(const Kernel& kernel) const {
    return rank_.within(kernel, RangeKind::backward) || rank_.class_of(kernel) == "update";
  }

  // From the start of a step to that of the next one.
  double end_us(std::size_t index) const {
    return index + 1 < steps_.size() ? steps_[index + 1].start_us : steps_[index].end_us;
  }
  double length_us(std::size_t index) const { return end_us(index) - steps_[index].start_us; }

  // By length, without those that are far longer than the median.
  std::vector<std::size_t> kept_steps() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < steps_.size(); ++i) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t index) { return length_us(index); });
    const double median = length_us(order[(order.size() - 1) / 2]);
    std::erase_if(order, [&](std::size_t index) { return length_us(index) > kOutlier * median; });
    return order;
  }

  Piece piece_of(const Kernel& kernel) const {
    Piece piece{kernel.start_us, kernel.start_us + kernel.duration_us};
    const std::string name = rank_.class_of(kernel);
    if (is_communication_kernel(kernel.name)) piece.kind = Piece::Kind::exchange;
    if (kernel.copies) piece.kind = Piece::Kind::copy;
    const bool optimizer = rank_.within(kernel, RangeKind::optimizer);
    if (name == "lookup") {
      piece.phase = Phase::lookup;
    } else if (name == "update") {
      piece.phase = Phase::update;
    } else if (optimizer || rank_.within(kernel, RangeKind::backward)) {
      piece.phase = Phase::backward;
      piece.optimizer = optimizer;
    }
    return piece;
  }

  // What the GPU does in the step, clipped to it, by start.
  std::vector<Piece> pieces(std::size_t index) const {
    const double first = steps_[index].start_us, last = end_us(index);
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

  TracedStep step(std::size_t index) const {
    TracedStep result;
    result.length = {length_us(index) * 1e-6};
    const std::vector<Piece> found = pieces(index);
    for (const Piece& piece : found)
      if (piece.optimizer && piece.kind == Piece::Kind::compute)
        result.optimizer = result.optimizer + Seconds{(piece.end_us - piece.start_us) * 1e-6};
    share_out(found, steps_[index].start_us, end_us(index), result);
    return result;
  }

  // Sweeps over the step: compute hides exchanges, these hide copies; what is left waits for the next compute.
  static void share_out(const std::vector<Piece>& found, double first, double last, TracedStep& result) {
    double covered = first;  // by compute
    std::vector<std::pair<double, double>> exchanges = spans_of(found, Piece::Kind::exchange);
    std::vector<std::pair<double, double>> copies = spans_of(found, Piece::Kind::copy);
    Phase phase = Phase::forward;
    const auto gap = [&](double from, double to, Phase of) {
      if (to <= from) return;
      TracedStep::Part& part = result.parts[of];
      const double exposed = overlap(exchanges, from, to);
      const double copied = std::min(overlap(copies, from, to), to - from - exposed);
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
  static std::vector<std::pair<double, double>> spans_of(const std::vector<Piece>& found, Piece::Kind kind) {
    std::vector<std::pair<double, double>> spans;
    for (const Piece& piece : found) {
      if (piece.kind != kind) continue;
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

  void describe(TracedModel& model, std::size_t index) const {
    std::map<std::string, double> by_name;
    for (const Kernel& kernel : trace_.kernels) {
      if (kernel.start_us < steps_[index].start_us || kernel.start_us >= end_us(index)) continue;
      const std::string name = rank_.class_of(kernel);
      if (name == "lookup") ++model.lookup_kernels;
      if (name == "update") ++model.update_kernels;
      if (name == "dense" && !kernel.copies && !is_communication_kernel(kernel.name))
        by_name[kernel.name] += kernel.duration_us * 1e-6;
    }
    for (const auto& [name, seconds] : by_name) model.dense.emplace_back(name, Seconds{seconds});
    std::ranges::stable_sort(model.dense, std::greater{}, [](const auto& each) { return each.second.value; });
    if (model.dense.size() > kNamedKernels) model.dense.resize(kNamedKernels);
  }

  const KinetoTrace& trace_;
  const KinetoRank rank_;
  std::vector<KinetoTrace::Step> steps_;
};

}  // namespace

TracedModel traced_model(const KinetoTrace& trace) {
  return StepReader(trace).read();
}

}  // namespace shardsim
