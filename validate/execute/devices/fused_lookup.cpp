#include "validate/execute/devices/fused_lookup.h"

#include <algorithm>

#include "base/error.h"
#include "validate/execute/fusion/id_streams.h"

namespace shardsim {
namespace {

constexpr std::int64_t kId = sizeof(std::int64_t), kValue = sizeof(float);

std::int64_t states_of(const LookupCall& call, const OptimizerSettings& settings) {
  std::size_t states = 0;
  for (int t = 0; t < call.tables.tables(); ++t) {
    states += state_elements(settings.optimizer, call.tables.rows[t], call.tables.dim[t]);
  }
  return static_cast<std::int64_t>(states);
}

// Null: the rank holds none of the shard's rows.
const RankRows::Part* part_holding(const RankRows& rows, int shard) {
  const auto found = std::ranges::find(rows.parts, shard, &RankRows::Part::shard);
  return found == rows.parts.end() ? nullptr : &*found;
}

// Where the vectors of the own batch are, and the element at which they begin.
std::pair<const DeviceMemory*, std::int64_t> own_part(const LookupBuffers::Sizes& sizes, const DeviceMemory& returned,
                                                      const DeviceMemory& served) {
  if (sizes.returned > 0) return {&returned, 0};
  return {&served, sizes.own / kValue};
}

}  // namespace

FusedLookup::FusedLookup(const Program& program, LookupBuffers buffers, int rank, bool check_data, DevicePort& device)
    : program_(program),
      rank_(rank),
      device_(device),
      buffers_(std::move(buffers)),
      settings_(part_settings(program, buffers_, check_data)),
      batches_(program.index_batches) {
  draw(program, rank);
  arena_ = reserve(buffers_.rows.elements * element_bytes(buffers_.type), "rows of the tables");
  if (buffers_.rows.elements > 0) {
    device_.fill_rows(buffers_.type, buffers_.rows.elements, program.seed, arena_.as<void>());
  }
  calls_ = device_.prepare(buffers_.calls, bytes_);
  for (const LookupCall& call : buffers_.calls) {
    states_.push_back(reserve(states_of(call, settings_[call.part]) * kValue, "optimizer states"));
  }
  reserve_vectors();
}

DeviceMemory FusedLookup::reserve(std::int64_t bytes, const char* what, float value) {
  DeviceMemory memory = device_.memory(bytes, what, value);
  bytes_ += memory.bytes();
  return memory;
}

DeviceMemory FusedLookup::uploaded(const std::vector<std::int64_t>& ids, const char* what) {
  const std::int64_t bytes = static_cast<std::int64_t>(ids.size()) * kId;
  DeviceMemory memory = reserve(bytes, what);
  device_.upload(memory.as<void>(), ids.data(), bytes);
  return memory;
}

// Without an exchange the ids lie as the kernels want them from the start.
void FusedLookup::draw(const Program& program, int rank) {
  std::vector<std::int64_t> all;
  for (int batch = 0; batch < batches_; ++batch) {
    std::vector<std::int64_t> ids = draw_ids(program, buffers_.fusion, rank, batch).ids;
    ids.resize(static_cast<std::size_t>(std::max<std::int64_t>(buffers_.asked, 0)));
    if (buffers_.exchanges() || buffers_.order.empty()) {
      all.insert(all.end(), ids.begin(), ids.end());
    } else {
      for (const std::int64_t at : buffers_.order) all.push_back(ids[static_cast<std::size_t>(at)]);
    }
  }
  asked_ = uploaded(all, "ids asked");
  if (!buffers_.exchanges()) return;
  for (DeviceMemory& ids : served_) ids = reserve(buffers_.served * kId, "ids served");
  if (!buffers_.order.empty()) {
    order_ = uploaded(buffers_.order, "the order of the ids");
    ids_came_ = reserve(buffers_.served * kId, "ids as they came");
  }
  if (buffers_.id_bytes == kId) return;
  narrow_in_ = reserve(buffers_.asked * buffers_.id_bytes, "ids on the wire");
  narrow_out_ = reserve(buffers_.served * buffers_.id_bytes, "ids on the wire");
}

// The gradients are the same number everywhere, which does not change what it costs to sum them.
void FusedLookup::reserve_vectors() {
  vectors_ = reserve(buffers_.vectors.served, "vectors looked up");
  returned_ = reserve(buffers_.vectors.returned, "vectors returned");
  gradients_ = reserve(buffers_.gradients.served, "gradients of the vectors served", 0.5F);
  gradients_asked_ = reserve(buffers_.gradients.returned, "gradients", 0.5F);
  if (!buffers_.direct()) block_ = reserve(buffers_.largest_call() * kValue, "vectors of one call");
  dense_gradient_ = reserve(buffers_.dense_elements * kValue, "the summed gradient");
}

template <typename Act>
void FusedLookup::set(std::vector<Action>& actions, int id, Act act) {
  if (id < 0) return;
  const Op& op = program_.ops[static_cast<std::size_t>(id)];
  if (!takes_part(program_, op, rank_)) return;
  actions[static_cast<std::size_t>(id)] = [&op, act](int iteration) { act(op, iteration); };
}

void FusedLookup::add_actions(std::vector<Action>& actions) {
  for (std::size_t part = 0; part < buffers_.fusion.parts.size(); ++part) {
    const Fusion::Part& of = buffers_.fusion.parts[part];
    set(actions, of.lookup, [this, part](const Op& op, int iteration) { lookup(part, iteration, op.stream); });
    set(actions, of.gradient, [this, part](const Op& op, int iteration) { update(part, iteration, op.stream); });
    set(actions, of.apply, [this, part](const Op& op, int iteration) { apply(part, iteration, op.stream); });
  }
  const Fusion& flow = buffers_.fusion;
  const int ahead = flow.ids_came_before ? 1 : 0;
  set(actions, flow.ids, [this, ahead](const Op& op, int iteration) { exchange_ids(op, iteration + ahead); });
  set(actions, flow.output, [this](const Op& op, int) {
    device_.collective(op, vectors_.at(buffers_.vectors.own), returned_.as<void>(), 0);
  });
  set(actions, flow.gradient_exchange, [this](const Op& op, int) {
    device_.collective(op, gradients_asked_.as<void>(), gradients_.at(buffers_.gradients.own), 0);
  });
  const auto in_place = [&](int id, const DeviceMemory& memory) {
    if (id < 0) return;
    const std::int64_t bytes = collective_bytes(program_, program_.ops[static_cast<std::size_t>(id)], rank_).in;
    set(actions, id,
        [this, data = memory.as<void>(), bytes](const Op& op, int) { device_.collective(op, data, data, bytes); });
  };
  in_place(flow.scatter, vectors_);
  in_place(flow.gather, gradients_);
  for (std::size_t which = 0; which < flow.reduces.size(); ++which) {
    set(actions, flow.reduces[which], [this, of = buffers_.reduced[which]](const Op& op, int) {
      float* const sums = dense_gradient_.as<float>() + of.first;
      device_.collective(op, sums, sums, of.count * kValue);
    });
  }
}

const std::int64_t* FusedLookup::asked(int iteration) const {
  return asked_.as<std::int64_t>() + iteration % batches_ * buffers_.asked;
}

const std::int64_t* FusedLookup::ids_of(const LookupCall& call, int iteration) const {
  const std::int64_t* const all =
      buffers_.exchanges() ? served_[iteration % kTurns].as<std::int64_t>() : asked(iteration);
  return all + call.first_id;
}

// Ids come source after source; the kernels of pooled lookups want them table after table.
void FusedLookup::exchange_ids(const Op& op, int iteration) {
  std::int64_t* const served = served_[iteration % kTurns].as<std::int64_t>();
  const bool in_order = buffers_.order.empty();
  std::int64_t* const came = in_order ? served : ids_came_.as<std::int64_t>();
  if (buffers_.id_bytes == kId) {
    device_.collective(op, asked(iteration), came, 0);
  } else {
    device_.narrow_ids(asked(iteration), buffers_.asked, narrow_in_.as<std::int32_t>(), op.stream);
    device_.collective(op, narrow_in_.as<void>(), narrow_out_.as<void>(), 0);
    device_.widen_ids(narrow_out_.as<std::int32_t>(), buffers_.served, came, op.stream);
  }
  if (!in_order) device_.put_in_order(came, order_.as<std::int64_t>(), buffers_.served, served, op.stream);
}

void FusedLookup::lookup(std::size_t part, int iteration, int stream) {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const LookupCall& call = buffers_.calls[i];
    if (call.part != part) continue;
    const DeviceMemory& out = buffers_.direct() ? vectors_ : block_;
    calls_[i]->lookup(arena_.as<void>(), ids_of(call, iteration), out.as<void>(), stream);
    if (buffers_.direct()) continue;
    const std::int64_t bytes = call.block.elements() * kValue;
    device_.copy_blocks(vectors_.as<float>() + call.block.first_element, buffers_.chunk_elements * kValue,
                        out.as<void>(), bytes, bytes, buffers_.sources, stream);
  }
}

const float* FusedLookup::gradients_of(const LookupCall& call, int stream) {
  if (buffers_.direct()) return gradients_.as<float>();
  const std::int64_t bytes = call.block.elements() * kValue;
  device_.copy_blocks(block_.as<void>(), bytes, gradients_.as<float>() + call.block.first_element,
                      buffers_.chunk_elements * kValue, bytes, buffers_.sources, stream);
  return block_.as<float>();
}

void FusedLookup::update(std::size_t part, int iteration, int stream) {
  settings_[part].step = iteration + 1;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const LookupCall& call = buffers_.calls[i];
    if (call.part != part) continue;
    if (buffers_.sums(part)) {
      sum_gradients(i, iteration, stream);
    } else {
      calls_[i]->update(buffers_.type, arena_.as<void>(), states_[i].as<float>(), ids_of(call, iteration),
                        gradients_of(call, stream), settings_[part], stream);
    }
  }
}

// A single call clears what lies behind its rows too: the all-reduce of a larger shard left sums there. Calls of other
// parts may be on their way through an all-reduce.
void FusedLookup::sum_gradients(std::size_t index, int iteration, int stream) {
  const LookupCall& call = buffers_.calls[index];
  const TableBatch& tables = call.tables;
  if (buffers_.direct()) device_.clear(dense_gradient_.as<void>(), dense_gradient_.bytes(), stream);
  for (int t = 0; t < tables.tables() && !buffers_.direct(); ++t) {
    device_.clear(dense_gradient_.as<float>() + tables.begin[t], tables.rows[t] * tables.dim[t] * kValue, stream);
  }
  calls_[index]->update(ElementType::fp32, dense_gradient_.as<void>(), nullptr, ids_of(call, iteration),
                        gradients_of(call, stream), summing_settings(), stream);
}

void FusedLookup::apply(std::size_t part, int iteration, int stream) {
  settings_[part].step = iteration + 1;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (buffers_.calls[i].part == part) apply_rows(i, stream);
  }
}

void FusedLookup::apply_rows(std::size_t index, int stream) {
  const LookupCall& call = buffers_.calls[index];
  const OptimizerSettings& settings = settings_[call.part];
  float* state = states_[index].as<float>();
  for (int t = 0; t < call.tables.tables(); ++t) {
    const std::int64_t rows = call.tables.rows[t], dim = call.tables.dim[t], begin = call.tables.begin[t];
    if (rows == 0) continue;
    device_.update_dense(buffers_.type, rows, dim, arena_.at(begin * element_bytes(buffers_.type)), state,
                         dense_gradient_.as<float>() + begin, settings, stream);
    state += state_elements(settings.optimizer, rows, dim);
  }
}

std::vector<float> FusedLookup::gathered() const {
  const auto [memory, first] = own_part(buffers_.vectors, returned_, vectors_);
  std::vector<float> wire(static_cast<std::size_t>(memory->bytes() / kValue));
  device_.download(wire.data(), memory->as<void>(), memory->bytes());
  return by_shard(buffers_.returned, wire.data() + first);
}

// Rows of fp32, the only ones that are compared.
std::vector<float> FusedLookup::shard_rows(int shard) const {
  const RankRows::Part* const part = part_holding(buffers_.rows, shard);
  if (part == nullptr) return {};
  std::vector<float> rows(static_cast<std::size_t>(part->rows * part->dim));
  device_.download(rows.data(), arena_.at(part->first_element * kValue), part->rows * part->dim * kValue);
  return rows;
}

void FusedLookup::load_rows(int shard, const std::vector<float>& rows) {
  const RankRows::Part* const part = part_holding(buffers_.rows, shard);
  if (part == nullptr) return;
  device_.upload(arena_.at(part->first_element * kValue), rows.data(), static_cast<std::int64_t>(rows.size()) * kValue);
}

void FusedLookup::load_gradients(const std::vector<float>& gradients) {
  const auto [memory, first] = own_part(buffers_.gradients, gradients_asked_, gradients_);
  std::vector<float> wire(static_cast<std::size_t>(memory->bytes() / kValue));
  device_.download(wire.data(), memory->as<void>(), memory->bytes());
  to_wire(buffers_.returned, gradients, wire.data() + first);
  device_.upload(memory->as<void>(), wire.data(), memory->bytes());
}

}  // namespace shardsim
