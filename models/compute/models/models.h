#pragma once

#include <memory>
#include <vector>

#include "models/compute/compute_model.h"

namespace shardsim {

// Times of operations of known size, and what follows for others from two assumptions: a larger operation takes no
// less time, and s times the work takes no more than s times the time (s >= 1). Both together bound every size from
// above and from below:
//   upper = min over the points of t_i max(1, a / a_i, b / b_i),  lower = max of t_i min(1, a / a_i, b / b_i),
// and the answer is their geometric mean: the measured time at a measured size, never falling in a or b. Beyond the
// largest size of either axis the nearest size inside is scaled up by the quotient: the rate at the edge.
class MeasuredCurve {
 public:
  struct Point {
    double a = 0, b = 0;  // sizes above 0, say bytes and lookups
    double seconds = 0;
  };
  explicit MeasuredCurve(std::vector<Point> points) : points_(std::move(points)) {}
  bool empty() const { return points_.empty(); }
  double at(double a, double b) const;  // a curve that is not empty

 private:
  double inside(double a, double b) const;
  std::vector<Point> points_;
};

// Option `file`: the CSV table of shardsim-microbench (or of public measurements), as the current folder sees it.
// Lookups and sorted updates (per optimizer) are interpolated by bytes and lookups, dense products by FLOP; what is
// only traffic takes the measured copy rate and an empty call. Rows of quality C, warm caches and skewed indices are
// not used, nor rows whose tables are read more than once over where others are there: caches serve those.
// Errors (Failure::input): what read_embedding_table() finds; a kind of operation or optimizer that the file has no row
// of, when it is asked for.
std::unique_ptr<ComputeModel> make_measured(MapReader& options);

// The roofline of one operation, alone on its device (docs/formats/measurements.md, gpu constants):
//   kernel_overhead + max(hbm_bytes / copy_bandwidth, flops / (rate of the precision x flops_efficiency),
//                         lookups / lookups_per_ns).
// A sorted exact update (FBGEMM's kind) is several kernels, a sort, and memory traffic at part of the copy rate:
//   sorted_update_kernels x kernel_overhead + lookups x sort_per_lookup
//     + hbm_bytes / (sorted_update_efficiency x copy_bandwidth).
// A sort alone: kernel_overhead + pairs x sort_per_lookup.
// Error (Failure::input): products in a precision whose rate the GPU does not state.
// launch_overhead is host time: kernels queue on their stream and hide it, so it is left out.
std::unique_ptr<ComputeModel> make_roofline(MapReader& options);

// The rate of the GPU for products in the work's precision. Error (Failure::input): the GPU does not state it.
Flops product_rate(const ComputeWork& work, const GpuSpec& gpu);

// Kernels as they are on each GPU (models/compute/kernels/, models/compute/gpus/). Options: `gpu`, the name of the GPU
// whose constants are taken instead of those of the cluster's model; `file`, a table of GPUs on top of the shipped one;
// `in_situ` (1), the part of a product's rate that is left in a running iteration; `kernel_fixed`, start and end of a
// kernel, instead of the GPU's; `update_factor` (1 or more), by which updates of rows are slower than one fused kernel.
// Errors (Failure::input): as read_gpu_table(); a cluster whose GPU no entry fits, when it is asked.
std::unique_ptr<ComputeModel> make_gpu_kernels(MapReader& options);

}  // namespace shardsim
