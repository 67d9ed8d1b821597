#include "sim/memory/buffers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace shardsim {
namespace {

class BufferList {
 public:
  BufferList(const Program& program, const Workload& workload) : program_(program), workload_(workload) {
    for (const Op& op : program.ops) {
      by_role_[op.role].push_back(op.id);
      if (op.role == OpRole::lookup) lookup_of_[op.shards] = op.id;
      if (op.role == OpRole::exchange_ids) exchanged_.insert(op.fusion);
    }
    if (any(OpRole::dense_backward)) interaction_ = all(OpRole::dense_backward).back();
    followers_.resize(program.ops.size());
    for (const Op& op : program.ops) {
      for (const int before : op.after) followers_[at(before)].push_back(op.id);
    }
  }

  std::vector<Buffer> take() {
    for (const Op& op : program_.ops) {
      add_written(op);
      if (needs_gradient(op)) add_own_gradient(op);
    }
    add_dense_gradients();
    return std::move(buffers_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  OpRole role(int id) const { return op(id).role; }
  const Op& op(int id) const { return program_.ops[at(id)]; }
  bool any(OpRole of) const { return by_role_.contains(of); }
  std::vector<int> all(OpRole of) const { return by_role_.contains(of) ? by_role_.at(of) : std::vector<int>{}; }

  bool cut_by_rows(const Op& of) const {
    const Program::Fusion& fusion = program_.fusions[at(of.fusion)];
    return in_rows(program_.shard(fusion.shards.front()).strategy);
  }

  Buffer& add(MemoryPart part, int writer, BytesByRank bytes) {
    Buffer& buffer = buffers_.emplace_back();
    buffer.part = part;
    buffer.writer = writer;
    buffer.ahead = op(writer).batches_ahead;
    buffer.bytes = std::move(bytes);
    return buffer;
  }

  void read(Buffer& buffer, int reader) const {
    buffer.readers.push_back({reader, buffer.ahead - op(reader).batches_ahead});
  }
  void read(Buffer& buffer, OpRole readers) const {
    for (const int reader : all(readers)) read(buffer, reader);
  }

  // Lookups, and what updates their rows; of ids that an exchange brought (to one fusion group, or to any), or of the
  // own batch.
  void read_by_lookups(Buffer& buffer, bool exchanged, int fusion = -1) const {
    for (const OpRole readers : {OpRole::lookup, OpRole::update, OpRole::sum_gradient}) {
      for (const int reader : all(readers)) {
        const int of = op(reader).fusion;
        if (exchanged_.contains(of) == exchanged && (fusion < 0 || fusion == of)) read(buffer, reader);
      }
    }
  }

  void add_written(const Op& writer) {
    switch (writer.role) {
      case OpRole::copy_inputs:
        return add_copy(writer);
      case OpRole::split_tiers:
        return add_split_tiers(writer);
      case OpRole::permute_inputs:
      case OpRole::bucketize:
        return add_permuted(writer);
      case OpRole::exchange_splits:
        return add_splits(writer);
      case OpRole::exchange_lengths:
      case OpRole::exchange_ids:
      case OpRole::exchange_weights:
        return add_inputs(writer);
      case OpRole::recat: {
        Buffer& buffer = add(MemoryPart::inputs, writer.id, half_of(writer.hbm_bytes));
        read_by_lookups(buffer, true);
        return read(buffer, OpRole::prefetch_rows);
      }
      case OpRole::lookup:
        return add_vectors(MemoryPart::lookup_output, writer, vectors_of(program_, writer));
      case OpRole::order_lookups:
        return add_vectors(MemoryPart::lookup_output, writer, half_of(writer.hbm_bytes));
      case OpRole::sum_output:
      case OpRole::exchange_output:
        return add_vectors(MemoryPart::output, writer, got_from(program_, writer));
      case OpRole::order_output:
      case OpRole::merge_tiers:
        return add_vectors(MemoryPart::output, writer, half_of(writer.hbm_bytes));
      case OpRole::split_gradient_tiers:
      case OpRole::order_gradient:
      case OpRole::order_received_gradient:
        return add_vectors(MemoryPart::gradients, writer, half_of(writer.hbm_bytes));
      case OpRole::exchange_gradient:
      case OpRole::gather_gradient:
        return add_vectors(MemoryPart::gradients, writer, got_from(program_, writer));
      case OpRole::sum_gradient:
        return add_vectors(MemoryPart::table_gradients, writer, dense_gradient_of(program_, writer));
      default:
        return;
    }
  }

  // The own batch as it came from the host.
  void add_copy(const Op& copy) {
    BytesByRank bytes;
    for (const double value : copy.host_bytes.values) bytes.push_back(std::llround(value));
    Buffer& buffer = add(MemoryPart::inputs, copy.id, std::move(bytes));
    read(buffer, OpRole::split_tiers);
    read(buffer, OpRole::permute_inputs);
    read_by_lookups(buffer, false);
  }

  // Ids by tier, and their positions, which put the vectors in order.
  void add_split_tiers(const Op& split) {
    const double ids = split.hbm_bytes.at(0) / (2 * workload_.id_bytes + kPositionBytes);
    Buffer& by_tier = add(MemoryPart::inputs, split.id, {std::llround(ids * workload_.id_bytes)});
    read(by_tier, OpRole::permute_inputs);
    read_by_lookups(by_tier, false);
    Buffer& positions = add(MemoryPart::inputs, split.id, {std::llround(ids * kPositionBytes)});
    read(positions, OpRole::split_gradient_tiers);
    read(positions, OpRole::merge_tiers);
  }

  // What is sent, of tables cut by rows once more in their buckets.
  void add_permuted(const Op& pass) {
    const bool buckets = role(pass.id) == OpRole::bucketize;
    Buffer& buffer = add(MemoryPart::inputs, pass.id, half_of(pass.hbm_bytes));
    if (!buckets) read(buffer, OpRole::bucketize);
    for (const OpRole sends : {OpRole::exchange_lengths, OpRole::exchange_ids, OpRole::exchange_weights}) {
      for (const int inputs : all(sends)) {
        if (cut_by_rows(op(inputs)) == buckets) read(buffer, inputs);
      }
    }
  }

  // Both ends of the exchange.
  void add_splits(const Op& splits) {
    BytesByRank bytes = given_to(program_, splits);
    const BytesByRank got = got_from(program_, splits);
    for (std::size_t rank = 0; rank < bytes.size(); ++rank) bytes[rank] += got[rank];
    read(add(MemoryPart::inputs, splits.id, std::move(bytes)), OpRole::wait_for_splits);
  }

  void add_inputs(const Op& inputs) {
    Buffer& buffer = add(MemoryPart::inputs, inputs.id, got_from(program_, inputs));
    if (any(OpRole::recat)) return read(buffer, OpRole::recat);
    read_by_lookups(buffer, true, inputs.fusion);
    // Nothing wrote what is sent: it is there as long as it is sent.
    if (!any(OpRole::permute_inputs)) add(MemoryPart::inputs, inputs.id, given_to(program_, inputs));
  }

  void add_vectors(MemoryPart part, const Op& writer, BytesByRank bytes) {
    Buffer& buffer = add(part, writer.id, std::move(bytes));
    for (const int reader : readers_behind(writer.id)) read(buffer, reader);
  }

  // What waits for the writer reads what it wrote; what works in place hands it on. The dense part reads vectors
  // forward and, where they meet the interaction, backward. Gradients by tier stay until their exchange.
  std::set<int> readers_behind(int writer) const {
    const bool by_tier = role(writer) == OpRole::split_gradient_tiers;
    std::set<int> readers;
    std::vector<int> behind = {writer};
    while (!behind.empty()) {
      const int before = behind.back();
      behind.pop_back();
      for (const int next : followers_[at(before)]) {
        if (reads(role(next)) && readers.insert(next).second && hands_on(next, by_tier)) behind.push_back(next);
      }
    }
    return readers;
  }

  static bool reads(OpRole next) {
    return next != OpRole::wait_for_splits && next != OpRole::dense_all_reduce && next != OpRole::dense_update &&
           next != OpRole::bottom_backward;
  }

  bool hands_on(int next, bool by_tier) const {
    switch (role(next)) {
      case OpRole::dense_backward:
        return next < interaction_;
      case OpRole::order_gradient:
        return by_tier;
      case OpRole::divide_gradient:
      case OpRole::reduce_gradient:
      case OpRole::dense_forward:
        return true;
      default:
        return false;
    }
  }

  // Whether a step reads gradients of the own batch as the dense part makes them: what stands first on their way.
  bool needs_gradient(const Op& reader) const {
    switch (reader.role) {
      case OpRole::split_gradient_tiers:
      case OpRole::order_gradient:
        return true;
      case OpRole::exchange_gradient:
      case OpRole::gather_gradient:
      case OpRole::order_received_gradient:
      case OpRole::sum_gradient:
      case OpRole::update:
        break;
      default:
        return false;
    }
    const auto tier = [&](int shard) { return program_.shard(shard).tier >= 0; };
    const bool all_tiers = std::all_of(reader.shards.begin(), reader.shards.end(), tier);
    return std::none_of(reader.after.begin(), reader.after.end(), [&](int before) {
      const bool split = role(before) == OpRole::split_gradient_tiers;
      return carries_gradients(role(before)) && (!split || all_tiers || !workload_.full_input_exchange());
    });
  }

  static bool carries_gradients(OpRole role) {
    return role == OpRole::split_gradient_tiers || role == OpRole::order_gradient ||
           role == OpRole::exchange_gradient || role == OpRole::gather_gradient || role == OpRole::divide_gradient ||
           role == OpRole::order_received_gradient;
  }

  // Where there is no dense part it comes from nowhere, with the first step that reads it.
  void add_own_gradient(const Op& reader) {
    Buffer& buffer =
        add(MemoryPart::gradients, interaction_ >= 0 ? interaction_ : reader.id, own_gradient_bytes(reader));
    read(buffer, reader.id);
  }

  BytesByRank own_gradient_bytes(const Op& reader) const {
    const OpRole role = reader.role;
    if (role == OpRole::exchange_gradient || role == OpRole::gather_gradient) return given_to(program_, reader);
    const bool pass = role == OpRole::split_gradient_tiers || role == OpRole::order_gradient;
    return pass ? half_of(reader.hbm_bytes) : vectors_of(program_, op(lookup_of_.at(reader.shards)));
  }

  void add_dense_gradients() {
    const std::int64_t parameters = workload_.dense.parameters.count;
    std::vector<int> backward = all(OpRole::dense_backward), bottom = all(OpRole::bottom_backward);
    backward.insert(backward.end(), bottom.begin(), bottom.end());
    if (backward.empty() || parameters <= 0) return;
    Buffer& buffer = add(MemoryPart::dense_gradients, backward.front(), {parameters});
    read(buffer, OpRole::dense_all_reduce);
    read(buffer, OpRole::dense_update);
  }

  const Program& program_;
  const Workload& workload_;
  std::map<OpRole, std::vector<int>> by_role_;
  std::map<std::vector<int>, int> lookup_of_;  // shards -> lookup
  std::vector<std::vector<int>> followers_;
  std::set<int> exchanged_;  // fusion groups whose ids an exchange brings
  int interaction_ = -1;     // the step of the dense part that makes the gradients of the vectors; -1: none
  std::vector<Buffer> buffers_;
};

}  // namespace

std::vector<Buffer> buffers_of(const Program& program, const Workload& workload) {
  return BufferList(program, workload).take();
}

}  // namespace shardsim
