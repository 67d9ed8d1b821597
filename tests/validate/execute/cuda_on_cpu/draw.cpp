#include "validate/execute/kernels/cuda_draw.cu"
