// Gemm by cuBLAS.
#include <cublas_v2.h>

#include "base/error.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim::cuda {
namespace {

void check_library(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw run_error(std::string(doing) + ": cuBLAS says '" + cublasGetStatusString(status) + "'",
                  "Look at the state of the GPU (nvidia-smi)");
}

}  // namespace

struct Gemm::Library {
  cublasHandle_t handle = nullptr;
};

Gemm::Gemm() : library_(std::make_unique<Library>()) {
  check_library(cublasCreate(&library_->handle), "start of cuBLAS");
}

Gemm::~Gemm() {
  cublasDestroy(library_->handle);
}

const char* Gemm::name() {
  return "cuBLAS";
}

// cuBLAS counts by columns: c^T = b^T a^T.
void Gemm::multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                    Stream stream) {
  const float one = 1, zero = 0;
  check_library(cublasSetStream(library_->handle, stream), "matrix product");
  check_library(cublasSgemm(library_->handle, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(n), static_cast<int>(m),
                            static_cast<int>(k), &one, b, static_cast<int>(n), a, static_cast<int>(k), &zero, c,
                            static_cast<int>(n)),
                "matrix product");
}

}  // namespace shardsim::cuda
