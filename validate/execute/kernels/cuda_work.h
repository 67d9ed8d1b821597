#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "validate/execute/kernels/cuda_memory.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim::cuda {

// The work of a GPU besides embeddings. All launched on `stream`, nothing allocated or waited for.

void pass(std::int64_t nanoseconds, Stream stream);  // occupies the stream, and one multiprocessor's corner, so long
void do_nothing(Stream stream);                      // an empty kernel: the launch floor

// Ids as they are on a wire of 4 bytes, and back.
void narrow_ids(const std::int64_t* from, std::int64_t count, std::int32_t* to, Stream stream);
void widen_ids(const std::int32_t* from, std::int64_t count, std::int64_t* to, Stream stream);

// Reads `bytes` (a multiple of 16) `passes` times; what it comes to goes to sink[0] so that it cannot be left out.
void read(const void* from, std::int64_t bytes, int passes, std::uint32_t* sink, Stream stream);

// c[m][n] = a[m][k] b[k][n], rows one after the other, all three in the type of the precision: what stands for dense
// layers. By cuBLASLt where it was found at build time, else by a plain tiled kernel that knows fp32 alone and
// multiplies fp32 whatever is asked for: what it takes says nothing of dense layers. For one stream: products share a
// workspace.
class Gemm {
 public:
  Gemm();
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  static std::string name();  // "cuBLASLt 13.0", "tiled kernel"
  static bool by_library();
  // Chooses how to multiply such matrices: not for timed parts, in which it is done when it was left out.
  void prepare(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k);
  void multiply(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b,
                void* c, Stream stream);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

// Keeps a stream busy for a given time with products that take every multiprocessor, as the dense layers do whose
// measured time it stands for: what runs beside it is slowed down, and slows it down.
class BusyWork {
 public:
  BusyWork();
  // Measures how long a product takes, with the GPU to itself; not for timed parts.
  void prepare(Stream stream);
  // Whole products, and the rest of the time, less than one of them, on one multiprocessor.
  void run(std::int64_t nanoseconds, Stream stream);
  std::int64_t product_ns() const { return product_ns_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(matrices_.bytes()); }

 private:
  void reserve(std::int64_t side);
  void multiply(Stream stream);

  Gemm gemm_;
  Precision precision_;
  std::int64_t side_ = 0;
  DeviceBuffer matrices_;        // three
  std::int64_t product_ns_ = 0;  // 0: not prepared
};

}  // namespace shardsim::cuda
