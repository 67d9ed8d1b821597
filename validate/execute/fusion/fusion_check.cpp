#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

constexpr std::int64_t kRowsOfFourBytes = std::int64_t{1} << 31;

class FusionCheck {
 public:
  FusionCheck(const Program& program, const ProgramPlaces& places, const Fusion& fusion)
      : program_(program), places_(places), fusion_(fusion), lookup_(program.op(fusion.lookup)) {}

  void run() const {
    for (const int index : fusion_.shards) check_shard(index);
    if (fusion_.ids < 0) {
      for (const int rank : program_.ranks_of(lookup_)) check_holders({rank});
    } else {
      for (const Fusion::Part& part : fusion_.parts) check_ranks(program_.op(part.lookup));
      for (std::size_t set = 0; set < sets(fusion_.ids).size(); ++set) check_set(set);
      if (!fusion_.pooled) check_exchange(fusion_.output, true);
      if (!fusion_.pooled && fusion_.gradient_exchange >= 0) check_exchange(fusion_.gradient_exchange, false);
    }
    check_replicas();
    check_codec(fusion_.codec, fusion_.scatter, fusion_.output);
    check_codec(fusion_.gradient_codec, fusion_.gather, fusion_.gradient_exchange);
    if (fusion_.pooled) check_pooled(program_, places_, fusion_);
  }

 private:
  const std::vector<std::vector<int>>& sets(int id) const { return program_.groups.at(program_.op(id).group); }

  void check_shard(int index) const {
    const Program::Shard& held = program_.shard(index);
    const bool by_rows = in_rows(held.strategy);
    if (!by_rows && held.strategy != Strategy::data_parallel && held.holders.front().size() != 1) {
      fail(fmt::format("shard {} is {} and has several holders", index, strategy_name(held.strategy)),
           "Rows are cut over several ranks in row_wise, table_row_wise, grid_shard and flex shards only");
    }
    if (held.order == "row_id" && (held.row_begin != 0 || held.row_end != program_.table_of(index).rows)) {
      fail(fmt::format("shard {} is part of a table in the order of row ids", index),
           "Ids are drawn by popularity: write all rows, or the order popularity");
    }
  }

  // Every rank that looks up is in the exchange, so that it has owners to ask.
  void check_ranks(const Op& lookup) const {
    std::vector<int> members;
    for (const std::vector<int>& set : sets(fusion_.ids)) members.insert(members.end(), set.begin(), set.end());
    std::ranges::sort(members);
    std::vector<int> ranks = program_.ranks_of(lookup);
    std::ranges::sort(ranks);
    if (ranks != members) {
      fail(fmt::format("its ranks are not those of {}, which brings its ids", op_text(program_.op(fusion_.ids))),
           "Let the same ranks run both, as workloads with embedding_kernels: fused do");
    }
  }

  // Each piece of each shard is held once among those whom a rank can ask.
  void check_holders(const std::vector<int>& owners) const {
    for (const int index : fusion_.shards) {
      std::map<int, int> holders;
      for (const int rank : owners) ++holders[row_shard_of(program_.shard(index), rank)];
      holders.erase(-1);
      for (int piece = 0; piece < row_shards(program_.shard(index)); ++piece) {
        if (row_shard_rows(program_.shard(index), piece) == 0 || holders[piece] == 1) continue;
        fail(fmt::format("rank {} can ask {} ranks for the rows of shard {}, piece {}", owners.front(), holders[piece],
                         index, piece),
             "Each row has one owner among the ranks that exchange ids, or lies on the rank that reads it");
      }
    }
  }

  void check_set(std::size_t index) const {
    const std::vector<int>& set = sets(fusion_.ids)[index];
    check_holders(set);
    const ByteMatrix ids = resolve_matrix(program_, program_.op(fusion_.ids).matrix, index);
    if (ids.unit_bytes != program_.id_bytes) {
      fail(fmt::format("the exchange of its ids counts in units of {} bytes", ids.unit_bytes),
           fmt::format("An id has {}", program_.id_bytes));
    }
    const int members = static_cast<int>(set.size());
    for (int owner = 0; owner < members; ++owner) {
      const int rank = set[static_cast<std::size_t>(owner)];
      const RankRows held = rank_rows(program_, fusion_, rank);
      check_width(held, rank);
      if (ids.bytes_received(owner, members) == 0 || held.rows > 0) continue;
      fail(fmt::format("rank {} is asked for rows and holds none of them", rank),
           "Ask those who hold rows, or spread the rows over fewer ranks");
    }
  }

  // An id on the wire counts rows of the rank, or of one of its pieces where bags are looked up.
  void check_width(const RankRows& held, int rank) const {
    if (program_.id_bytes == 8) return;
    std::int64_t rows = fusion_.pooled ? 0 : held.rows;
    for (const RankRows::Part& part : held.parts) rows = std::max(rows, part.rows);
    if (rows < kRowsOfFourBytes) return;
    fail(fmt::format("ids of 4 bytes would number {} rows of rank {}", rows, rank),
         "They number less than 2^31: use ids of 8 bytes (id_bytes), or more ranks");
  }

  // `returns`: rows go from the owner to who asked; else gradients go the way of the ids. Rows of several widths are
  // refused where their buffers are arranged.
  void check_exchange(int id, bool returns) const {
    const Op& exchange = program_.op(id);
    std::set<std::int64_t> widths;
    for (const int index : fusion_.shards) {
      widths.insert(program_.shard(index).columns() * wire_bytes(exchange, program_.table_of(index).dtype));
    }
    if (widths.size() > 1) return;
    const MatrixUse& brings = program_.op(fusion_.ids).matrix;
    const std::size_t different = brings.per_set || exchange.matrix.per_set ? sets(id).size() : 1;
    for (std::size_t set = 0; set < different; ++set) {
      const ByteMatrix ids = resolve_matrix(program_, brings, set);
      const ByteMatrix rows = resolve_matrix(program_, exchange.matrix, set);
      if (rows.unit_bytes == *widths.begin() && same_counts(rows, ids, returns)) continue;
      check_rows(exchange, ids, rows, *widths.begin(), returns);
    }
  }

  void check_rows(const Op& exchange, const ByteMatrix& ids, const ByteMatrix& rows, std::int64_t width,
                  bool returns) const {
    const int members = static_cast<int>(sets(exchange.id).front().size());
    for (int source = 0; source < members; ++source) {
      for (int owner = 0; owner < members; ++owner) {
        const std::int64_t moved =
            returns ? rows.bytes_between(owner, source, members) : rows.bytes_between(source, owner, members);
        if (moved != width * ids.units_between(source, owner, members)) misfit(exchange, source);
      }
    }
  }

  std::string matrix_name(const Op& exchange) const {
    return excerpt(program_.matrices[static_cast<std::size_t>(exchange.matrix.index)].name);
  }

  // The usual case, without a look at every pair.
  static bool same_counts(const ByteMatrix& rows, const ByteMatrix& ids, bool returns) {
    return rows.kind == ids.kind && rows.units == ids.units && rows.dense == ids.dense &&
           (rows.transposed != ids.transposed) == returns;
  }

  [[noreturn]] void misfit(const Op& exchange, int source) const {
    if (exchange.dtype == "fp8" && fusion_.codec.any()) refuse_scales(places_, exchange);
    fail(fmt::format("{} does not move one row for each id that member {} of its group asked for", op_text(exchange),
                     source),
         fmt::format("Make the counts of matrix {} those of matrix {}, from owner to source or the other way round",
                     matrix_name(exchange), matrix_name(program_.op(fusion_.ids))));
  }

  // The kernels have no codec of int8, which needs a scale for every few elements. Sums have none of fp8.
  void check_codec(const Fusion::Codec& codec, int sum, int exchange) const {
    for (const int id : {sum, exchange})
      if (id >= 0 && program_.op(id).dtype == dtype_name(Dtype::mx4))
        refuse(places_, program_.op(id), "it sends mx4, whose elements are half a byte, which the executor has not",
               "Choose wire_dtype fp16, bf16 or fp8");
    if (!codec.any()) return;
    for (const int id : {sum, exchange}) {
      if (id < 0) continue;
      const Dtype type = wire_type(program_.op(id), Dtype::int8);
      if (type != Dtype::int8 && (type != Dtype::fp8 || id == exchange)) continue;
      refuse(places_, program_.op(id),
             fmt::format("it sends {}, which the executor has no codec for", excerpt(program_.op(id).dtype)),
             "Choose wire_dtype fp16, bf16 or fp8, or leave its 'kernels' out");
    }
  }

  // Ranks that hold the same piece; sorted, and only where there are several.
  std::set<std::vector<int>> replicas(const Program::Shard& held) const {
    std::vector<std::vector<int>> by_piece(static_cast<std::size_t>(row_shards(held)));
    for (const std::vector<int>& set : held.holders) {
      for (const int rank : set) by_piece[static_cast<std::size_t>(row_shard_of(held, rank))].push_back(rank);
    }
    std::set<std::vector<int>> found;
    for (std::vector<int>& ranks : by_piece) {
      std::ranges::sort(ranks);
      if (ranks.size() > 1) found.insert(ranks);
    }
    return found;
  }

  void check_replicas() const {
    if (fusion_.parts.front().gradient < 0) return;
    std::set<std::vector<int>> needed, summed;
    for (const int index : fusion_.shards) needed.merge(replicas(program_.shard(index)));
    for (const int reduce : fusion_.reduces) add_sets(reduce, summed);
    if (needed == summed) return;
    check_averaged(needed);
    if (averaged(program_, fusion_)) return;
    if (fusion_.reduces.empty() && joins_dense_part()) {
      fail("the gradients of its rows are summed in one all-reduce with those of the dense part, which is not executed",
           "Lower the workload with dense.all_reduce.calls: buckets");
    }
    fail(needed.empty() ? "its rows have one holder each, and their gradients are summed over several ranks"
                        : "the gradients of its rows are not summed over the ranks that hold the same ones",
         "Rows with copies need an all_reduce over their holders between two updates, other rows none");
  }

  void add_sets(int op, std::set<std::vector<int>>& all) const {
    for (std::vector<int> set : sets(op)) {
      std::ranges::sort(set);
      if (set.size() > 1) all.insert(set);
    }
  }

  // Copies in several sharding groups, which an all_reduce in the role average_replicas makes equal.
  void check_averaged(const std::set<std::vector<int>>& needed) const {
    if (!averaged(program_, fusion_)) return;
    const auto scatters = [&](const Op& op) { return op.role == OpRole::scatter_rows && op.fusion == lookup_.fusion; };
    if (std::ranges::any_of(program_.ops, scatters))
      fail("its rows are shared among their replicas between the lookup and the update, which is not executed",
           "Lower the case without sharding_groups.strategy: fully_sharded");
    std::set<std::vector<int>> means;
    for (const Op& op : program_.ops) {
      if (op.role == OpRole::average_replicas) add_sets(op.id, means);
    }
    if (std::ranges::includes(means, needed)) return;
    fail("nothing averages its rows over the sharding groups that hold copies of them",
         "Let an all_reduce in the role average_replicas, over the ranks that hold the same rows, follow its update");
  }

  bool joins_dense_part() const {
    const int apply = fusion_.parts.front().apply;
    return apply >= 0 && std::ranges::any_of(program_.op(apply).after,
                                             [&](int id) { return program_.op(id).role == OpRole::dense_all_reduce; });
  }

  [[noreturn]] void fail(const std::string& wrong, const std::string& remedy) const {
    refuse(places_, lookup_, wrong, remedy);
  }

  const Program& program_;
  const ProgramPlaces& places_;
  const Fusion& fusion_;
  const Op& lookup_;
};

}  // namespace

void refuse_scales(const ProgramPlaces& places, const Op& exchange) {
  refuse(places, exchange, "it sends scales beside its vectors, which the executor does not make",
         "Lower the case again without 'quantize_dim'");
}

void check_fusion(const Program& program, const ProgramPlaces& places, const Fusion& fusion) {
  FusionCheck(program, places, fusion).run();
}

Dtype wire_type(const Op& exchange, Dtype otherwise) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::int8, Dtype::fp8}) {
    if (exchange.dtype == dtype_name(dtype)) return dtype;
  }
  return otherwise;
}

int wire_bytes(const Op& exchange, Dtype otherwise) {
  return dtype_bytes(wire_type(exchange, otherwise));
}

std::string op_text(const Op& op) {
  return fmt::format("operation {} {}", op.id, excerpt(op.name));
}

Place op_place(const ProgramPlaces& places, int op) {
  const auto index = static_cast<std::size_t>(op);
  return index < places.ops.size() ? places.ops[index] : places.program;
}

void refuse(const ProgramPlaces& places, const Op& op, const std::string& wrong, const std::string& remedy) {
  throw input_error(op_place(places, op.id), fmt::format("{}: {}", op_text(op), wrong), remedy);
}

}  // namespace shardsim
