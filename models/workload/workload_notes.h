#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/workload.h"

namespace shardsim {

// Sentences about what a workload leaves open of a model's modules, or states in two ways; "" where
// there is nothing to say.

// That the exchanges of pooled tables and of sequences run in the order of their modules, and which order is taken,
// where the workload does not state it.
std::string module_order_text(const std::vector<Table>& tables, const std::optional<TableKind>& stated);

// The columns of the sequences, each once and the fewest first. TorchRec needs an EmbeddingCollection for each.
std::vector<std::int64_t> sequence_dims(const std::vector<Table>& tables);

// That sequences of several dimensions are simulated as one module.
std::string fused_sequences_text(const std::vector<Table>& tables);

std::string_view kind_name(TableKind kind);  // "pooled", "sequence"

// A sentence where the first layer above the bottom ones reads another number of columns than the interaction gives, or
// than any usual one would where the workload states none; "" where it fits, or where too little is known to say.
std::string dense_width_note(const Workload& workload);

}  // namespace shardsim
