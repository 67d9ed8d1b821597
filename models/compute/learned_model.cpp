#include "models/compute/learned_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/compute/gpus/kernel_family.h"

namespace shardsim {
namespace {

constexpr const char* kShippedCosts = "h100_fbgemm.h5";
constexpr const char* kShippedWord = "auto";

std::shared_ptr<const LearnedCosts> read_shipped_costs() {
  const std::filesystem::path file = data_folder() / "scenarios" / "costs" / kShippedCosts;
  if (!is_file(file)) return nullptr;
  return std::make_shared<const LearnedCosts>(LearnedCosts::read(file));
}

// The features of the published layouts count how many rows are met once, twice, 3 times ..., which nobody states of an
// operation.
void refuse_published_layout(const LearnedCosts& costs, const Place& place, const std::string& file) {
  if (has_factors(costs.layout())) return;
  throw input_error(place, fmt::format("the nets of {} have the features that NeuroShard published", excerpt(file)),
                    "Train nets for operations: shardsim cost-model train --layout batches, or measured");
}

const char* kGpuKernelsRemedy =
    "Take compute_model: {name: gpu_kernels}, or nets that were trained for this (shardsim cost-model train)";

[[noreturn]] void refuse_at(const Place& place, const std::string& what) {
  throw input_error(place, what, kGpuKernelsRemedy);
}

void check_table(const Table& table, const LabelSetting& setting) {
  const std::string name = "table '" + table.name + "'";
  if (table.kind != TableKind::pooled)
    refuse_at(table.place,
              name + " is a sequence, and the nets of the compute model learned from pooled lookups alone");
  if (dtype_name(table.dtype) != setting.dtype)
    refuse_at(table.place, fmt::format("{} has rows of {}, and the nets of the compute model learned from rows of {}",
                                       name, dtype_name(table.dtype), setting.dtype));
  if (const std::string kernels = kernels_of(setting); !kernels.empty()) check_columns(table, kernels);
}

}  // namespace

bool is_learned(const Tree& compute_model) {
  return compute_model_name(compute_model) == kLearnedModel;
}

bool has_kernel_constants(const Tree& compute_model) {
  return is_learned(compute_model) || compute_model_name(compute_model) == "gpu_kernels";
}

std::shared_ptr<const LearnedCosts> shipped_costs() {
  static const std::shared_ptr<const LearnedCosts> costs = read_shipped_costs();
  return costs;
}

std::shared_ptr<const LearnedCosts> learned_costs_of(const Tree& compute_model) {
  const Tree* const costs = compute_model.find("costs");
  const Place place = costs == nullptr ? compute_model.place : costs->place;
  if (costs != nullptr && costs->scalar != kShippedWord) {
    auto read = std::make_shared<const LearnedCosts>(LearnedCosts::read(costs->scalar));
    refuse_published_layout(*read, place, costs->scalar);
    return read;
  }
  if (std::shared_ptr<const LearnedCosts> shipped = shipped_costs()) return shipped;
  throw input_error(place, "this installation has no shipped costs (scenarios/costs)",
                    "Name a file as compute_model.costs, or take compute_model: {name: gpu_kernels}");
}

std::string kernels_of(const LabelSetting& setting) {
  if (setting.provider == "fbgemm") return "fbgemm";
  return setting.provider == "cuda" || setting.provider == "executor" ? "executor" : "";
}

bool is_same_device(const std::string& device, const std::string& gpu) {
  static const GpuTable gpus = shipped_gpu_table();
  const GpuConstants* const found = gpus.find(gpu);
  return device == gpu || (found != nullptr && found->name == device);
}

void check_columns(const Table& table, const std::string& kernels) {
  if (table.dim % kColumnsAtOnce == 0) return;
  throw input_error(table.place,
                    fmt::format("the kernels {} look up whole groups of {} columns, but table '{}' has {}", kernels,
                                kColumnsAtOnce, table.name, table.dim),
                    "Take a dim that is a multiple of 4 for every table, as FBGEMM asks for");
}

void check_learned(const LearnedCosts* costs, const Tree& compute_model, const GpuSpec& gpu, const Workload& workload) {
  if (costs == nullptr) return;
  const LabelSetting& setting = costs->setting();
  if (!is_same_device(setting.device, gpu.model))
    refuse_at(compute_model.place,
              fmt::format("the nets of the compute model learned from times on {}, and the cluster has {}",
                          setting.device, gpu.model));
  if (workload.optimizer != setting.optimizer)
    refuse_at(compute_model.place,
              fmt::format("the nets of the compute model learned from updates by {}, and the workload has {}",
                          setting.optimizer, workload.optimizer));
  const std::string kernels = kernel_family_name(compute_model), learned = kernels_of(setting);
  if (!learned.empty() && kernels != learned)
    refuse_at(compute_model.place,
              fmt::format("the nets of the compute model learned from the kernels {}, and the case has {}", learned,
                          kernels));
  for (const Table& table : workload.tables) check_table(table, setting);
}

std::string beyond(std::string_view noun, double number, std::int64_t from, std::int64_t to) {
  if (to == 0 || (number >= static_cast<double>(from) && number <= static_cast<double>(to))) return "";
  if (from == to) return fmt::format("{:.0f} {} (learned from {})", number, noun, from);
  return fmt::format("{:.0f} {} (learned from {} to {})", number, noun, from, to);
}

std::vector<std::string> beyond_labels(const LearnedCosts& costs, const Workload& workload, std::int64_t batch) {
  const LearnedRange& range = costs.range();
  const std::int64_t one = costs.setting().batch;
  std::vector<std::string> texts;
  const std::string samples = one > 0 ? beyond("samples", static_cast<double>(batch), one, one)
                                      : beyond("samples", static_cast<double>(batch), range.batch_from, range.batch_to);
  if (!samples.empty()) texts.push_back("lookups have " + samples);
  for (const Table& table : workload.tables) {
    const std::string columns = beyond("columns", static_cast<double>(table.dim), range.columns_from, range.columns_to);
    if (!columns.empty()) texts.push_back(fmt::format("table '{}' has {}", table.name, columns));
  }
  return texts;
}

}  // namespace shardsim
