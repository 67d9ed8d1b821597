#include "validate/execute/devices/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "base/rng.h"
#include "validate/execute/kernels/cpu_kernels.h"

namespace shardsim {
namespace {

constexpr std::int64_t kSide = 128;                    // of the square matrices of one product
constexpr std::size_t kBlock = std::size_t{16} << 20;  // bytes of a copy before it starts over: beyond the caches

std::uint32_t fill_bits(ElementType type, std::uint64_t at, std::uint64_t seed) {
  if (type == ElementType::fp16) return 0x3c00;  // 1
  const float value = static_cast<float>(mix(at, seed) >> 60);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return type == ElementType::bf16 ? bits >> 16 : bits;  // little-endian: the low bytes are copied
}

class CpuCall : public DeviceCall {
 public:
  CpuCall(const LookupCall& call, int threads) : call_(call), dense_(call.tables), threads_(threads) {
    dense_.type = ElementType::fp32;
  }

  void lookup(const void* arena, const std::int64_t* ids, void* vectors, int) override {
    if (call_.pooled) {
      pooled_lookup(call_.tables, arena, ids_at(ids), call_.offsets, static_cast<float*>(vectors), threads_);
    } else {
      gather_rows(call_.tables.type, rows(), dim(), arena, ids_at(ids), vectors, threads_);
    }
  }

  void update(void* arena, float* state, const std::int64_t* ids, const float* gradients,
              const OptimizerSettings& settings, int) override {
    if (call_.pooled) {
      update_pooled(call_.tables, arena, state, ids_at(ids), call_.offsets, gradients, settings, threads_);
    } else {
      update_rows(call_.tables.type, rows(), dim(), arena, state, ids_at(ids), gradients, settings, threads_);
    }
  }

  void sum(float* dense, const std::int64_t* ids, const float* gradients, int) override {
    if (call_.pooled) {
      update_pooled(dense_, dense, nullptr, ids_at(ids), call_.offsets, gradients, summing_settings(), threads_);
    } else {
      scatter_add(rows(), dim(), ids_at(ids), gradients, dense, threads_);
    }
  }

  std::int64_t bytes() const override { return 0; }

 private:
  std::span<const std::int64_t> ids_at(const std::int64_t* ids) const {
    return {ids, static_cast<std::size_t>(call_.ids)};
  }
  std::int64_t rows() const { return call_.tables.rows.front(); }
  std::int64_t dim() const { return call_.tables.dim.front(); }

  const LookupCall& call_;
  TableBatch dense_;  // the tables in the dense gradient
  int threads_;
};

}  // namespace

// Whole products; the rest is a product of fewer rows.
void CpuDense::compute(double flops) {
  const double of_row = 2.0 * kSide * kSide;
  std::int64_t rows = static_cast<std::int64_t>(flops / of_row + 0.5);
  if (rows <= 0) return;
  a_.resize(kSide * kSide, 1.0F);
  b_.resize(kSide * kSide, 1.0F);
  c_.resize(kSide * kSide);
  for (; rows > 0; rows -= kSide) {
    gemm(std::min(rows, kSide), kSide, kSide, a_.data(), b_.data(), c_.data(), threads_);
  }
}

void CpuDense::move(double bytes) {
  std::size_t left = static_cast<std::size_t>(bytes / 2);
  if (left == 0) return;
  from_.resize(std::max(from_.size(), std::min(left, kBlock)));
  to_.resize(from_.size());
  while (left > 0) {
    const std::size_t part = std::min(left, from_.size());
    std::memcpy(to_.data(), from_.data(), part);
    left -= part;
  }
}

namespace {

// One rank's part in a collective.
struct CpuRoute {
  GroupSeat seat;
  ByteMatrix matrix;  // of an all_to_all
};

// A collective that carries no rows of a lookup: bytes of its size.
class PlainCollective {
 public:
  PlainCollective(const Op& op, const CollectiveBytes& sizes)
      : kind_(*collective_kind(op.op_class)),
        in_(static_cast<std::size_t>(sizes.in)),
        out_(static_cast<std::size_t>(sizes.out)) {
    if (kind_ != CollectiveKind::all_to_all) values_.resize(in_.size() / sizeof(float));
  }

  void run(Wire& wire, const CpuRoute& route, std::vector<float>& scratch) {
    float* const values = values_.data();
    switch (kind_) {
      case CollectiveKind::all_to_all:
        return shardsim::all_to_all(wire, route.seat, route.matrix, in_.data(), out_.data());
      case CollectiveKind::all_reduce:
        return shardsim::all_reduce(wire, route.seat, values, values_.size(), scratch);
      case CollectiveKind::reduce_scatter:
        return shardsim::reduce_scatter(wire, route.seat, values, values_.size(), scratch);
      case CollectiveKind::all_gather:
        return shardsim::all_gather(wire, route.seat, values, values_.size());
      case CollectiveKind::broadcast:
        return broadcast(wire, route.seat, in_.data(), in_.size());
      case CollectiveKind::send_recv:
        return send_recv(wire, route.seat, in_.data(), out_.data(), in_.size());
    }
  }

  std::int64_t bytes() const { return static_cast<std::int64_t>(in_.size() + out_.size()); }

 private:
  CollectiveKind kind_;
  std::vector<std::byte> in_, out_;
  std::vector<float> values_;  // of kinds that add or gather
};

// The memory of this process, kernels of `threads` threads each, collectives over a Wire. Every call is done when it
// returns; calls of different streams may come from different threads.
class CpuDevice : public DevicePort {
 public:
  CpuDevice(const Program& program, int rank, Wire& wire, int threads)
      : program_(program),
        rank_(rank),
        wire_(wire),
        threads_(threads),
        dense_(program.streams.size(), CpuDense(threads)),
        scratch_(program.streams.size()) {
    for (const Op& op : program.ops) {
      if (!op.is_collective() || !takes_part(program, op, rank)) continue;
      Seat seat = seat_of(program, op, rank);
      CpuRoute& route = routes_[op.id];
      route.seat = {std::move(seat.ranks), seat.position, program.ranks_per_node, op.stream};
      if (op.op_class == OpClass::all_to_all) route.matrix = resolve_matrix(program, op.matrix);
    }
  }

  DeviceMemory memory(std::int64_t bytes, const char*, float value) override {
    const auto floats = (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)) + 3) / 4;
    const auto data = std::make_shared<std::vector<float>>(floats, value);
    return {std::shared_ptr<void>(data, data->data()), static_cast<std::int64_t>(floats * sizeof(float))};
  }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void download(void* to, const void* from, std::int64_t bytes) override { upload(to, from, bytes); }

  void fill_rows(ElementType type, std::int64_t elements, std::uint64_t seed, void* rows) override {
    const auto size = static_cast<std::size_t>(element_bytes(type));
    for (std::size_t at = 0; at < static_cast<std::size_t>(elements) * size; at += size) {
      const std::uint32_t bits = fill_bits(type, at, seed);
      std::memcpy(static_cast<std::byte*>(rows) + at, &bits, size);
    }
  }

  std::vector<std::unique_ptr<DeviceCall>> prepare(const std::vector<LookupCall>& calls) override {
    std::vector<std::unique_ptr<DeviceCall>> prepared;
    for (const LookupCall& call : calls) prepared.push_back(std::make_unique<CpuCall>(call, threads_));
    return prepared;
  }

  void clear(void* data, std::int64_t bytes, int) override {
    if (bytes > 0) std::memset(data, 0, static_cast<std::size_t>(bytes));
  }

  void copy_blocks(void* to, std::int64_t to_distance, const void* from, std::int64_t from_distance, std::int64_t bytes,
                   std::int64_t blocks, int) override {
    if (bytes <= 0) return;
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::memcpy(static_cast<std::byte*>(to) + block * to_distance,
                  static_cast<const std::byte*>(from) + block * from_distance, static_cast<std::size_t>(bytes));
    }
  }

  void put_in_order(const std::int64_t* from, const std::int64_t* order, std::int64_t count, std::int64_t* to,
                    int) override {
    std::transform(order, order + count, to, [from](std::int64_t at) { return from[at]; });
  }

  void narrow_ids(const std::int64_t* from, std::int64_t count, std::int32_t* to, int) override {
    std::transform(from, from + count, to, [](std::int64_t id) { return static_cast<std::int32_t>(id); });
  }

  void widen_ids(const std::int32_t* from, std::int64_t count, std::int64_t* to, int) override {
    std::copy_n(from, count, to);
  }

  void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                    const float* gradients, const OptimizerSettings& settings, int) override {
    shardsim::update_dense(type, rows, dim, arena, state, gradients, settings, threads_);
  }

  void all_to_all(const Op& op, const void* in, void* out) override {
    const CpuRoute& route = routes_.at(op.id);
    shardsim::all_to_all(wire_, route.seat, route.matrix, static_cast<const std::byte*>(in),
                         static_cast<std::byte*>(out));
  }

  void all_reduce(const Op& op, float* values, std::int64_t count) override {
    shardsim::all_reduce(wire_, routes_.at(op.id).seat, values, static_cast<std::size_t>(count), scratch_[op.stream]);
  }

  void reduce_scatter(const Op& op, float* values, std::int64_t bytes) override {
    shardsim::reduce_scatter(wire_, routes_.at(op.id).seat, values, static_cast<std::size_t>(bytes) / sizeof(float),
                             scratch_[op.stream]);
  }

  void all_gather(const Op& op, float* values, std::int64_t bytes) override {
    shardsim::all_gather(wire_, routes_.at(op.id).seat, values, static_cast<std::size_t>(bytes) / sizeof(float));
  }

  Action plain(const Op& op) override {
    if (op.is_collective()) {
      PlainCollective& plain = plain_.emplace_back(op, collective_bytes(program_, op, rank_));
      return [this, &plain, &route = routes_.at(op.id), stream = op.stream](int) {
        plain.run(wire_, route, scratch_[stream]);
      };
    }
    if (op.fixed_ns > 0) return [](int) {};  // the machine holds the stream
    const double flops = value_on(program_, op, op.flops, rank_), bytes = value_on(program_, op, op.hbm_bytes, rank_);
    return [&dense = dense_[op.stream], flops, bytes](int) {
      dense.compute(flops);
      dense.move(bytes);
    };
  }

  std::int64_t plain_bytes() const override {
    std::int64_t bytes = 0;
    for (const PlainCollective& plain : plain_) bytes += plain.bytes();
    return bytes;
  }

 private:
  const Program& program_;
  int rank_ = 0;
  Wire& wire_;
  int threads_ = 1;
  std::map<int, CpuRoute> routes_;  // [op], of collectives that this rank takes part in
  std::deque<PlainCollective> plain_;
  std::vector<CpuDense> dense_;              // [stream]
  std::vector<std::vector<float>> scratch_;  // [stream] of sums
};

}  // namespace

std::unique_ptr<DevicePort> make_cpu_device(const Program& program, int rank, Wire& wire, int threads) {
  return std::make_unique<CpuDevice>(program, rank, wire, threads);
}

}  // namespace shardsim
