#include "models/workload/workload_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "study/notes/notes.h"

namespace shardsim {
namespace {

bool attends(const DenseLayer& layer) {
  return layer.attention && !layer.attention->varying.empty();
}

}  // namespace

// Expected batches: every sample has the mean, but for attention, which knows the law.
Notes lengths_note(const Known& known) {
  if (known.item.load.batches != LoadOptions::Batches::expected) return {};
  const Workload& workload = known.item.workload;
  const auto varies = [](const Table& table) { return table.lengths.family != "fixed"; };
  const auto first = std::find_if(workload.tables.begin(), workload.tables.end(), varies);
  if (first == workload.tables.end()) return {};
  const auto more = std::count_if(std::next(first), workload.tables.end(), varies);
  const bool attention = std::ranges::any_of(workload.dense.layers, attends);
  return {fmt::format(
      "length_distribution of table '{}'{} has no effect here{}: every {} has the mean length. In "
      "reality, ranks that get long samples are slower; 'load: {{batches: drawn}}' simulates that.",
      first->name, more > 0 ? fmt::format(" and {} more", more) : "",
      attention ? " but on attention, which costs as much as on average" : "", attention ? "rank" : "sample")};
}

Notes dense_widths_note(const Known& known) {
  return {dense_width_note(known.item.workload)};
}

Notes workload_note(const Known& known) {
  return workload_notes(known.item.workload);
}

Notes workload_notes(const Workload& workload) {
  Notes notes = {dense_width_note(workload), module_order_text(workload.tables, workload.first_module)};
  std::erase(notes, "");
  return notes;
}

}  // namespace shardsim
