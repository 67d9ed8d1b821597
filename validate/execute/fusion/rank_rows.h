#pragma once

#include <cstdint>
#include <vector>

#include "models/access/row_hash.h"
#include "program/program.h"
#include "validate/execute/fusion/fusion.h"

namespace shardsim {

// The rows that one rank holds of a fusion's shards: local rows of its shards one after the other, in one arena. On the
// wire the id of a sequence is the running number of the row there.
struct RankRows {
  struct Part {
    int shard = 0;                   // of Program::shards
    int position = 0;                // which row shard of it
    int copy = 0;                    // of Program::Shard::holders: which set has it
    std::int64_t first_row = 0;      // running number of its first row
    std::int64_t rows = 0;           // may be 0: more shards than rows
    std::int64_t dim = 0;            // columns of the shard
    bool on_host = false;            // in the memory of the host, which the device's kernels reach
    std::int64_t first_element = 0;  // of the arena; rows on the host have one of their own
  };
  std::vector<Part> parts;  // in the order of Fusion::shards; shards that the rank holds nothing of are left out
  std::int64_t rows = 0;
  std::int64_t elements = 0, host_elements = 0;

  const Part& part_of(std::int64_t row) const;  // by running number, in [0, rows)
};

RankRows rank_rows(const Program& program, const Fusion& fusion, int rank);

// True when the rows of a fusion's lookup lie in host memory (TorchRec's kernel fused_uvm): its operation moves
// host_bytes.
bool on_host(const Program& program, const Fusion::Part& part);

// A shard of Program::shards is cut by rows over its holders: into one piece per rank of a set (row_wise, flex), else
// one piece. Where the rows do not divide, the first pieces hold one row more, or, cut in blocks, the last ones fewer.
int row_shards(const Program::Shard& shard);
std::int64_t row_shard_rows(const Program::Shard& shard, int position);
int row_shard_of(const Program::Shard& shard, int rank);  // the piece that the rank holds; -1: none
// Which of Program::Shard::holders has the rank; their count where none does.
int holders_of(const Program::Shard& shard, int rank);

// True when several sharding groups hold the rows, each a copy that is trained with its own batch and averaged with the
// others now and then. Copies of flex and replicated rows get the gradients of all ranks.
bool averaged(const Program::Shard& shard);
bool averaged(const Program& program, const Fusion& fusion);

// Returns where the row at `position` of the popularity order lives (docs/formats/plan.md, hash "feistel_splitmix/1"):
// its piece, and its row there. The position is in [row_begin, row_end). A shard in the order of row ids holds its
// whole table.
RowOwner row_owner(const Program& program, const Program::Shard& shard, std::uint64_t position);

// The seat of one rank in a collective: the rank set that holds it and its position there.
struct Seat {
  std::vector<int> ranks;
  int position = 0;
  std::size_t set = 0;  // which rank set of the group
};
Seat seat_of(const Program& program, const Op& op, int rank);

// The rank set of an operation's group that holds `rank`; {rank} for no operation (-1). Empty outside.
std::vector<int> set_of(const Program& program, int op, int rank);

// Bytes that one rank gives to and takes from a collective, own chunk included. all_reduce, broadcast: the buffer;
// all_gather, reduce_scatter: the whole vector on both sides.
struct CollectiveBytes {
  std::int64_t in = 0, out = 0;
};
CollectiveBytes collective_bytes(const Program& program, const Op& op, int rank);

// The part of a compute operation on `rank`: PerRank values are by position among the operation's ranks.
double value_on(const Program& program, const Op& op, const PerRank& values, int rank);
bool takes_part(const Program& program, const Op& op, int rank);

}  // namespace shardsim
