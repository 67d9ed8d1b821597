#include "sim/memory/buffer_sizes.h"

#include <algorithm>
#include <cmath>

#include "program/program.h"
#include "sim/lower/dense/dense_work.h"

namespace shardsim {
namespace {

std::int64_t row_bytes(const Program& program, const Program::Shard& shard) {
  return (shard.column_end - shard.column_begin) * dtype_bytes(table_of(program, shard).dtype);
}

BytesByRank zeros(const Program& program) {
  return BytesByRank(static_cast<std::size_t>(program.world_size), 0);
}

// Returns the bytes of each member of each rank set of the op's group, by rank.
template <class OfMember>
BytesByRank by_member(const Program& program, const Op& op, OfMember of_member) {
  BytesByRank bytes = zeros(program);
  const auto& sets = program.groups.at(op.group);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const int members = static_cast<int>(sets[set].size());
    for (int member = 0; member < members; ++member) {
      bytes[static_cast<std::size_t>(sets[set][static_cast<std::size_t>(member)])] = of_member(set, member, members);
    }
  }
  return bytes;
}

// Bags that a holder of the shard serves.
std::int64_t bags_of(const Program& program, const Program::Shard& shard) {
  double bags = 0;
  for (const Feature& feature : table_of(program, shard).features)
    bags += feature.num_poolings * static_cast<double>(batch_of(feature, program.batch_per_rank));
  const std::size_t sources = shard.strategy == Strategy::data_parallel ? 1 : sources_of(program, shard);
  return static_cast<std::int64_t>(sources) * std::llround(bags);
}

// HugeCTR's, in the type of the wire.
BytesByRank stated_vectors(const Program& program, const Op& lookup) {
  BytesByRank bytes = zeros(program);
  const std::vector<int> ranks = program.ranks_of(lookup);
  for (std::size_t position = 0; position < ranks.size(); ++position) {
    bytes[static_cast<std::size_t>(ranks[position])] =
        std::llround((lookup.pooled ? lookup.bags : lookup.lookups).at(position) * lookup.vector_bytes.at(position));
  }
  return bytes;
}

BytesByRank pooled_vectors(const Program& program, const Op& lookup) {
  BytesByRank bytes = zeros(program);
  for (const int index : lookup.shards) {
    const Program::Shard& shard = program.shard(index);
    const std::int64_t vectors = bags_of(program, shard) * row_bytes(program, shard);
    for (const std::vector<int>& group : shard.holders) {
      for (const int rank : group) bytes[static_cast<std::size_t>(rank)] += vectors;
    }
  }
  for (int rank = 0; rank < program.world_size; ++rank) {
    if (lookup.bags.at(static_cast<std::size_t>(rank)) <= 0) bytes[static_cast<std::size_t>(rank)] = 0;
  }
  return bytes;
}

std::int64_t rows_held(const Placement& placement, std::size_t position) {
  return static_cast<std::int64_t>(placement.shard_rows(placement.shards() > 1 ? static_cast<int>(position) : 0));
}

// Bytes of all rows of these shards, by rank.
BytesByRank rows_of_shards(const Program& program, const std::vector<int>& shards) {
  BytesByRank bytes = zeros(program);
  for (const int index : shards) {
    const Program::Shard& shard = program.shard(index);
    for (const std::vector<int>& group : shard.holders) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        bytes[static_cast<std::size_t>(group[i])] += rows_held(shard, i) * row_bytes(program, shard);
      }
    }
  }
  return bytes;
}

bool decodes(OpRole role) {
  return role == OpRole::decode_output || role == OpRole::decode_gradient;
}

// Returns the bytes that the exchange behind the pass sends, and those that the one before it received.
BytesByRank sent_behind(const Program& program, const Op& pass) {
  const auto sends = [&](const Op& op) {
    return op.is_collective() && std::ranges::find(op.after, pass.id) != op.after.end();
  };
  const auto found = std::find_if(program.ops.begin() + pass.id, program.ops.end(), sends);
  return found == program.ops.end() ? half_of(pass.hbm_bytes) : moved_by(program, *found, true);
}
BytesByRank got_before(const Program& program, const Op& pass) {
  std::vector<int> before = pass.after;
  before.insert(before.end(), pass.after_previous.begin(), pass.after_previous.end());
  const auto brings = [&](int id) { return program.op(id).is_collective() && program.op(id).fusion == pass.fusion; };
  const auto found = std::ranges::find_if(before, brings);
  return found == before.end() ? half_of(pass.hbm_bytes) : moved_by(program, program.op(*found), false);
}

BytesByRank beside(const PerRank& all, const BytesByRank& part, int world) {
  BytesByRank bytes;
  for (int rank = 0; rank < world; ++rank)
    bytes.push_back(
        std::max<std::int64_t>(std::llround(all.at(static_cast<std::size_t>(rank))) - bytes_at(part, rank), 0));
  return bytes;
}

constexpr double kAttentionTensors = 4;  // queries, keys, values and the result

double element_bytes(const DensePart& dense) {
  return dense.precision == "fp16" || dense.precision == "bf16" ? 2 : 4;
}

// Numbers that one repeat of a layer keeps of a sample, or of an item.
double kept_numbers(const DensePart& dense, const DenseLayer& layer) {
  const auto in = static_cast<double>(layer.in), out = static_cast<double>(layer.out);
  const double of_norm = layer.norm == NormKind::none ? 0 : layer.norm == NormKind::layer_norm ? 1 : 2;
  const double passes = (layer.elementwise.value_or(0) / 2 + of_norm) * out;
  if (layer.attention) return kAttentionTensors * out + passes;
  if (!layer.weights) return in + out * out;  // the vectors, and their products with each other
  const bool cross = dense.interaction == "dcn" && layer.name == "cross_w";
  return in + passes + (cross ? out : 0);  // a cross layer multiplies its result by the first input
}

double half_weights(const DensePart& dense) {
  return element_bytes(dense) == 2 ? static_cast<double>(dense.parameters.count) / 2 : 0;
}

}  // namespace

bool encodes(OpRole role) {
  return role == OpRole::encode_output || role == OpRole::encode_gradient;
}

BytesByRank bytes_encoded(const Program& program, const Op& encoder) {
  return beside(encoder.hbm_bytes, sent_behind(program, encoder), program.world_size);
}

BytesByRank half_of(const PerRank& moved) {
  BytesByRank bytes;
  for (const double value : moved.values) bytes.push_back(std::llround(value / 2));
  return bytes;
}

// A rank gives a chunk to an all_gather, and gets one from a reduce_scatter.
BytesByRank moved_by(const Program& program, const Op& exchange, bool given) {
  if (exchange.op_class == OpClass::all_to_all) {
    const int size = static_cast<int>(program.groups.at(exchange.group).front().size());  // of every set
    std::vector<BytesByRank> of_sets;
    for (std::size_t set = 0; set < (exchange.matrix.per_set ? program.groups.at(exchange.group).size() : 1); ++set) {
      const ResolvedMatrix matrix(program, exchange.matrix, set);
      of_sets.push_back(given ? (*matrix).all_sent(size) : (*matrix).all_received(size));
    }
    return by_member(program, exchange, [&](std::size_t set, int member, int) {
      return of_sets[std::min(set, of_sets.size() - 1)][member];
    });
  }
  const bool chunk = exchange.op_class == (given ? OpClass::all_gather : OpClass::reduce_scatter);
  return by_member(program, exchange, [&](std::size_t set, int, int members) {
    return exchange.bytes_of_set(set) / (chunk ? members : 1);
  });
}

BytesByRank vectors_of(const Program& program, const Op& lookup) {
  if (lookup.indexed || lookup.vector_bytes != PerRank{}) return stated_vectors(program, lookup);
  if (lookup.pooled) return pooled_vectors(program, lookup);
  BytesByRank bytes = zeros(program);
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    bytes[rank] = std::llround((lookup.hbm_bytes.at(rank) + lookup.host_bytes.at(rank)) / 2);  // rows read are half
  }
  return bytes;
}

BytesByRank dense_gradient_of(const Program& program, const Op& gradient, bool all_rows) {
  if (all_rows && !replicated(program.shard(gradient.shards.front()).strategy)) return half_of(gradient.hbm_bytes);
  return rows_of_shards(program, gradient.shards);
}

BytesByRank rows_scattered(const Program& program, const Op& scatter) {
  const auto looks_up = [&](int id) { return program.op(id).role == OpRole::lookup; };
  const auto lookup = std::ranges::find_if(scatter.after, looks_up);
  return lookup == scatter.after.end() ? zeros(program) : rows_of_shards(program, program.op(*lookup).shards);
}

std::optional<MemoryPart> part_written(OpRole role) {
  if (role == OpRole::sum_gradient) return MemoryPart::table_gradients;
  if (role < OpRole::lookup || role == OpRole::divide_gradient) return std::nullopt;
  // Roles are in the order in which a batch meets them.
  if (role <= OpRole::encode_output) return MemoryPart::lookup_output;
  if (role <= OpRole::restore_duplicates) return MemoryPart::output;
  const bool of_vectors = role >= OpRole::split_gradient_tiers && role <= OpRole::order_received_gradient;
  return of_vectors ? std::optional(MemoryPart::gradients) : std::nullopt;
}

BytesByRank bytes_written(const Program& program, const Op& op, const Workload& workload) {
  if (op.role == OpRole::lookup) return vectors_of(program, op);
  if (op.role == OpRole::sum_gradient) return dense_gradient_of(program, op, workload.update_all_rows);
  if (encodes(op.role)) return sent_behind(program, op);
  if (decodes(op.role)) return beside(op.hbm_bytes, got_before(program, op), program.world_size);
  return op.is_collective() ? moved_by(program, op, false) : half_of(op.hbm_bytes);
}

bool works_on_vectors(OpRole role) {
  return part_written(role) || role == OpRole::dense_forward || role == OpRole::dense_backward ||
         role == OpRole::divide_gradient || role == OpRole::sum_duplicates || role == OpRole::update ||
         role == OpRole::reduce_gradient || role == OpRole::apply;
}

double dense_activation_bytes(const Workload& workload, const LayerRun& run) {
  const DensePart& dense = workload.dense;
  const DenseLayer& layer = dense.layers[static_cast<std::size_t>(run.layer)];
  return static_cast<double>(run.count) * samples_of_layer(workload, layer, {}) * kept_numbers(dense, layer) *
         element_bytes(dense);
}

bool tells_dense_activations(const DensePart& dense) {
  return !dense.measured && (!dense.layers.empty() || dense.parameters.count == 0);
}

double dense_activation_bytes(const Workload& workload, bool bottom) {
  const DensePart& dense = workload.dense;
  if (!tells_dense_activations(dense)) return 0;
  double bytes = 0;
  bool in_place = element_bytes(dense) == 4;  // the first layer of items works on the vectors, which are counted
  for (const DenseLayer& layer : dense.layers) {
    if (is_bottom(layer) != bottom) continue;
    if (!bottom && layer.per_item && !layer.attention && in_place) {
      in_place = false;
      bytes -= samples_of_layer(workload, layer, {}) * static_cast<double>(layer.in) * element_bytes(dense);
    }
    bytes += static_cast<double>(layer.repeat) * samples_of_layer(workload, layer, {}) * kept_numbers(dense, layer) *
             element_bytes(dense);
  }
  const bool first = bottom == std::ranges::any_of(dense.layers, is_bottom);
  return bytes + (first ? half_weights(dense) : 0);
}

}  // namespace shardsim
