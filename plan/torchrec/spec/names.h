#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace shardsim::torchrec {

// The words of TorchRec's planner (github.com/pytorch/torchrec, torchrec/distributed), as its plans, constraints and
// statistics write them.

// The two states of that planner that are reproduced. What differs between them asks for the version; all else is the
// same in both.
enum class PlannerVersion {
  v2025_10,  // commit a48cef79 of 2025-10-04
  v2026_08   // commit 376cac6a of 2026-08-21
};
inline constexpr PlannerVersion kNewestVersion = PlannerVersion::v2026_08;

std::string_view name_of(PlannerVersion version);    // "2025-10"
std::string_view commit_of(PlannerVersion version);  // "a48cef79"
std::vector<std::string> version_names();
PlannerVersion parse_version(std::string_view name,
                             const Place& place);  // Errors: Failure::input; lists the known ones

using ShardingType = Strategy;  // all but flex

enum class ComputeKernel {
  dense,
  fused,
  fused_uvm,
  fused_uvm_caching,
  key_value,
  ssd_virtual_table,
  dram_virtual_table,
  quant,
  quant_uvm,
  quant_uvm_caching,
  customized_kernel,
  dram_ssd_virtual_table,  // this one and those below: of version 2026-08
  fused_triton,
  unfused_tpu
};

enum class Pipeline { none, train_base, train_sparse_dist, train_prefetch_sparse_dist };

enum class Optimizer { none, torch_sgd, trec_sgd, torch_adam, trec_adam, rowwise_adagrad, torch_adagrad, lamb };

enum class PartitionBy { device, host, uniform, multi_host };

enum class Device { cpu, cuda, mtia, tpu };  // tpu: of version 2026-08

inline std::string_view name_of(ShardingType type) {
  return strategy_name(type);
}
std::string_view name_of(ComputeKernel kernel);
std::string_view name_of(Pipeline pipeline);
std::string_view name_of(Optimizer optimizer);
std::string_view name_of(Device device);
std::string_view abbreviation(ShardingType type);  // "DP", "TW", "CW", "TWCW", "RW", "TWRW", "GS"; "FLEX"

// Errors: Failure::input at `place` for an unknown name; lists the known ones. Pipelines have short aliases:
// sparse_dist, prefetch_sparse_dist, prefetch_train_sparse_dist, base.
std::vector<std::string> sharding_type_names();
std::vector<std::string> compute_kernel_names();
std::vector<std::string> device_names();
ShardingType parse_sharding_type(std::string_view name, const Place& place);
ComputeKernel parse_compute_kernel(std::string_view name, const Place& place);
Pipeline parse_pipeline(std::string_view name, const Place& place);
Device parse_device(std::string_view name, const Place& place);

PartitionBy partition_by(ShardingType type);
bool known_to(PlannerVersion version, ComputeKernel kernel);
bool cached(ComputeKernel kernel);          // part of the table in HBM, all of it elsewhere
bool quantized(ComputeKernel kernel);       // of an inference sharder
bool key_value_like(ComputeKernel kernel);  // key_value and the virtual tables: HBM is a first-level cache

// The types of TorchRec's PlannerError, and the errors of Python that version 2026-08 raises where the older one has
// type other. The code that asks for a plan turns them into an Error of the project.
enum class PlannerFailure {
  insufficient_storage,
  strict_constraints,
  other,
  invalid_compute_kernel,
  value_error,
  assertion_error,
  runtime_error
};

class PlannerError : public std::runtime_error {
 public:
  PlannerError(PlannerFailure failure, const std::string& what) : std::runtime_error(what), failure_(failure) {}
  PlannerFailure failure() const { return failure_; }

 private:
  PlannerFailure failure_;
};

}  // namespace shardsim::torchrec
