#include "accuracy/measurements/calls/family_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "accuracy/measurements/least_squares.h"
#include "base/error.h"
#include "base/text.h"
#include "models/compute/kernels/table_kernels.h"

namespace shardsim {
namespace {

constexpr double kSetWeight = 0.375;    // residuals of n calls of a set shrink by n to this power: it weighs as n^(1/4)
constexpr double kDamped = 0.05;        // errors beyond weigh less
constexpr double kHoldNumber = 0.005;   // pull of a number to where it was, for each power of e
constexpr double kLeastNumber = 1e-15;  // a number of which a logarithm is taken

double& number_in(double& value) {
  return value;
}
double& number_in(Seconds& time) {
  return time.value;
}
double& number_in(Bandwidth& rate) {
  return rate.bytes_per_second;
}

// The numbers of one part of a family, as logarithms and back.
class PartNumbers {
 public:
  PartNumbers(KernelFamily& family, std::string_view part) : family_(family), part_(part) {}

  std::vector<double> logarithms() {
    std::vector<double> result;
    visit([&](auto& value) { result.push_back(std::log(std::max(get(value), kLeastNumber))); });
    return result;
  }
  void set(const std::vector<double>& logarithms) {
    std::size_t next = 0;
    visit([&](auto& value) { put(value, std::exp(logarithms[next++])); });
  }

 private:
  template <typename Take>
  void visit(Take take) {
    visit_numbers(family_, [&](std::string_view part, const char*, auto& value) {
      if (part == part_) take(value);
    });
  }
  static double get(Bytes& bytes) { return static_cast<double>(bytes.count); }
  static double get(auto& value) { return number_in(value); }
  static void put(Bytes& bytes, double value) { bytes.count = static_cast<std::int64_t>(value); }
  static void put(auto& value, double to) { number_in(value) = to; }

  KernelFamily& family_;
  std::string_view part_;
};

struct WeighedCall {
  const MeasuredCall* call = nullptr;
  double weight = 1;  // of its residual
};

std::vector<WeighedCall> fitting_calls(const std::vector<MeasuredCalls>& files) {
  std::map<std::string, int> of_set;
  for (const MeasuredCalls& file : files)
    for (const MeasuredCall& call : file.calls) of_set[call.set] += call.fits ? 1 : 0;
  std::vector<WeighedCall> fitting;
  for (const MeasuredCalls& file : files)
    for (const MeasuredCall& call : file.calls)
      if (call.fits) fitting.push_back({&call, std::pow(of_set[call.set], -kSetWeight)});
  return fitting;
}

class FamilyFit {
 public:
  FamilyFit(const std::vector<WeighedCall>& calls, const GpuConstants& gpu) : calls_(calls), gpu_(gpu) {}

  void fit(KernelFamily& family, std::string_view part) const {
    PartNumbers numbers(family, part);
    const std::vector<double> start = numbers.logarithms();
    numbers.set(least_squares(
        [&](const std::vector<double>& logarithms) {
          numbers.set(logarithms);
          std::vector<double> residuals = part == "lookup" ? of_lookups(family) : of_updates(family);
          for (std::size_t i = 0; i < start.size(); ++i) residuals.push_back(kHoldNumber * (logarithms[i] - start[i]));
          return residuals;
        },
        start));
  }

 private:
  std::vector<double> of_lookups(const KernelFamily& family) const {
    std::vector<double> residuals;
    for (const auto& [call, weight] : calls_) {
      const double us = unbounded_lookup_time(call->lookup.tables, family, gpu_).us();
      residuals.push_back(weight * damped(std::log(us / call->forward_us), kDamped));
    }
    return residuals;
  }
  std::vector<double> of_updates(const KernelFamily& family) const {
    std::vector<double> residuals;
    for (const auto& [call, weight] : calls_) {
      const double us = tables_update_time(call->update.tables, call->update.optimizer, family, gpu_).us();
      residuals.push_back(weight * damped(std::log(us / call->backward_us), kDamped));
    }
    return residuals;
  }

  const std::vector<WeighedCall>& calls_;
  const GpuConstants& gpu_;
};

std::string in_file(const Seconds& time) {
  return time.value >= 1e-6 ? fmt::format("\"{:.4g} us\"", time.us()) : fmt::format("\"{:.4g} ns\"", time.value * 1e9);
}
std::string in_file(const Bandwidth& rate) {
  return fmt::format("\"{:.0f} GB/s\"", rate.bytes_per_second * 1e-9);
}
std::string in_file(const Bytes& bytes) {
  return fmt::format("\"{:.4g} MB\"", static_cast<double>(bytes.count) * 1e-6);
}
std::string in_file(double value) {
  return fmt::format("{:.4g}", value);
}

std::string names_of_files(const std::vector<MeasuredCalls>& files) {
  std::vector<std::string> names;
  for (const MeasuredCalls& file : files) {
    const std::filesystem::path path = file.path;
    names.push_back((path.parent_path().filename() / path.filename()).string());
  }
  return join(names, ", ");
}

void check_gpu(const MeasuredCalls& file, const KernelFamily& family, const GpuConstants& gpu) {
  const GpuTable gpus = shipped_gpu_table();
  const GpuConstants* const found = gpus.find(file.gpu.model);
  if (found != nullptr && found->name == gpu.name) return;
  throw input_error({file.path},
                    fmt::format("the rows are of {}, and the kernels {} of {}", file.gpu.model, family.name, gpu.name),
                    "Give rows of that GPU");
}

}  // namespace

KernelFamily fitted_family(KernelFamily start, const std::vector<MeasuredCalls>& files, const GpuConstants& gpu) {
  const std::vector<WeighedCall> calls = fitting_calls(files);
  if (calls.empty()) throw input_error({files.front().path}, "no row is one to fit on", "Give rows of other sets");
  for (const MeasuredCalls& file : files) check_gpu(file, start, gpu);
  const FamilyFit fit(calls, gpu);
  fit.fit(start, "lookup");
  fit.fit(start, "update");
  start.lookup.drain = std::max(start.lookup.drain, 1.0);
  return start;
}

namespace {

constexpr const char* kFamilyHead =
    R"(# The kernels `{name}`: constants of gpu_kernels with `kernels: {name}` (docs/formats/measurements.md, kernels by table).
# Written by `shardsim compute fit`: the numbers below `lookup` and `update` were fitted on the {rows} rows of {files} that
# fit; the others judge (scenarios/measurements/README.md). A number of which no row speaks is that of the kernels that
# the fit began with. least_lanes, lanes_by, row_alignment and cube_side are the design of the kernels. l1 and l2_share were chosen from a few
# values with rows that fit in view.
schema: shardsim.kernels/1
name: {name}
gpu: {gpu}
l1: {{value: "{l1} B", source: "guess: what is left of the 256 KB of an SM beside shared memory"}}
l2_share: {{value: {l2_share}, source: "guess: what the lookups of one table find again"}}
least_lanes: {lanes}
lanes_by: {lanes_by}
row_alignment: {alignment}
cube_side: {cube_side}
)";

}  // namespace

std::string family_text(const KernelFamily& family, const std::vector<MeasuredCalls>& files) {
  const std::size_t rows = fitting_calls(files).size();
  const std::string names = names_of_files(files);
  std::string text =
      fmt::format(kFamilyHead, fmt::arg("name", family.name), fmt::arg("rows", rows), fmt::arg("files", names),
                  fmt::arg("gpu", family.gpu), fmt::arg("l1", family.l1.count), fmt::arg("l2_share", family.l2_share),
                  fmt::arg("lanes", family.least_lanes), fmt::arg("lanes_by", family.own_lanes ? "own" : "widest"),
                  fmt::arg("alignment", family.row_alignment), fmt::arg("cube_side", family.cube_side));
  std::string before;
  visit_numbers(family, [&](std::string_view part, const char* key, const auto& value) {
    if (part != before) text += fmt::format("{}:\n", part);
    before = part;
    text += fmt::format("  {}: {{value: {}, fitted: true, fitted_on: [{}], rows_used: {}, source: \"{} times\"}}\n",
                        key, in_file(value), names, rows, part == "lookup" ? "forward" : "backward");
  });
  return text;
}

}  // namespace shardsim
