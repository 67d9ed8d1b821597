#include "validate/execute/devices/cuda_pooled.h"

#include <algorithm>

#include "validate/execute/devices/cuda_buffers.h"
#include "validate/execute/devices/update_settings.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr std::size_t kFloat = sizeof(float);

std::int64_t largest_count(const PooledBuffers& buffers) {
  std::int64_t largest = 0;
  for (const PooledCall& call : buffers.calls) largest = std::max(largest, call.ids());
  return largest;
}

std::int64_t largest_dim(const PooledBuffers& buffers) {
  std::int64_t largest = 0;
  for (const PooledCall& call : buffers.calls) {
    for (const std::int64_t dim : call.tables.dim) largest = std::max(largest, dim);
  }
  return largest;
}

TableBatch of_fp32(TableBatch tables) {
  tables.type = ElementType::fp32;
  return tables;
}

// Blocks of `bytes` bytes, one per source, from one distance between them to another.
void copy_blocks(void* to, std::int64_t to_distance, const void* from, std::int64_t from_distance, std::int64_t bytes,
                 std::int64_t blocks, cuda::Stream stream) {
  if (bytes == 0 || blocks == 0) return;
  cuda::check(cudaMemcpy2DAsync(to, size(to_distance), from, size(from_distance), size(bytes), size(blocks),
                                cudaMemcpyDeviceToDevice, stream),
              "copying of vectors");
}

}  // namespace

CudaPooled::CudaPooled(const Program& program, PooledBuffers buffers, int rank, std::vector<OptimizerSettings> settings)
    : buffers_(std::move(buffers)),
      settings_(std::move(settings)),
      batches_(program.index_batches),
      workspace_(largest_count(buffers_), largest_dim(buffers_)) {
  draw(program, rank);
  fill(program.seed);
  for (const PooledCall& call : buffers_.calls) add_call(call);
  vectors_ = cleared(buffers_.served_bytes, "vectors looked up");
  returned_ = cleared(buffers_.returned_bytes, "vectors returned");
  gradients_ = half_everywhere(buffers_.gradient_served_bytes, "gradients of the vectors served");
  gradients_asked_ = half_everywhere(buffers_.gradient_asked_bytes, "gradients");
  if (!buffers_.direct()) block_ = cleared(buffers_.largest_call() * 4, "vectors of one call");
  dense_gradient_ = cleared(buffers_.dense_elements * 4, "the summed gradient");
}

// Without an exchange the ids lie as the kernels want them from the start.
void CudaPooled::draw(const Program& program, int rank) {
  std::vector<std::int64_t> all;
  for (int batch = 0; batch < batches_; ++batch) {
    std::vector<std::int64_t> ids = pooled_ids(program, buffers_.fusion, rank, batch);
    ids.resize(size(buffers_.asked));
    if (buffers_.exchanges()) {
      all.insert(all.end(), ids.begin(), ids.end());
    } else {
      for (const std::int64_t at : buffers_.order) all.push_back(ids[size(at)]);
    }
  }
  asked_ = uploaded(all, "ids asked");
  if (!buffers_.exchanges()) return;
  order_ = uploaded(buffers_.order, "the order of the ids");
  wire_ids_ = cleared(buffers_.served * 8, "ids as they came");
  for (DeviceBuffer& ids : served_) ids = cleared(buffers_.served * 8, "ids served");
  id_wire_ = CudaIdWire(buffers_.asked, buffers_.served, buffers_.id_bytes);
}

void CudaPooled::fill(std::uint64_t seed) {
  const std::int64_t elements = buffers_.rows.elements;
  arena_ = DeviceBuffer(size(elements * element_bytes(buffers_.type)), "rows of the tables");
  if (elements > 0) cuda::fill(buffers_.type, elements, seed, arena_.data(), nullptr);
  cuda::check(cudaDeviceSynchronize(), "filling of tables");
}

void CudaPooled::add_call(const PooledCall& call) {
  const std::size_t part = part_of(buffers_.fusion, call);
  std::size_t states = 0;
  for (int t = 0; t < call.tables.tables(); ++t) {
    states += state_elements(settings_[part].optimizer, call.tables.rows[t], call.tables.dim[t]);
  }
  calls_.push_back(std::unique_ptr<DeviceCall>(
      new DeviceCall{call, part, cuda::DeviceTables(call.tables), cuda::DeviceTables(of_fp32(call.tables)),
                     uploaded(call.offsets, "where bags begin"),
                     cleared(static_cast<std::int64_t>(states * kFloat), "optimizer states")}));
}

const std::int64_t* CudaPooled::ids_of(const DeviceCall& of, int iteration) const {
  const std::int64_t* const all = buffers_.exchanges()
                                      ? served_[iteration % kTurns].as<std::int64_t>()
                                      : asked_.as<std::int64_t>() + iteration % batches_ * buffers_.asked;
  return all + of.call.first_id;
}

// Ids come source after source; the kernels want them table after table.
void CudaPooled::exchange_ids(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                              int iteration, cuda::Stream stream) {
  const std::int64_t* from = asked_.as<std::int64_t>() + iteration % batches_ * buffers_.asked;
  id_wire_.exchange(nccl, seat, op, matrix, from, wire_ids_.as<std::int64_t>(), stream);
  if (buffers_.served == 0) return;
  cuda::gather_rows(sizeof(std::int64_t), wire_ids_.data(), order_.as<std::int64_t>(), buffers_.served,
                    served_[iteration % kTurns].data(), stream);
}

void CudaPooled::lookup(std::size_t part, int iteration, cuda::Stream stream) {
  for (const auto& of : calls_) {
    if (of->part != part) continue;
    float* const out = (buffers_.direct() ? vectors_ : block_).as<float>();
    cuda::pooled_lookup(of->tables, arena_.data(), ids_of(*of, iteration), of->offsets.as<std::int64_t>(), out, stream);
    if (buffers_.direct()) continue;
    const std::int64_t bytes = of->call.block.elements() * 4;
    copy_blocks(vectors_.as<float>() + of->call.block.first_element, buffers_.chunk_elements * 4, out, bytes, bytes,
                buffers_.sources, stream);
  }
}

void CudaPooled::exchange_output(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                                 cuda::Stream stream) {
  nccl.all_to_all(seat, op, matrix, vectors_.as<char>() + buffers_.own_vectors, returned_.data(), stream);
}

void CudaPooled::exchange_gradients(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                                    cuda::Stream stream) {
  nccl.all_to_all(seat, op, matrix, gradients_asked_.data(), gradients_.as<char>() + buffers_.own_gradients, stream);
}

const float* CudaPooled::gradients_of(const DeviceCall& of, cuda::Stream stream) const {
  if (buffers_.direct()) return gradients_.as<float>();
  const std::int64_t bytes = of.call.block.elements() * 4;
  copy_blocks(block_.data(), bytes, gradients_.as<float>() + of.call.block.first_element, buffers_.chunk_elements * 4,
              bytes, buffers_.sources, stream);
  return block_.as<float>();
}

void CudaPooled::update(std::size_t part, int iteration, cuda::Stream stream) {
  settings_[part].step = iteration + 1;
  for (const auto& of : calls_) {
    if (of->part != part) continue;
    if (buffers_.fusion.parts[part].apply >= 0) {
      sum_gradients(*of, iteration, stream);
    } else {
      cuda::update_pooled(of->tables, arena_.data(), of->state.as<float>(), ids_of(*of, iteration), of->call.ids(),
                          of->offsets.as<std::int64_t>(), gradients_of(*of, stream), settings_[part], workspace_,
                          stream);
    }
  }
}

void CudaPooled::sum_gradients(const DeviceCall& of, int iteration, cuda::Stream stream) const {
  const TableBatch& tables = of.call.tables;
  for (int t = 0; t < tables.tables(); ++t) {
    const std::size_t bytes = size(tables.rows[t] * tables.dim[t] * 4);
    if (bytes == 0) continue;
    cuda::check(cudaMemsetAsync(dense_gradient_.as<float>() + tables.begin[t], 0, bytes, stream),
                "clearing of gradients");
  }
  cuda::update_pooled(of.dense, dense_gradient_.data(), nullptr, ids_of(of, iteration), of.call.ids(),
                      of.offsets.as<std::int64_t>(), gradients_of(of, stream), summing_settings(), workspace_, stream);
}

void CudaPooled::reduce(std::size_t which, NcclSet& nccl, const NcclSeat& seat, const Op& op, cuda::Stream stream) {
  const PooledBuffers::Reduced& of = buffers_.reduced[which];
  nccl.all_reduce(seat, op, dense_gradient_.as<float>() + of.first, size(of.count), ncclFloat, stream);
}

void CudaPooled::apply(std::size_t part, int iteration, cuda::Stream stream) {
  settings_[part].step = iteration + 1;
  for (const auto& of : calls_) {
    if (of->part == part) apply_rows(*of, stream);
  }
}

void CudaPooled::apply_rows(const DeviceCall& of, cuda::Stream stream) const {
  const OptimizerSettings& settings = settings_[of.part];
  const TableBatch& tables = of.call.tables;
  float* state = of.state.as<float>();
  for (int t = 0; t < tables.tables(); ++t) {
    if (tables.rows[t] == 0) continue;
    cuda::update_dense(buffers_.type, tables.rows[t], tables.dim[t],
                       arena_.as<char>() + tables.begin[t] * element_bytes(buffers_.type), state,
                       dense_gradient_.as<float>() + tables.begin[t], settings, stream);
    state += state_elements(settings.optimizer, tables.rows[t], tables.dim[t]);
  }
}

std::int64_t CudaPooled::bytes() const {
  std::size_t sum = workspace_.bytes() + id_wire_.bytes();
  for (const DeviceBuffer* buffer :
       {&asked_, &served_[0], &served_[1], &served_[2], &order_, &wire_ids_, &arena_, &vectors_, &returned_,
        &gradients_, &gradients_asked_, &block_, &dense_gradient_}) {
    sum += buffer->bytes();
  }
  for (const auto& call : calls_) sum += call->offsets.bytes() + call->state.bytes();
  return static_cast<std::int64_t>(sum);
}

std::vector<float> CudaPooled::gathered() const {
  const DeviceBuffer& from = buffers_.returns() ? returned_ : vectors_;
  std::vector<float> wire(from.bytes() / kFloat);
  from.download(wire.data(), wire.size() * kFloat);
  return by_shard(buffers_.returned, wire.data() + (buffers_.returns() ? 0 : buffers_.own_vectors / 4));
}

std::vector<float> CudaPooled::shard_rows(int shard) const {
  return rows_of(arena_, buffers_.rows, shard);
}

void CudaPooled::load_rows(int shard, const std::vector<float>& rows) {
  put_rows(arena_, buffers_.rows, shard, rows);
}

void CudaPooled::load_gradients(const std::vector<float>& gradients) {
  const DeviceBuffer& into = buffers_.asks_gradients() ? gradients_asked_ : gradients_;
  std::vector<float> wire(into.bytes() / kFloat);
  into.download(wire.data(), wire.size() * kFloat);
  to_wire(buffers_.returned, gradients, wire.data() + (buffers_.asks_gradients() ? 0 : buffers_.own_gradients / 4));
  (buffers_.asks_gradients() ? gradients_asked_ : gradients_).upload(wire.data(), wire.size() * kFloat);
}

}  // namespace shardsim
