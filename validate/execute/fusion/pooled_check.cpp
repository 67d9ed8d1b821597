#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/pooled_layout.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

class PooledCheck {
 public:
  PooledCheck(const Program& program, const ProgramPlaces& places, const Fusion& fusion)
      : program_(program), places_(places), fusion_(fusion) {}

  void run() {
    check_tables();
    const PartShares shares(program_, fusion_);
    for (const int rank : program_.ranks_of(program_.op(fusion_.lookup))) {
      if (!chunks_.contains(rank)) add_chunk(rank);
      check_bags(rank, shares, check_sources(rank));
    }
    for (const int id : {fusion_.scatter, fusion_.gather}) {
      if (id >= 0) check_summed(program_.op(id));
    }
    if (fusion_.output >= 0) check_exchange(program_.op(fusion_.output), true);
    if (fusion_.gradient_exchange >= 0) check_exchange(program_.op(fusion_.gradient_exchange), false);
  }

 private:
  Dtype dtype() const { return program_.table_of(fusion_.shards.front()).dtype; }

  void check_tables() const {
    const bool cut = in_rows(program_.shard(fusion_.shards.front()).strategy);
    for (const int index : fusion_.shards) {
      if (program_.table_of(index).dtype != dtype()) {
        fail("it looks up rows of different types, or shares its exchanges with a lookup of another type",
             "Give the tables of a strategy one dtype");
      }
      if (in_rows(program_.shard(index).strategy) != cut) {
        fail(fmt::format("shard {} is cut by rows, or not, unlike the others of its exchanges", index),
             "Look up shards that are cut by rows, and others, through exchanges of their own");
      }
      if (bags_per_rank(program_, program_.table_of(index)) < 1) {
        fail(fmt::format("a batch has no bag of table {}", excerpt(program_.table_of(index).name)),
             "Raise batch_per_rank, or num_poolings of its features");
      }
    }
  }

  // Ranks that add up their sums have chunks of one size.
  void add_chunk(int rank) {
    const std::vector<int> summing = set_of(program_, fusion_.scatter, rank);
    const VectorChunk chunk = chunk_of(program_, fusion_, rank);
    for (const VectorChunk::Block& block : chunk.blocks) {
      for (const int index : block.shards) check_sums(index, {summing.begin(), summing.end()});
    }
    for (const int of : summing) chunks_[of] = chunk.elements;
  }

  // All pieces of a shard lie on ranks whose partial sums are added up.
  void check_sums(int index, const std::set<int>& summing) const {
    std::set<int> pieces;
    for (const std::vector<int>& holders : program_.shard(index).holders) {
      for (const int rank : holders) {
        if (summing.contains(rank)) pieces.insert(row_shard_of(program_.shard(index), rank));
      }
    }
    for (int piece = 0; piece < row_shards(program_.shard(index)); ++piece) {
      if (row_shard_rows(program_.shard(index), piece) == 0 || pieces.contains(piece)) continue;
      fail(fmt::format("nothing adds up the partial sums of shard {}", index),
           "Let a reduce_scatter over the ranks that hold its rows come after the lookup");
    }
  }

  // Returns how many there are.
  double check_sources(int rank) const {
    std::vector<int> sources = sources_of(program_, fusion_, rank), asking = set_of(program_, fusion_.ids, rank);
    std::ranges::sort(sources);
    std::ranges::sort(asking);
    if (sources == asking) return static_cast<double>(sources.size());
    fail(fmt::format("the vectors of rank {} do not reach all who asked it, each once", rank),
         "Let the exchanges after the lookup reach the ranks that the exchange of ids has");
  }

  // `bags` counts the vectors of shards of which the rank is asked for rows; a shard that nobody reads has none.
  void check_bags(int rank, const PartShares& shares, double sources) const {
    for (const Fusion::Part& part : fusion_.parts) {
      double vectors = 0;
      for (const int index : part.shards) {
        const int piece = row_shard_of(program_.shard(index), rank);
        const bool read = piece >= 0 && row_shard_rows(program_.shard(index), piece) > 0 && shares.items(index) > 0;
        if (read) vectors += static_cast<double>(bags_per_rank(program_, program_.table_of(index))) * sources;
      }
      const Op& lookup = program_.op(part.lookup);
      const double stated = value_on(program_, lookup, lookup.bags, rank);
      if (std::abs(stated - vectors) < 0.5) continue;
      refuse(
          places_, lookup,
          fmt::format("it has {} bags on rank {}, and the batches of {} ranks have {}", stated, rank, sources, vectors),
          "Let 'bags' be batch_per_rank x num_poolings, over features, tables and ranks served");
    }
  }

  // reduce_scatter and all_gather: a chunk for each source.
  void check_summed(const Op& exchange) const {
    const std::vector<std::vector<int>>& sets = program_.groups.at(exchange.group);
    for (std::size_t set = 0; set < sets.size(); ++set) {
      const int rank = sets[set].front();
      const auto sources = static_cast<std::int64_t>(sources_of(program_, fusion_, rank).size());
      const std::int64_t bytes = sources * chunks_.at(rank) * wire_bytes(exchange, dtype());
      if (exchange.bytes_of_set(set) == bytes) continue;
      fail(fmt::format("{} has {} bytes for rank {}, and the vectors have {}", op_text(exchange),
                       exchange.bytes_of_set(set), rank, bytes),
           "A vector for each bag of all ranks served, of all columns");
    }
  }

  // `returns`: vectors go to who asked; else gradients come from there.
  void check_exchange(const Op& exchange, bool returns) const {
    const ByteMatrix matrix = resolve_matrix(program_, exchange.matrix);
    for (const std::vector<int>& set : program_.groups.at(exchange.group)) {
      const int members = static_cast<int>(set.size());
      for (int giver = 0; giver < members; ++giver) {
        const std::int64_t bytes = chunks_.at(set[static_cast<std::size_t>(giver)]) * wire_bytes(exchange, dtype());
        for (int source = 0; source < members; ++source) {
          const std::int64_t moved =
              returns ? matrix.bytes_between(giver, source, members) : matrix.bytes_between(source, giver, members);
          if (moved == bytes) continue;
          if (exchange.dtype == "fp8" && fusion_.codec.any()) refuse_scales(places_, exchange);
          fail(fmt::format("{} moves {} bytes between members {} and {} of its group, and the vectors have {}",
                           op_text(exchange), moved, giver, source, bytes),
               "A vector for each bag of the one who asked, of all columns of the other");
        }
      }
    }
  }

  [[noreturn]] void fail(const std::string& wrong, const std::string& remedy) const {
    refuse(places_, program_.op(fusion_.lookup), wrong, remedy);
  }

  const Program& program_;
  const ProgramPlaces& places_;
  const Fusion& fusion_;
  std::map<int, std::int64_t> chunks_;  // by rank: elements of a chunk
};

}  // namespace

void check_pooled(const Program& program, const ProgramPlaces& places, const Fusion& fusion) {
  PooledCheck(program, places, fusion).run();
}

}  // namespace shardsim
