#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "validate/execute/devices/cuda_stream_queue.h"
#include "validate/execute/devices/device_port.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

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

int most_tables(const std::vector<LookupCall>& calls) {
  int most = 1;
  for (const LookupCall& call : calls) most = std::max(most, call.tables.tables());
  return most;
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

  void update(ElementType type, void* rows, float* state, const std::int64_t* ids, const float* gradients,
              const OptimizerSettings& settings, int stream) override {
    if (call_.pooled) {
      cuda::update_pooled(type == call_.tables.type ? *tables_ : *dense_, rows, state, ids, call_.ids, offsets(),
                          gradients, settings, *workspace_, queue_.stream(stream));
    } else {
      cuda::update_rows(type, call_.tables.rows.front(), dim(), rows, state, ids, call_.ids, gradients, settings,
                        *workspace_, queue_.stream(stream));
    }
  }

 private:
  const std::int64_t* offsets() const { return offsets_.as<std::int64_t>(); }
  std::int64_t dim() const { return call_.tables.dim.front(); }

  const LookupCall& call_;
  const CudaStreamQueue& queue_;
  std::shared_ptr<cuda::UpdateWorkspace> workspace_;
  std::optional<cuda::DeviceTables> tables_, dense_;  // of the arena, and of the dense gradient
  DeviceBuffer offsets_;
};

class CudaDevice : public DevicePort {
 public:
  CudaDevice(const CudaStreamQueue& queue, NcclSet& nccl) : queue_(queue), nccl_(nccl) {}

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

  DeviceMemory host_memory(std::int64_t bytes, const char* what) override {
    const auto buffer = std::make_shared<cuda::HostBuffer>(size(bytes), what);
    return {std::shared_ptr<void>(buffer, buffer->data()), bytes};
  }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    if (bytes <= 0) return;
    cuda::check(cudaMemcpy(to, from, size(bytes), cudaMemcpyDefault), "an upload");
    cuda::check(cudaDeviceSynchronize(), "an upload");
  }

  void download(void* to, const void* from, std::int64_t bytes) override {
    if (bytes <= 0) return;
    cuda::check(cudaDeviceSynchronize(), "a download");
    cuda::check(cudaMemcpy(to, from, size(bytes), cudaMemcpyDefault), "a download");
  }

  void fill_rows(ElementType type, std::int64_t elements, std::uint64_t seed, void* rows) override {
    cuda::fill(type, elements, seed, rows, nullptr);
    cuda::check(cudaDeviceSynchronize(), "filling of tables");
  }

  std::vector<std::unique_ptr<DeviceCall>> prepare(const std::vector<LookupCall>& calls, std::int64_t& bytes) override {
    const auto workspace =
        std::make_shared<cuda::UpdateWorkspace>(largest_count(calls), largest_dim(calls), most_tables(calls));
    bytes += static_cast<std::int64_t>(workspace->buffer.bytes());
    std::vector<std::unique_ptr<DeviceCall>> prepared;
    for (const LookupCall& call : calls) {
      prepared.push_back(std::make_unique<CudaCall>(call, queue_, workspace));
      bytes += static_cast<std::int64_t>(call.offsets.size() * sizeof(std::int64_t));
    }
    return prepared;
  }

  void clear(void* data, std::int64_t bytes, int on) override {
    if (bytes > 0) cuda::check(cudaMemsetAsync(data, 0, size(bytes), stream(on)), "clearing of gradients");
  }

  void copy_blocks(void* to, std::int64_t to_distance, const void* from, std::int64_t from_distance, std::int64_t bytes,
                   std::int64_t blocks, int on) override {
    if (bytes == 0 || blocks == 0) return;
    if (blocks == 1) {
      return cuda::check(cudaMemcpyAsync(to, from, size(bytes), cudaMemcpyDeviceToDevice, stream(on)), "a copy");
    }
    cuda::check(cudaMemcpy2DAsync(to, size(to_distance), from, size(from_distance), size(bytes), size(blocks),
                                  cudaMemcpyDeviceToDevice, stream(on)),
                "copying of vectors");
  }

  void copy_across(void* to, const void* from, std::int64_t bytes, int on) override {
    if (bytes > 0) cuda::check(cudaMemcpyAsync(to, from, size(bytes), cudaMemcpyDefault, stream(on)), "a copy");
  }

  void fetch_rows(const void* rows, const std::int64_t* ids, std::int64_t count, std::int64_t row_bytes, void* to,
                  int on) override {
    if (count > 0) cuda::gather_rows(row_bytes, rows, ids, count, to, stream(on));
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

  // CudaMachine refuses Programs that have codecs.
  void encode(ElementType, const void*, std::int64_t, Dtype, void*, int) override { throw run_error("no codec", ""); }
  void decode(Dtype, const void*, std::int64_t, ElementType, void*, int) override { throw run_error("no codec", ""); }

  void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                    const float* gradients, const OptimizerSettings& settings, int on) override {
    cuda::update_dense(type, rows, dim, arena, state, gradients, settings, stream(on));
  }

  void collective(const Op& op, const void* in, void* out, std::int64_t bytes) override {
    nccl_.collective(op, in, out, size(bytes), stream(op.stream));
  }

  void multiply(const Product& of, const void* a, const void* b, void* c, int on) override {
    gemms_.at(on).multiply(of.precision, of.m, of.n, of.k, a, b, c, stream(on));
  }

  void pass(std::int64_t nanoseconds, int on) override { busy_.at(on).run(nanoseconds, stream(on)); }

  void wait(std::int64_t nanoseconds, int on) override { cuda::pass(nanoseconds, stream(on)); }

  DenseLimits prepare_dense(int on) override {
    gemms_.try_emplace(on);
    return {64, 4096, std::int64_t{256} << 20};
  }
  void prepare_product(const Product& of, int on) override { gemms_.at(on).prepare(of.precision, of.m, of.n, of.k); }
  void prepare_pass(int on) override {
    busy_.try_emplace(on);
    busy_.at(on).prepare(stream(on));
  }

 private:
  cuda::Stream stream(int index) const { return queue_.stream(index); }

  const CudaStreamQueue& queue_;
  NcclSet& nccl_;
  std::map<int, cuda::Gemm> gemms_;     // [stream]
  std::map<int, cuda::BusyWork> busy_;  // [stream]
};

}  // namespace

std::unique_ptr<DevicePort> make_cuda_device(const CudaStreamQueue& queue, NcclSet& nccl) {
  return std::make_unique<CudaDevice>(queue, nccl);
}

}  // namespace shardsim
