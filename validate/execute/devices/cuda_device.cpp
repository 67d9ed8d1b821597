#include "validate/execute/devices/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr std::int64_t kLargestSide = 4096;             // of the square matrices of one product
constexpr std::size_t kBlock = std::size_t{256} << 20;  // bytes of a copy before it starts over: beyond the caches

// Products of side x side x side matrices, the last one with fewer rows.
std::int64_t side_of(double flops) {
  const auto side = static_cast<std::int64_t>(std::cbrt(flops / 2) / 64) * 64;
  return std::clamp<std::int64_t>(side, 64, kLargestSide);
}

void grow(DeviceBuffer& buffer, std::size_t bytes, const char* what) {
  if (buffer.bytes() >= bytes) return;
  buffer = DeviceBuffer();
  buffer = DeviceBuffer(bytes, what);
  buffer.clear();
}

void grow_matrix(DeviceBuffer& matrix, std::int64_t side) {
  const auto count = static_cast<std::size_t>(side * side);
  if (matrix.bytes() >= count * sizeof(float)) return;
  grow(matrix, count * sizeof(float), "a matrix of the dense part");
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 2654435761U % 1024U) / 1024.0F - 0.5F;
  matrix.upload(values.data(), count * sizeof(float));
}

std::size_t size(std::int64_t bytes) {
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

TableBatch of_fp32(TableBatch tables) {
  tables.type = ElementType::fp32;
  return tables;
}

std::int64_t largest_count(const std::vector<LookupCall>& calls) {
  std::int64_t largest = 0;
  for (const LookupCall& call : calls) largest = std::max(largest, call.ids);
  return largest;
}

std::int64_t largest_dim(const std::vector<LookupCall>& calls) {
  std::int64_t largest = 0;
  for (const LookupCall& call : calls) {
    for (const std::int64_t dim : call.tables.dim) largest = std::max(largest, dim);
  }
  return largest;
}

// The calls of one fusion share a workspace: they run one after the other.
class CudaCall : public DeviceCall {
 public:
  CudaCall(const LookupCall& call, const CudaStreamQueue& queue, std::shared_ptr<cuda::UpdateWorkspace> workspace)
      : call_(call), queue_(queue), workspace_(std::move(workspace)) {
    if (!call.pooled) return;
    tables_.emplace(call.tables);
    dense_.emplace(of_fp32(call.tables));
    offsets_ = DeviceBuffer(call.offsets.size() * sizeof(std::int64_t), "where bags begin");
    offsets_.upload(call.offsets.data(), offsets_.bytes());
  }

  void lookup(const void* arena, const std::int64_t* ids, void* vectors, int stream) override {
    if (call_.pooled) {
      cuda::pooled_lookup(*tables_, arena, ids, offsets(), static_cast<float*>(vectors), queue_.stream(stream));
    } else {
      cuda::gather_rows(dim() * element_bytes(call_.tables.type), arena, ids, call_.ids, vectors,
                        queue_.stream(stream));
    }
  }

  void update(void* arena, float* state, const std::int64_t* ids, const float* gradients,
              const OptimizerSettings& settings, int stream) override {
    if (call_.pooled) {
      cuda::update_pooled(*tables_, arena, state, ids, call_.ids, offsets(), gradients, settings, *workspace_,
                          queue_.stream(stream));
    } else {
      cuda::update_rows(call_.tables.type, rows(), dim(), arena, state, ids, call_.ids, gradients, settings,
                        *workspace_, queue_.stream(stream));
    }
  }

  void sum(float* dense, const std::int64_t* ids, const float* gradients, int stream) override {
    if (call_.pooled) {
      cuda::update_pooled(*dense_, dense, nullptr, ids, call_.ids, offsets(), gradients, summing_settings(),
                          *workspace_, queue_.stream(stream));
    } else {
      cuda::scatter_add(rows(), dim(), ids, call_.ids, gradients, dense, *workspace_, queue_.stream(stream));
    }
  }

  // With its share of the workspace.
  std::int64_t bytes() const override {
    const std::size_t shared = workspace_->bytes() / static_cast<std::size_t>(workspace_.use_count());
    return static_cast<std::int64_t>(offsets_.bytes() + shared);
  }

 private:
  const std::int64_t* offsets() const { return offsets_.as<std::int64_t>(); }
  std::int64_t rows() const { return call_.tables.rows.front(); }
  std::int64_t dim() const { return call_.tables.dim.front(); }

  const LookupCall& call_;
  const CudaStreamQueue& queue_;
  std::shared_ptr<cuda::UpdateWorkspace> workspace_;
  std::optional<cuda::DeviceTables> tables_, dense_;  // of the arena, and of the dense gradient
  DeviceBuffer offsets_;
};

}  // namespace

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

namespace {

// Work that stands for the dense operations of one stream: so many floating-point operations, so many bytes read and
// written. Sizes are reserved first, so that nothing is allocated later.
class CudaDense {
 public:
  void reserve(double flops, double bytes);
  void compute(double flops, cuda::Stream stream);
  void move(double bytes, cuda::Stream stream);  // read plus written
  std::int64_t bytes() const;

 private:
  std::unique_ptr<cuda::Gemm> gemm_;
  DeviceBuffer a_, b_, c_, from_, to_;
};

void CudaDense::reserve(double flops, double bytes) {
  if (flops > 0) {
    if (!gemm_) gemm_ = std::make_unique<cuda::Gemm>();
    for (DeviceBuffer* matrix : {&a_, &b_, &c_}) grow_matrix(*matrix, side_of(flops));
  }
  const std::size_t block = std::min(static_cast<std::size_t>(bytes / 2), kBlock);
  for (DeviceBuffer* buffer : {&from_, &to_}) grow(*buffer, block, "bytes of the dense part");
}

void CudaDense::compute(double flops, cuda::Stream stream) {
  if (flops <= 0) return;
  const std::int64_t side = side_of(flops);
  auto rows = static_cast<std::int64_t>(flops / (2.0 * static_cast<double>(side * side)) + 0.5);
  for (; rows > 0; rows -= side) {
    gemm_->multiply(std::min(rows, side), side, side, a_.as<float>(), b_.as<float>(), c_.as<float>(), stream);
  }
}

void CudaDense::move(double bytes, cuda::Stream stream) {
  auto left = static_cast<std::size_t>(bytes / 2);
  while (left > 0) {
    const std::size_t part = std::min(left, from_.bytes());
    cuda::check(cudaMemcpyAsync(to_.data(), from_.data(), part, cudaMemcpyDeviceToDevice, stream), "a copy");
    left -= part;
  }
}

std::int64_t CudaDense::bytes() const {
  return static_cast<std::int64_t>(a_.bytes() + b_.bytes() + c_.bytes() + from_.bytes() + to_.bytes());
}

class CudaDevice : public CudaPort {
 public:
  CudaDevice(const Program& program, int rank, const CudaStreamQueue& queue)
      : program_(program), rank_(rank), queue_(queue) {
    for (const Op& op : program.ops) {
      if (op.op_class != OpClass::all_to_all || !takes_part(program, op, rank)) continue;
      matrices_[op.id] = resolve_matrix(program, op.matrix);
    }
  }

  void connect(NcclSet& nccl) override {
    nccl_ = &nccl;
    for (const Op& op : program_.ops) {
      if (op.is_collective() && takes_part(program_, op, rank_)) seats_[op.id] = nccl.seat(op);
    }
  }

  DeviceMemory memory(std::int64_t bytes, const char* what, float value) override {
    const std::size_t floats = size(bytes + 3) / 4;
    const auto buffer = std::make_shared<DeviceBuffer>(floats * sizeof(float), what);
    if (value == 0) {
      buffer->clear();
    } else {
      buffer->upload(std::vector<float>(floats, value).data(), buffer->bytes());
    }
    return {std::shared_ptr<void>(buffer, buffer->data()), static_cast<std::int64_t>(buffer->bytes())};
  }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    if (bytes <= 0) return;
    cuda::check(cudaMemcpy(to, from, size(bytes), cudaMemcpyHostToDevice), "an upload");
    cuda::check(cudaDeviceSynchronize(), "an upload");
  }

  void download(void* to, const void* from, std::int64_t bytes) override {
    if (bytes <= 0) return;
    cuda::check(cudaDeviceSynchronize(), "a download");
    cuda::check(cudaMemcpy(to, from, size(bytes), cudaMemcpyDeviceToHost), "a download");
  }

  void fill_rows(ElementType type, std::int64_t elements, std::uint64_t seed, void* rows) override {
    cuda::fill(type, elements, seed, rows, nullptr);
    cuda::check(cudaDeviceSynchronize(), "filling of tables");
  }

  std::vector<std::unique_ptr<DeviceCall>> prepare(const std::vector<LookupCall>& calls) override {
    const auto workspace = std::make_shared<cuda::UpdateWorkspace>(largest_count(calls), largest_dim(calls));
    std::vector<std::unique_ptr<DeviceCall>> prepared;
    for (const LookupCall& call : calls) prepared.push_back(std::make_unique<CudaCall>(call, queue_, workspace));
    return prepared;
  }

  void clear(void* data, std::int64_t bytes, int on) override {
    if (bytes > 0) cuda::check(cudaMemsetAsync(data, 0, size(bytes), stream(on)), "clearing of gradients");
  }

  void copy_blocks(void* to, std::int64_t to_distance, const void* from, std::int64_t from_distance, std::int64_t bytes,
                   std::int64_t blocks, int on) override {
    if (bytes == 0 || blocks == 0) return;
    cuda::check(cudaMemcpy2DAsync(to, size(to_distance), from, size(from_distance), size(bytes), size(blocks),
                                  cudaMemcpyDeviceToDevice, stream(on)),
                "copying of vectors");
  }

  void put_in_order(const std::int64_t* from, const std::int64_t* order, std::int64_t count, std::int64_t* to,
                    int on) override {
    if (count > 0) cuda::gather_rows(sizeof(std::int64_t), from, order, count, to, stream(on));
  }

  void narrow_ids(const std::int64_t* from, std::int64_t count, std::int32_t* to, int on) override {
    cuda::narrow_ids(from, count, to, stream(on));
  }

  void widen_ids(const std::int32_t* from, std::int64_t count, std::int64_t* to, int on) override {
    cuda::widen_ids(from, count, to, stream(on));
  }

  void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                    const float* gradients, const OptimizerSettings& settings, int on) override {
    cuda::update_dense(type, rows, dim, arena, state, gradients, settings, stream(on));
  }

  void all_to_all(const Op& op, const void* in, void* out) override {
    nccl_->all_to_all(seats_.at(op.id), op, matrices_.at(op.id), in, out, stream(op.stream));
  }

  void all_reduce(const Op& op, float* values, std::int64_t count) override {
    nccl_->all_reduce(seats_.at(op.id), op, values, size(count), ncclFloat, stream(op.stream));
  }

  void reduce_scatter(const Op& op, float* values, std::int64_t bytes) override {
    nccl_->reduce_scatter(seats_.at(op.id), op, values, size(bytes), stream(op.stream));
  }

  void all_gather(const Op& op, float* values, std::int64_t bytes) override {
    nccl_->all_gather(seats_.at(op.id), op, values, size(bytes), stream(op.stream));
  }

  Action plain(const Op& op) override {
    if (op.is_collective()) return plain_collective(op);
    if (op.fixed_ns > 0) return [this, &op](int) { cuda::pass(op.fixed_ns, stream(op.stream)); };
    const double flops = value_on(program_, op, op.flops, rank_), bytes = value_on(program_, op, op.hbm_bytes, rank_);
    CudaDense& dense = dense_[op.stream];
    dense.reserve(flops, bytes);
    return [&dense, flops, bytes, on = stream(op.stream)](int) {
      dense.compute(flops, on);
      dense.move(bytes, on);
    };
  }

  Action plain_collective(const Op& op) {
    const CollectiveBytes sizes = collective_bytes(program_, op, rank_);
    Pair& pair = pairs_[op.id];
    pair.in = memory(sizes.in, "what it sends", 0);
    pair.out = memory(sizes.out, "what it receives", 0);
    return [this, &op, &pair](int) {
      if (op.op_class == OpClass::all_to_all) return all_to_all(op, pair.in.as<void>(), pair.out.as<void>());
      nccl_->collective(seats_.at(op.id), op, pair.in.as<void>(), pair.out.as<void>(), stream(op.stream));
    };
  }

  std::int64_t plain_bytes() const override {
    std::int64_t bytes = 0;
    for (const auto& [op, pair] : pairs_) bytes += pair.in.bytes() + pair.out.bytes();
    for (const auto& [stream, dense] : dense_) bytes += dense.bytes();
    return bytes;
  }

 private:
  struct Pair {
    DeviceMemory in, out;
  };

  cuda::Stream stream(int index) const { return queue_.stream(index); }

  const Program& program_;
  int rank_ = 0;
  const CudaStreamQueue& queue_;
  NcclSet* nccl_ = nullptr;
  std::map<int, NcclSeat> seats_;       // [op], of collectives that this rank takes part in
  std::map<int, ByteMatrix> matrices_;  // [op], of its all_to_alls
  std::map<int, Pair> pairs_;           // [op], of collectives without a lookup's rows
  std::map<int, CudaDense> dense_;      // [stream]
};

}  // namespace

std::unique_ptr<CudaPort> make_cuda_device(const Program& program, int rank, const CudaStreamQueue& queue) {
  return std::make_unique<CudaDevice>(program, rank, queue);
}

}  // namespace shardsim
