#include "study/scenario/traced_dense.h"

#include <fmt/format.h>

#include <algorithm>
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

class DenseText {
 public:
  explicit DenseText(const TracedRest& rest) : rest_(rest) {
    // The traced batch that is nearest has the shares of waiting.
    for (const TracedBatch& each : rest.batches)
      if (nearest_ == nullptr || distance(each) < distance(*nearest_)) nearest_ = &each;
  }

  std::string text() {
    std::string parts = part(
        "id_exchange", [](const TracedModel&) { return PartTimes{}; },
        "exchanges of ids are in the parts that waited for them");
    parts += of_phase("lookup", TracedPhase::lookup);
    parts += of_phase("dense_forward", TracedPhase::forward);
    parts += of_phase("dense_backward", TracedPhase::backward);
    parts += of_phase("update", TracedPhase::update);
    std::string head = fmt::format("dense:\n  measured:\n    rest: {{value: \"{} ns\", source: {}}}\n", sum_,
                                   in_yaml_quotes(source()));
    if (nearest_->batch > 0) head += fmt::format("    batch: {}\n", nearest_->batch);
    if (!rest_.embeddings) head += "    embeddings: simulated\n";
    if (scales()) head += fmt::format("    host: \"{} ns\"\n", nanoseconds({host()}));
    return head + "    split:\n" + parts;
  }

 private:
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

  // The step that waits most for the host says what that needs; none: it is never the limit.
  double host() const {
    double found = 0, most = kWaitsForHost;
    const bool stays = rest_.batches.size() == 1 && rest_.scale == DenseScale::nothing;
    for (const TracedBatch& each : rest_.batches) {
      double waiting = 0, exchange = 0;
      for (const auto& [phase, part] : each.traced->step.parts) {
        waiting += part.waiting.value;
        exchange += part.exchange.value;
      }
      const double length = each.traced->step.length.value - (rest_.exchanges ? 0 : exchange);
      if (!stays && waiting <= most * length) continue;
      most = waiting / length;
      found = length - embeddings_of(*each.traced);
    }
    return found;
  }

  double embeddings_of(const TracedModel& traced) const {
    double kernels = 0;
    if (rest_.embeddings) return kernels;
    for (const auto& [phase, part] : traced.step.parts)
      if (phase == TracedPhase::lookup || phase == TracedPhase::update) kernels += part.compute.value;
    return kernels;
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
  std::string of_phase(const char* key, TracedPhase phase) {
    const auto times = [this, phase](const TracedModel& traced) {
      if (rest_.embeddings) return of(traced, phase);
      if (phase == TracedPhase::forward) return of(traced, phase) + of(traced, TracedPhase::lookup);
      if (phase == TracedPhase::backward) return of(traced, phase) + of(traced, TracedPhase::update);
      return PartTimes{};
    };
    const auto found = nearest_->traced->step.parts.find(phase);
    const TracedStep::Part traced_part =
        found == nearest_->traced->step.parts.end() ? TracedStep::Part{} : found->second;
    std::string reason = fmt::format("{:.3f} ms of kernels, {:.3f} ms of copies, {:.3f} ms waiting for the host",
                                     traced_part.compute.ms(), traced_part.copies.ms(), traced_part.waiting.ms());
    if (rest_.exchanges) reason += fmt::format(", {:.3f} ms of exposed exchanges", traced_part.exchange.ms());
    const bool moved = !rest_.embeddings && (phase == TracedPhase::lookup || phase == TracedPhase::update);
    if (moved) reason = "kernels are simulated; measured were " + reason;
    return part(key, times, reason);
  }

  // Returns what a sample adds to the work: least squares through the traced batches. No work gets shorter with more of
  // them.
  template <typename Times>
  double per_sample(const Times& times) const {
    if (rest_.batches.size() == 1) {
      if (rest_.scale != DenseScale::kernels) return 0;
      return times(*nearest_->traced).work / static_cast<double>(nearest_->batch);
    }
    const auto count = static_cast<double>(rest_.batches.size());
    double mean = 0, mean_work = 0, above = 0, below = 0;
    for (const TracedBatch& each : rest_.batches) {
      mean += static_cast<double>(each.batch) / count;
      mean_work += times(*each.traced).work / count;
    }
    for (const TracedBatch& each : rest_.batches) {
      const double off = static_cast<double>(each.batch) - mean;
      above += off * (times(*each.traced).work - mean_work);
      below += off * off;
    }
    return std::max(0.0, above / below);
  }

  template <typename Times>
  std::string part(const char* key, const Times& times, const std::string& reason) {
    const PartTimes now = times(*nearest_->traced);
    const std::int64_t time = nanoseconds({now.work + now.waiting});
    sum_ += time;
    std::string text = fmt::format("      {}: {{time: \"{} ns\"", key, time);
    if (scales())
      text += fmt::format(", per_sample: \"{:.4f} ns\", waiting: \"{} ns\"", per_sample(times) * 1e9,
                          nanoseconds({now.waiting}));
    return text + fmt::format(", reason: {}}}\n", in_yaml_quotes(reason));
  }

  const TracedRest& rest_;
  const TracedBatch* nearest_ = nullptr;
  std::int64_t sum_ = 0;  // ns
};

}  // namespace

std::string traced_dense_text(const TracedRest& rest) {
  return DenseText(rest).text();
}

Tree with_traced_dense(Tree workload) {
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
  const Tree read = parse_yaml(traced_dense_text({.batches = {{traced.shapes.batch, &traced}},
                                                  .batch = traced.shapes.batch,
                                                  .exchanges = traced.world_size == 1}),
                               trace->scalar);
  Tree measured = *read.find("dense")->find("measured");
  dense->fields.clear();
  dense->fields.emplace_back("measured", std::move(measured));
  return workload;
}

}  // namespace shardsim
