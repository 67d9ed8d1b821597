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

// Returns the memory that holds the vectors of the own batch, and the element at which they begin.
std::pair<const DeviceMemory*, std::int64_t> own_part(const LookupBuffers::Sizes& sizes, const DeviceMemory& returned,
                                                      const DeviceMemory& served) {
  if (sizes.returned > 0) return {&returned, 0};
  return {&served, sizes.own / kValue};
}

}  // namespace

FusedLookup::FusedLookup(const IterationPrograms& programs, std::vector<LookupBuffers> turns, int rank, bool check_data,
                         DevicePort& device)
    : programs_(programs),
      rank_(rank),
      device_(device),
      turns_(std::move(turns)),
      settings_(part_settings(programs.first(), first(), check_data)) {
  draw(rank);
  reserve_ids();
  arena_ = reserve_rows(first().rows.elements, false);
  host_arena_ = reserve_rows(first().rows.host_elements, true);
  for (const LookupBuffers& buffers : turns_) calls_.push_back(device_.prepare(buffers.calls, bytes_));
  for (const LookupCall& call : first().calls) {
    const std::int64_t bytes = states_of(call, settings_[call.part]) * kValue;
    states_.push_back(call.on_host ? device_.host_memory(bytes, "optimizer states")
                                   : reserve(bytes, "optimizer states"));
  }
  reserve_vectors();
}

DeviceMemory FusedLookup::reserve(std::int64_t bytes, const char* what, float value) {
  DeviceMemory memory = device_.memory(bytes, what, value);
  bytes_ += memory.bytes();
  return memory;
}

DeviceMemory FusedLookup::reserve_rows(std::int64_t elements, bool on_host) {
  const std::int64_t bytes = elements * element_bytes(first().type);
  DeviceMemory memory =
      on_host ? device_.host_memory(bytes, "rows of the tables in host memory") : reserve(bytes, "rows of the tables");
  if (elements > 0) device_.fill_rows(first().type, elements, programs_.first().seed, memory.as<void>());
  return memory;
}

DeviceMemory FusedLookup::reserve_most(const std::function<std::int64_t(const LookupBuffers&)>& bytes, const char* what,
                                       float value) {
  std::int64_t most = 0;
  for (const LookupBuffers& buffers : turns_) most = std::max(most, bytes(buffers));
  return reserve(most, what, value);
}

DeviceMemory FusedLookup::uploaded(const std::vector<std::int64_t>& ids, const char* what) {
  const std::int64_t bytes = static_cast<std::int64_t>(ids.size()) * kId;
  DeviceMemory memory = reserve(bytes, what);
  device_.upload(memory.as<void>(), ids.data(), bytes);
  return memory;
}

// Without an exchange the ids lie as the kernels want them from the start.
void FusedLookup::draw(int rank) {
  std::int64_t all = 0;
  for (int batch = 0; batch < programs_.batches(); ++batch) {
    first_asked_.push_back(all);
    all += std::max<std::int64_t>(of(batch).asked, 0);
  }
  asked_ = reserve(all * kId, "ids asked");
  for (int batch = 0; batch < programs_.batches(); ++batch) {
    const LookupBuffers& buffers = of(batch);
    std::vector<std::int64_t> ids = draw_ids(programs_[programs_.turn(batch)], buffers.fusion, rank, batch).ids;
    ids.resize(static_cast<std::size_t>(std::max<std::int64_t>(buffers.asked, 0)));
    if (!buffers.exchanges() && !buffers.order.empty()) {
      std::vector<std::int64_t> ordered;
      for (const std::int64_t at : buffers.order) ordered.push_back(ids[static_cast<std::size_t>(at)]);
      ids = std::move(ordered);
    }
    device_.upload(asked_.at(first_asked_[static_cast<std::size_t>(batch)] * kId), ids.data(),
                   static_cast<std::int64_t>(ids.size()) * kId);
  }
}

void FusedLookup::reserve_ids() {
  if (!first().exchanges()) return;
  const auto served = [](const LookupBuffers& buffers) { return buffers.served * kId; };
  served_.resize(static_cast<std::size_t>(kTurns + ahead(fusion().lookup)));
  for (DeviceMemory& ids : served_) ids = reserve_most(served, "ids served");
  for (const LookupBuffers& buffers : turns_) order_.push_back(uploaded(buffers.order, "the order of the ids"));
  if (std::ranges::any_of(turns_, [](const LookupBuffers& buffers) { return !buffers.order.empty(); })) {
    ids_came_ = reserve_most(served, "ids as they came");
  }
  if (first().id_bytes == kId) return;
  narrow_in_ = reserve_most([](const LookupBuffers& of) { return of.asked * of.id_bytes; }, "ids on the wire");
  narrow_out_ = reserve_most([](const LookupBuffers& of) { return of.served * of.id_bytes; }, "ids on the wire");
}

// The gradients are the same number everywhere, which does not change what it costs to sum them.
void FusedLookup::reserve_vectors() {
  using Buffers = const LookupBuffers&;
  vectors_ = reserve_most([](Buffers of) { return of.vectors.served; }, "vectors looked up");
  returned_ = reserve_most([](Buffers of) { return of.vectors.returned; }, "vectors returned");
  gradients_ = reserve_most([](Buffers of) { return of.gradients.served; }, "gradients of the vectors served", 0.5F);
  gradients_asked_ = reserve_most([](Buffers of) { return of.gradients.returned; }, "gradients", 0.5F);
  if (!first().direct()) {
    block_ = reserve_most([](Buffers of) { return of.largest_call() * kValue; }, "vectors of one call");
  }
  dense_gradient_ = reserve_most([](Buffers of) { return of.dense_elements * kValue; }, "the summed gradient");
  const Fusion& flow = fusion();
  const ElementType type = flow.pooled ? ElementType::fp32 : first().type;
  if (flow.codec.any()) coded_.emplace(device_, first().coded, type, flow.scatter >= 0, flow.output >= 0, bytes_);
  if (flow.gradient_codec.any()) {
    coded_back_.emplace(device_, first().coded_gradients, ElementType::fp32, flow.gather >= 0,
                        flow.gradient_exchange >= 0, bytes_);
  }
}

template <typename Act>
void FusedLookup::set(std::vector<Action>& actions, int id, Act act) {
  if (id < 0 || !takes_part(programs_.first(), programs_.first().op(id), rank_)) return;
  actions[static_cast<std::size_t>(id)] = [this, id, act, later = ahead(id)](int iteration) {
    act(programs_[programs_.turn(iteration + later)].op(id), iteration + later);
  };
}

void FusedLookup::set_in_place(std::vector<Action>& actions, int id, const DeviceMemory& memory) {
  set(actions, id, [this, data = memory.as<void>()](const Op& op, int iteration) {
    const Program& program = programs_[programs_.turn(iteration)];
    device_.collective(op, data, data, collective_bytes(program, op, rank_).in);
  });
}

void FusedLookup::add_actions(std::vector<Action>& actions) {
  const Fusion& flow = fusion();
  for (std::size_t part = 0; part < flow.parts.size(); ++part) {
    const Fusion::Part& of = flow.parts[part];
    set(actions, of.lookup, [this, part](const Op& op, int iteration) { lookup(part, iteration, op.stream); });
    set(actions, of.gradient, [this, part](const Op& op, int iteration) { update(part, iteration, op.stream); });
    set(actions, of.apply, [this, part](const Op& op, int iteration) { apply(part, iteration, op.stream); });
  }
  set(actions, flow.ids, [this](const Op& op, int iteration) { exchange_ids(op, iteration); });
  coded_ ? set_coded_way(actions) : set_plain_way(actions);
  coded_back_ ? set_coded_way_back(actions) : set_plain_way_back(actions);
  for (std::size_t which = 0; which < flow.reduces.size(); ++which) {
    set(actions, flow.reduces[which], [this, which](const Op& op, int iteration) {
      const LookupBuffers::Reduced& reduced = of(iteration).reduced[which];
      float* const sums = dense_gradient_.as<float>() + reduced.first;
      device_.collective(op, sums, sums, reduced.count * kValue);
    });
  }
}

void FusedLookup::set_plain_way(std::vector<Action>& actions) {
  set(actions, fusion().output, [this](const Op& op, int iteration) {
    device_.collective(op, vectors_.at(of(iteration).vectors.own), returned_.as<void>(), 0);
  });
  set_in_place(actions, fusion().scatter, vectors_);
}

void FusedLookup::set_plain_way_back(std::vector<Action>& actions) {
  set(actions, fusion().gradient_exchange, [this](const Op& op, int iteration) {
    device_.collective(op, gradients_asked_.as<void>(), gradients_.at(of(iteration).gradients.own), 0);
  });
  set_in_place(actions, fusion().gather, gradients_);
}

std::int64_t FusedLookup::summed_bytes(const Op& op, int iteration) const {
  return collective_bytes(programs_[programs_.turn(iteration)], op, rank_).in;
}

void FusedLookup::set_coded_way(std::vector<Action>& actions) {
  const Fusion& flow = fusion();
  const CodedWay::Ends ends{vectors_, returned_};
  set(actions, flow.codec.encode,
      [this, ends](const Op& op, int iteration) { coded_->encode_served(of(iteration).coded, ends, op.stream); });
  set(actions, flow.scatter, [this](const Op& op, int iteration) { coded_->sum(op, summed_bytes(op, iteration)); });
  set(actions, flow.codec.recode,
      [this, ends](const Op& op, int iteration) { coded_->recode_sums(of(iteration).coded, ends, op.stream); });
  set(actions, flow.output, [this](const Op& op, int) { coded_->send(op); });
  set(actions, flow.codec.decode,
      [this, ends](const Op& op, int iteration) { coded_->decode_asked(of(iteration).coded, ends, op.stream); });
}

void FusedLookup::set_coded_way_back(std::vector<Action>& actions) {
  const Fusion& flow = fusion();
  const CodedWay::Ends ends{gradients_, gradients_asked_};
  set(actions, flow.gradient_codec.encode, [this, ends](const Op& op, int iteration) {
    coded_back_->encode_asked(of(iteration).coded_gradients, ends, op.stream);
  });
  set(actions, flow.gradient_exchange, [this](const Op& op, int) { coded_back_->send_back(op); });
  set(actions, flow.gradient_codec.recode, [this, ends](const Op& op, int iteration) {
    coded_back_->recode_chunk(of(iteration).coded_gradients, ends, op.stream);
  });
  set(actions, flow.gather,
      [this](const Op& op, int iteration) { coded_back_->gather(op, summed_bytes(op, iteration)); });
  set(actions, flow.gradient_codec.decode, [this, ends](const Op& op, int iteration) {
    coded_back_->decode_served(of(iteration).coded_gradients, ends, op.stream);
  });
}

std::vector<DeviceMemory> FusedLookup::averaged_rows(ElementType type) const {
  if (!averaged(programs_.first(), fusion()) || first().type != type) return {};
  return {arena_.part(0, first().rows.elements * element_bytes(type))};
}

std::vector<DeviceMemory> FusedLookup::averaged_states() const {
  if (!averaged(programs_.first(), fusion())) return {};
  std::vector<DeviceMemory> states;
  for (std::size_t call = 0; call < states_.size(); ++call) {
    const RowOptimizer optimizer = settings_[first().calls[call].part].optimizer;
    if (optimizer != RowOptimizer::rowwise_adagrad && optimizer != RowOptimizer::adagrad) continue;
    states.push_back(
        states_[call].part(0, states_of(first().calls[call], settings_[first().calls[call].part]) * kValue));
  }
  return states;
}

const std::int64_t* FusedLookup::asked(int iteration) const {
  return asked_.as<std::int64_t>() + first_asked_[static_cast<std::size_t>(iteration % programs_.batches())];
}

const std::int64_t* FusedLookup::ids_of(const LookupCall& call, int iteration) const {
  const std::int64_t* const all = first().exchanges() ? served(iteration).as<std::int64_t>() : asked(iteration);
  return all + call.first_id;
}

// Ids come source after source; the kernels of pooled lookups want them table after table.
void FusedLookup::exchange_ids(const Op& op, int iteration) {
  const LookupBuffers& buffers = of(iteration);
  std::int64_t* const served = this->served(iteration).as<std::int64_t>();
  const bool in_order = buffers.order.empty();
  std::int64_t* const came = in_order ? served : ids_came_.as<std::int64_t>();
  if (buffers.id_bytes == kId) {
    device_.collective(op, asked(iteration), came, 0);
  } else {
    device_.narrow_ids(asked(iteration), buffers.asked, narrow_in_.as<std::int32_t>(), op.stream);
    device_.collective(op, narrow_in_.as<void>(), narrow_out_.as<void>(), 0);
    device_.widen_ids(narrow_out_.as<std::int32_t>(), buffers.served, came, op.stream);
  }
  const DeviceMemory& order = order_[programs_.turn(iteration)];
  if (!in_order) device_.put_in_order(came, order.as<std::int64_t>(), buffers.served, served, op.stream);
}

void FusedLookup::lookup(std::size_t part, int iteration, int stream) {
  looked_up_ = programs_.turn(iteration);
  const LookupBuffers& buffers = of(iteration);
  for (std::size_t i = 0; i < buffers.calls.size(); ++i) {
    const LookupCall& call = buffers.calls[i];
    if (call.part != part) continue;
    const DeviceMemory& out = buffers.direct() ? vectors_ : block_;
    calls_[programs_.turn(iteration)][i]->lookup(rows_of(call), ids_of(call, iteration), out.as<void>(), stream);
    if (buffers.direct()) continue;
    const std::int64_t bytes = call.block.elements() * kValue;
    device_.copy_blocks(vectors_.as<float>() + call.block.first_element, buffers.chunk_elements * kValue,
                        out.as<void>(), bytes, bytes, buffers.sources, stream);
  }
}

const float* FusedLookup::gradients_of(const LookupBuffers& buffers, const LookupCall& call, int stream) {
  if (buffers.direct()) return gradients_.as<float>();
  const std::int64_t bytes = call.block.elements() * kValue;
  device_.copy_blocks(block_.as<void>(), bytes, gradients_.as<float>() + call.block.first_element,
                      buffers.chunk_elements * kValue, bytes, buffers.sources, stream);
  return block_.as<float>();
}

void FusedLookup::update(std::size_t part, int iteration, int stream) {
  settings_[part].step = iteration + 1;
  const LookupBuffers& buffers = of(iteration);
  for (std::size_t i = 0; i < buffers.calls.size(); ++i) {
    const LookupCall& call = buffers.calls[i];
    if (call.part != part) continue;
    if (buffers.sums(part)) {
      sum_gradients(i, iteration, stream);
    } else {
      calls_[programs_.turn(iteration)][i]->update(buffers.type, rows_of(call), states_[i].as<float>(),
                                                   ids_of(call, iteration), gradients_of(buffers, call, stream),
                                                   settings_[part], stream);
    }
  }
}

// A single call clears what lies behind its rows too: the all-reduce of a larger shard left sums there. Calls of other
// parts may be on their way through an all-reduce.
void FusedLookup::sum_gradients(std::size_t index, int iteration, int stream) {
  const LookupBuffers& buffers = of(iteration);
  const LookupCall& call = buffers.calls[index];
  const TableBatch& tables = call.tables;
  if (buffers.direct()) device_.clear(dense_gradient_.as<void>(), dense_gradient_.bytes(), stream);
  for (int t = 0; t < tables.tables() && !buffers.direct(); ++t) {
    device_.clear(dense_gradient_.as<float>() + tables.begin[t], tables.rows[t] * tables.dim[t] * kValue, stream);
  }
  calls_[programs_.turn(iteration)][index]->update(ElementType::fp32, dense_gradient_.as<void>(), nullptr,
                                                   ids_of(call, iteration), gradients_of(buffers, call, stream),
                                                   summing_settings(), stream);
}

void FusedLookup::apply(std::size_t part, int iteration, int stream) {
  settings_[part].step = iteration + 1;
  const std::vector<LookupCall>& calls = of(iteration).calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].part == part) apply_rows(calls[i], states_[i].as<float>(), stream);
  }
}

void FusedLookup::apply_rows(const LookupCall& call, float* state, int stream) {
  const OptimizerSettings& settings = settings_[call.part];
  const ElementType type = first().type;
  for (int t = 0; t < call.tables.tables(); ++t) {
    const std::int64_t rows = call.tables.rows[t], dim = call.tables.dim[t], begin = call.tables.begin[t];
    if (rows == 0) continue;
    device_.update_dense(type, rows, dim, arena_.at(begin * element_bytes(type)), state,
                         dense_gradient_.as<float>() + begin, settings, stream);
    state += state_elements(settings.optimizer, rows, dim);
  }
}

std::vector<float> FusedLookup::gathered(const Numbers* vectors) const {
  const auto [memory, begin] = own_part(turns_[looked_up_].vectors, returned_, vectors_);
  return downloaded_vectors(device_, *memory, begin, turns_[looked_up_].returned, vectors);
}

// Rows of fp32, the only ones that are compared.
std::vector<float> FusedLookup::shard_rows(int shard, const Numbers* rows) const {
  const RankRows::Part* const part = part_holding(first().rows, shard);
  if (part == nullptr) return {};
  return downloaded_rows(device_, part->on_host ? host_arena_ : arena_, *part, rows);
}

void FusedLookup::load_rows(int shard, const ValueAt& value) {
  if (const RankRows::Part* const part = part_holding(first().rows, shard))
    upload_rows(device_, part->on_host ? host_arena_ : arena_, *part, value);
}

void FusedLookup::load_gradients(const ValueAt& value) {
  const LookupBuffers& most = most_returned(turns_);
  const auto [memory, begin] = own_part(most.gradients, gradients_asked_, gradients_);
  upload_vectors(device_, *memory, begin, most.returned, value);
}

}  // namespace shardsim
