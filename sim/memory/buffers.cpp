#include "sim/memory/buffers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "program/program.h"
#include "sim/lower/dense/dense_steps.h"
#include "sim/memory/buffer_sizes.h"

namespace shardsim {
namespace {

constexpr double kWeightGradientBytes = 4;  // of an id: fp32

// HugeCTR's index of a lookup: the row's place among the different ones, and the vector's (4 bytes each).
constexpr double kRowIndexBytes = 8;

class BufferList {
 public:
  BufferList(const Program& program, const Workload& workload)
      : program_(program), workload_(workload), turns_(program) {
    for (const Op& op : program.ops) {
      by_role_[op.role].push_back(op.id);
      if (op.role == OpRole::lookup) lookup_of_[op.shards] = op.id;
      if (op.role == OpRole::exchange_ids) exchanged_.insert(op.fusion);
    }
    if (any(OpRole::dense_backward)) interaction_ = all(OpRole::dense_backward).back();
    followers_.resize(program.ops.size());
    for (const Op& op : program.ops) {
      for (const int before : op.after) followers_[at(before)].push_back(op.id);
      for (const int before : op.after_previous) {  // vectors of the next batch
        if (this->op(before).batches_ahead > op.batches_ahead) followers_[at(before)].push_back(op.id);
      }
    }
  }

  std::vector<Buffer> take() {
    for (const Op& op : program_.ops) {
      add_inputs(op);
      if (const auto part = part_written(op.role)) add_vectors(*part, op);
      if (needs_gradient(op)) add_own_gradient(op);
      if (op.role == OpRole::weight_gradient) add_weight_gradient(op);
      add_measured_order(op);
    }
    add_dense_gradients();
    add_activations(OpRole::bottom_forward, OpRole::bottom_backward, true);
    copies_vectors() ? add_activations_by_step()
                     : add_activations(OpRole::dense_forward, OpRole::dense_backward, false);
    add_restored_rows();
    add_sharded_rows();
    return std::move(buffers_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  const Op& op(int id) const { return program_.ops[at(id)]; }
  bool any(OpRole of) const { return by_role_.contains(of); }
  std::vector<int> all(OpRole of) const { return any(of) ? by_role_.at(of) : std::vector<int>{}; }

  Buffer& add(MemoryPart part, int writer, BytesByRank bytes) {
    buffers_.push_back({part, writer, op(writer).batches_ahead, std::move(bytes), {}});
    return buffers_.back();
  }

  void read(Buffer& buffer, int reader) const {
    buffer.readers.push_back({reader, buffer.ahead - op(reader).batches_ahead});
  }
  void read(Buffer& buffer, OpRole readers) const {
    for (const int reader : all(readers)) read(buffer, reader);
  }

  // Those of the writer's collection, where collections take turns.
  void read_in_turn(Buffer& buffer, const Op& writer, OpRole readers) const {
    for (const int reader : all(readers))
      if (turns_.of(op(reader)) == turns_.of(writer)) read(buffer, reader);
  }

  // Lookups, and what updates their rows; of ids that an exchange brought (to one fusion group, or to any of a turn),
  // or of the own batch.
  void read_by_lookups(Buffer& buffer, bool exchanged, int fusion = -1, int turn = -1) const {
    for (const OpRole readers : {OpRole::lookup, OpRole::update, OpRole::sum_gradient}) {
      for (const int reader : all(readers)) {
        const int of = op(reader).fusion;
        if (turn >= 0 && turns_.of_fusion(of) != turn) continue;
        if (exchanged_.contains(of) == exchanged && (fusion < 0 || fusion == of)) read(buffer, reader);
      }
    }
  }

  void add_inputs(const Op& writer) {
    if (writer.role == OpRole::copy_inputs) return add_copy(writer);
    if (writer.role == OpRole::deduplicate_ids) return add_unique(writer);
    if (writer.role == OpRole::split_tiers) return add_split_tiers(writer);
    if (writer.role == OpRole::permute_inputs || writer.role == OpRole::bucketize) return add_permuted(writer);
    if (writer.role == OpRole::exchange_splits) return add_splits(writer);
    if (exchanges_inputs(writer.role)) return add_received(writer);
    if (writer.role == OpRole::index_rows) return add_index(writer);
    if (writer.role != OpRole::recat && writer.role != OpRole::keep_ids) return;
    // HugeCTR keeps what recat has made, in as many bytes, until the updates.
    const bool kept = writer.role == OpRole::recat && any(OpRole::keep_ids);
    const Op& sized = kept ? op(all(OpRole::keep_ids).front()) : writer;
    Buffer& buffer = add(MemoryPart::inputs, writer.id, half_of(sized.hbm_bytes));
    if (kept) return read(buffer, OpRole::keep_ids);
    read_by_lookups(buffer, true, -1, turns_.of(writer));
    read(buffer, OpRole::index_rows);
    read_in_turn(buffer, writer, OpRole::prefetch_rows);
  }

  // Adds the index of the vectors of each row's lookups, for the update.
  void add_index(const Op& index) {
    BytesByRank bytes;
    for (const double lookups : index.lookups.values) bytes.push_back(std::llround(kRowIndexBytes * lookups));
    Buffer& buffer = add(MemoryPart::inputs, index.id, std::move(bytes));
    for (const OpRole readers : {OpRole::update, OpRole::sum_gradient}) {
      for (const int reader : all(readers)) {
        if (op(reader).shards == index.shards) read(buffer, reader);
      }
    }
  }

  // The own batch as it came from the host.
  void add_copy(const Op& copy) {
    BytesByRank bytes;
    for (const double value : copy.host_bytes.values) bytes.push_back(std::llround(value));
    Buffer& buffer = add(MemoryPart::inputs, copy.id, std::move(bytes));
    read(buffer, OpRole::deduplicate_ids);
    read(buffer, OpRole::split_tiers);
    read(buffer, OpRole::permute_inputs);
    read(buffer, OpRole::restore_duplicates);  // which knows by it how long each sequence is
    read_by_lookups(buffer, false);
    if (workload_.inputs_kept.batch) read_by_updates(buffer);
  }

  // Until the batch is through.
  void read_by_updates(Buffer& buffer) const {
    for (const OpRole readers : {OpRole::update, OpRole::sum_gradient}) read(buffer, readers);
  }

  // The different ids, and for each id its place among them.
  void add_unique(const Op& unique) {
    BytesByRank kept, places;
    for (std::size_t rank = 0; rank < unique.hbm_bytes.values.size(); ++rank) {
      const double ids = unique.lookups.at(rank);
      kept.push_back(std::llround(unique.hbm_bytes.at(rank) - kUniquePassBytes * ids));
      places.push_back(std::llround(kUniqueIdBytes * ids));
    }
    Buffer& different = add(MemoryPart::inputs, unique.id, std::move(kept));
    read_in_turn(different, unique, OpRole::split_tiers);
    read_in_turn(different, unique, OpRole::permute_inputs);
    if (!any(OpRole::permute_inputs)) read(different, OpRole::exchange_ids);
    read_by_lookups(different, false);
    Buffer& place_of = add(MemoryPart::inputs, unique.id, std::move(places));
    read(place_of, OpRole::restore_duplicates);
    read(place_of, OpRole::sum_duplicates);
  }

  // Ids by tier, and their positions, which put the vectors in order.
  void add_split_tiers(const Op& split) {
    BytesByRank sorted, places;
    for (const double bytes : split.hbm_bytes.values) {
      const double ids = bytes / (2 * workload_.id_bytes + kPositionBytes);
      sorted.push_back(std::llround(ids * workload_.id_bytes));
      places.push_back(std::llround(ids * kPositionBytes));
    }
    Buffer& by_tier = add(MemoryPart::inputs, split.id, std::move(sorted));
    read_in_turn(by_tier, split, OpRole::permute_inputs);
    read_by_lookups(by_tier, false);
    Buffer& positions = add(MemoryPart::inputs, split.id, std::move(places));
    read(positions, OpRole::split_gradient_tiers);
    read(positions, OpRole::merge_tiers);
  }

  // Adds the input that is sent; that of tables cut by rows is there once more in their buckets.
  void add_permuted(const Op& pass) {
    const bool buckets = pass.role == OpRole::bucketize;
    BytesByRank bytes = half_of(pass.hbm_bytes);
    if (pass.sort_bits > 0) {
      bytes.clear();
      for (const double ids : pass.lookups.values) bytes.push_back(std::llround(ids * workload_.id_bytes));
    }
    Buffer& buffer = add(MemoryPart::inputs, pass.id, std::move(bytes));
    if (!buckets) read_in_turn(buffer, pass, OpRole::bucketize);
    if (workload_.inputs_kept.sent) read_by_updates(buffer);
    for (const OpRole sends : {OpRole::exchange_lengths, OpRole::exchange_ids, OpRole::exchange_weights}) {
      for (const int exchange : all(sends)) {
        const Program::Fusion& fusion = program_.fusions[at(op(exchange).fusion)];
        if (turns_.of(op(exchange)) != turns_.of(pass)) continue;
        if (in_rows(program_.shard(fusion.shards.front()).strategy) == buckets) read(buffer, exchange);
      }
    }
  }

  // Both ends of the exchange.
  void add_splits(const Op& splits) {
    BytesByRank bytes = moved_by(program_, splits, true);
    const BytesByRank got = moved_by(program_, splits, false);
    for (std::size_t rank = 0; rank < bytes.size(); ++rank) bytes[rank] += got[rank];
    read_in_turn(add(MemoryPart::inputs, splits.id, std::move(bytes)), splits, OpRole::wait_for_splits);
  }

  void add_received(const Op& exchange) {
    Buffer& buffer = add(MemoryPart::inputs, exchange.id, moved_by(program_, exchange, false));
    if (any(OpRole::recat)) return read_in_turn(buffer, exchange, OpRole::recat);
    read_by_lookups(buffer, true, exchange.fusion);
    // Nothing wrote what is sent: it is there as long as it is sent.
    if (!any(OpRole::permute_inputs)) add(MemoryPart::inputs, exchange.id, moved_by(program_, exchange, true));
  }

  // An operation that waits for the writer reads what it wrote; one that works in place hands it on. The dense part
  // reads vectors forward and, where they meet the interaction, backward. Gradients by tier stay until their exchange.
  void add_vectors(MemoryPart part, const Op& writer) {
    const bool by_tier = writer.role == OpRole::split_gradient_tiers;
    std::set<int> readers;
    std::vector<int> behind = {writer.id};
    while (!behind.empty()) {
      const int before = behind.back();
      behind.pop_back();
      for (const int next : followers_[at(before)]) {
        if (!works_on_vectors(op(next).role) || !readers.insert(next).second) continue;
        if (hands_on(op(next), by_tier) || is_held(writer, op(next))) behind.push_back(next);
      }
    }
    Buffer& buffer = add(part, writer.id, bytes_written(program_, writer, workload_));
    for (const int reader : readers) read(buffer, reader);
    if (writer.role != OpRole::sum_gradient || table_of(program_, program_.shard(writer.shards.front())).sharded)
      return;
    read(buffer, OpRole::dense_all_reduce);
    read(buffer, OpRole::dense_update);
  }

  // TorchRec orders vectors of sequences inside the call that exchanges them (comm_ops.py, All2All_Seq_Req), whose
  // argument holds what was looked up until what is received has its memory.
  static bool is_held(const Op& writer, const Op& next) {
    return writer.role == OpRole::lookup && next.role == OpRole::order_lookups;
  }

  // A measured rest contains that ordering, and has no operation for it.
  void add_measured_order(const Op& exchange) {
    if (!workload_.dense.measured || exchange.role != OpRole::exchange_output || any(OpRole::order_lookups)) return;
    const Program::Fusion& fusion = program_.fusions[at(exchange.fusion)];
    if (table_of(program_, program_.shard(fusion.shards.front())).kind != TableKind::sequence) return;
    read(add(MemoryPart::lookup_output, exchange.id, moved_by(program_, exchange, true)), exchange.id);
  }

  bool hands_on(const Op& next, bool by_tier) const {
    if (next.role == OpRole::dense_backward) return next.id < interaction_;
    if (next.role == OpRole::order_gradient) return by_tier;
    if (next.role == OpRole::dense_forward) return !copies_vectors();
    return next.role == OpRole::divide_gradient || next.role == OpRole::reduce_gradient;
  }

  // True when a step reads gradients of the own batch as the dense part makes them: it is the first on their way. A
  // step behind the split by tiers reads the tiers; what is in none of them comes from the dense part.
  bool needs_gradient(const Op& reader) const {
    if (reader.role == OpRole::sum_duplicates) return true;
    if (reader.role == OpRole::split_gradient_tiers || reader.role == OpRole::order_gradient) return true;
    const bool reads = part_written(reader.role) == MemoryPart::gradients || reader.role == OpRole::sum_gradient ||
                       reader.role == OpRole::update;
    const auto tier = [&](int shard) { return program_.shard(shard).tier >= 0; };
    const bool all_tiers = std::all_of(reader.shards.begin(), reader.shards.end(), tier);
    return reads && std::none_of(reader.after.begin(), reader.after.end(), [&](int before) {
             const OpRole role = op(before).role;
             if (role == OpRole::split_gradient_tiers) return all_tiers || !workload_.full_input_exchange();
             return role == OpRole::divide_gradient || part_written(role) == MemoryPart::gradients;
           });
  }

  // Returns the operation that makes these gradients: the one that sums them by id, or else the dense part.
  int gradient_writer(const Op& reader) const {
    const auto sums = [&](int before) { return op(before).role == OpRole::sum_duplicates; };
    const auto found = std::ranges::find_if(reader.after, sums);
    if (found != reader.after.end()) return *found;
    return interaction_ >= 0 ? interaction_ : reader.id;
  }

  // Bytes that pass when every id gets its vector back: half of them are written.
  const PerRank& restored() const { return op(all(OpRole::restore_duplicates).front()).hbm_bytes; }

  // Where there is no dense part it comes from nowhere, with the first step that reads it.
  void add_own_gradient(const Op& reader) {
    const bool pass = reader.role == OpRole::sum_duplicates || reader.role == OpRole::split_gradient_tiers ||
                      reader.role == OpRole::order_gradient;
    BytesByRank bytes = encodes(reader.role) ? bytes_encoded(program_, reader)
                        : pass ? half_of(reader.role == OpRole::sum_duplicates ? restored() : reader.hbm_bytes)
                        : reader.is_collective() ? moved_by(program_, reader, true)
                                                 : vectors_of(program_, op(lookup_of_.at(reader.shards)));
    Buffer& buffer = add(MemoryPart::gradients, gradient_writer(reader), std::move(bytes));
    read(buffer, reader.id);
    // The call that sends what it was called with holds that until it has what comes.
    if (copies_vectors()) read(buffer, OpRole::exchange_gradient);
  }

  // Until the call is over, in which the update follows.
  void add_weight_gradient(const Op& writer) {
    BytesByRank bytes(static_cast<std::size_t>(program_.world_size), 0);
    const std::vector<int> ranks = program_.ranks_of(writer);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      bytes[static_cast<std::size_t>(ranks[i])] = std::llround(kWeightGradientBytes * writer.lookups.at(i));
    Buffer& buffer = add(MemoryPart::gradients, writer.id, std::move(bytes));
    for (const int next : followers_[at(writer.id)]) read(buffer, next);
  }

  // The model says how it copies vectors on their way, so they go when the dense part has its own copy.
  bool copies_vectors() const { return workload_.dense.concatenations > 0; }

  // Rows that lie in host memory from the lookup of a batch to its update.
  void add_restored_rows() {
    for (const int restore : all(OpRole::restore_rows)) {
      BytesByRank bytes;
      for (const double value : op(restore).host_bytes.values) bytes.push_back(std::llround(value));
      Buffer& buffer = add(MemoryPart::tables, restore, std::move(bytes));
      for (const int stash : all(OpRole::stash_rows)) buffer.readers.push_back({stash, 1});
    }
  }

  // A rank has all rows of its tables from the gather to the scatter of the next batch, and its share from there to the
  // gather. Rows that replicas cannot share evenly are copied with what fills them up.
  void add_sharded_rows() {
    for (const int scatter : all(OpRole::scatter_rows)) {
      const auto returns = [&](int gather) {
        return std::ranges::find(op(gather).after, scatter) != op(gather).after.end();
      };
      const std::vector<int> gathers = all(OpRole::gather_rows);
      const auto gather = std::ranges::find_if(gathers, returns);
      if (gather == gathers.end()) continue;
      add(MemoryPart::tables, *gather, moved_by(program_, op(*gather), false)).readers.push_back({scatter, 1});
      read(add(MemoryPart::tables, scatter, moved_by(program_, op(scatter), false)), *gather);
      BytesByRank filled = moved_by(program_, op(scatter), true);
      const BytesByRank rows = rows_scattered(program_, op(scatter));
      for (std::size_t rank = 0; rank < filled.size(); ++rank)
        if (filled[rank] == rows[rank]) filled[rank] = 0;
      if (std::ranges::max(filled) > 0) add(MemoryPart::tables, scatter, std::move(filled));
    }
  }

  // Activations of each step of the backward pass live until the step has run.
  void add_activations_by_step() {
    if (!tells_dense_activations(workload_.dense)) return;
    const std::vector<int> forward = all(OpRole::dense_forward), backward = all(OpRole::dense_backward);
    if (forward.empty()) return;
    auto reader = backward.begin();
    double rest = dense_activation_bytes(workload_, false);
    for (const DenseStep& step : dense_backward_steps(workload_)) {
      if (step.bottom || reader == backward.end()) continue;
      double bytes = 0;
      for (const LayerRun& run : step.layers) bytes += dense_activation_bytes(workload_, run);
      rest -= bytes;
      if (reader + 1 == backward.end()) bytes += rest;  // what is no layer's: copies of weights
      read(add(MemoryPart::activations, forward.front(), {std::llround(std::clamp(bytes, 0.0, 0x1.0p62))}), *reader++);
    }
  }

  void add_dense_gradients() {
    const std::int64_t parameters = workload_.dense.parameters.count;
    const std::vector<int> backward =
        all(any(OpRole::dense_backward) ? OpRole::dense_backward : OpRole::bottom_backward);
    if (backward.empty() || parameters <= 0) return;
    Buffer& buffer = add(MemoryPart::dense_gradients, backward.front(), {parameters});
    read(buffer, OpRole::dense_all_reduce);
    read(buffer, OpRole::dense_update);
  }

  // Layer by layer they go while gradients of theirs come: all stay until the last layer is done.
  void add_activations(OpRole forward, OpRole backward, bool bottom) {
    const double bytes = dense_activation_bytes(workload_, bottom);
    if (!any(forward) || !any(backward) || bytes < 1) return;
    read(add(MemoryPart::activations, all(forward).front(), {std::llround(std::min(bytes, 0x1.0p62))}), backward);
  }

  const Program& program_;
  const Workload& workload_;
  InputTurns turns_;
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
