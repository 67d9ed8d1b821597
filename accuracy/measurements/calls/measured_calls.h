#pragma once

#include <string>
#include <vector>

#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/workload/workload.h"

namespace shardsim {

// A fused lookup and its update as they were measured, with the work that both ask of a device.
struct MeasuredCall {
  Place place;
  std::string set;    // of rows that were drawn alike
  std::string shape;  // for people: "12 tables, batch 16384"
  double forward_us = 0, backward_us = 0;
  bool fits = false;     // constants of kernels may be fitted on it
  bool teaches = false;  // nets may be trained on it: a shard that is not held back
  ComputeWork lookup, update;
};

// The calls of one file, all of one GPU.
struct MeasuredCalls {
  std::string path;
  std::string kernels;  // the family that was measured: fbgemm, or of labels executor
  GpuSpec gpu;
  std::vector<MeasuredCall> calls;
};

// Holds what is said of a file beside its rows. `workload`: of the tables that shards name; null where they are none.
// `gpu`: that they were measured on; its model is "" where the file, or else its name, says it.
struct CallHints {
  const Workload* workload = nullptr;
  GpuSpec gpu;
};

// True where the file has such calls: labels of shards (schema shardsim.shards/1), or a CSV table with their columns.
bool is_call_file(const std::string& path);

// Reads the calls, and makes their work as the lowering has it (docs/formats/measurements.md, fused calls). Every third
// row of a set fits, the first one included; labels of shards fit unless their shape is held back; sets named executor
// do not. Errors (Failure::input, with place): unknown and missing columns, a number out of range, a table that the
// workload lacks, shards without a workload, a GPU that nothing names, rows of several GPUs.
MeasuredCalls read_measured_calls(const std::string& path, const CallHints& hints);

}  // namespace shardsim
