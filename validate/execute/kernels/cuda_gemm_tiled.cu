// Gemm without cuBLASLt.
#ifndef SHARDSIM_CUBLASLT
#include "validate/execute/kernels/cuda_launch.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim::cuda {
namespace {

constexpr int kTile = 64;  // of c, per block of 16 x 16 threads, each of which sums 4 x 4 elements
constexpr int kDepth = 16;
constexpr int kSide = 16;
constexpr int kEach = kTile / kSide;

// Elements of a block of a or b in shared memory; zero beyond the matrix.
__device__ void load_block(const float* from, std::int64_t first_row, std::int64_t first_column, std::int64_t rows,
                           std::int64_t columns, int height, int width, float* to) {
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int i = thread; i < height * width; i += kSide * kSide) {
    const std::int64_t row = first_row + i / width, column = first_column + i % width;
    to[i] = row < rows && column < columns ? from[row * columns + column] : 0.0F;
  }
}

__device__ void add_products(const float* a, const float* b, float (&sum)[kEach][kEach]) {
  for (int k = 0; k < kDepth; ++k) {
    float column[kEach], row[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) column[i] = a[(static_cast<int>(threadIdx.y) + i * kSide) * kDepth + k];
#pragma unroll
    for (int j = 0; j < kEach; ++j) row[j] = b[k * kTile + static_cast<int>(threadIdx.x) + j * kSide];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) sum[i][j] += column[i] * row[j];
    }
  }
}

__global__ void gemm_kernel(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) {
  extern __shared__ float4 shared[];
  float* const block_a = reinterpret_cast<float*>(shared);
  float* const block_b = block_a + kTile * kDepth;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTile;
  float sum[kEach][kEach] = {};
  for (std::int64_t depth = 0; depth < k; depth += kDepth) {
    load_block(a, first_row, depth, m, k, kTile, kDepth, block_a);
    load_block(b, depth, first_column, k, n, kDepth, kTile, block_b);
    __syncthreads();
    add_products(block_a, block_b, sum);
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t row = first_row + threadIdx.y + i * kSide, column = first_column + threadIdx.x + j * kSide;
      if (row < m && column < n) c[row * n + column] = sum[i][j];
    }
  }
}

}  // namespace

struct Gemm::Library {};

Gemm::Gemm() = default;
Gemm::~Gemm() = default;

std::string Gemm::name() {
  return "tiled kernel";
}

bool Gemm::by_library() {
  return false;
}

void Gemm::prepare(Precision, std::int64_t, std::int64_t, std::int64_t) {}

// At most 65,535 blocks of 64 rows.
void Gemm::multiply(Precision, std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b, void* c,
                    Stream stream) {
  constexpr std::size_t kShared = 2 * kTile * kDepth * sizeof(float);
  launch("matrix product", gemm_kernel,
         {blocks_for(n, kTile), static_cast<int>(blocks_for(m, kTile)), dim3(kSide, kSide), kShared}, stream, m, n, k,
         static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c));
}

}  // namespace shardsim::cuda
#endif
