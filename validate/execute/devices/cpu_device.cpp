#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/rng.h"
#include "validate/execute/devices/device_port.h"
#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/wires/cpu_collectives.h"

namespace shardsim {
namespace {

std::uint32_t fill_bits(ElementType type, std::uint64_t at, std::uint64_t seed) {
  if (type == ElementType::fp16) return 0x3c00;  // 1
  const float value = static_cast<float>(mix(at, seed) >> 60);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return type == ElementType::bf16 ? bits >> 16 : bits;  // little-endian: the low bytes are copied
}

class CpuCall : public DeviceCall {
 public:
  CpuCall(const LookupCall& call, int threads) : call_(call), threads_(threads) {}

  void lookup(const void* arena, const std::int64_t* ids, void* vectors, int) override {
    if (call_.pooled) {
      pooled_lookup(call_.tables, arena, ids_at(ids), call_.offsets, static_cast<float*>(vectors), threads_);
    } else {
      gather_rows(call_.tables.type, rows(), dim(), arena, ids_at(ids), vectors, threads_);
    }
  }

  void update(ElementType type, void* arena, float* state, const std::int64_t* ids, const float* gradients,
              const OptimizerSettings& settings, int) override {
    if (call_.pooled) {
      TableBatch tables = call_.tables;
      tables.type = type;
      update_pooled(tables, arena, state, ids_at(ids), call_.offsets, gradients, settings, threads_);
    } else {
      update_rows(type, rows(), dim(), arena, state, ids_at(ids), gradients, settings, threads_);
    }
  }

 private:
  std::span<const std::int64_t> ids_at(const std::int64_t* ids) const {
    return {ids, static_cast<std::size_t>(call_.ids)};
  }
  std::int64_t rows() const { return call_.tables.rows.front(); }
  std::int64_t dim() const { return call_.tables.dim.front(); }

  const LookupCall& call_;
  int threads_;
};

// One rank's part in a collective.
struct CpuRoute {
  GroupSeat seat;
  ByteMatrix matrix;  // of an all_to_all
  ElementType type = ElementType::fp32;
};

class CpuDevice : public DevicePort {
 public:
  CpuDevice(const IterationPrograms& programs, int rank, Wire& wire, int threads)
      : wire_(wire), threads_(threads), scratch_(programs.first().streams.size()) {
    for (std::size_t turn = 0; turn < programs.size(); ++turn) {
      for (const Op& op : programs[turn].ops) add_route(programs[turn], op, rank);
    }
  }

  DeviceMemory memory(std::int64_t bytes, const char*, float value) override {
    const auto floats = (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)) + 3) / 4;
    const auto data = std::make_shared<std::vector<float>>(floats, value);
    return {std::shared_ptr<void>(data, data->data()), static_cast<std::int64_t>(floats * sizeof(float))};
  }

  DeviceMemory host_memory(std::int64_t bytes, const char* what) override { return memory(bytes, what, 0); }

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

  std::vector<std::unique_ptr<DeviceCall>> prepare(const std::vector<LookupCall>& calls, std::int64_t&) override {
    std::vector<std::unique_ptr<DeviceCall>> prepared;
    for (const LookupCall& call : calls) prepared.push_back(std::make_unique<CpuCall>(call, threads_));
    return prepared;
  }

  void clear(void* data, std::int64_t bytes, int) override {
    if (bytes > 0) std::memset(data, 0, static_cast<std::size_t>(bytes));
  }

  void copy_blocks(void* to, std::int64_t to_distance, const void* from, std::int64_t from_distance, std::int64_t bytes,
                   std::int64_t blocks, int) override {
    check_stop();
    if (bytes <= 0) return;
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::memcpy(static_cast<std::byte*>(to) + block * to_distance,
                  static_cast<const std::byte*>(from) + block * from_distance, static_cast<std::size_t>(bytes));
    }
  }

  void copy_across(void* to, const void* from, std::int64_t bytes, int) override { upload(to, from, bytes); }

  void fetch_rows(const void* rows, const std::int64_t* ids, std::int64_t count, std::int64_t row_bytes, void* to,
                  int) override {
    const auto bytes = static_cast<std::size_t>(row_bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<std::byte*>(to) + i * row_bytes, static_cast<const std::byte*>(rows) + ids[i] * row_bytes,
                  bytes);
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

  void encode(ElementType type, const void* from, std::int64_t count, Dtype wire, void* to, int) override {
    check_stop();
    encode_elements(type, from, count, wire, to, threads_);
  }

  void decode(Dtype wire, const void* from, std::int64_t count, ElementType type, void* to, int) override {
    check_stop();
    decode_elements(wire, from, count, type, to, threads_);
  }

  void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                    const float* gradients, const OptimizerSettings& settings, int) override {
    shardsim::update_dense(type, rows, dim, arena, state, gradients, settings, threads_);
  }

  void collective(const Op& op, const void* in, void* out, std::int64_t bytes) override {
    const auto& [seat, matrix, type] = routes_.at(&op);
    std::vector<float>& scratch = scratch_[op.stream];
    const auto* const from = static_cast<const std::byte*>(in);
    auto* const to = static_cast<std::byte*>(out);
    const auto size = static_cast<std::size_t>(bytes);
    const ElementVector values{out, size / static_cast<std::size_t>(element_bytes(type)), type};
    switch (*collective_kind(op.op_class)) {
      case CollectiveKind::all_to_all:
        return all_to_all(wire_, seat, matrix, from, to);
      case CollectiveKind::all_reduce:
        all_reduce(wire_, seat, values, scratch);
        if (op.role == OpRole::average_replicas) divide(values, seat.ranks.size());
        return;
      case CollectiveKind::reduce_scatter:
        return reduce_scatter(wire_, seat, values, scratch);
      case CollectiveKind::all_gather:
        return all_gather(wire_, seat, values);
      case CollectiveKind::broadcast:
        return broadcast(wire_, seat, to, size);
      case CollectiveKind::send_recv:
        return send_recv(wire_, seat, from, to, size);
    }
  }

  // fp32 in every precision: processors have no other product worth the name.
  void multiply(const Product& of, const void* a, const void* b, void* c, int) override {
    check_stop();
    gemm(of.m, of.n, of.k, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c),
         threads_);
  }

  void wait(std::int64_t nanoseconds, int stream) override { pass(nanoseconds, stream); }

  // Asleep, the stream takes no core from the other ranks of this host.
  void pass(std::int64_t nanoseconds, int) override {
    constexpr double kLook = 0.05;  // seconds between two looks at whether the run has ended
    const double end = monotonic_seconds() + static_cast<double>(nanoseconds) * 1e-9;
    double now = monotonic_seconds();
    while (now < end) {
      check_stop();
      sleep_until(std::min(end, now + kLook));
      now = monotonic_seconds();
    }
  }

  void stop() override { stopped_ = true; }

  DenseLimits prepare_dense(int) override { return {128, 128, std::int64_t{16} << 20}; }
  void prepare_product(const Product&, int) override {}
  void prepare_pass(int) override {}

 private:
  // An operation that was cut off leaves no span.
  void check_stop() const {
    if (stopped_) throw run_error("the device was stopped", "");
  }

  void add_route(const Program& program, const Op& op, int rank) {
    if (!op.is_collective() || !takes_part(program, op, rank)) return;
    Seat seat = seat_of(program, op, rank);
    CpuRoute& route = routes_[&op];
    if (op.op_class == OpClass::all_to_all) route.matrix = resolve_matrix(program, op.matrix, seat.set);
    route.type = element_named(op.dtype);  // without a sum any type will do
    route.seat = {std::move(seat.ranks), seat.position, program.ranks_per_node, op.stream};
  }

  Wire& wire_;
  int threads_ = 1;
  // By operation of whichever Program, of collectives that this rank takes part in.
  std::map<const Op*, CpuRoute> routes_;
  std::vector<std::vector<float>> scratch_;  // [stream] of sums
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::unique_ptr<DevicePort> make_cpu_device(const IterationPrograms& programs, int rank, Wire& wire, int threads) {
  return std::make_unique<CpuDevice>(programs, rank, wire, threads);
}

}  // namespace shardsim
