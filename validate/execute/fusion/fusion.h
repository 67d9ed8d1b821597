#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace shardsim {

// The operations that belong together: one lookup (or, of pooled tables, several that share their exchanges), what
// brings its ids and takes its rows away, and what updates its rows. Indices into Program::ops; -1: there is none.
struct Fusion {
  int lookup = -1;               // the first one
  int ids = -1;                  // exchange of ids; -1: the own batch alone
  bool ids_came_before = false;  // they were exchanged in the previous iteration (a pipeline)
  int output = -1;               // exchange of the rows looked up
  int gradient_exchange = -1;
  std::vector<int> reduces{};  // all-reduces of the gradients of replicated rows
  std::vector<int> shards;     // of all its lookups

  struct Part {
    int lookup = -1;
    int gradient = -1;  // the fused update, or the summed gradient of replicated rows
    int apply = -1;     // update of the replicated rows
    std::vector<int> shards;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts{};  // its lookups: one of sequences

  // Pooled lookups. Rows that are cut over ranks make partial sums: `scatter` adds them up, and where the ranks that it
  // adds over are not all who exchanged ids, `output` takes the sums to the others; `gradient_exchange` and `gather`
  // bring the gradients back.
  bool pooled = false;
  int scatter = -1;  // reduce_scatter
  int gather = -1;   // all_gather

  // The passes of codecs (wire_dtype.kernels): into the type of the wire; between the sums of ranks and the exchange of
  // these sums; and out of it.
  struct Codec {
    int encode = -1, recode = -1, decode = -1;
    bool any() const { return encode >= 0; }
    bool operator==(const Codec&) const = default;
  };
  Codec codec{}, gradient_codec{};

  bool operator==(const Fusion&) const = default;
};

// The parts that the executor runs as one, in the order of the lookups: a fusion group of the Program with the
// operations that have their roles in it. Lookups of sequences, and pooled ones that share no exchange and no reduction
// of gradients, are one each.
// - ids_came_before: iteration k exchanges the ids of iteration k + 1 (Op::batches_ahead), and the lookup names the
//   exchange in after_previous.
// - scatter and output: of rows that are cut, partial sums are added up first, then taken to the ranks that the sum did
//   not reach; the way back is an exchange of gradients and `gather`.
// Errors (Failure::input naming the operation): parts that do not fit together, such as an update whose gradients
// nothing brings, an operation that does not wait for its data, matrices whose counts of rows and ids differ, rows that
// no rank of the group holds.
std::vector<Fusion> fusions_of(const Program& program, const ProgramPlaces& places);

// The part of fusions_of that looks at sizes and holders, once the operations are known.
// Errors (Failure::input naming the lookup): rows read by a rank or a group that does not hold each of them once, an
// exchange of rows whose counts are not those of the ids, replicated rows that are not summed over those who hold them.
void check_fusion(const Program& program, const ProgramPlaces& places, const Fusion& fusion);

// The part of it that pooled lookups need: their exchanges move every bag's vector to the rank that has the bag, once.
// Errors (Failure::input naming the operation): tables of several types, rows cut and not cut in one exchange, pieces
// of a shard whose sums nothing adds up, ranks that get no vectors, sizes other than those of the vectors, `bags` that
// are not those of the batch, tables without bags.
void check_pooled(const Program& program, const ProgramPlaces& places, const Fusion& fusion);

// The type of an element on the wire of an exchange: that which it names, else that of its tables. And its bytes.
Dtype wire_type(const Op& exchange, Dtype otherwise);
int wire_bytes(const Op& exchange, Dtype otherwise);

// Refuses vectors that have other sizes than their elements take. Errors: Failure::input, always.
[[noreturn]] void refuse_scales(const ProgramPlaces& places, const Op& exchange);

// "operation 3 "lookup_flex"", and the place of an operation.
std::string op_text(const Op& op);
Place op_place(const ProgramPlaces& places, int op);
[[noreturn]] void refuse(const ProgramPlaces& places, const Op& op, const std::string& wrong,
                         const std::string& remedy);

}  // namespace shardsim
