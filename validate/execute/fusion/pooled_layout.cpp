#include "validate/execute/fusion/pooled_layout.h"

#include <algorithm>
#include <cmath>

#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

// The id at which bag j of `bags` begins: floor(j ids / bags + piece / pieces), in whole numbers.
std::int64_t begin_of(std::int64_t j, std::int64_t ids, std::int64_t bags, int piece, int pieces) {
  const std::int64_t whole = j * ids / bags, rest = j * ids % bags;
  return whole + (rest * pieces + piece * bags >= bags * pieces ? 1 : 0);
}

// Returns the bags of a feature, which may have a batch of its own; not rounded.
double bags_of(const Program& program, const Feature& feature) {
  return feature.num_poolings * static_cast<double>(batch_of(feature, program.batch_per_rank));
}

// Bags of each feature.
std::vector<std::int64_t> bags_of_features(const Program& program, const Table& table) {
  std::vector<double> weights;
  for (const Feature& feature : table.features) weights.push_back(bags_of(program, feature));
  return split_by_largest_remainder(bags_per_rank(program, table), weights);
}

void add_shard(VectorChunk& chunk, std::size_t first_block, const Program& program, int lookup, int shard) {
  const std::int64_t bags = bags_per_rank(program, program.table_of(shard));
  auto block = chunk.blocks.begin() + static_cast<std::ptrdiff_t>(first_block);
  while (block != chunk.blocks.end() && block->bags != bags) ++block;
  if (block == chunk.blocks.end()) {
    block = chunk.blocks.insert(block, VectorChunk::Block{});
    block->lookup = lookup;
    block->bags = bags;
  }
  block->shards.push_back(shard);
  block->first.push_back(block->dim);
  block->dim += program.shard(shard).columns();
}

}  // namespace

std::int64_t bags_per_rank(const Program& program, const Table& table) {
  double bags = 0;
  for (const Feature& feature : table.features) bags += bags_of(program, feature);
  return static_cast<std::int64_t>(std::floor(bags + 0.5));
}

std::vector<std::int64_t> bag_lengths(const Program& program, const Table& table, std::int64_t ids, int piece,
                                      int pieces) {
  const std::vector<std::int64_t> bags = bags_of_features(program, table);
  std::vector<double> weights;
  for (std::size_t f = 0; f < bags.size(); ++f) {
    weights.push_back(table.features[f].pooling_factor * static_cast<double>(bags[f]));
  }
  const std::vector<std::int64_t> shares = split_by_largest_remainder(ids, weights);
  std::vector<std::int64_t> lengths;
  for (std::size_t f = 0; f < bags.size(); ++f) {
    for (std::int64_t j = 0; j < bags[f]; ++j) {
      lengths.push_back(begin_of(j + 1, shares[f], bags[f], piece, pieces) -
                        begin_of(j, shares[f], bags[f], piece, pieces));
    }
  }
  return lengths;
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

std::vector<ReturnedVectors> returned_to(const Program& program, const Fusion& fusion, int rank) {
  std::vector<ReturnedVectors> all;
  std::int64_t before = 0;
  for (const int giver : set_of(program, fusion.output, rank)) {
    const VectorChunk chunk = chunk_of(program, fusion, giver);
    for (const VectorChunk::Block& block : chunk.blocks) {
      for (std::size_t i = 0; i < block.shards.size(); ++i) {
        all.push_back({block.shards[i], before + block.first_element + block.first[i], block.dim, block.bags,
                       program.shard(block.shards[i]).columns()});
      }
    }
    before += chunk.elements;
  }
  const auto place = [&](const ReturnedVectors& of) { return std::ranges::find(fusion.shards, of.shard); };
  std::ranges::sort(all, {}, place);
  return all;
}

}  // namespace shardsim
