// Gemm by cuBLASLt, where it was found at build time.
#ifdef SHARDSIM_CUBLASLT
#include <cublasLt.h>

#include <map>
#include <tuple>

#include "base/error.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim::cuda {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what cuBLAS itself takes on Hopper

void check_library(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw run_error(std::string(doing) + ": cuBLASLt says '" + cublasLtGetStatusString(status) + "'",
                  "Look at the state of the GPU (nvidia-smi)");
}

cudaDataType_t data_type(Precision precision) {
  if (precision == Precision::fp16) return CUDA_R_16F;
  return precision == Precision::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

}  // namespace

struct Gemm::Library {
  // One shape in one precision: descriptors, and the algorithm that the library chose for them.
  struct Product {
    cublasLtMatmulDesc_t matmul = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulAlgo_t algorithm{};

    // cuBLAS counts by columns: c^T = b^T a^T.
    Product(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
      const cublasComputeType_t compute =
          precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
      const cudaDataType_t type = data_type(precision);
      check_library(cublasLtMatmulDescCreate(&matmul, compute, CUDA_R_32F), "a matrix product");
      check_library(
          cublasLtMatrixLayoutCreate(&a, type, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(m), k),
          "a matrix");
      check_library(
          cublasLtMatrixLayoutCreate(&b, type, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(k), n),
          "a matrix");
      check_library(
          cublasLtMatrixLayoutCreate(&c, type, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(m), n),
          "a matrix");
    }
    ~Product() {
      for (cublasLtMatrixLayout_t layout : {a, b, c}) cublasLtMatrixLayoutDestroy(layout);
      cublasLtMatmulDescDestroy(matmul);
    }
    Product(const Product&) = delete;
    Product& operator=(const Product&) = delete;

    void choose(cublasLtHandle_t handle) {
      cublasLtMatmulPreference_t preference = nullptr;
      check_library(cublasLtMatmulPreferenceCreate(&preference), "a matrix product");
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                           sizeof kWorkspace);
      cublasLtMatmulHeuristicResult_t found{};
      int count = 0;
      const cublasStatus_t status =
          cublasLtMatmulAlgoGetHeuristic(handle, matmul, b, a, c, c, preference, 1, &found, &count);
      cublasLtMatmulPreferenceDestroy(preference);
      check_library(count > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED, "choosing how to multiply");
      algorithm = found.algo;
    }
  };

  cublasLtHandle_t handle = nullptr;
  DeviceBuffer workspace{kWorkspace, "the workspace of matrix products"};
  std::map<std::tuple<Precision, std::int64_t, std::int64_t, std::int64_t>, std::unique_ptr<Product>> products;

  const Product& product(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
    std::unique_ptr<Product>& known = products[{precision, m, n, k}];
    if (!known) {
      known = std::make_unique<Product>(precision, m, n, k);
      known->choose(handle);
    }
    return *known;
  }
};

Gemm::Gemm() : library_(std::make_unique<Library>()) {
  check_library(cublasLtCreate(&library_->handle), "start of cuBLASLt");
}

Gemm::~Gemm() {
  library_->products.clear();
  cublasLtDestroy(library_->handle);
}

std::string Gemm::name() {
  const std::size_t version = cublasLtGetVersion();
  return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
}

bool Gemm::by_library() {
  return true;
}

void Gemm::prepare(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
  library_->product(precision, m, n, k);
}

void Gemm::multiply(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b,
                    void* c, Stream stream) {
  const float one = 1, zero = 0;
  const Library::Product& of = library_->product(precision, m, n, k);
  check_library(cublasLtMatmul(library_->handle, of.matmul, &one, b, of.b, a, of.a, &zero, c, of.c, c, of.c,
                               &of.algorithm, library_->workspace.data(), library_->workspace.bytes(), stream),
                "a matrix product");
}

}  // namespace shardsim::cuda
#endif
