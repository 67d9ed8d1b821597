#include "validate/execute/fusion/pooled_layout.h"

#include <algorithm>
#include <numeric>

#include "validate/execute/fusion/bags.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

std::int64_t bags_of(const Program& program, int shard) {
  return bags_per_rank(program, program.tables[static_cast<std::size_t>(program.shard(shard).table)]);
}

void add_shard(VectorChunk& chunk, std::size_t first_block, const Program& program, int lookup, int shard) {
  const std::int64_t bags = bags_of(program, shard);
  auto block = chunk.blocks.begin() + static_cast<std::ptrdiff_t>(first_block);
  while (block != chunk.blocks.end() && block->bags != bags) ++block;
  if (block == chunk.blocks.end()) {
    block = chunk.blocks.insert(block, VectorChunk::Block{});
    block->lookup = lookup;
    block->bags = bags;
  }
  block->shards.push_back(shard);
  block->first.push_back(block->dim);
  block->dim += program.shard(shard).column_end - program.shard(shard).column_begin;
}

}  // namespace

std::vector<int> set_of(const Program& program, int op, int rank) {
  if (op < 0) return {rank};
  for (const std::vector<int>& set : program.groups.at(program.ops[static_cast<std::size_t>(op)].group)) {
    if (std::ranges::find(set, rank) != set.end()) return set;
  }
  return {};
}

VectorChunk chunk_of(const Program& program, const Fusion& fusion, int rank) {
  const std::vector<int> summing = set_of(program, fusion.scatter, rank);
  const auto held = [&](int shard) {
    return std::ranges::any_of(summing, [&](int of) { return row_shard_of(program.shard(shard), of) >= 0; });
  };
  VectorChunk chunk;
  for (const Fusion::Part& part : fusion.parts) {
    const std::size_t first_block = chunk.blocks.size();
    for (const int shard : part.shards) {
      if (held(shard)) add_shard(chunk, first_block, program, part.lookup, shard);
    }
  }
  for (VectorChunk::Block& block : chunk.blocks) {
    block.first_element = chunk.elements;
    chunk.elements += block.elements();
  }
  return chunk;
}

std::vector<int> sources_of(const Program& program, const Fusion& fusion, int rank) {
  std::vector<int> sources;
  for (const int member : set_of(program, fusion.scatter, rank)) {
    const std::vector<int> across = set_of(program, fusion.output, member);
    sources.insert(sources.end(), across.begin(), across.end());
  }
  return sources;
}

std::vector<int> givers_of(const Program& program, const Fusion& fusion, int rank) {
  return set_of(program, fusion.output, rank);
}

std::vector<ReturnedVectors> returned_to(const Program& program, const Fusion& fusion, int rank) {
  std::vector<ReturnedVectors> all;
  std::int64_t before = 0;
  for (const int giver : givers_of(program, fusion, rank)) {
    const VectorChunk chunk = chunk_of(program, fusion, giver);
    for (const VectorChunk::Block& block : chunk.blocks) {
      for (std::size_t i = 0; i < block.shards.size(); ++i) {
        const Program::Shard& shard = program.shard(block.shards[i]);
        all.push_back({block.shards[i], before + block.first_element + block.first[i], block.dim, block.bags,
                       shard.column_end - shard.column_begin});
      }
    }
    before += chunk.elements;
  }
  const auto place = [&](const ReturnedVectors& of) { return std::ranges::find(fusion.shards, of.shard); };
  std::ranges::sort(all, {}, place);
  return all;
}

}  // namespace shardsim
