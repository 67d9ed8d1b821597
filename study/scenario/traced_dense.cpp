#include "study/scenario/traced_dense.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "base/tree/yaml_text.h"
#include "program/timeline/kineto/kineto_trace.h"

namespace shardsim {
namespace {

using TracedPhase = TracedStep::Phase;

std::int64_t nanoseconds(Seconds time) {
  return std::llround(time.value * 1e9);
}

class DenseText {
 public:
  DenseText(const TracedModel& traced, bool with_exchanges) : traced_(traced), with_exchanges_(with_exchanges) {}

  std::string text() {
    const std::string file = printable(std::filesystem::path(traced_.path).filename().string());
    std::string parts = part("id_exchange", {}, "exchanges of ids are in the parts that waited for them");
    parts += of_phase("lookup", TracedPhase::lookup);
    parts += of_phase("dense_forward", TracedPhase::forward);
    parts += of_phase("dense_backward", TracedPhase::backward);
    parts += of_phase("update", TracedPhase::update);
    return fmt::format("dense:\n  measured:\n    rest: {{value: \"{} ns\", source: {}}}\n    split:\n{}", sum_,
                       in_yaml_quotes(fmt::format("{}, the median of {} steps of {:.3f} to {:.3f} ms", file,
                                                  traced_.steps, traced_.shortest.ms(), traced_.longest.ms())),
                       parts);
  }

 private:
  std::string of_phase(const char* key, TracedPhase phase) {
    const auto found = traced_.step.parts.find(phase);
    const TracedStep::Part of = found == traced_.step.parts.end() ? TracedStep::Part{} : found->second;
    std::string reason = fmt::format("{:.3f} ms of kernels, {:.3f} ms of copies, {:.3f} ms waiting for the host",
                                     of.compute.ms(), of.copies.ms(), of.waiting.ms());
    if (with_exchanges_) reason += fmt::format(", {:.3f} ms of exposed exchanges", of.exchange.ms());
    return part(key, with_exchanges_ ? of.all() : of.all() - of.exchange, reason);
  }

  std::string part(const char* key, Seconds time, const std::string& reason) {
    sum_ += nanoseconds(time);
    return fmt::format("      {}: {{time: \"{} ns\", reason: {}}}\n", key, nanoseconds(time), in_yaml_quotes(reason));
  }

  const TracedModel& traced_;
  bool with_exchanges_;
  std::int64_t sum_ = 0;  // ns
};

}  // namespace

std::string traced_dense_text(const TracedModel& traced, bool with_exchanges) {
  return DenseText(traced, with_exchanges).text();
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
  const TracedModel traced = traced_model(read_kineto_trace(std::filesystem::path(trace->scalar)));
  const Tree read = parse_yaml(traced_dense_text(traced, traced.world_size == 1), trace->scalar);
  Tree measured = *read.find("dense")->find("measured");
  dense->fields.clear();
  dense->fields.emplace_back("measured", std::move(measured));
  return workload;
}

}  // namespace shardsim
