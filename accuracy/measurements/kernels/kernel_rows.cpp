#include "accuracy/measurements/kernels/kernel_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "accuracy/measurements/read/measurements.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "models/compute/kernels/kernels.h"

namespace shardsim {
namespace {

using RowKind = EmbeddingRow::Kind;

// The beginning of a row's operation, its kind and sizes, and the reason why it is no kernel that is predicted.
struct OpEntry {
  const char* word;
  KernelKind kind;
  RowKind sizes;
  const char* why_not = "";
};

// Longer words before those that they begin with.
constexpr OpEntry kOps[] = {
    {"tbe_fwd+bwd", KernelKind::lookup_and_update, RowKind::update},
    {"tbe_fwd", KernelKind::lookup, RowKind::lookup},
    {"tbe_bwd", KernelKind::update, RowKind::update},
    {"nobag_fwd", KernelKind::lookup, RowKind::gather},
    {"nobag_bwd", KernelKind::update, RowKind::scatter},
    {"sort_pairs", KernelKind::sort, RowKind::sort},
    {"sort_keys", KernelKind::sort, RowKind::sort},
    {"gemm", KernelKind::product, RowKind::gemm},
    {"copy", KernelKind::copy, RowKind::copy},
    {"host_copy", KernelKind::copy, RowKind::copy, "a copy between host and device"},
    {"cache_read", KernelKind::copy, RowKind::copy, "reads of the cache alone"},
    {"empty_call", KernelKind::copy, RowKind::empty, "a launch without work"},
    {"tbe_infer_fwd", KernelKind::lookup, RowKind::lookup, "inference of quantised rows"},
    {"tbe-like", KernelKind::lookup, RowKind::lookup, "its inputs are ambiguous"},
    {"emb_fwd+bwd", KernelKind::lookup_and_update, RowKind::update, "a framework on a CPU"},
    {"emb_fwd", KernelKind::lookup, RowKind::lookup, "a framework on a CPU"},
    {"regroup", KernelKind::copy, RowKind::copy, "no kernel of the model"},
    {"index_select", KernelKind::copy, RowKind::copy, "no kernel of the model"},
    {"train step", KernelKind::copy, RowKind::empty, "a whole iteration"},
    {"full training iteration", KernelKind::copy, RowKind::empty, "a whole iteration"},
};

const OpEntry& op_entry(const std::string& op, const Place& place) {
  std::vector<std::string> known;
  for (const OpEntry& entry : kOps) {
    const std::string_view word = entry.word;
    if (op.starts_with(word) && (op.size() == word.size() || op[word.size()] == ' ' || op[word.size()] == ','))
      return entry;
    known.emplace_back(word);
  }
  throw input_error(place, "unknown kind of operation " + excerpt(op), known_names_hint(op, known));
}

std::string cell_of(const CsvTable& table, const CsvTable::Row& row, std::string_view column) {
  const auto at = table.column(column);
  return at ? row.cells[*at] : std::string();
}

// Optimizers as the sources call them, by the names of a workload.
std::string optimizer_named(const std::string& said) {
  const auto has = [&](const char* word) { return said.find(word) != std::string::npos; };
  if (has("row-wise adagrad") || has("rowwise_adagrad") || said == "benchmark default") return "rowwise_adagrad";
  if (has("adagrad")) return "adagrad";
  if (has("adam")) return "adam";
  return has("sgd") ? "sgd" : said;
}

std::string why_unreadable(const OpEntry& entry, const CsvTable& table, const CsvTable::Row& cells) {
  if (*entry.why_not != '\0') return entry.why_not;
  if (cell_of(table, cells, "quality").starts_with("C")) return "its inputs are not known (quality C)";
  if (cell_of(table, cells, "num_gpus") == "0") return "a CPU";
  const std::string law = cell_of(table, cells, "index_distribution");
  for (const char* const skewed : {"zipf", "power law", "Criteo"})
    if (law.find(skewed) != std::string::npos) return "skewed indices, of whose different rows nothing is said";
  return "";
}

KernelRow row_of(const CsvTable& table, const CsvTable::Row& cells) {
  KernelRow row;
  row.op = cell_of(table, cells, "op");
  const OpEntry& entry = op_entry(row.op, cells.place);
  row.kind = entry.kind;
  row.only_keys = std::string_view(entry.word) == "sort_keys";
  row.id = cell_of(table, cells, "id");
  row.quality = cell_of(table, cells, "quality");
  row.software = cell_of(table, cells, "software");
  row.source = cell_of(table, cells, "source");
  row.sizes.place = cells.place;
  row.sizes.gpu = cell_of(table, cells, "gpu");
  if (row.sizes.gpu.empty())
    throw input_error(cells.place, "the row names no GPU", "Name it in column gpu, or write \"not stated\"");
  row.names_gpu = !row.sizes.gpu.starts_with("not stated");
  row.in_place = row.software.starts_with("table_batched_embeddings");
  row.out_of_model = why_unreadable(entry, table, cells);
  if (!row.out_of_model.empty()) return row;
  if (auto sizes = read_embedding_row(table, cells, entry.sizes)) {
    row.sizes = std::move(*sizes);
    row.sizes.optimizer = optimizer_named(row.sizes.optimizer);
  } else {
    row.out_of_model = "a size is no number";
  }
  return row;
}

bool is_lookup_kind(KernelKind kind) {
  return kind == KernelKind::lookup || kind == KernelKind::update || kind == KernelKind::lookup_and_update;
}

SortWork sort_of(const KernelRow& row) {
  SortWork sort;
  sort.key_bits = static_cast<int>(std::ceil(std::log2(row.sizes.rows)));
  sort.key_bytes = row.sizes.dtype.ends_with("64") ? 8 : 4;
  sort.value_bytes = row.only_keys ? 0 : static_cast<int>(row.sizes.dim);
  return sort;
}

double state_bytes(const EmbeddingRow& row) {
  constexpr double kElement = 4;
  if (row.optimizer == "rowwise_adagrad") return kElement;
  if (row.optimizer == "adagrad") return kElement * row.dim;
  return row.optimizer == "adam" ? 2 * kElement * row.dim : 0;
}

RowWork rows_of(const KernelRow& kernel) {
  constexpr double kVectorElement = 4;
  const EmbeddingRow& row = kernel.sizes;
  const bool is_pooled = row.kind == RowKind::lookup || row.kind == RowKind::update;
  RowWork rows;
  rows.distinct = row.distinct_rows();
  rows.distinct_growth = even_growth(row.batch * row.pooling, row.rows);
  rows.bytes = row.row_bytes();
  rows.table_rows = row.tables * row.rows;
  rows.table_count = row.tables;
  rows.vectors = is_pooled ? row.tables * row.batch : 0;
  rows.vector_bytes = kVectorElement * row.dim;
  rows.id_bytes = kernel.in_place ? 4 : 8;  // table_batched_embeddings has ids of 4 bytes
  rows.update_bytes = 2 * (row.row_bytes() + state_bytes(row));
  rows.is_warm = row.warm;
  rows.in_place = kernel.in_place;
  return rows;
}

ComputeWork row_work(const KernelRow& kernel, ComputeWork::Kind kind) {
  EmbeddingRow row = kernel.sizes;
  if (kind == ComputeWork::Kind::lookup && row.kind == RowKind::update) row.kind = RowKind::lookup;
  ComputeWork work;
  work.kind = kind;
  work.hbm_bytes = row.hbm_bytes();
  work.lookups = row.lookups();
  work.optimizer = row.optimizer;
  work.sorted_update = kind == ComputeWork::Kind::update && !kernel.in_place;
  work.rows = rows_of(kernel);
  return work;
}

constexpr const char* kKernelMapSchema = "shardsim.kernel_map/1";

KernelMap::Rule rule_of(const Tree& tree, bool names_gpu) {
  MapReader reader(tree, "");
  KernelMap::Rule rule;
  rule.source = reader.text("source", "");
  rule.op = reader.text("op", "");
  rule.software = reader.text("software", "");
  rule.gpu_cell = reader.text("gpu_cell", "");
  rule.quality = reader.text("quality", "");
  rule.reason = reader.text("reason");
  if (names_gpu) rule.gpu = reader.text("gpu");
  reader.finish();
  if (rule.source.empty() && rule.op.empty() && rule.software.empty() && rule.gpu_cell.empty() && rule.quality.empty())
    throw input_error(tree.place, "the rule would cover every row", "Name a source, op, software, gpu_cell or quality");
  return rule;
}

}  // namespace

std::string_view kernel_kind_name(KernelKind kind) {
  constexpr std::string_view kNames[] = {"lookup", "update", "lookup_and_update", "sort", "product", "copy"};
  return kNames[static_cast<std::size_t>(kind)];
}

double KernelRow::operand_bytes() const {
  if (is_lookup_kind(kind)) return sizes.lookups() * sizes.row_bytes();
  if (kind == KernelKind::copy) return sizes.traffic_bytes;
  if (kind == KernelKind::sort) return sizes.batch * (sort_of(*this).key_bytes + sort_of(*this).value_bytes);
  return (sizes.batch * sizes.rows + sizes.rows * sizes.dim + sizes.batch * sizes.dim) * element_bytes(sizes.dtype);
}

std::string KernelRow::shape() const {
  const EmbeddingRow& s = sizes;
  if (is_lookup_kind(kind))
    return fmt::format("{:g} x {:g} rows, D{:g}, B{:g}, L{:g}, {}", s.tables, s.rows, s.dim, s.batch, s.pooling,
                       s.dtype);
  if (kind == KernelKind::sort)
    return fmt::format("{:g} {}{}", s.batch, s.dtype, only_keys ? "" : fmt::format(" + {:g} B", s.dim));
  if (kind == KernelKind::product) return fmt::format("{:g} x {:g} x {:g}, {}", s.batch, s.dim, s.rows, s.dtype);
  return fmt::format("{:g} B", s.traffic_bytes);
}

std::vector<ComputeWork> KernelRow::works() const {
  if (kind == KernelKind::lookup) return {row_work(*this, ComputeWork::Kind::lookup)};
  if (kind == KernelKind::update) return {row_work(*this, ComputeWork::Kind::update)};
  if (kind == KernelKind::lookup_and_update)
    return {row_work(*this, ComputeWork::Kind::lookup), row_work(*this, ComputeWork::Kind::update)};
  ComputeWork work;
  work.hbm_bytes = sizes.traffic_bytes;
  if (kind == KernelKind::sort) {
    work.kind = ComputeWork::Kind::sort;
    work.lookups = sizes.batch;
    work.sort = sort_of(*this);
    work.hbm_bytes = 0;
  } else if (kind == KernelKind::product) {
    work.flops = sizes.flops();
    work.precision = sizes.dtype;
    work.product = {sizes.batch, sizes.dim, sizes.rows};
    work.hbm_bytes = 0;
  }
  return {work};
}

std::vector<KernelRow> kernel_rows_of(std::string_view csv, const std::string& source) {
  const CsvTable table = parse_csv(csv, source);
  require_embedding_columns(table);
  std::vector<KernelRow> rows;
  for (const CsvTable::Row& cells : table.rows) rows.push_back(row_of(table, cells));
  return rows;
}

std::vector<KernelRow> read_kernel_rows(const std::string& path) {
  if (!is_folder(path)) return kernel_rows_of(read_file(path), path);
  std::vector<KernelRow> all;
  for (const std::string& file : files_ending(path, {".csv"}))
    std::ranges::move(kernel_rows_of(read_file(file), file), std::back_inserter(all));
  return all;
}

bool KernelMap::Rule::covers(const KernelRow& row) const {
  const auto holds = [](const std::string& cell, const std::string& text) {
    return text.empty() || cell.find(text) != std::string::npos;
  };
  return holds(row.source, source) && holds(row.op, op) && holds(row.software, software) &&
         holds(row.sizes.gpu, gpu_cell) && holds(row.quality, quality);
}

KernelMap kernel_map_from_tree(const Tree& tree, const std::string& path) {
  KernelMap map;
  map.path = path;
  MapReader reader(tree, "");
  reader.choice("schema", {kKernelMapSchema});
  if (reader.has("gpus"))
    for (const Tree& entry : reader.list("gpus")) map.gpus.push_back(rule_of(entry, true));
  if (reader.has("out_of_model"))
    for (const Tree& entry : reader.list("out_of_model")) map.out_of_model.push_back(rule_of(entry, false));
  reader.finish();
  return map;
}

KernelMap read_kernel_map(const std::string& path) {
  return kernel_map_from_tree(read_yaml_file(path), path);
}

}  // namespace shardsim
