#include "models/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "models/workload/table_weight.h"
#include "models/workload/workload_limits.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr std::string_view kWorkloadSchema = "shardsim.workload/1";
constexpr std::size_t kMostTables = 100'000;
constexpr double kMostTableBytes = 0x1p56;  // all tables together; above any cluster, and far from overflow
constexpr double kMostBatchBytes = 0x1p50;  // embeddings that one rank asks for in one iteration

struct DtypeEntry {
  Dtype dtype;
  std::string_view name;
  int bytes;
};
constexpr std::array<DtypeEntry, 4> kDtypes{
    {{Dtype::fp32, "fp32", 4}, {Dtype::fp16, "fp16", 2}, {Dtype::bf16, "bf16", 2}, {Dtype::int8, "int8", 1}}};

const DtypeEntry& entry_of(Dtype dtype) {
  return *std::find_if(kDtypes.begin(), kDtypes.end(), [dtype](const DtypeEntry& e) { return e.dtype == dtype; });
}

void read_optimizer(MapReader reader, Workload& workload) {
  workload.optimizer = reader.choice("name", {"sgd", "rowwise_adagrad", "adagrad", "adam", "lamb"}, workload.optimizer);
  workload.update_all_rows = reader.choice("update", {"exact_sorted", "all_rows"}, "exact_sorted") == "all_rows";
  reader.finish();
}

void read_wire(MapReader reader, Workload& workload) {
  const auto direction = [&](std::string_view key) -> std::optional<WireDtype> {
    if (!reader.has(key)) return std::nullopt;
    std::vector<std::string> names{"table"};
    for (const DtypeEntry& entry : kDtypes) names.emplace_back(entry.name);
    if (reader.choice(key, names) == "table") return WireDtype{};
    return WireDtype{read_dtype(reader, key)};
  };
  workload.wire_forward = direction("forward");
  workload.wire_backward = direction("backward");
  reader.finish();
}

void read_modules(MapReader reader, Workload& workload) {
  if (reader.has("pooled")) workload.pooled_module = read_label(reader, "pooled");
  if (reader.has("sequence")) workload.sequence_module = read_label(reader, "sequence");
  if (workload.pooled_module == workload.sequence_module)
    throw input_error(reader.tree().place, fmt::format("both modules are called '{}'", workload.pooled_module),
                      "Plan files distinguish them by path: give them different names");
  if (reader.has("first"))
    workload.first_module =
        reader.choice("first", {"pooled", "sequence"}) == "pooled" ? TableKind::pooled : TableKind::sequence;
  reader.finish();
}

void check_names(const std::vector<Table>& tables) {
  std::set<std::string> seen;
  for (const Table& table : tables)
    if (!seen.insert(table.name).second)
      throw input_error(table.place, fmt::format("table '{}' is there twice", table.name),
                        "Give every table its own name");
}

void check_ids_in_place(MapReader& reader, const Workload& workload) {
  if (workload.input_exchange != "none") return;
  const Place place = reader.place_of("input_exchange");
  if (workload.pipeline != "none")
    throw input_error(place, "a pipeline prepares the exchange of ids, and this workload has none",
                      "Set pipeline: none");
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  if (std::any_of(workload.tables.begin(), workload.tables.end(), sequence))
    throw input_error(place, "ids of sequence tables must be exchanged", "Choose auto, full or ids");
}

// HugeCTR's embedding collections are of pooled tables, and its pipeline is the exchange of keys in all its steps.
void check_hugectr(MapReader& reader, const Workload& workload) {
  if (!workload.hugectr_kernels() && !workload.hugectr_pipeline()) return;
  const char* const key = workload.hugectr_kernels() ? "embedding_kernels" : "pipeline";
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  const auto found = std::ranges::find_if(workload.tables, sequence);
  if (found != workload.tables.end())
    throw input_error(reader.place_of(key),
                      fmt::format("'{}: hugectr' needs pooled tables, but table '{}' is a sequence", key, found->name),
                      "Choose another value, or write kind: pooled in the table");
  if (workload.hugectr_pipeline() && !workload.full_input_exchange())
    throw input_error(reader.place_of("pipeline"),
                      "pipeline hugectr simulates the exchange of ids in all its steps, so it needs a full exchange "
                      "and no measured rest",
                      "Set input_exchange: full, and leave out dense.measured");
  if (workload.hugectr_kernels() && workload.dense.measured)
    throw input_error(reader.place_of(key), "'embedding_kernels: hugectr' and dense.measured cannot be used together",
                      "The measured time includes lookups and updates: leave one of the two out");
}

// HugeCTR's hybrid embedding is of one id per sample and feature, and its kernels add to rows as plain SGD does.
void check_hugectr_hybrid(MapReader& reader, const Workload& workload) {
  if (!workload.hugectr_hybrid()) return;
  const Place place = reader.place_of("embedding_kernels");
  const auto found = std::ranges::find_if(workload.tables, [](const Table& table) {
    return table.kind != TableKind::sequence || !table.vector_per_feature();
  });
  if (found != workload.tables.end())
    throw input_error(place,
                      fmt::format("'embedding_kernels: {}' needs sequences of one id, but table '{}' is not one",
                                  workload.embedding_kernels, found->name),
                      "Write kind: sequence and average_length: 1 in the table");
  if (workload.optimizer != "sgd" || workload.update_all_rows)
    throw input_error(place,
                      "HugeCTR's hybrid embedding adds gradients to rows in place, which only the update of SGD allows",
                      "Set optimizer: {name: sgd}, without update, or take other embedding_kernels");
  if (workload.full_input_exchange() || workload.dense.measured)
    throw input_error(place, "HugeCTR's hybrid embedding cannot be used with a full exchange of ids or a measured rest",
                      "Set input_exchange: ids, and leave out dense.measured");
}

// It is TorchRec's, of its sequence modules.
void check_index_dedup(MapReader& reader, const Workload& workload, const TableDefaults& defaults) {
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  if (defaults.index_dedup && std::ranges::none_of(workload.tables, sequence))
    throw input_error(reader.place_of("index_dedup"), "'index_dedup' has no effect: no table is a sequence",
                      "Leave it out: the ids of pooled tables are exchanged as they are");
  const auto found = std::ranges::find_if(workload.tables, &Table::index_dedup);
  if (found == workload.tables.end() || !workload.hugectr_hybrid()) return;
  throw input_error(
      reader.place_of("embedding_kernels"),
      fmt::format("HugeCTR's hybrid embedding has no index_dedup, which table '{}' asks for", found->name),
      "Leave 'index_dedup' out, or take other embedding_kernels");
}

// Errors: all tables so far take too much.
void add_weight(std::size_t& weight, const std::vector<Table>& more, const Place& place) {
  for (const Table& table : more) weight += weight_of(table);
  if (weight > kMostTableWeight)
    throw input_error(place, fmt::format("tables, features and knots come to {} numbers", weight),
                      fmt::format("Give fewer: at most {}", kMostTableWeight));
}

// By their rows, and among tables of as many rows by their order: the same for renamed tables, and for one more or one
// fewer of another size.
void give_row_keys(std::vector<Table>& tables) {
  std::map<std::uint64_t, int> of_rows;
  for (Table& table : tables) table.row_key = fmt::format("{} rows, number {}", table.rows, ++of_rows[table.rows]);
}

std::vector<Table> read_tables(MapReader& reader, const std::string& folder, const TableDefaults& defaults,
                               std::vector<SourcedValue>& sources) {
  const std::vector<Tree>& items = reader.list("tables", Bounds::from(1));
  std::vector<Table> tables;
  std::size_t weight = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::vector<Table> more = read_tables_entry({items[i], fmt::format("tables.{}", i), &sources}, folder, defaults);
    if (tables.size() + more.size() > kMostTables)
      throw input_error(items[i].place, fmt::format("more than {} tables", kMostTables), "Lower 'copies'");
    add_weight(weight, more, items[i].place);
    std::move(more.begin(), more.end(), std::back_inserter(tables));
  }
  check_names(tables);
  give_row_keys(tables);
  return tables;
}

void read_head(MapReader& reader, Workload& workload) {
  reader.get("schema", word_leaf({std::string(kWorkloadSchema)}, "schema of a workload file"));
  workload.name = reader.name("name");
  workload.summary = reader.text("summary", "");
  workload.batch_per_gpu = reader.count("batch_per_gpu", Bounds::from(1).to(kMostBatchPerGpu));
}

// TorchRec's own names are aliases of the short ones.
std::string read_pipeline(MapReader& reader) {
  const std::string name = reader.choice("pipeline",
                                         {"none", "sparse_dist", "prefetch_sparse_dist", "train_sparse_dist",
                                          "train_prefetch_sparse_dist", "prefetch_train_sparse_dist", "hugectr"},
                                         "none");
  if (name == "train_sparse_dist") return "sparse_dist";
  return name.ends_with("_sparse_dist") ? "prefetch_sparse_dist" : name;
}

int read_id_bytes(MapReader& reader) {
  return reader.choice("id_bytes", {"4", "8"}, "8") == "4" ? 4 : 8;
}

}  // namespace

void check_sizes(const Workload& workload) {
  double stored = 0, moved = 0;
  for (const Table& table : workload.tables) {
    const auto row_bytes = static_cast<double>(table.row_bytes());
    stored += static_cast<double>(table.rows) * row_bytes;
    const double longest = std::max(table.average_length, table.runtime ? table.runtime->average_length : 0);
    moved += static_cast<double>(workload.batch_per_gpu) * longest * row_bytes;
    if (stored > kMostTableBytes)
      throw input_error(table.place, fmt::format("with table '{}' the tables take {:.3g} bytes", table.name, stored),
                        fmt::format("Check rows and dim: at most {:.3g} bytes are simulated", kMostTableBytes));
    if (moved > kMostBatchBytes)
      throw input_error(table.place,
                        fmt::format("with table '{}' one rank reads {:.3g} bytes per iteration", table.name, moved),
                        fmt::format("Check batch, length and dim: at most {:.3g} bytes", kMostBatchBytes));
    if (workload.id_bytes == 4 && table.rows > (std::uint64_t{1} << 31))
      throw input_error(table.place, fmt::format("ids of 4 bytes cannot number {} rows", table.rows),
                        "Set id_bytes: 8");
  }
}

int dtype_bytes(Dtype dtype) {
  return entry_of(dtype).bytes;
}

std::string dtype_name(Dtype dtype) {
  return std::string(entry_of(dtype).name);
}

Dtype wire_dtype(const std::optional<WireDtype>& stated, const Table& table) {
  return stated ? stated->dtype.value_or(table.dtype) : Dtype::fp32;
}

Dtype gradient_dtype(const Table& table) {
  return table.dtype == Dtype::int8 ? Dtype::fp32 : table.dtype;
}

std::optional<Dtype> read_dtype(MapReader& reader, std::string_view key) {
  if (!reader.has(key)) return std::nullopt;
  std::vector<std::string> names;
  for (const DtypeEntry& entry : kDtypes) names.emplace_back(entry.name);
  const std::string name = reader.choice(key, names);
  return std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeEntry& e) { return e.name == name; })->dtype;
}

double read_positive(MapReader& reader, std::string_view key, std::optional<double> fallback) {
  return reader.real(key, Bounds::above(0), fallback);
}

std::string read_label(MapReader& reader, std::string_view key) {
  return reader.text(key, kLabelRule);
}

std::string read_file_name(MapReader& reader, std::string_view key) {
  std::string name = reader.text(key, kFileNameRule);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::none_of(name.begin(), name.end(), is_control)) return name;
  throw input_error(reader.place_of(key), excerpt(name) + " is not the name of a file",
                    "Give a path relative to this file");
}

bool Table::vector_per_feature() const {
  const auto count = static_cast<double>(features.size());
  return kind == TableKind::pooled || std::abs(average_length - count) <= 1e-6 * count;
}

std::int64_t optimizer_row_bytes(const std::string& optimizer, std::int64_t dim) {
  if (optimizer == "sgd") return 0;
  if (optimizer == "rowwise_adagrad") return 4;  // one number per row
  if (optimizer == "adagrad") return 4 * dim;
  if (optimizer == "adam" || optimizer == "lamb") return 8 * dim;  // two moments
  throw input_error({}, "unknown optimizer '" + optimizer + "'", "Known: adagrad, adam, lamb, rowwise_adagrad, sgd");
}

bool Table::operator==(const Table& other) const {
  const auto tied = [](const Table& t) {
    return std::tie(t.name, t.rows, t.dim, t.dtype, t.kind, t.pooling, t.features, t.average_length, t.lengths,
                    t.access, t.row_order, t.bag_ids, t.index_dedup, t.runtime);
  };
  return tied(*this) == tied(other);
}

const std::string& row_key(const Table& table) {
  return table.row_key.empty() ? table.name : table.row_key;
}

bool Workload::full_input_exchange() const {
  if (input_exchange != "auto") return input_exchange != "ids";
  if (dense.measured) return false;
  const auto sequence = [](const Table& table) { return table.kind == TableKind::sequence; };
  return pipeline != "none" || !std::all_of(tables.begin(), tables.end(), sequence);
}

bool Workload::has_runtime() const {
  return std::any_of(tables.begin(), tables.end(), [](const Table& table) { return table.runtime.has_value(); });
}

std::size_t weight_of_features(std::size_t features) {
  constexpr std::size_t kTable = 10;
  return kTable + features;
}

std::size_t weight_of(const Table& table) {
  return weight_of_features(table.features.size()) + table.access.knots.size() + table.access.steps.size() +
         (table.runtime ? table.runtime->shares.size() : 0);
}

Workload read_workload(const Tree& tree, const std::string& folder) {
  Workload workload;
  MapReader reader(tree, "", &workload.sources);
  read_head(reader, workload);
  workload.id_bytes = read_id_bytes(reader);
  workload.pipeline = read_pipeline(reader);
  workload.input_exchange = reader.choice("input_exchange", {"auto", "full", "ids", "none"}, "auto");
  workload.output_exchange =
      reader.choice("output_exchange", {"reduce_scatter", "uniform", "hierarchical"}, "reduce_scatter");
  workload.embedding_kernels = reader.choice(
      "embedding_kernels", {"fused", "per_table", "hugectr", "hugectr_hybrid", "hugectr_hybrid_in_line"}, "fused");
  read_optimizer(reader.map("optimizer"), workload);
  read_wire(reader.map("wire_dtype"), workload);
  read_modules(reader.map("modules"), workload);
  const TableDefaults defaults{reader.flag("index_dedup", false)};
  workload.tables = read_tables(reader, folder, defaults, workload.sources);
  read_sample_factor(reader, workload);
  workload.dense = read_dense(reader.map("dense"), workload.tables);
  vary_attention(workload);
  check_ids_in_place(reader, workload);
  check_hugectr(reader, workload);
  check_hugectr_hybrid(reader, workload);
  check_index_dedup(reader, workload, defaults);
  reader.finish();
  check_sizes(workload);
  return workload;
}

}  // namespace shardsim
