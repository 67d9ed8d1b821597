#pragma once

#include <cstdint>
#include <memory>

#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim::cuda {

// What a GPU does besides embeddings. All launched on `stream`, nothing allocated or waited for.

void pass(std::int64_t nanoseconds, Stream stream);  // occupies the stream, and one multiprocessor's corner, so long
void do_nothing(Stream stream);                      // an empty kernel: the launch floor

// Ids as they are on a wire of 4 bytes, and back.
void narrow_ids(const std::int64_t* from, std::int64_t count, std::int32_t* to, Stream stream);
void widen_ids(const std::int32_t* from, std::int64_t count, std::int64_t* to, Stream stream);

// Reads `bytes` (a multiple of 16) `passes` times; what it comes to goes to sink[0] so that it cannot be left out.
void read(const void* from, std::int64_t bytes, int passes, std::uint32_t* sink, Stream stream);

// c[m][n] = a[m][k] b[k][n], fp32, rows one after the other: what stands for dense layers. By cuBLAS where it was found
// at build time, else by a plain tiled kernel.
class Gemm {
 public:
  Gemm();
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  static const char* name();  // "cuBLAS", "tiled kernel"
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                Stream stream);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace shardsim::cuda
