#include "validate/execute/buffers/lookup_buffers.h"

#include <algorithm>
#include <map>

#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"

namespace shardsim {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

// Every rank has the same shards in mind, so every rank comes to the same answer.
void check_sequence(const Program& program, const Fusion& fusion, const Place& place) {
  const int first = fusion.shards.front();
  for (const int shard : fusion.shards) {
    const bool alike = program.shard(shard).columns() == program.shard(first).columns() &&
                       program.table_of(shard).dtype == program.table_of(first).dtype;
    if (!alike)
      throw input_error(place, "looks up rows of different widths or types in one call",
                        "Give the tables of a sequence module one dim and one dtype, as TorchRec asks too");
  }
  const bool hosted = on_host(program, fusion.parts.front());
  for (const Fusion::Part& part : fusion.parts) {
    if (on_host(program, part) != hosted)
      throw input_error(place, "looks up rows in host memory and in the device's in one call",
                        "Give the tables of a sequence module one compute kernel");
  }
}

// The places of each source's ids on the wire, by the parts of the rank's rows.
class WireIds {
 public:
  WireIds(const Program& program, const Fusion& fusion, const RankRows& rows, int rank)
      : members_(set_of(program, fusion.ids, rank)) {
    const PartShares shares(program, fusion);
    for (const std::int64_t count : id_counts(program, fusion, rank, true)) {
      const std::vector<std::int64_t> split = shares.split(rows, counts_.size(), count);
      first_.emplace_back();
      counts_.push_back(split);
      for (const std::int64_t ids : split) {
        first_.back().push_back(all_);
        all_ += ids;
      }
    }
  }

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

// One fusion while it is arranged.
class BufferPlan {
 public:
  BufferPlan(const Program& program, const Fusion& fusion, int rank, const Place& place)
      : program_(program), rank_(rank), takes_part_(takes_part(program, program.op(fusion.lookup), rank)) {
    if (!fusion.pooled) check_sequence(program, fusion, place);
    plan_.fusion = fusion;
    plan_.rows = rank_rows(program, fusion, rank);
    plan_.type = element_type(program.table_of(fusion.shards.front()).dtype, place);
  }

  LookupBuffers make() {
    const Fusion& fusion = plan_.fusion;
    count_ids();
    const std::int64_t served = fusion.pooled ? add_pooled_calls() : add_sequence_call();
    // Pooled vectors are fp32, and so are gradients, whatever the wire carries.
    const std::int64_t element = fusion.pooled ? kFloat : element_bytes(plan_.type);
    if (fusion.codec.any()) {
      plan_.coded = coded(fusion.scatter, fusion.output, served);
      plan_.vectors = sizes(plan_.coded, element, fusion.output >= 0);
    } else {
      plan_.vectors = sizes(fusion.scatter, fusion.output, served, element, false);
    }
    if (fusion.gradient_codec.any()) {
      plan_.coded_gradients = coded(fusion.gather, fusion.gradient_exchange, served);
      plan_.gradients = sizes(plan_.coded_gradients, kFloat, fusion.gradient_exchange >= 0);
    } else {
      plan_.gradients = sizes(fusion.gather, fusion.gradient_exchange, served, kFloat, true);
    }
    set_reduced();
    return plan_;
  }

 private:
  void count_ids() {
    if (!takes_part_) return;
    for (const std::int64_t count : id_counts(program_, plan_.fusion, rank_, true)) plan_.served += count;
    for (const std::int64_t count : id_counts(program_, plan_.fusion, rank_, false)) plan_.asked += count;
    if (!plan_.exchanges()) return;
    plan_.id_bytes = static_cast<int>(resolve_matrix(program_, program_.op(plan_.fusion.ids).matrix).unit_bytes);
  }

  // The rows go as they are. Returns the elements of the vectors served, as the next one does.
  std::int64_t add_sequence_call() {
    const std::int64_t dim = program_.shard(plan_.fusion.shards.front()).columns();
    LookupCall call;
    call.tables.type = plan_.type;
    call.tables.rows = {plan_.rows.rows};
    call.tables.dim = {dim};
    call.tables.begin = {0};
    call.ids = plan_.served;
    call.on_host = on_host(program_, plan_.fusion.parts.front());
    plan_.calls.push_back(std::move(call));
    plan_.returned = {{plan_.fusion.shards.front(), 0, dim, plan_.asked, dim}};
    return plan_.served * dim;
  }

  std::int64_t add_pooled_calls() {
    sources_ = sources_of(program_, plan_.fusion, rank_);
    plan_.sources = static_cast<std::int64_t>(sources_.size());
    plan_.returned = returned_to(program_, plan_.fusion, rank_);
    const VectorChunk chunk = chunk_of(program_, plan_.fusion, rank_);
    plan_.chunk_elements = chunk.elements;
    if (takes_part_) {
      const WireIds wire(program_, plan_.fusion, plan_.rows, rank_);
      for (const VectorChunk::Block& block : chunk.blocks) add_call(block, wire);
    }
    return plan_.sources * plan_.chunk_elements;
  }

  void add_call(const VectorChunk::Block& block, const WireIds& wire) {
    const std::vector<Fusion::Part>& parts = plan_.fusion.parts;
    LookupCall call;
    call.part = static_cast<std::size_t>(std::ranges::find(parts, block.lookup, &Fusion::Part::lookup) - parts.begin());
    call.pooled = true;
    call.on_host = on_host(program_, parts[call.part]);
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
    call.tables.dim.push_back(program_.shard(shard).columns());
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
    for (const std::int64_t length : bag_lengths(program_, program_.table_of(part.shard), count, part.position,
                                                 row_shards(program_.shard(part.shard)))) {
      call.offsets.push_back(call.offsets.back() + length);
    }
  }

  // Returns the bytes that `sum` adds up or collects (-1: nothing), and those that go over an exchange, to this rank's
  // sources or (`back`) from them. The kernels write `served` elements, and the wire may take fewer bytes or more.
  LookupBuffers::Sizes sizes(int sum, int exchange, std::int64_t served, std::int64_t element, bool back) const {
    LookupBuffers::Sizes bytes;
    bytes.served = served * element;
    if (sum >= 0) {
      const Seat seat = seat_of(program_, program_.op(sum), rank_);
      const std::int64_t summed = collective_bytes(program_, program_.op(sum), rank_).in;
      bytes.served = std::max(bytes.served, summed);
      if (!seat.ranks.empty()) bytes.own = summed / static_cast<std::int64_t>(seat.ranks.size()) * seat.position;
    }
    if (exchange < 0) return bytes;
    const CollectiveBytes moved = collective_bytes(program_, program_.op(exchange), rank_);
    bytes.served = std::max(bytes.served, bytes.own + (back ? moved.out : moved.in));
    bytes.returned = std::max(elements_of(plan_.returned) * element, back ? moved.in : moved.out);
    return bytes;
  }

  LookupBuffers::Coded coded(int sum, int exchange, std::int64_t served) const {
    LookupBuffers::Coded coded;
    const Dtype stored = program_.table_of(plan_.fusion.shards.front()).dtype;
    if (sum >= 0) coded.sum = wire_type(program_.op(sum), stored);
    if (exchange >= 0) coded.exchange = wire_type(program_.op(exchange), stored);
    coded.served = coded.own = served;
    coded.returned = elements_of(plan_.returned);
    if (sum < 0) return coded;
    const Seat seat = seat_of(program_, program_.op(sum), rank_);
    if (seat.ranks.empty()) return coded;
    coded.own = served / static_cast<std::int64_t>(seat.ranks.size());
    coded.own_first = coded.own * seat.position;
    return coded;
  }

  // Returns the sizes in the kernels' memory alone.
  static LookupBuffers::Sizes sizes(const LookupBuffers::Coded& coded, std::int64_t element, bool returns) {
    return {coded.served * element, coded.own_first * element, returns ? coded.returned * element : 0};
  }

  void set_reduced() {
    const auto applied = [](const Fusion::Part& part) { return part.apply >= 0; };
    if (std::ranges::any_of(plan_.fusion.parts, applied)) plan_.dense_elements = plan_.rows.elements;
    std::int64_t end = plan_.rows.elements;
    for (const int id : plan_.fusion.reduces) {
      const std::int64_t count = collective_bytes(program_, program_.op(id), rank_).in / kFloat;
      const std::int64_t first = std::max<std::int64_t>(end - count, 0);
      plan_.reduced.push_back({first, count});
      plan_.dense_elements = std::max(plan_.dense_elements, first + count);
      end = first;
    }
  }

  const Program& program_;
  int rank_;
  bool takes_part_;  // in the lookup
  LookupBuffers plan_;
  std::vector<int> sources_;  // pooled
};

OptimizerSettings update_settings(const Program& program, const Fusion::Part& part, bool check_data) {
  const int update = part.apply >= 0 ? part.apply : part.gradient;
  if (update < 0) return {};
  return optimizer_settings(program.op(update).optimizer, check_data, {program.op(update).name});
}

}  // namespace

ElementType element_type(Dtype dtype, const Place& place) {
  if (dtype == Dtype::fp32) return ElementType::fp32;
  if (dtype == Dtype::fp16) return ElementType::fp16;
  if (dtype == Dtype::bf16) return ElementType::bf16;
  throw input_error(place, "looks up rows of int8, which the executor has no kernel for", "Use fp32, fp16 or bf16");
}

OptimizerSettings optimizer_settings(const std::string& optimizer, bool check_data, const Place& place) {
  OptimizerSettings settings;
  if (check_data) {
    settings.learning_rate = 1;
    return settings;
  }
  const std::map<std::string_view, RowOptimizer> known{{"sgd", RowOptimizer::sgd},
                                                       {"rowwise_adagrad", RowOptimizer::rowwise_adagrad},
                                                       {"adagrad", RowOptimizer::adagrad},
                                                       {"adam", RowOptimizer::adam}};
  const auto found = known.find(optimizer);
  if (found == known.end())
    throw input_error(place, "updates with optimizer '" + optimizer + "', which the executor has no kernel for",
                      "Use sgd, rowwise_adagrad, adagrad or adam");
  settings.optimizer = found->second;
  return settings;
}

std::vector<OptimizerSettings> part_settings(const Program& program, const LookupBuffers& buffers, bool check_data) {
  std::vector<OptimizerSettings> settings;
  for (const Fusion::Part& part : buffers.fusion.parts) settings.push_back(update_settings(program, part, check_data));
  return settings;
}

std::int64_t LookupBuffers::largest_call() const {
  std::int64_t largest = 0;
  for (const LookupCall& call : calls) largest = std::max(largest, call.block.elements() * sources);
  return largest;
}

std::vector<LookupBuffers> lookup_buffers(const Program& program, const ProgramPlaces& places, int rank) {
  std::vector<LookupBuffers> all;
  for (const Fusion& fusion : fusions_of(program, places)) {
    all.push_back(BufferPlan(program, fusion, rank, op_place(places, fusion.lookup)).make());
  }
  return all;
}

std::vector<std::vector<LookupBuffers>> lookup_buffers(const IterationPrograms& programs, int rank) {
  std::vector<std::vector<LookupBuffers>> all;
  for (std::size_t turn = 0; turn < programs.size(); ++turn) {
    std::vector<LookupBuffers> own = lookup_buffers(programs[turn], {}, rank);
    all.resize(own.size());
    for (std::size_t fusion = 0; fusion < own.size(); ++fusion) all[fusion].push_back(std::move(own[fusion]));
  }
  return all;
}

const LookupBuffers& most_returned(const std::vector<LookupBuffers>& turns) {
  return *std::ranges::max_element(turns, {}, [](const LookupBuffers& of) { return elements_of(of.returned); });
}

std::int64_t elements_of(const std::vector<ReturnedVectors>& returned) {
  std::int64_t elements = 0;
  for (const ReturnedVectors& of : returned) elements += of.bags * of.dim;
  return elements;
}

}  // namespace shardsim
