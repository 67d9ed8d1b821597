#include "models/workload/module_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace shardsim {
namespace {

bool has_kind(const std::vector<Table>& tables, TableKind kind) {
  return std::ranges::find(tables, kind, &Table::kind) != tables.end();
}

}  // namespace

std::string_view kind_name(TableKind kind) {
  return kind == TableKind::pooled ? "pooled" : "sequence";
}

std::string module_order_text(const std::vector<Table>& tables, const std::optional<TableKind>& stated) {
  if (stated || !has_kind(tables, TableKind::pooled) || !has_kind(tables, TableKind::sequence)) return "";
  const TableKind first = tables.front().kind;
  return fmt::format(
      "The {} module comes first in the forward pass, because table '{}' is the first one. Exchanges run in the order "
      "of the modules in the model's code, which may decide much of an iteration: 'modules: {{first: {}}}' in the "
      "workload states it, {} the other order.",
      kind_name(first), tables.front().name, kind_name(first), kind_name(other_kind(first)));
}

std::vector<std::int64_t> sequence_dims(const std::vector<Table>& tables) {
  std::set<std::int64_t> dims;
  for (const Table& table : tables)
    if (table.kind == TableKind::sequence) dims.insert(table.dim);
  return {dims.begin(), dims.end()};
}

std::string fused_sequences_text(const std::vector<Table>& tables) {
  const std::vector<std::int64_t> dims = sequence_dims(tables);
  if (dims.size() < 2) return "";
  return fmt::format(
      "Sequences have {} dimensions ({}), for each of which TorchRec needs an EmbeddingCollection of its own. Here "
      "they are one module, which exchanges them together.",
      dims.size(), fmt::join(dims, ", "));
}

}  // namespace shardsim
