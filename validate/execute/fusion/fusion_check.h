#pragma once

#include "sim/program/program.h"
#include "validate/execute/fusion/fusion.h"

namespace shardsim {

// The part of fusions_of that looks at sizes and holders, once the operations are known.
// Errors (Failure::input naming the lookup): rows read by a rank or a group that does not hold each of them once, an
// exchange of rows whose counts are not those of the ids, replicated rows that are not summed over those who hold them.
void check_fusion(const Program& program, const ProgramPlaces& places, const Fusion& fusion);

// The part of it that pooled lookups need: their exchanges move every bag's vector to the rank that has the bag, once.
// Errors (Failure::input naming the operation): tables of several types, rows cut and not cut in one exchange, pieces
// of a shard whose sums nothing adds up, ranks that get no vectors, sizes other than those of the vectors, `bags` that
// are not those of the batch, tables without bags.
void check_pooled(const Program& program, const ProgramPlaces& places, const Fusion& fusion);

// Bytes of an element on the wire of an exchange: of the type that it names, else of its tables.
int wire_bytes(const Op& exchange, Dtype otherwise);

// "operation 3 "lookup_flex"", and the place of an operation.
std::string op_text(const Op& op);
Place op_place(const ProgramPlaces& places, int op);

}  // namespace shardsim
