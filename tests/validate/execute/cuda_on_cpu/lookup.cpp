#include "validate/execute/kernels/cuda_lookup.cu"
