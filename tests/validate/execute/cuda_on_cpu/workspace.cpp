#include "validate/execute/kernels/cuda_workspace.cu"
