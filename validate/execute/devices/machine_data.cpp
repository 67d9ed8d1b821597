#include "validate/execute/devices/machine_data.h"

#include <algorithm>

namespace shardsim {
namespace {

std::vector<float> gradients_of(const PooledBuffers& buffers, int rank) {
  std::vector<float> gradients;
  std::int64_t vector = 0;
  for (const ReturnedVectors& of : buffers.returned) {
    for (std::int64_t bag = 0; bag < of.bags; ++bag, ++vector) {
      for (std::int64_t c = 0; c < of.dim; ++c) {
        gradients.push_back(gradient_value(rank, buffers.fusion.lookup, vector, c));
      }
    }
  }
  return gradients;
}

std::vector<float> gradients_of(const FusionBuffers& buffers, int rank) {
  std::vector<float> gradients(static_cast<std::size_t>(buffers.asked * buffers.dim));
  for (std::size_t at = 0; at < gradients.size(); ++at) {
    const std::int64_t index = static_cast<std::int64_t>(at);
    gradients[at] = gradient_value(rank, buffers.fusion.lookup, index / buffers.dim, index % buffers.dim);
  }
  return gradients;
}

// Shard by shard: their vectors may have different widths.
std::string compare_vectors(Machine& machine, const Program& program, const Reference& reference,
                            const PooledBuffers& buffers, int rank) {
  const int lookup = buffers.fusion.lookup;
  const std::vector<float> got = machine.gathered(lookup), expected = reference.gathered(rank, lookup);
  std::size_t at = 0;
  for (const ReturnedVectors& of : buffers.returned) {
    const std::size_t end = at + static_cast<std::size_t>(of.bags * of.dim);
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(std::min(at, all.size())),
                                all.begin() + static_cast<std::ptrdiff_t>(std::min(end, all.size())));
    };
    const std::string& table = program.tables[program.shards[of.shard].table].name;
    const std::string difference =
        first_difference(part(got), part(expected), of.dim,
                         "rank " + std::to_string(rank) + ", bags of '" + table + "' by " + program.ops[lookup].name);
    if (!difference.empty()) return difference;
    at = end;
  }
  return first_difference(got, expected, 1, "rank " + std::to_string(rank) + ", vectors");
}

std::string compare_shards(Machine& machine, const Program& program, const Reference& reference, int rank) {
  for (std::size_t index = 0; index < program.shards.size(); ++index) {
    const int shard = static_cast<int>(index);
    const Program::Shard& about = program.shards[index];
    const std::string difference = first_difference(
        machine.shard_rows(shard), reference.shard_rows(rank, shard), about.column_end - about.column_begin,
        "rank " + std::to_string(rank) + ", updated rows of '" + program.tables[about.table].name + "'");
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace

void load_data(Machine& machine, const Program& program, const Reference& reference, const RankFusions& fusions,
               int rank) {
  for (std::size_t shard = 0; shard < program.shards.size(); ++shard) {
    const std::vector<float> rows = reference.shard_rows(rank, static_cast<int>(shard));
    if (!rows.empty()) machine.load_rows(static_cast<int>(shard), rows);
  }
  const auto load = [&](const auto& buffers) {
    machine.load_gradients(buffers.fusion.lookup, gradients_of(buffers, rank));
  };
  for (const FusionBuffers& buffers : fusions.sequences) load(buffers);
  for (const PooledBuffers& buffers : fusions.pooled) load(buffers);
}

std::string compare_data(Machine& machine, const Program& program, const Reference& reference,
                         const RankFusions& fusions, int rank) {
  for (const FusionBuffers& buffers : fusions.sequences) {
    const int lookup = buffers.fusion.lookup;
    const std::string difference =
        first_difference(machine.gathered(lookup), reference.gathered(rank, lookup), buffers.dim,
                         "rank " + std::to_string(rank) + ", rows gathered by " + program.ops[lookup].name);
    if (!difference.empty()) return difference;
  }
  for (const PooledBuffers& buffers : fusions.pooled) {
    const std::string difference = compare_vectors(machine, program, reference, buffers, rank);
    if (!difference.empty()) return difference;
  }
  return compare_shards(machine, program, reference, rank);
}

}  // namespace shardsim
