#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "program/program.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/iteration_programs.h"
#include "validate/execute/fusion/pooled_layout.h"
#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// The kernels' type of a table's elements. Errors (Failure::input at `place`): int8, which has no kernel.
ElementType element_type(Dtype dtype, const Place& place);

// The kernels' settings for an operation's optimizer; in a check of the data always plain SGD of learning rate 1.
// Errors (Failure::input at `place`): one that the executor has no kernel for.
OptimizerSettings optimizer_settings(const std::string& optimizer, bool check_data, const Place& place);
// One call of the embedding kernels. A call of a pooled lookup is a block of the rank's chunks (pooled_layout.h), for
// all sources at once. Its bags lie source after source, in the order of sources_of; its vectors, [bags][dim], are the
// block in each chunk. A sequence lookup is one call, which copies the row of every id as it is.
struct LookupCall {
  std::size_t part = 0;               // which of the fusion's lookups makes it
  bool on_host = false;               // reads and updates rows in the memory of the host
  bool pooled = false;                // sums of bags in fp32; else the rows themselves, in the type of the table
  VectorChunk::Block block;           // pooled
  TableBatch tables;                  // of the rank's arena; a shard that lies on other ranks has no rows and no ids
  std::vector<std::int64_t> offsets;  // pooled: as TableBatch has them; from 0
  std::int64_t first_id = 0;          // of the ids served, call after call
  std::int64_t ids = 0;
};

// The calls, ids and sizes of buffers that one rank arranges for one fusion, the same for a CPU rank and a GPU. Chunks
// of exchanges lie back to back by position in the exchange group. A "vector" is a row of a sequence lookup, or the sum
// of a bag.
//
//   ids asked (exchange of ids) -> ids served, put in the order of the calls -> lookup -> vectors served
//     (reduce_scatter, which leaves the own chunk; all_to_all) -> vectors returned
//   gradients of those (all_to_all; all_gather) -> gradients of the vectors served -> update
//
// Without an exchange ids served, vectors returned and their gradients are those of the own batch. Where sums end in
// the own chunk, that chunk of the vectors served is what is returned, and so with gradients.
struct LookupBuffers {
  Fusion fusion;
  RankRows rows;
  ElementType type = ElementType::fp32;
  std::vector<LookupCall> calls;
  std::int64_t chunk_elements = 0;        // pooled
  std::int64_t sources = 0;               // pooled: chunks of the vectors served
  std::vector<ReturnedVectors> returned;  // of the own batch
  std::int64_t asked = 0, served = 0;     // ids
  // [served] where in the order of the wire the ids of the calls lie; empty: they are in that order.
  std::vector<std::int64_t> order;
  int id_bytes = 8;  // on the wire
  // Bytes of vectors and of their gradients: in the type of the kernels, or what the wire takes where that is more.
  struct Sizes {
    std::int64_t served = 0;    // all chunks here, partial sums too
    std::int64_t own = 0;       // bytes before the own chunk in them
    std::int64_t returned = 0;  // of who asked; 0: that is the own chunk
  };
  Sizes vectors, gradients;  // the latter fp32

  // Where codecs convert vectors, on the way out or back, what they convert: the kernels' memory and the wire's are
  // two.
  struct Coded {
    Dtype sum = Dtype::fp32, exchange = Dtype::fp32;  // on the wire, of each step that there is
    std::int64_t served = 0;                          // elements of all chunks
    std::int64_t own_first = 0, own = 0;              // where sums end, those of the own chunk; else all
    std::int64_t returned = 0;                        // of who asked
  };
  Coded coded, coded_gradients;

  // The elements of the dense gradient that each of fusion.reduces sums: buckets fill from the end of the rows, and a
  // single one may be longer than the rows.
  struct Reduced {
    std::int64_t first = 0, count = 0;
  };
  std::vector<Reduced> reduced;
  std::int64_t dense_elements = 0;  // 0: gradients are applied as they come

  bool exchanges() const { return fusion.ids >= 0; }
  // One block fills whole chunks: the kernels write and read the buffers of the wire themselves.
  bool direct() const { return calls.size() == 1; }
  // True when a part's gradients are summed into dense ones before they are applied, as those of replicated rows are.
  bool sums(std::size_t part) const { return fusion.parts[part].apply >= 0; }
  std::int64_t largest_call() const;  // elements of vectors, of all sources
};

// Returns the buffers of every fusion that the Program has, in the order of fusions_of. Errors (Failure::input naming
// the operation): rows of different widths in one sequence lookup, int8 rows; what fusions_of refuses.
std::vector<LookupBuffers> lookup_buffers(const Program& program, const ProgramPlaces& places, int rank);

// Returns the buffers for several Programs that are alike but for their sizes: [fusion][Program].
std::vector<std::vector<LookupBuffers>> lookup_buffers(const IterationPrograms& programs, int rank);

// The buffers among them to which most vectors are returned. Those of another Program are a first part of them.
const LookupBuffers& most_returned(const std::vector<LookupBuffers>& turns);

// Returns for each part the settings of the operation that updates its rows; plain SGD where there is none.
std::vector<OptimizerSettings> part_settings(const Program& program, const LookupBuffers& buffers, bool check_data);

std::int64_t elements_of(const std::vector<ReturnedVectors>& returned);

}  // namespace shardsim
