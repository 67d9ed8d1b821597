#include "models/workload/workload_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

namespace shardsim {

namespace {

bool has_kind(const std::vector<Table>& tables, TableKind kind) {
  return std::ranges::find(tables, kind, &Table::kind) != tables.end();
}

// The vectors above the bottom layers: those of all features, and the output of these layers.
struct Vectors {
  std::int64_t count = 0, columns = 0;
  std::int64_t bottom = 0;  // columns of the bottom layers' output, which are among them; 0: there are none

  std::int64_t pairs() const { return count * (count - 1) / 2; }
  std::int64_t pairs_with_themselves() const { return count * (count + 1) / 2; }
};

Vectors vectors_of(const Workload& workload) {
  Vectors vectors;
  for (const Table& table : workload.tables) {
    vectors.count += std::ssize(table.features);
    vectors.columns += std::ssize(table.features) * table.dim;
  }
  const auto& layers = workload.dense.layers;
  const auto above = std::ranges::find_if_not(layers, is_bottom);
  if (above == layers.begin()) return vectors;
  vectors.bottom = std::prev(above)->out;
  vectors.count += 1;
  vectors.columns += vectors.bottom;
  return vectors;
}

// The first layer above those at the bottom and the products of the interaction; null where that is no product of a
// sample.
const DenseLayer* first_above(const DensePart& dense) {
  auto layer = std::ranges::find_if_not(dense.layers, is_bottom);
  const std::ptrdiff_t products = dense.interaction == "dot" ? 1 : dense.interaction == "dcn" ? 2 : 0;
  if (dense.layers.end() - layer <= products) return nullptr;
  layer += products;
  return layer->attention || layer->per_item ? nullptr : &*layer;
}

// With the columns of the bottom layers beside the products, as in DLRM, or without.
std::vector<std::int64_t> widths_of_dot(const Vectors& vectors) {
  return {vectors.pairs() + vectors.bottom, vectors.pairs(), vectors.pairs_with_themselves() + vectors.bottom,
          vectors.pairs_with_themselves()};
}

std::vector<std::int64_t> usual_widths(const DensePart& dense, const Vectors& vectors) {
  if (dense.interaction == "dot") return widths_of_dot(vectors);
  std::vector<std::int64_t> widths = {vectors.columns};
  if (dense.interaction == "dcn") return widths;
  widths.push_back(vectors.columns - vectors.bottom);
  for (const std::int64_t width : widths_of_dot(vectors)) widths.push_back(width);
  return widths;
}

// As it is, or padded for the matrix units, as MLPerf's 479 columns to 480.
bool fits(std::int64_t columns, std::int64_t width) {
  constexpr std::int64_t kPaddings[] = {1, 4, 8};
  return std::ranges::any_of(kPaddings, [&](std::int64_t of) { return columns == (width + of - 1) / of * of; });
}

std::string dot_text(const Vectors& vectors) {
  return vectors.bottom == 0 ? fmt::format("{}", vectors.pairs())
                             : fmt::format("{} ({} products and the {} columns of the bottom layers)",
                                           vectors.pairs() + vectors.bottom, vectors.pairs(), vectors.bottom);
}

std::string due_text(const DensePart& dense, const Vectors& vectors) {
  if (dense.interaction == "dot")
    return fmt::format("the interaction dot of {} vectors gives {}", vectors.count, dot_text(vectors));
  if (dense.interaction == "dcn")
    return fmt::format("the interaction dcn of {} vectors gives {}", vectors.count, vectors.columns);
  return fmt::format("side by side the {} vectors below it have {}, and an interaction dot of them gives {}",
                     vectors.count, vectors.columns, dot_text(vectors));
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

std::string dense_width_note(const Workload& workload) {
  const DensePart& dense = workload.dense;
  const DenseLayer* const layer = first_above(dense);
  const Vectors vectors = vectors_of(workload);
  const bool known = std::ranges::all_of(workload.tables, &Table::vector_per_feature);
  if (layer == nullptr || !known || (dense.interaction == "none" && vectors.bottom == 0)) return "";
  const std::vector<std::int64_t> widths = usual_widths(dense, vectors);
  if (std::ranges::any_of(widths, [&](std::int64_t width) { return fits(layer->in, width); })) return "";
  return fmt::format("Layer '{}' reads {} columns, but {}. Check its 'in': the time of the layer depends on it.",
                     layer->name, layer->in, due_text(dense, vectors));
}

}  // namespace shardsim
