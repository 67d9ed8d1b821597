#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/workload.h"

namespace shardsim {

// Sentences about a model's modules that the workload leaves open; "" where there is nothing to say.

// That the exchanges of pooled tables and of sequences run in the order of their modules, and which order is taken,
// where the workload does not state it.
std::string module_order_text(const std::vector<Table>& tables, const std::optional<TableKind>& stated);

// The columns of the sequences, each once and the fewest first. TorchRec needs an EmbeddingCollection for each.
std::vector<std::int64_t> sequence_dims(const std::vector<Table>& tables);

// That sequences of several dimensions are simulated as one module.
std::string fused_sequences_text(const std::vector<Table>& tables);

std::string_view kind_name(TableKind kind);  // "pooled", "sequence"

}  // namespace shardsim
