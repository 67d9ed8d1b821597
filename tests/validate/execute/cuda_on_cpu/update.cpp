#include "validate/execute/kernels/cuda_update.cu"

// The shared memory of the one block that runs.
namespace shardsim::cuda {
namespace {

float4 shared[kSharedBytes / sizeof(float4)];

}  // namespace
}  // namespace shardsim::cuda
