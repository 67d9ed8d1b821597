#include "validate/execute/buffers/lookup_buffers.h"

#include <algorithm>

#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"

namespace shardsim {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

// Every rank has the same shards in mind, so every rank comes to the same answer.
void check_lookup(const Program& program, const Fusion& fusion, const Place& place) {
  if (fusion.shards.empty())
    throw input_error(place, "looks up no shard", "Name at least one of the program's 'shards'");
  const Program::Shard& first = program.shards[fusion.shards.front()];
  for (const int shard : fusion.shards) {
    const Program::Shard& other = program.shards[shard];
    const bool alike = other.column_end - other.column_begin == first.column_end - first.column_begin &&
                       program.tables[other.table].dtype == program.tables[first.table].dtype;
    if (!alike)
      throw input_error(place, "looks up rows of different widths or types in one call",
                        "Give the tables of a sequence module one dim and one dtype, as TorchRec asks too");
  }
}

// A sequence lookup while it is arranged: one call, whose rows go as they are.
class SequenceBuffers {
 public:
  SequenceBuffers(const Program& program, const Fusion& fusion, int rank, const Place& place)
      : program_(program), rank_(rank) {
    check_lookup(program, fusion, place);
    buffers_.fusion = fusion;
    buffers_.parts = {{fusion.lookup, fusion.gradient, fusion.apply, fusion.shards}};
    buffers_.rows = rank_rows(program, fusion, rank);
    const Program::Shard& shard = program.shards[fusion.shards.front()];
    dim_ = shard.column_end - shard.column_begin;
    buffers_.type = element_type(program.tables[shard.table].dtype, place);
  }

  LookupBuffers make() {
    const Op& lookup = op(buffers_.fusion.lookup);
    buffers_.asked = buffers_.served = static_cast<std::int64_t>(value_on(program_, lookup, lookup.lookups, rank_));
    if (buffers_.exchanges()) set_exchange_sizes();
    const std::int64_t row = dim_ * element_bytes(buffers_.type), fp32_row = dim_ * kFloat;
    buffers_.served_bytes = std::max(buffers_.served_bytes, buffers_.served * row);
    // Gradients are summed in fp32, whatever the wire carries.
    buffers_.gradient_served_bytes = std::max(buffers_.gradient_served_bytes, buffers_.served * fp32_row);
    buffers_.returned = {{buffers_.fusion.shards.front(), 0, dim_, buffers_.asked, dim_}};
    add_call();
    set_dense();
    return buffers_;
  }

 private:
  const Op& op(int id) const { return program_.ops[static_cast<std::size_t>(id)]; }

  void set_exchange_sizes() {
    const Fusion& fusion = buffers_.fusion;
    const CollectiveBytes ids = collective_bytes(program_, op(fusion.ids), rank_);
    buffers_.id_bytes = static_cast<int>(resolve_matrix(program_, op(fusion.ids).matrix).unit_bytes);
    buffers_.asked = ids.in / buffers_.id_bytes;
    buffers_.served = ids.out / buffers_.id_bytes;
    buffers_.returned_bytes = buffers_.asked * dim_ * element_bytes(buffers_.type);
    buffers_.gradient_asked_bytes = buffers_.asked * dim_ * kFloat;
    if (fusion.output >= 0) {
      const CollectiveBytes output = collective_bytes(program_, op(fusion.output), rank_);
      buffers_.served_bytes = output.in;
      buffers_.returned_bytes = std::max(buffers_.returned_bytes, output.out);
    }
    if (fusion.gradient_exchange < 0) return;
    const CollectiveBytes gradients = collective_bytes(program_, op(fusion.gradient_exchange), rank_);
    buffers_.gradient_asked_bytes = std::max(buffers_.gradient_asked_bytes, gradients.in);
    buffers_.gradient_served_bytes = gradients.out;
  }

  void add_call() {
    LookupCall call;
    call.tables.type = buffers_.type;
    call.tables.rows = {buffers_.rows.rows};
    call.tables.dim = {dim_};
    call.tables.begin = {0};
    call.ids = buffers_.served;
    buffers_.calls.push_back(std::move(call));
  }

  void set_dense() {
    if (buffers_.fusion.apply < 0) return;
    buffers_.dense_elements = buffers_.rows.elements;
    for (const int id : buffers_.fusion.reduces) {
      const std::int64_t bytes = collective_bytes(program_, op(id), rank_).in;
      buffers_.reduced.push_back({0, std::max((bytes + kFloat - 1) / kFloat, buffers_.rows.elements)});
      buffers_.dense_elements = std::max(buffers_.dense_elements, buffers_.reduced.back().count);
    }
  }

  const Program& program_;
  int rank_;
  std::int64_t dim_ = 0;  // columns of every row
  LookupBuffers buffers_;
};

OptimizerSettings update_settings(const Program& program, const Fusion::Part& part, bool check_data) {
  const int update = part.apply >= 0 ? part.apply : part.gradient;
  if (update < 0) return {};
  const Op& op = program.ops[static_cast<std::size_t>(update)];
  return optimizer_settings(op.optimizer, check_data, {op.name});
}

template <typename Visit>
void visit_vectors(const std::vector<ReturnedVectors>& returned, const Visit& visit) {
  std::int64_t at = 0;
  for (const ReturnedVectors& of : returned) {
    for (std::int64_t bag = 0; bag < of.bags; ++bag, at += of.dim) visit(of.first + bag * of.stride, at, of.dim);
  }
}

}  // namespace

ElementType element_type(Dtype dtype, const Place& place) {
  switch (dtype) {
    case Dtype::fp32:
      return ElementType::fp32;
    case Dtype::fp16:
      return ElementType::fp16;
    case Dtype::bf16:
      return ElementType::bf16;
    case Dtype::int8:
      break;
  }
  throw input_error(place, "looks up rows of int8, which the executor has no kernel for", "Use fp32, fp16 or bf16");
}

OptimizerSettings optimizer_settings(const std::string& optimizer, bool check_data, const Place& place) {
  OptimizerSettings settings;
  if (check_data) {
    settings.learning_rate = 1;
    return settings;
  }
  if (optimizer == "sgd") {
    settings.optimizer = RowOptimizer::sgd;
  } else if (optimizer == "rowwise_adagrad") {
    settings.optimizer = RowOptimizer::rowwise_adagrad;
  } else if (optimizer == "adam") {
    settings.optimizer = RowOptimizer::adam;
  } else {
    throw input_error(place, "updates with optimizer '" + optimizer + "', which the executor has no kernel for",
                      "It has sgd, rowwise_adagrad and adam");
  }
  return settings;
}

std::vector<OptimizerSettings> part_settings(const Program& program, const LookupBuffers& buffers, bool check_data) {
  std::vector<OptimizerSettings> settings;
  for (const Fusion::Part& part : buffers.parts) settings.push_back(update_settings(program, part, check_data));
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
    const Place place = op_place(places, fusion.lookup);
    all.push_back(fusion.pooled ? pooled_buffers(program, fusion, rank, place)
                                : SequenceBuffers(program, fusion, rank, place).make());
  }
  return all;
}

std::vector<std::int64_t> wire_ids(const Program& program, const Fusion& fusion, int rank, int batch) {
  IdBatch drawn = draw_ids(program, fusion, rank, batch);
  if (!fusion.pooled) return drawn.ids;
  const std::vector<int> owners = owners_of(program, fusion, rank);
  std::size_t at = 0;
  for (std::size_t owner = 0; owner < drawn.counts.size(); ++owner) {
    const RankRows held = rank_rows(program, fusion, owners[owner]);
    for (std::int64_t i = 0; i < drawn.counts[owner]; ++i, ++at) {
      drawn.ids[at] -= held.part_of(drawn.ids[at]).first_row;
    }
  }
  return drawn.ids;
}

std::vector<float> by_shard(const std::vector<ReturnedVectors>& returned, const float* wire) {
  std::vector<float> values(static_cast<std::size_t>(elements_of(returned)));
  visit_vectors(returned, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::copy_n(wire + from, count, values.data() + to);
  });
  return values;
}

void to_wire(const std::vector<ReturnedVectors>& returned, const std::vector<float>& values, float* wire) {
  visit_vectors(returned, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    std::copy_n(values.data() + from, count, wire + to);
  });
}

std::int64_t elements_of(const std::vector<ReturnedVectors>& returned) {
  std::int64_t elements = 0;
  for (const ReturnedVectors& of : returned) elements += of.bags * of.dim;
  return elements;
}

}  // namespace shardsim
