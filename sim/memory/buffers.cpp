#include "sim/memory/buffers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/program/op_role.h"

namespace shardsim {
namespace {

class BufferList {
 public:
  BufferList(const Program& program, const Workload& workload) : program_(program), workload_(workload) {
    for (const Op& op : program.ops) {
      roles_.push_back(role_of(op));
      by_role_[roles_.back()].push_back(op.id);
      if (op.op_class == OpClass::lookup) lookup_of_[op.shards] = op.id;
    }
    followers_.resize(program.ops.size());
    for (const Op& op : program.ops) {
      for (const int before : op.after) followers_[at(before)].push_back(op.id);
    }
    find_rows();
    find_gradients();
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
  OpRole role(int id) const { return roles_[at(id)]; }
  const Op& op(int id) const { return program_.ops[at(id)]; }
  bool any(OpRole of) const { return by_role_.contains(of); }
  std::vector<int> all(OpRole of) const { return by_role_.contains(of) ? by_role_.at(of) : std::vector<int>{}; }

  // Matrices of ids of tables that are cut by rows.
  void find_rows() {
    for (const int lookup : all(OpRole::lookup)) {
      const std::string& ids = op(lookup).matrix_in;
      const Strategy strategy = program_.shards[at(op(lookup).shards.front())].strategy;
      if (in_rows(strategy)) row_prefixes_.insert(prefix_of(ids));
    }
  }

  static std::string prefix_of(const std::string& matrix) { return matrix.substr(0, matrix.rfind('_')); }

  // Which operations work on gradients of vectors, and the step of the dense part that makes them (-1: none).
  void find_gradients() {
    backward_.resize(program_.ops.size(), 0);
    for (const Op& each : program_.ops) {
      const OpRole of = role(each.id);
      const bool vectors = of == OpRole::exchange || of == OpRole::pass || of == OpRole::in_place;
      const bool begins = of == OpRole::split_gradient || of == OpRole::order_gradient || of == OpRole::gradient ||
                          of == OpRole::update || each.op_class == OpClass::all_gather ||
                          each.matrix.ends_with("_grads");
      backward_[at(each.id)] = begins || (vectors && std::any_of(each.after.begin(), each.after.end(),
                                                                 [&](int before) { return backward_[at(before)]; }));
      if (!backward_[at(each.id)]) continue;
      for (const int before : each.after) {
        if (role(before) == OpRole::dense_backward) interaction_ = std::max(interaction_, before);
      }
    }
  }

  Buffer& add(MemoryPart part, int writer, BytesByRank bytes) {
    Buffer& buffer = buffers_.emplace_back();
    buffer.part = part;
    buffer.writer = writer;
    buffer.ahead = batches_ahead(role(writer), workload_);
    buffer.bytes = std::move(bytes);
    return buffer;
  }

  void read(Buffer& buffer, int reader) const {
    buffer.readers.push_back({reader, buffer.ahead - batches_ahead(role(reader), workload_)});
  }
  void read(Buffer& buffer, OpRole readers) const {
    for (const int reader : all(readers)) read(buffer, reader);
  }

  // Lookups, and what updates their rows; of ids that an exchange brought (by `matrix`, or any), or of the own batch.
  void read_by_lookups(Buffer& buffer, bool exchanged, const std::string& matrix = "") const {
    for (const OpRole readers : {OpRole::lookup, OpRole::update, OpRole::gradient}) {
      for (const int reader : all(readers)) {
        const std::string& ids = op(lookup_of_.at(op(reader).shards)).matrix_in;
        if (ids.empty() != exchanged && (matrix.empty() || matrix == ids)) read(buffer, reader);
      }
    }
  }

  void add_written(const Op& writer) {
    switch (role(writer.id)) {
      case OpRole::copy:
        return add_copy(writer);
      case OpRole::tier_split:
        return add_tier_split(writer);
      case OpRole::permute:
      case OpRole::bucketize:
        return add_permuted(writer);
      case OpRole::splits:
        return add_splits(writer);
      case OpRole::inputs:
        return add_inputs(writer);
      case OpRole::recat: {
        Buffer& buffer = add(MemoryPart::inputs, writer.id, half_of(writer.hbm_bytes));
        read_by_lookups(buffer, true);
        return read(buffer, OpRole::fetch);
      }
      case OpRole::lookup:
        return add_vectors(MemoryPart::lookup_output, writer, vectors_of(program_, writer));
      case OpRole::exchange:
        return add_vectors(part_of(writer), writer, got_from(program_, writer));
      case OpRole::pass:
      case OpRole::split_gradient:
      case OpRole::order_gradient:
        return add_vectors(part_of(writer), writer, half_of(writer.hbm_bytes));
      case OpRole::gradient:
        return add_vectors(MemoryPart::table_gradients, writer, dense_gradient_of(program_, writer));
      default:
        return;
    }
  }

  // seq_permute forward belongs to what was looked up; it stands in front of an exchange.
  MemoryPart part_of(const Op& writer) const {
    if (backward_[at(writer.id)]) return MemoryPart::gradients;
    return writer.name == "seq_permute" ? MemoryPart::lookup_output : MemoryPart::output;
  }

  // The own batch as it came from the host.
  void add_copy(const Op& copy) {
    BytesByRank bytes;
    for (const double value : copy.host_bytes.values) bytes.push_back(std::llround(value));
    Buffer& buffer = add(MemoryPart::inputs, copy.id, std::move(bytes));
    read(buffer, OpRole::tier_split);
    read(buffer, OpRole::permute);
    read_by_lookups(buffer, false);
  }

  // Ids by tier, and their positions, which put the vectors in order.
  void add_tier_split(const Op& split) {
    const double ids = split.hbm_bytes.at(0) / (2 * workload_.id_bytes + kPositionBytes);
    Buffer& by_tier = add(MemoryPart::inputs, split.id, {std::llround(ids * workload_.id_bytes)});
    read(by_tier, OpRole::permute);
    read_by_lookups(by_tier, false);
    Buffer& positions = add(MemoryPart::inputs, split.id, {std::llround(ids * kPositionBytes)});
    read(positions, OpRole::split_gradient);
    for (const int pass : all(OpRole::pass)) {
      if (op(pass).name == "tier_merge") read(positions, pass);
    }
  }

  // What is sent, of tables cut by rows once more in their buckets.
  void add_permuted(const Op& pass) {
    const bool buckets = role(pass.id) == OpRole::bucketize;
    Buffer& buffer = add(MemoryPart::inputs, pass.id, half_of(pass.hbm_bytes));
    if (!buckets) read(buffer, OpRole::bucketize);
    for (const int inputs : all(OpRole::inputs)) {
      if (row_prefixes_.contains(prefix_of(op(inputs).matrix)) == buckets) read(buffer, inputs);
    }
  }

  // Both ends of the exchange.
  void add_splits(const Op& splits) {
    BytesByRank bytes = given_to(program_, splits);
    const BytesByRank got = got_from(program_, splits);
    for (std::size_t rank = 0; rank < bytes.size(); ++rank) bytes[rank] += got[rank];
    read(add(MemoryPart::inputs, splits.id, std::move(bytes)), OpRole::wait);
  }

  void add_inputs(const Op& inputs) {
    Buffer& buffer = add(MemoryPart::inputs, inputs.id, got_from(program_, inputs));
    if (any(OpRole::recat)) return read(buffer, OpRole::recat);
    read_by_lookups(buffer, true, inputs.matrix);
    // Nothing wrote what is sent: it is there as long as it is sent.
    if (!any(OpRole::permute)) add(MemoryPart::inputs, inputs.id, given_to(program_, inputs));
  }

  void add_vectors(MemoryPart part, const Op& writer, BytesByRank bytes) {
    Buffer& buffer = add(part, writer.id, std::move(bytes));
    for (const int reader : readers_behind(writer.id)) read(buffer, reader);
  }

  // What waits for the writer reads what it wrote; what works in place hands it on. The dense part reads vectors
  // forward and, where they meet the interaction, backward. Gradients by tier stay until their exchange.
  std::set<int> readers_behind(int writer) const {
    const bool by_tier = role(writer) == OpRole::split_gradient;
    std::set<int> readers;
    std::vector<int> behind = {writer};
    while (!behind.empty()) {
      const int before = behind.back();
      behind.pop_back();
      for (const int next : followers_[at(before)]) {
        if (reads(next) && readers.insert(next).second && hands_on(next, by_tier)) behind.push_back(next);
      }
    }
    return readers;
  }

  bool reads(int next) const {
    const OpRole of = role(next);
    if (of == OpRole::dense_backward) return next <= interaction_;
    return of != OpRole::wait && of != OpRole::other;
  }

  bool hands_on(int next, bool by_tier) const {
    const OpRole of = role(next);
    if (of == OpRole::dense_backward) return next < interaction_;
    return of == OpRole::in_place || of == OpRole::dense_forward || (by_tier && of == OpRole::order_gradient);
  }

  // Whether a step reads gradients of the own batch as the dense part makes them.
  bool needs_gradient(const Op& reader) const {
    const OpRole of = role(reader.id);
    if (!backward_[at(reader.id)] || of == OpRole::in_place) return false;
    if (of == OpRole::order_gradient) return true;
    const auto tier = [&](int shard) { return program_.shards[at(shard)].tier >= 0; };
    const bool all_tiers = std::all_of(reader.shards.begin(), reader.shards.end(), tier);
    return std::none_of(reader.after.begin(), reader.after.end(), [&](int before) {
      const bool split = role(before) == OpRole::split_gradient;
      return backward_[at(before)] && (!split || all_tiers || !workload_.full_input_exchange());
    });
  }

  // Where there is no dense part it comes from nowhere, with the first step that reads it.
  void add_own_gradient(const Op& reader) {
    Buffer& buffer =
        add(MemoryPart::gradients, interaction_ >= 0 ? interaction_ : reader.id, own_gradient_bytes(reader));
    read(buffer, reader.id);
  }

  BytesByRank own_gradient_bytes(const Op& reader) const {
    if (role(reader.id) == OpRole::exchange) return given_to(program_, reader);
    const bool pass = role(reader.id) == OpRole::split_gradient || role(reader.id) == OpRole::order_gradient;
    return pass ? half_of(reader.hbm_bytes) : vectors_of(program_, op(lookup_of_.at(reader.shards)));
  }

  void add_dense_gradients() {
    const std::int64_t parameters = workload_.dense.parameters.count;
    if (!any(OpRole::dense_backward) || parameters <= 0) return;
    Buffer& buffer = add(MemoryPart::dense_gradients, all(OpRole::dense_backward).front(), {parameters});
    for (const Op& each : program_.ops) {
      if (each.name == "dense_optimizer_step" || each.name == "dense_all_reduce") read(buffer, each.id);
    }
  }

  const Program& program_;
  const Workload& workload_;
  std::vector<OpRole> roles_;
  std::map<OpRole, std::vector<int>> by_role_;
  std::map<std::vector<int>, int> lookup_of_;  // shards -> lookup
  std::vector<std::vector<int>> followers_;
  std::set<std::string> row_prefixes_;
  std::vector<char> backward_;
  int interaction_ = -1;
  std::vector<Buffer> buffers_;
};

}  // namespace

std::vector<Buffer> buffers_of(const Program& program, const Workload& workload) {
  return BufferList(program, workload).take();
}

}  // namespace shardsim
