#include "validate/execute/kernels/cuda_work.cu"
