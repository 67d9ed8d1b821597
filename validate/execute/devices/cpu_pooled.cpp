#include "validate/execute/devices/cpu_pooled.h"

#include <algorithm>

#include "validate/execute/devices/cpu_rows.h"
#include "validate/execute/devices/update_settings.h"
#include "validate/execute/kernels/cpu_embedding.h"

namespace shardsim {
CpuPooled::CpuPooled(const Program& program, PooledBuffers buffers, int rank, std::vector<OptimizerSettings> settings,
                     int threads)
    : buffers_(std::move(buffers)), settings_(std::move(settings)), threads_(threads) {
  draw(program, rank);
  arena_.resize(static_cast<std::size_t>(buffers_.rows.elements * element_bytes(buffers_.type)));
  fill_rows(arena_, buffers_.type, program.seed);
  for (const PooledCall& call : buffers_.calls) {
    std::size_t elements = 0;
    for (int t = 0; t < call.tables.tables(); ++t) {
      elements +=
          state_elements(settings_[part_of(buffers_.fusion, call)].optimizer, call.tables.rows[t], call.tables.dim[t]);
    }
    states_.emplace_back(elements);
  }
  vectors_.resize(floats(buffers_.served_bytes));
  returned_.resize(floats(buffers_.returned_bytes));
  gradients_.assign(floats(buffers_.gradient_served_bytes), 0.5F);
  gradients_asked_.assign(floats(buffers_.gradient_asked_bytes), 0.5F);
  if (!buffers_.direct()) block_.resize(static_cast<std::size_t>(buffers_.largest_call()));
  dense_gradient_.resize(static_cast<std::size_t>(buffers_.dense_elements));
}

void CpuPooled::draw(const Program& program, int rank) {
  for (int batch = 0; batch < program.index_batches; ++batch) {
    asked_.push_back(pooled_ids(program, buffers_.fusion, rank, batch));
    if (buffers_.exchanges()) continue;
    const Ids drawn = asked_.back();
    put_in_order(drawn, asked_.back());
  }
  if (!buffers_.exchanges()) return;
  wire_ids_.resize(static_cast<std::size_t>(buffers_.served));
  for (Ids& ids : served_) ids.resize(static_cast<std::size_t>(buffers_.served));
  id_wire_ = CpuIdWire(buffers_.asked, buffers_.served, buffers_.id_bytes);
}

void CpuPooled::put_in_order(const Ids& from, Ids& to) const {
  for (std::size_t i = 0; i < buffers_.order.size(); ++i) to[i] = from[static_cast<std::size_t>(buffers_.order[i])];
}

// Ids come source after source; the kernels want them table after table.
void CpuPooled::exchange_ids(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int iteration) {
  id_wire_.exchange(wire, seat, matrix, asked_[iteration % asked_.size()], wire_ids_);
  put_in_order(wire_ids_, served_[iteration % 3]);
}

std::span<const std::int64_t> CpuPooled::ids_of(const PooledCall& call, int iteration) const {
  return std::span(served(iteration))
      .subspan(static_cast<std::size_t>(call.first_id), static_cast<std::size_t>(call.ids()));
}

void CpuPooled::lookup(std::size_t part, int iteration) {
  for (const PooledCall& call : buffers_.calls) {
    if (part_of(buffers_.fusion, call) == part) look_up(call, iteration);
  }
}

void CpuPooled::look_up(const PooledCall& call, int iteration) {
  float* const out = buffers_.direct() ? vectors_.data() : block_.data();
  pooled_lookup(call.tables, arena_.data(), ids_of(call, iteration), call.offsets, out, threads_);
  if (buffers_.direct()) return;
  const std::int64_t elements = call.block.elements();
  for (std::int64_t source = 0; source < buffers_.sources; ++source) {
    std::copy_n(out + source * elements, elements,
                vectors_.data() + source * buffers_.chunk_elements + call.block.first_element);
  }
}

void CpuPooled::scatter(Wire& wire, const GroupSeat& seat, std::int64_t bytes, std::vector<float>& scratch) {
  reduce_scatter(wire, seat, vectors_.data(), static_cast<std::size_t>(bytes) / sizeof(float), scratch);
}

void CpuPooled::exchange_output(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix) {
  all_to_all(wire, seat, matrix, as_bytes(vectors_.data()) + buffers_.own_vectors, as_bytes(returned_.data()));
}

void CpuPooled::exchange_gradients(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix) {
  all_to_all(wire, seat, matrix, as_bytes(gradients_asked_.data()),
             as_bytes(gradients_.data()) + buffers_.own_gradients);
}

void CpuPooled::gather(Wire& wire, const GroupSeat& seat, std::int64_t bytes) {
  all_gather(wire, seat, gradients_.data(), static_cast<std::size_t>(bytes) / sizeof(float));
}

const float* CpuPooled::gradients_of(const PooledCall& call) {
  if (buffers_.direct()) return gradients_.data();
  const std::int64_t elements = call.block.elements();
  for (std::int64_t source = 0; source < buffers_.sources; ++source) {
    std::copy_n(gradients_.data() + source * buffers_.chunk_elements + call.block.first_element, elements,
                block_.data() + source * elements);
  }
  return block_.data();
}

void CpuPooled::update(std::size_t part, int iteration) {
  OptimizerSettings& settings = settings_[part];
  settings.step = iteration + 1;
  for (std::size_t i = 0; i < buffers_.calls.size(); ++i) {
    const PooledCall& call = buffers_.calls[i];
    if (part_of(buffers_.fusion, call) != part) continue;
    if (buffers_.fusion.parts[part].apply >= 0) {
      sum_gradients(call, iteration);
    } else {
      update_pooled(call.tables, arena_.data(), states_[i].data(), ids_of(call, iteration), call.offsets,
                    gradients_of(call), settings, threads_);
    }
  }
}

void CpuPooled::sum_gradients(const PooledCall& call, int iteration) {
  TableBatch dense = call.tables;
  dense.type = ElementType::fp32;
  for (int t = 0; t < dense.tables(); ++t) {
    std::fill_n(dense_gradient_.data() + dense.begin[t], dense.rows[t] * dense.dim[t], 0.0F);
  }
  update_pooled(dense, dense_gradient_.data(), nullptr, ids_of(call, iteration), call.offsets, gradients_of(call),
                summing_settings(), threads_);
}

void CpuPooled::reduce(std::size_t which, Wire& wire, const GroupSeat& seat, std::vector<float>& scratch) {
  const PooledBuffers::Reduced& of = buffers_.reduced[which];
  all_reduce(wire, seat, dense_gradient_.data() + of.first, static_cast<std::size_t>(of.count), scratch);
}

void CpuPooled::apply(std::size_t part, int iteration) {
  settings_[part].step = iteration + 1;
  for (std::size_t i = 0; i < buffers_.calls.size(); ++i) {
    if (part_of(buffers_.fusion, buffers_.calls[i]) == part) apply_rows(i);
  }
}

void CpuPooled::apply_rows(std::size_t index) {
  const PooledCall& call = buffers_.calls[index];
  const OptimizerSettings& settings = settings_[part_of(buffers_.fusion, call)];
  float* state = states_[index].data();
  for (int t = 0; t < call.tables.tables(); ++t) {
    const std::int64_t rows = call.tables.rows[t], dim = call.tables.dim[t], begin = call.tables.begin[t];
    update_dense(buffers_.type, rows, dim, arena_.data() + begin * element_bytes(buffers_.type), state,
                 dense_gradient_.data() + begin, settings, threads_);
    state += state_elements(settings.optimizer, rows, dim);
  }
}

std::int64_t CpuPooled::bytes() const {
  std::size_t sum = id_wire_.bytes() + arena_.size();
  for (const Ids* ids : {&served_[0], &served_[1], &served_[2], &wire_ids_, &buffers_.order}) {
    sum += ids->size() * sizeof(std::int64_t);
  }
  for (const Ids& ids : asked_) sum += ids.size() * sizeof(std::int64_t);
  for (const auto& state : states_) sum += state.size() * sizeof(float);
  for (const auto* values : {&vectors_, &returned_, &gradients_, &gradients_asked_, &block_, &dense_gradient_}) {
    sum += values->size() * sizeof(float);
  }
  return static_cast<std::int64_t>(sum);
}

std::vector<float> CpuPooled::gathered() const {
  const float* const own = vectors_.data() + buffers_.own_vectors / 4;
  return by_shard(buffers_.returned, buffers_.returns() ? returned_.data() : own);
}

std::vector<float> CpuPooled::shard_rows(int shard) const {
  return rows_of(arena_, buffers_.rows, shard);
}

void CpuPooled::load_rows(int shard, const std::vector<float>& rows) {
  put_rows(arena_, buffers_.rows, shard, rows);
}

void CpuPooled::load_gradients(const std::vector<float>& gradients) {
  to_wire(buffers_.returned, gradients, buffers_.asks_gradients() ? gradients_asked_.data() : own_gradients());
}

}  // namespace shardsim
