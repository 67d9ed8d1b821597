#include "plan/torchrec/spec/names.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/text.h"

namespace shardsim::torchrec {
namespace {

constexpr std::span kTypes = std::span(kStrategies).first<7>();  // all but flex
constexpr std::array<std::string_view, 8> kAbbreviations = {"DP", "TW", "CW", "TWCW", "RW", "TWRW", "GS", "FLEX"};
constexpr std::array<std::string_view, 2> kVersions = {"2025-10", "2026-08"};
constexpr std::array<std::string_view, 2> kCommits = {"a48cef79", "376cac6a"};
constexpr std::array<std::string_view, 4> kPipelines = {"none", "train_base", "train_sparse_dist",
                                                        "train_prefetch_sparse_dist"};
constexpr std::array<std::string_view, 8> kOptimizers = {"none",      "torch_sgd",       "trec_sgd",      "torch_adam",
                                                         "trec_adam", "rowwise_adagrad", "torch_adagrad", "lamb"};
constexpr std::array<std::string_view, 4> kDevices = {"cpu", "cuda", "mtia", "tpu"};

template <typename Enum>
std::string_view at(std::span<const std::string_view> names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// Returns the enumerator at the name's position in the list of names.
template <typename Enum>
Enum parse(std::span<const std::string_view> names, std::string_view name, const char* what, const Place& place) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  throw input_error(place, fmt::format("{} is no {} of TorchRec", excerpt(name), what),
                    known_names_hint(name, {names.begin(), names.end()}));
}

std::string_view without_alias(std::string_view name) {
  if (name == "sparse_dist") return "train_sparse_dist";
  if (name == "prefetch_sparse_dist" || name == "prefetch_train_sparse_dist") return "train_prefetch_sparse_dist";
  return name == "base" ? "train_base" : name;
}

}  // namespace

std::string_view name_of(PlannerVersion version) {
  return at(kVersions, version);
}
std::string_view commit_of(PlannerVersion version) {
  return at(kCommits, version);
}
std::string_view name_of(ComputeKernel kernel) {
  return at(kComputeKernels, kernel);
}
std::string_view name_of(Pipeline pipeline) {
  return at(kPipelines, pipeline);
}
std::string_view name_of(Optimizer optimizer) {
  return at(kOptimizers, optimizer);
}
std::string_view name_of(Device device) {
  return at(kDevices, device);
}
std::string_view abbreviation(ShardingType type) {
  return at(kAbbreviations, type);
}

std::vector<std::string> version_names() {
  return {kVersions.begin(), kVersions.end()};
}
std::vector<std::string> sharding_type_names() {
  return {kTypes.begin(), kTypes.end()};
}
std::vector<std::string> compute_kernel_names() {
  return {kComputeKernels.begin(), kComputeKernels.end()};
}
std::vector<std::string> device_names() {
  return {kDevices.begin(), kDevices.end()};
}

PlannerVersion parse_version(std::string_view name, const Place& place) {
  return parse<PlannerVersion>(kVersions, name, "version of the planner", place);
}
ShardingType parse_sharding_type(std::string_view name, const Place& place) {
  return parse<ShardingType>(kTypes, name, "sharding type", place);
}
ComputeKernel parse_compute_kernel(std::string_view name, const Place& place) {
  return parse<ComputeKernel>(kComputeKernels, name, "compute kernel", place);
}
Pipeline parse_pipeline(std::string_view name, const Place& place) {
  return parse<Pipeline>(kPipelines, without_alias(name), "pipeline", place);
}
Device parse_device(std::string_view name, const Place& place) {
  return parse<Device>(kDevices, name, "compute device", place);
}

PartitionBy partition_by(ShardingType type) {
  switch (type) {
    case ShardingType::data_parallel:
    case ShardingType::row_wise:
      return PartitionBy::uniform;
    case ShardingType::table_wise:
    case ShardingType::column_wise:
      return PartitionBy::device;
    case ShardingType::grid_shard:
      return PartitionBy::multi_host;
    default:
      return PartitionBy::host;
  }
}

bool known_to(PlannerVersion version, ComputeKernel kernel) {
  return version == PlannerVersion::v2026_08 || kernel < ComputeKernel::dram_ssd_virtual_table;
}

bool cached(ComputeKernel kernel) {
  return kernel == ComputeKernel::fused_uvm_caching || kernel == ComputeKernel::quant_uvm_caching ||
         key_value_like(kernel);
}

bool quantized(ComputeKernel kernel) {
  return kernel == ComputeKernel::quant || kernel == ComputeKernel::quant_uvm ||
         kernel == ComputeKernel::quant_uvm_caching;
}

bool key_value_like(ComputeKernel kernel) {
  return kernel == ComputeKernel::key_value || kernel == ComputeKernel::ssd_virtual_table ||
         kernel == ComputeKernel::dram_virtual_table || kernel == ComputeKernel::dram_ssd_virtual_table;
}

}  // namespace shardsim::torchrec
