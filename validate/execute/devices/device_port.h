#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "program/program.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/fusion/iteration_programs.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// Memory of a device with one owner.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::shared_ptr<void> data, std::int64_t bytes) : data_(std::move(data)), bytes_(bytes) {}

  std::int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }
  std::byte* at(std::int64_t bytes) const { return as<std::byte>() + bytes; }
  // Some bytes of it, which keep the whole alive.
  DeviceMemory part(std::int64_t begin, std::int64_t bytes) const {
    return {std::shared_ptr<void>(data_, at(begin)), bytes};
  }

 private:
  std::shared_ptr<void> data_;
  std::int64_t bytes_ = 0;
};

// One LookupCall, ready on a device. All pointers are of the device's memory; `ids`: as many as the call has; `stream`:
// number of a stream of the Program.
class DeviceCall {
 public:
  virtual ~DeviceCall() = default;
  virtual void lookup(const void* arena, const std::int64_t* ids, void* vectors, int stream) = 0;
  // Each touched row takes one step with the sum of its gradients. `type`: of the rows, which lie as in the arena: that
  // of the call, or fp32 where gradients are added up in dense ones.
  virtual void update(ElementType type, void* rows, float* state, const std::int64_t* ids, const float* gradients,
                      const OptimizerSettings& settings, int stream) = 0;
};

// The port of the executor to a device: what a CPU rank and a GPU each supply, so that one executor (rank_ops.h) works
// on both. A call with a stream may return before the device has done it; calls on one stream are done in order.
// Errors: Failure::run, of memory naming what it was for.
class DevicePort {
 public:
  virtual ~DevicePort() = default;

  // Memory for at least so many bytes, in whole floats of that value. Not for timed parts, as the next four.
  virtual DeviceMemory memory(std::int64_t bytes, const char* what, float value = 0) = 0;
  // Memory of the host, where the device's kernels and copies reach it without a stop on the way; zeros.
  virtual DeviceMemory host_memory(std::int64_t bytes, const char* what) = 0;
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void download(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void fill_rows(ElementType type, std::int64_t elements, std::uint64_t seed, void* rows) = 0;  // any numbers
  // Adds what the calls hold beside the arena to `bytes`.
  virtual std::vector<std::unique_ptr<DeviceCall>> prepare(const std::vector<LookupCall>& calls,
                                                           std::int64_t& bytes) = 0;

  virtual void clear(void* data, std::int64_t bytes, int stream) = 0;
  // Blocks of `bytes` bytes, from one distance between their starts to another.
  virtual void copy_blocks(void* to, std::int64_t to_distance, const void* from, std::int64_t from_distance,
                           std::int64_t bytes, std::int64_t blocks, int stream) = 0;
  // Between memory of the device and of the host, either way.
  virtual void copy_across(void* to, const void* from, std::int64_t bytes, int stream) = 0;
  // to[i] = row ids[i] of `rows`, which lie anywhere; row_bytes: a multiple of 4.
  virtual void fetch_rows(const void* rows, const std::int64_t* ids, std::int64_t count, std::int64_t row_bytes,
                          void* to, int stream) = 0;
  virtual void put_in_order(const std::int64_t* from, const std::int64_t* order, std::int64_t count, std::int64_t* to,
                            int stream) = 0;  // to[i] = from[order[i]]
  virtual void narrow_ids(const std::int64_t* from, std::int64_t count, std::int32_t* to, int stream) = 0;
  virtual void widen_ids(const std::int32_t* from, std::int64_t count, std::int64_t* to, int stream) = 0;
  // Codecs of wires: numbers from a type of the memory into one of the wire, rounded to the nearest, and back.
  virtual void encode(ElementType type, const void* from, std::int64_t count, Dtype wire, void* to, int stream) = 0;
  virtual void decode(Dtype wire, const void* from, std::int64_t count, ElementType type, void* to, int stream) = 0;
  // Every row takes a step with its dense gradient.
  virtual void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                            const float* gradients, const OptimizerSettings& settings, int stream) = 0;

  // `op` is one of the Programs' own. On its stream, over this rank's set of its group. An all_to_all moves the chunks
  // of its matrix, a send_recv `bytes` bytes, both from `in` to `out`; the other kinds work in place (`in` is `out`) on
  // a vector of `bytes` bytes: reduce_scatter leaves the own chunk with the sum, all_gather fills the others' chunks.
  // Sums are made in the type that the operation names (fp32, fp16 or bf16). An all_reduce in the role average_replicas
  // leaves the mean.
  virtual void collective(const Op& op, const void* in, void* out, std::int64_t bytes) = 0;

  // Dense work: c[m][n] = a[m][k] b[k][n], all three in the type of the precision; or, with pass(), work that keeps the
  // device busy for a given time, which that takes roughly; or, with wait(), none for a time that is exact.
  struct Product {
    Precision precision = Precision::fp32;
    std::int64_t m = 0, n = 0, k = 0;
  };
  virtual void multiply(const Product& product, const void* a, const void* b, void* c, int stream) = 0;
  virtual void pass(std::int64_t nanoseconds, int stream) = 0;
  virtual void wait(std::int64_t nanoseconds, int stream) = 0;
  struct DenseLimits {
    std::int64_t least_side, most_side;  // of the matrices of a product
    std::int64_t copied;                 // bytes of a copy before it starts over: beyond the caches
  };
  virtual DenseLimits prepare_dense(int stream) = 0;                     // before the first product on the stream
  virtual void prepare_product(const Product& product, int stream) = 0;  // before the first such one
  virtual void prepare_pass(int stream) = 0;                             // before the first pass() on the stream

  // From any thread, for good: what takes long throws Error (Failure::run) soon, where it runs on the caller's thread.
  virtual void stop() {}
};

class CudaStreamQueue;
class NcclSet;
class Wire;

// The memory of this process, kernels of `threads` threads each, collectives over a Wire. Every call is done when it
// returns; calls of different streams may come from different threads. The Programs must outlive it.
std::unique_ptr<DevicePort> make_cpu_device(const IterationPrograms& programs, int rank, Wire& wire, int threads);

// The memory and the kernels of one GPU; calls are launched on the streams of a queue and collectives go by NCCL.
// Limits of its kernels: kernels/cuda_embedding.h.
std::unique_ptr<DevicePort> make_cuda_device(const CudaStreamQueue& queue, NcclSet& nccl);

}  // namespace shardsim
