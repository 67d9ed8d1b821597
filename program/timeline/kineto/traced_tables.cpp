#include "program/timeline/kineto/traced_tables.h"

#include <algorithm>
#include <optional>

namespace shardsim {
namespace {

using Shaped = KinetoTrace::Shaped;

// The inputs of FBGEMM's lookup that matter (split_embeddings_lookup, fbgemm_gpu/codegen): rows on host, device and in
// unified memory, offsets of columns, then ids and offsets of bags behind one another, and the optimizer's state.
constexpr std::size_t kWeights = 3, kColumnOffsets = 6;

std::optional<std::int64_t> size_of_input(const Shaped& call, std::size_t index) {
  if (index >= call.dims.size() || call.dims[index].size() != 1) return std::nullopt;
  return call.dims[index][0];
}

// The optimizer's state has a number a row, where it is row-wise.
std::int64_t rows_in_state(const Shaped& call, std::size_t from, const TracedTables& tables) {
  constexpr std::int64_t kMostColumns = 4096;
  for (std::size_t i = from; i < call.dims.size(); ++i) {
    const std::int64_t numbers = size_of_input(call, i).value_or(0);
    const bool some = numbers > tables.tables && numbers != tables.lookups && numbers < tables.values;
    if (some && tables.values / numbers <= kMostColumns) return numbers;
  }
  return 0;
}

std::optional<TracedTables> of_fbgemm(const Shaped& call) {
  TracedTables tables;
  tables.tables = size_of_input(call, kColumnOffsets).value_or(0) - 1;
  if (tables.tables < 1) return std::nullopt;
  for (std::size_t i = 0; i < kWeights; ++i) tables.values += size_of_input(call, i).value_or(0);
  for (std::size_t i = kColumnOffsets + 1; i + 1 < call.dims.size(); ++i) {
    const std::optional<std::int64_t> ids = size_of_input(call, i), offsets = size_of_input(call, i + 1);
    if (!ids || !offsets || *offsets <= tables.tables + 1 || (*offsets - 1) % tables.tables != 0) continue;
    tables.lookups = *ids;
    tables.bags = (*offsets - 1) / tables.tables;
    tables.weighted = size_of_input(call, i + 3) == *ids;
    tables.rows = rows_in_state(call, i + 4, tables);
    tables.half = call.half;
    return tables;
  }
  return std::nullopt;
}

// An EmbeddingBag or an Embedding has one weight, which may be of several tables: then its bags are a multiple of the
// batch.
std::optional<TracedTables> of_pytorch(const Shaped& call, std::int64_t batch) {
  if (call.dims.size() < 2 || call.dims[0].size() != 2 || call.dims[1].empty()) return std::nullopt;
  TracedTables tables;
  tables.rows = call.dims[0][0];
  tables.columns = call.dims[0][1];
  tables.values = tables.rows * tables.columns;
  tables.sequence = call.kind == Shaped::Kind::sequence;
  tables.half = call.half;
  tables.lookups = 1;
  for (const std::int64_t dim : call.dims[1]) tables.lookups *= dim;
  tables.bags =
      tables.sequence ? call.dims[1].size() > 1 ? call.dims[1][0] : batch : size_of_input(call, 2).value_or(0);
  if (tables.bags < 1 || tables.lookups < 1 || tables.rows < 1 || tables.columns < 1) return std::nullopt;
  if (tables.bags % std::max<std::int64_t>(1, batch) == 0 && batch > 0 && !tables.sequence) {
    tables.tables = tables.bags / batch;
    tables.bags = batch;
    tables.columns *= tables.tables;
  }
  return tables;
}

// Backward passes run in the opposite order of the lookups; a gradient has a row for each bag of a table.
void add_columns(std::vector<TracedTables>& tables, std::vector<const Shaped*> gradients) {
  for (TracedTables& each : tables) {
    if (each.columns > 0) continue;
    const auto found = std::find_if(gradients.rbegin(), gradients.rend(), [&](const Shaped* gradient) {
      const auto& dims = gradient->dims.front();
      return dims.size() == 2 && dims[0] == each.bags && dims[1] >= each.tables;
    });
    if (found != gradients.rend()) {
      each.columns = (*found)->dims.front()[1];
      gradients.erase(std::next(found).base());
    } else if (each.rows > 0) {
      each.columns = each.tables * (each.values / each.rows);  // as if all were as wide
    }
  }
}

std::int64_t batch_of(const Shaped& loss) {
  return loss.dims.empty() || loss.dims[0].empty() ? 0 : *std::ranges::max_element(loss.dims[0]);
}

}  // namespace

TracedShapes traced_shapes(const KinetoTrace& trace, double start_us, double end_us) {
  std::vector<const Shaped*> calls;
  for (const Shaped& call : trace.shaped)
    if (call.start_us >= start_us && call.start_us < end_us) calls.push_back(&call);
  std::ranges::stable_sort(calls, {}, &Shaped::start_us);
  TracedShapes shapes;
  std::vector<const Shaped*> gradients;
  for (const Shaped* call : calls) {
    if (call->kind == Shaped::Kind::loss) shapes.batch = std::max(shapes.batch, batch_of(*call));
    if (call->kind == Shaped::Kind::tables_gradient && !call->dims.empty()) gradients.push_back(call);
    if (call->kind == Shaped::Kind::reduced && !call->dims.empty())
      shapes.reduced_elements += size_of_input(*call, 0).value_or(0);
  }
  for (const Shaped* call : calls) {
    const bool fbgemm = call->kind == Shaped::Kind::tables;
    if (!fbgemm && call->kind != Shaped::Kind::bag && call->kind != Shaped::Kind::sequence) continue;
    const std::optional<TracedTables> found = fbgemm ? of_fbgemm(*call) : of_pytorch(*call, shapes.batch);
    if (found) {
      shapes.tables.push_back(*found);
    } else {
      ++shapes.not_understood;
    }
  }
  add_columns(shapes.tables, gradients);
  return shapes;
}

}  // namespace shardsim
