#include <algorithm>

#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/fusion/id_streams.h"

namespace shardsim {
namespace {

constexpr std::int64_t kBytes = sizeof(float);

// Where the ids of each source lie on the wire, by the parts of the rank's rows.
class WireIds {
 public:
  WireIds(const Program& program, const Fusion& fusion, const RankRows& rows, int rank)
      : members_(owners_of(program, fusion, rank)) {
    const PartShares shares(program, fusion);
    for (const std::int64_t count : ids_by_source(program, fusion, rank)) {
      const std::vector<std::int64_t> split = shares.split(rows, count);
      first_.emplace_back();
      counts_.push_back(split);
      for (const std::int64_t ids : split) {
        first_.back().push_back(all_);
        all_ += ids;
      }
    }
  }

  std::int64_t all() const { return all_; }
  std::int64_t first(int source, std::size_t part) const { return first_[position(source)][part]; }
  std::int64_t count(int source, std::size_t part) const { return counts_[position(source)][part]; }

 private:
  std::size_t position(int source) const {
    return static_cast<std::size_t>(std::ranges::find(members_, source) - members_.begin());
  }

  std::vector<int> members_;
  std::vector<std::vector<std::int64_t>> first_, counts_;  // [source][part]
  std::int64_t all_ = 0;
};

class PooledPlan {
 public:
  PooledPlan(const Program& program, const Fusion& fusion, int rank, const Place& place)
      : program_(program), rank_(rank) {
    plan_.fusion = fusion;
    plan_.parts = fusion.parts;
    plan_.rows = rank_rows(program, fusion, rank);
    plan_.type = element_type(table_of(fusion.shards.front()).dtype, place);
  }

  LookupBuffers make() {
    sources_ = sources_of(program_, plan_.fusion, rank_);
    plan_.sources = static_cast<std::int64_t>(sources_.size());
    plan_.returned = returned_to(program_, plan_.fusion, rank_);
    const VectorChunk chunk = chunk_of(program_, plan_.fusion, rank_);
    plan_.chunk_elements = chunk.elements;
    const bool takes_part = shardsim::takes_part(program_, op(plan_.fusion.lookup), rank_);
    if (takes_part) add_ids(chunk);
    set_vector_sizes();
    set_gradient_sizes();
    set_reduced();
    return plan_;
  }

 private:
  const Op& op(int id) const { return program_.ops[static_cast<std::size_t>(id)]; }
  const Table& table_of(int shard) const {
    return program_.tables[static_cast<std::size_t>(program_.shard(shard).table)];
  }

  void add_ids(const VectorChunk& chunk) {
    const WireIds wire(program_, plan_.fusion, plan_.rows, rank_);
    plan_.served = wire.all();
    for (const VectorChunk::Block& block : chunk.blocks) add_call(block, wire);
    plan_.asked = plan_.served;
    if (!plan_.exchanges()) return;
    const Op& ids = op(plan_.fusion.ids);
    plan_.id_bytes = static_cast<int>(resolve_matrix(program_, ids.matrix).unit_bytes);
    plan_.asked = collective_bytes(program_, ids, rank_).in / plan_.id_bytes;
  }

  void add_call(const VectorChunk::Block& block, const WireIds& wire) {
    LookupCall call;
    call.part = static_cast<std::size_t>(std::ranges::find(plan_.parts, block.lookup, &Fusion::Part::lookup) -
                                         plan_.parts.begin());
    call.pooled = true;
    call.block = block;
    call.tables.type = plan_.type;
    call.tables.bags = block.bags * plan_.sources;
    call.first_id = static_cast<std::int64_t>(plan_.order.size());
    call.offsets.push_back(0);
    for (const int shard : block.shards) add_table(call, shard, wire);
    call.ids = call.offsets.back();
    plan_.calls.push_back(std::move(call));
  }

  void add_table(LookupCall& call, int shard, const WireIds& wire) {
    const auto& parts = plan_.rows.parts;
    const auto part = std::ranges::find(parts, shard, &RankRows::Part::shard);
    const bool here = part != parts.end() && part->rows > 0;
    call.tables.rows.push_back(here ? part->rows : 0);
    call.tables.begin.push_back(here ? part->first_element : 0);
    call.tables.dim.push_back(program_.shard(shard).column_end - program_.shard(shard).column_begin);
    for (const int source : sources_) {
      if (here) {
        add_bags(call, *part, source, static_cast<std::size_t>(part - parts.begin()), wire);
      } else {
        call.offsets.insert(call.offsets.end(), static_cast<std::size_t>(call.block.bags), call.offsets.back());
      }
    }
  }

  void add_bags(LookupCall& call, const RankRows::Part& part, int source, std::size_t index, const WireIds& wire) {
    const std::int64_t first = wire.first(source, index), count = wire.count(source, index);
    for (std::int64_t i = 0; i < count; ++i) plan_.order.push_back(first + i);
    const Table& table = table_of(part.shard);
    for (const std::int64_t length :
         bag_lengths(program_, table, count, part.position, row_shards(program_.shard(part.shard)))) {
      call.offsets.push_back(call.offsets.back() + length);
    }
  }

  // Bytes before the own chunk among those that a reduce_scatter leaves or an all_gather begins with.
  std::int64_t before_own(int id, std::int64_t bytes) const {
    if (id < 0) return 0;
    const Seat seat = seat_of(program_, op(id), rank_);
    return seat.ranks.empty() ? 0 : bytes / static_cast<std::int64_t>(seat.ranks.size()) * seat.position;
  }

  // The kernels write fp32, and the wire may take fewer bytes or more.
  void set_vector_sizes() {
    const Fusion& fusion = plan_.fusion;
    plan_.served_bytes = plan_.sources * plan_.chunk_elements * kBytes;
    if (fusion.scatter >= 0) {
      const std::int64_t bytes = collective_bytes(program_, op(fusion.scatter), rank_).in;
      plan_.served_bytes = std::max(plan_.served_bytes, bytes);
      plan_.own_vectors = before_own(fusion.scatter, bytes);
    }
    if (fusion.output < 0) return;
    const CollectiveBytes output = collective_bytes(program_, op(fusion.output), rank_);
    plan_.served_bytes = std::max(plan_.served_bytes, plan_.own_vectors + output.in);
    plan_.returned_bytes = std::max(elements_of(plan_.returned) * kBytes, output.out);
  }

  void set_gradient_sizes() {
    const Fusion& fusion = plan_.fusion;
    plan_.gradient_served_bytes = plan_.sources * plan_.chunk_elements * kBytes;
    if (fusion.gather >= 0) {
      const std::int64_t bytes = collective_bytes(program_, op(fusion.gather), rank_).in;
      plan_.gradient_served_bytes = std::max(plan_.gradient_served_bytes, bytes);
      plan_.own_gradients = before_own(fusion.gather, bytes);
    }
    if (fusion.gradient_exchange < 0) return;
    const CollectiveBytes gradients = collective_bytes(program_, op(fusion.gradient_exchange), rank_);
    plan_.gradient_served_bytes = std::max(plan_.gradient_served_bytes, plan_.own_gradients + gradients.out);
    plan_.gradient_asked_bytes = std::max(elements_of(plan_.returned) * kBytes, gradients.in);
  }

  void set_reduced() {
    const bool dense = std::ranges::any_of(plan_.parts, [](const Fusion::Part& part) { return part.apply >= 0; });
    plan_.dense_elements = dense ? plan_.rows.elements : 0;
    std::int64_t end = plan_.rows.elements;
    for (const int id : plan_.fusion.reduces) {
      const std::int64_t count = collective_bytes(program_, op(id), rank_).in / kBytes;
      const std::int64_t first = std::max<std::int64_t>(end - count, 0);
      plan_.reduced.push_back({first, count});
      plan_.dense_elements = std::max(plan_.dense_elements, first + count);
      end = first;
    }
  }

  const Program& program_;
  int rank_;
  LookupBuffers plan_;
  std::vector<int> sources_;
};

}  // namespace

LookupBuffers pooled_buffers(const Program& program, const Fusion& fusion, int rank, const Place& place) {
  return PooledPlan(program, fusion, rank, place).make();
}

}  // namespace shardsim
