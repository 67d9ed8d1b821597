#include "study/scenario/traced_dense.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "base/tree/yaml_text.h"
#include "program/timeline/kineto/kineto_trace.h"

namespace shardsim {
namespace {

using TracedPhase = TracedStep::Phase;

constexpr double kWaitsForHost = 0.05;  // of a step: from there on it is the host's length

std::int64_t nanoseconds(Seconds time) {
  return std::llround(time.value * 1e9);
}

// A part of the step in one batch: its work, and what it waits for the host.
struct PartTimes {
  double work = 0, waiting = 0;
  PartTimes operator+(const PartTimes& other) const { return {work + other.work, waiting + other.waiting}; }
};

// A number of each traced batch, ascending, on lines from one to the next. Before the first and behind the last of them
// it changes by `slope` a sample.
class BatchLine {
 public:
  struct Point {
    double batch = 0, value = 0;
  };
  explicit BatchLine(std::vector<Point> points, double slope = 0) : points_(std::move(points)), slope_(slope) {}

  double at(double batch) const {
    if (points_.empty()) return 0;
    const auto next = std::ranges::lower_bound(points_, batch, {}, &Point::batch);
    if (next == points_.end()) return points_.back().value + slope_ * (batch - points_.back().batch);
    if (next->batch == batch) return next->value;
    if (next == points_.begin()) return next->value + slope_ * (batch - next->batch);
    const Point& before = *(next - 1);
    return before.value + (next->value - before.value) * (batch - before.batch) / (next->batch - before.batch);
  }

  // How it changes behind `batch`.
  double slope_at(double batch) const {
    const auto next = std::ranges::upper_bound(points_, batch, {}, &Point::batch);
    if (next == points_.begin() || next == points_.end()) return slope_;
    const Point& before = *(next - 1);
    return (next->value - before.value) / (next->batch - before.batch);
  }

 private:
  std::vector<Point> points_;
  double slope_;
};

struct TracedKey {
  const char* name;
  TracedPhase phase;
  bool traced = true;  // false: exchanges of ids are in the parts that waited for them
};
constexpr std::array<TracedKey, 5> kTracedKeys = {{{"id_exchange", TracedPhase::lookup, false},
                                                   {"lookup", TracedPhase::lookup},
                                                   {"dense_forward", TracedPhase::forward},
                                                   {"dense_backward", TracedPhase::backward},
                                                   {"update", TracedPhase::update}}};

class DenseText {
 public:
  explicit DenseText(const TracedRest& rest) : rest_(rest), batch_(static_cast<double>(rest.batch)) {
    for (const TracedBatch& each : rest.batches) traced_.push_back(&each);
    std::ranges::sort(traced_, {}, &TracedBatch::batch);
    nearest_ = *std::ranges::min_element(traced_, {}, [this](const auto* each) { return distance(*each); });
    if (rest.batch == 0) batch_ = static_cast<double>(nearest_->batch);
    find_waiting();
  }

  std::string text() {
    std::string parts;
    for (const TracedKey& key : kTracedKeys) parts += part(key);
    std::string head = fmt::format("dense:\n  measured:\n    rest: {{value: \"{} ns\", source: {}}}\n", sum_,
                                   in_yaml_quotes(source()));
    if (batch_ > 0) head += fmt::format("    batch: {:.0f}\n", batch_);
    if (!rest_.embeddings) head += "    embeddings: simulated\n";
    if (scales()) head += fmt::format("    host: \"{} ns\"\n", host_nanoseconds());
    return head + "    split:\n" + parts;
  }

 private:
  // Where all parts together are as long as the host needs, they are so when each of them is rounded, too.
  std::int64_t host_nanoseconds() const {
    const std::int64_t host = nanoseconds({host_});
    return std::abs(host - sum_) <= static_cast<std::int64_t>(kTracedKeys.size()) ? sum_ : host;
  }

  std::int64_t distance(const TracedBatch& of) const { return std::abs(of.batch - rest_.batch); }
  bool scales() const { return rest_.batches.size() > 1 || rest_.scale != DenseScale::none; }

  std::string source() const {
    std::string text;
    for (const TracedBatch& each : rest_.batches) {
      const TracedModel& traced = *each.traced;
      text += fmt::format("{}{}, the median of {} of {:.3f} to {:.3f} ms", text.empty() ? "" : "; ",
                          printable(std::filesystem::path(traced.path).filename().string()),
                          counted(traced.steps, "step"), traced.shortest.ms(), traced.longest.ms());
    }
    return text;
  }

  PartTimes of(const TracedModel& traced, TracedPhase phase) const {
    const auto found = traced.step.parts.find(phase);
    if (found == traced.step.parts.end()) return {};
    const TracedStep::Part& part = found->second;
    const bool kernels = rest_.embeddings || (phase != TracedPhase::lookup && phase != TracedPhase::update);
    return {(kernels ? part.compute.value : 0) + part.copies.value + (rest_.exchanges ? part.exchange.value : 0),
            part.waiting.value};
  }

  // Where lookups and updates are simulated, what comes before them is the dense part's.
  PartTimes times(const TracedBatch& each, const TracedKey& key) const {
    if (!key.traced) return {};
    const TracedModel& traced = *each.traced;
    if (rest_.embeddings) return of(traced, key.phase);
    if (key.phase == TracedPhase::forward) return of(traced, key.phase) + of(traced, TracedPhase::lookup);
    if (key.phase == TracedPhase::backward) return of(traced, key.phase) + of(traced, TracedPhase::update);
    return {};
  }

  PartTimes all(const TracedBatch& each) const {
    PartTimes sum;
    for (const TracedKey& key : kTracedKeys) sum = sum + times(each, key);
    return sum;
  }

  template <typename Of>
  BatchLine line(const Of& of, double slope = 0) const {
    std::vector<BatchLine::Point> points;
    for (const TracedBatch* const each : traced_) points.push_back({static_cast<double>(each->batch), of(*each)});
    return BatchLine(std::move(points), slope);
  }

  // A step that waits much is as long as the host needs; what another one waits is no matter of the host. Neither
  // makes the step of a traced batch longer than it was.
  void find_waiting() {
    const bool stays = traced_.size() == 1 && rest_.scale == DenseScale::nothing;
    const auto is_host = [&](const TracedBatch& each) {
      const PartTimes step = all(each);
      return stays || step.waiting > kWaitsForHost * (step.work + step.waiting);
    };
    std::vector<BatchLine::Point> host, other;
    for (const TracedBatch* const each : traced_) {
      const PartTimes step = all(*each);
      const bool late = is_host(*each);
      (late ? host : other)
          .push_back({static_cast<double>(each->batch), late ? step.work + step.waiting : step.waiting});
    }
    const BatchLine of_host(std::move(host)), of_others(std::move(other));
    host_ = line([&](const TracedBatch& each) {
              const PartTimes step = all(each);
              return std::min(of_host.at(static_cast<double>(each.batch)), step.work + step.waiting);
            }).at(batch_);
    const double kept = line([&](const TracedBatch& each) {
                          return std::min(of_others.at(static_cast<double>(each.batch)), all(each).waiting);
                        }).at(batch_);
    double work = 0;
    for (const TracedKey& key : kTracedKeys) {
      work += work_of(key);
      waited_ += waited_of(key);
    }
    waiting_ = std::max(kept, host_ - work);
  }

  BatchLine work_line(const TracedKey& key) const {
    return line([&](const TracedBatch& each) { return times(each, key).work; }, per_sample(key));
  }
  double work_of(const TracedKey& key) const { return std::max(0.0, work_line(key).at(batch_)); }
  double waited_of(const TracedKey& key) const {
    return line([&](const TracedBatch& each) { return times(each, key).waiting; }).at(batch_);
  }

  // Returns what a sample adds to the work beyond the traced batches: least squares through them. No work gets shorter
  // with more of them.
  double per_sample(const TracedKey& key) const {
    if (traced_.size() == 1) {
      if (rest_.scale != DenseScale::kernels) return 0;
      return times(*nearest_, key).work / static_cast<double>(nearest_->batch);
    }
    const auto count = static_cast<double>(traced_.size());
    double mean = 0, mean_work = 0, above = 0, below = 0;
    for (const TracedBatch* const each : traced_) {
      mean += static_cast<double>(each->batch) / count;
      mean_work += times(*each, key).work / count;
    }
    for (const TracedBatch* const each : traced_) {
      const double off = static_cast<double>(each->batch) - mean;
      above += off * (times(*each, key).work - mean_work);
      below += off * off;
    }
    return std::max(0.0, above / below);
  }

  std::string reason(const TracedKey& key) const {
    if (!key.traced) return "exchanges of ids are in the parts that waited for them";
    const auto found = nearest_->traced->step.parts.find(key.phase);
    const TracedStep::Part traced_part =
        found == nearest_->traced->step.parts.end() ? TracedStep::Part{} : found->second;
    std::string text = fmt::format("{:.3f} ms of kernels, {:.3f} ms of copies, {:.3f} ms waiting for the host",
                                   traced_part.compute.ms(), traced_part.copies.ms(), traced_part.waiting.ms());
    if (!nearest_->traced->passes_known && key.phase == TracedPhase::forward)
      text += " (and of the backward pass, which the trace does not tell apart)";
    if (rest_.exchanges) text += fmt::format(", {:.3f} ms of exposed exchanges", traced_part.exchange.ms());
    const bool moved = !rest_.embeddings && (key.phase == TracedPhase::lookup || key.phase == TracedPhase::update);
    if (moved) text = "kernels are simulated; measured were " + text;
    if (distance(*nearest_) == 0 || rest_.batch == 0) return text;
    return fmt::format("with a batch of {}: {}", nearest_->batch, text);
  }

  std::string part(const TracedKey& key) {
    const double work = work_of(key), waited = waited_of(key);
    const double waiting = waited_ > 0 ? waiting_ * (waited / waited_) : 0;
    const std::int64_t time = nanoseconds({work + waiting});
    sum_ += time;
    std::string text = fmt::format("      {}: {{time: \"{} ns\"", key.name, time);
    if (scales())
      text += fmt::format(", per_sample: \"{:.4f} ns\", waiting: \"{} ns\"",
                          std::max(0.0, work_line(key).slope_at(batch_)) * 1e9, nanoseconds({waiting}));
    return text + fmt::format(", reason: {}}}\n", in_yaml_quotes(reason(key)));
  }

  const TracedRest& rest_;
  std::vector<const TracedBatch*> traced_;  // by batch
  const TracedBatch* nearest_ = nullptr;
  double batch_ = 0;
  double host_ = 0;       // what it needs
  double waiting_ = 0;    // of all parts together
  double waited_ = 0;     // the same on lines between the traces, which say what of it each part has
  std::int64_t sum_ = 0;  // ns
};

}  // namespace

std::string traced_dense_text(const TracedRest& rest) {
  return DenseText(rest).text();
}

namespace {

// What a reader of the iteration must know of the trace that its dense part is.
std::vector<std::string> notes_of_trace(const TracedModel& traced, bool exchanges, bool embeddings) {
  std::vector<std::string> notes = {fmt::format(
      "The dense part{} and the host are those of {}{}: neither the cluster's GPU{} changes them.",
      embeddings ? ", lookups, updates" : "", printable(std::filesystem::path(traced.path).filename().string()),
      traced.device.empty() ? "" : ", a trace of " + printable(traced.device),
      embeddings ? ", tables nor a plan" : " nor a plan")};
  if (!exchanges)
    notes.push_back(fmt::format(
        "The trace is of {}: what they exchange is no part of the measured time. The exchanges of this plan are "
        "simulated instead, and there are none on one GPU.",
        counted(traced.world_size, "rank")));
  if (traced.shapes.batch == 0)
    notes.emplace_back("The trace does not say its batch: its step is taken as one of batch_per_gpu samples.");
  notes.insert(notes.end(), traced.notes.begin(), traced.notes.end());
  return notes;
}

}  // namespace

Tree with_traced_dense(Tree workload, std::vector<std::string>& notes) {
  Tree* const dense = workload.find("dense");
  const Tree* const trace = dense == nullptr || dense->kind != Tree::Kind::map ? nullptr : dense->find("trace");
  if (trace == nullptr || trace->kind != Tree::Kind::scalar) return workload;
  for (const auto& [key, value] : dense->fields) {
    if (key == "trace") continue;
    throw input_error(value.place, fmt::format("the dense part has both 'trace' and '{}'", key),
                      "The trace says all of it: leave one of the two out");
  }
  const Tree* const batch = workload.find("batch_per_gpu");
  const TracedModel traced = traced_model(read_kineto_trace(std::filesystem::path(trace->scalar)));
  const std::int64_t of = traced.shapes.batch;
  if (of > 0 && batch != nullptr && batch->kind == Tree::Kind::scalar && batch->scalar != std::to_string(of))
    throw input_error(trace->place,
                      fmt::format("the trace is of a batch of {} per GPU, and batch_per_gpu is {}", of, batch->scalar),
                      "Let shardsim import make the dense part, of traces of two batches or with --scale-dense");
  const bool exchanges = traced.world_size == 1, embeddings = traced.lookup_kernels + traced.update_kernels > 0;
  const Tree read = parse_yaml(traced_dense_text({.batches = {{traced.shapes.batch, &traced}},
                                                  .batch = traced.shapes.batch,
                                                  .exchanges = exchanges,
                                                  .embeddings = embeddings}),
                               trace->scalar);
  notes = notes_of_trace(traced, exchanges, embeddings);
  Tree measured = *read.find("dense")->find("measured");
  dense->fields.clear();
  dense->fields.emplace_back("measured", std::move(measured));
  return workload;
}

}  // namespace shardsim
