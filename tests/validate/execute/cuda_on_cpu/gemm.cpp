#include "validate/execute/kernels/cuda_gemm_tiled.cu"

// The shared memory of the one block that runs.
namespace shardsim::cuda {
namespace {

float4 shared[2 * kTile * kDepth * sizeof(float) / sizeof(float4)];

}  // namespace
}  // namespace shardsim::cuda
