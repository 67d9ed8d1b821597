#include "validate/execute/buffers/rank_buffers.h"

#include <algorithm>

#include "base/error.h"

namespace shardsim {
namespace {

const Place& place_of(const ProgramPlaces& places, int op) {
  return static_cast<std::size_t>(op) < places.ops.size() ? places.ops[op] : places.program;
}

// Every rank has the same shards in mind, so every rank comes to the same verdict.
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

void set_exchange_sizes(FusionBuffers& buffers, const Program& program, int rank) {
  const Fusion& fusion = buffers.fusion;
  const CollectiveBytes ids = collective_bytes(program, program.ops[fusion.ids], rank);
  buffers.id_bytes = static_cast<int>(resolve_matrix(program, program.ops[fusion.ids].matrix).unit_bytes);
  buffers.asked = ids.in / buffers.id_bytes;
  buffers.served = ids.out / buffers.id_bytes;
  buffers.served_bytes = buffers.served * buffers.row_bytes();
  buffers.gathered_bytes = buffers.asked * buffers.row_bytes();
  if (fusion.output >= 0) {
    const CollectiveBytes output = collective_bytes(program, program.ops[fusion.output], rank);
    buffers.served_bytes = std::max(buffers.served_bytes, output.in);
    buffers.gathered_bytes = std::max(buffers.gathered_bytes, output.out);
  }
  if (fusion.gradient_exchange < 0) return;
  const CollectiveBytes gradients = collective_bytes(program, program.ops[fusion.gradient_exchange], rank);
  buffers.gradient_asked_bytes = std::max(buffers.gradient_asked_bytes, gradients.in);
  buffers.gradient_served_bytes = std::max(buffers.gradient_served_bytes, gradients.out);
}

FusionBuffers buffers_of(const Program& program, const Fusion& fusion, int rank, const Place& place) {
  check_lookup(program, fusion, place);
  FusionBuffers buffers;
  buffers.fusion = fusion;
  buffers.rows = rank_rows(program, fusion, rank);
  const Program::Shard& shard = program.shards[fusion.shards.front()];
  buffers.dim = shard.column_end - shard.column_begin;
  buffers.type = element_type(program.tables[shard.table].dtype, place);
  buffers.asked = buffers.served = static_cast<std::int64_t>(
      value_on(program, program.ops[fusion.lookup], program.ops[fusion.lookup].lookups, rank));
  if (fusion.ids >= 0) set_exchange_sizes(buffers, program, rank);
  // Gradients are summed in fp32, whatever the wire carries.
  const std::int64_t fp32_row = buffers.dim * 4;
  buffers.gradient_asked_bytes = std::max(buffers.gradient_asked_bytes, buffers.asked * fp32_row);
  buffers.gradient_served_bytes = std::max(buffers.gradient_served_bytes, buffers.served * fp32_row);
  buffers.served_bytes = std::max(buffers.served_bytes, buffers.served * buffers.row_bytes());
  if (!fusion.reduces.empty()) {
    const std::int64_t dense = buffers.rows.rows * fp32_row;
    buffers.reduced_bytes = std::max(collective_bytes(program, program.ops[fusion.reduces.front()], rank).in, dense);
  }
  return buffers;
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

std::vector<FusionBuffers> rank_buffers(const Program& program, const ProgramPlaces& places, int rank) {
  std::vector<FusionBuffers> all;
  for (const Fusion& fusion : fusions_of(program, places)) {
    if (fusion.pooled) continue;
    all.push_back(buffers_of(program, fusion, rank, place_of(places, fusion.lookup)));
  }
  return all;
}

Seat seat_of(const Program& program, const Op& op, int rank) {
  const std::vector<std::vector<int>>& sets = program.groups.at(op.group);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const auto found = std::find(sets[set].begin(), sets[set].end(), rank);
    if (found != sets[set].end()) return {sets[set], static_cast<int>(found - sets[set].begin()), set};
  }
  return {};
}

CollectiveBytes collective_bytes(const Program& program, const Op& op, int rank) {
  const Seat seat = seat_of(program, op, rank);
  if (op.op_class != OpClass::all_to_all) return {op.bytes_of_set(seat.set), op.bytes_of_set(seat.set)};
  const int members = static_cast<int>(seat.ranks.size());
  const ByteMatrix matrix = resolve_matrix(program, op.matrix);
  return {matrix.bytes_sent(seat.position, members), matrix.bytes_received(seat.position, members)};
}

double value_on(const Program& program, const Op& op, const PerRank& values, int rank) {
  const std::vector<int> ranks = program.ranks_of(op);
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? 0 : values.at(static_cast<std::size_t>(found - ranks.begin()));
}

bool takes_part(const Program& program, const Op& op, int rank) {
  if (op.is_collective()) return !seat_of(program, op, rank).ranks.empty();
  const std::vector<int> ranks = program.ranks_of(op);
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace shardsim
