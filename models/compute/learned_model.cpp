#include "models/compute/learned_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/compute/gpus/kernel_family.h"

namespace shardsim {
namespace {

constexpr const char* kShippedCosts = "h100_fbgemm.h5";
constexpr const char* kShippedWord = "auto";

std::shared_ptr<const LearnedCosts> read_shipped_costs() {
  const std::filesystem::path file = data_folder() / "scenarios" / "costs" / kShippedCosts;
  if (!is_file(file)) return nullptr;
  return std::make_shared<const LearnedCosts>(LearnedCosts::read(file));
}

// The features of the published layouts count how many rows are met once, twice, 3 times ..., which nobody states of an
// operation.
void refuse_published_layout(const LearnedCosts& costs, const Place& place, const std::string& file) {
  if (has_factors(costs.layout())) return;
  throw input_error(place, fmt::format("the nets of {} have the features that NeuroShard published", excerpt(file)),
                    "Train nets for operations: shardsim cost-model train --layout batches, or measured");
}

const char* kGpuKernelsRemedy =
    "Take compute_model: {name: gpu_kernels}, or nets that were trained for this (shardsim cost-model train)";

[[noreturn]] void refuse_at(const Place& place, const std::string& what) {
  throw input_error(place, what, kGpuKernelsRemedy);
}

void check_table(const Table& table, const LabelSetting& setting) {
  const std::string name = "table '" + table.name + "'";
  if (table.kind != TableKind::pooled)
    refuse_at(table.place,
              name + " is a sequence, and the nets of the compute model learned from pooled lookups alone");
  if (dtype_name(table.dtype) != setting.dtype)
    refuse_at(table.place, fmt::format("{} has rows of {}, and the nets of the compute model learned from rows of {}",
                                       name, dtype_name(table.dtype), setting.dtype));
  if (const std::string kernels = kernels_of(setting); !kernels.empty()) check_columns(table, kernels);
}

// The figures of the rows that the rank holds, of those of all owners together: each has its even share of the lookups
// and rows, and the whole of a cache.
RowReuse own_reuse(const RowReuse& of_all, double share) {
  if (share == 1) return of_all;
  RowReuse own = of_all;
  for (double* const sum : {&own.lookups, &own.distinct, &own.long_lookups, &own.long_rows, &own.long_pieces})
    *sum *= share;
  own.largest = std::min(own.largest, own.lookups);
  double rows = 4;
  for (double& missed : own.missed) {
    missed = share > 0 ? share * of_all.missed_by(rows / share) : 0;
    rows *= 4;
  }
  return own;
}

// The whole table on one rank, by which `batch` samples are looked up.
TableWork whole_table(const Table& table, std::int64_t batch) {
  const AccessDistribution access = table.distribution();
  TableWork work;
  work.rows = static_cast<double>(table.rows);
  work.columns = static_cast<double>(table.dim);
  work.row_bytes = static_cast<double>(table.row_bytes());
  work.bags = static_cast<double>(batch);
  work.lookups = work.bags * table.average_length;
  work.reuse = row_reuse(access, 0, access.rows(), work.lookups);
  return work;
}

ComputeWork alone(const TableWork& table, ComputeWork::Kind kind, const std::string& optimizer) {
  ComputeWork work;
  work.kind = kind;
  work.optimizer = optimizer;
  work.lookups = table.lookups;
  work.hbm_bytes = table.lookups * table.row_bytes;
  work.tables = {table};
  return work;
}

// Adds the tables whose lookup or update by themselves is like none that the nets have seen.
void add_strays(std::vector<std::string>& texts, const LearnedCosts& costs, const Workload& workload,
                std::int64_t batch, const GpuSpec& gpu) {
  const std::unique_ptr<ComputeModel> laws = laws_beside(costs);
  if (laws == nullptr) return;
  for (const Table& table : workload.tables) {
    if (table.kind != TableKind::pooled || !(table.average_length > 0)) continue;
    const TableWork whole = whole_table(table, batch);
    const ShardSeconds nets = seconds_by_nets(costs, {whole});
    for (const auto& [kind, name, seconds] : {std::tuple{ComputeWork::Kind::lookup, "lookups", nets.forward},
                                              {ComputeWork::Kind::update, "updates", nets.backward}}) {
      const Seconds by_laws = laws->seconds(alone(whole, kind, costs.setting().optimizer), gpu);
      const std::string text =
          stray_text(kind, fmt::format("{} of table '{}' take", name, table.name), {seconds}, by_laws);
      if (!text.empty()) texts.push_back(text);
    }
  }
}

}  // namespace

TableStatistics statistics_of(const TableWork& table) {
  TableStatistics statistics;
  statistics.rows = std::max(kFewestStatisticRows, table.rows);
  statistics.pooling = table.bags > 0 ? table.lookups / table.bags : 0;
  statistics.dtype_bytes = static_cast<int>(std::lround(table.row_bytes / table.columns));
  statistics.batch = table.bags;
  statistics.lookups = table.lookups;
  statistics.reuse = own_reuse(table.reuse, table.share());
  statistics.distinct = statistics.reuse.distinct;
  return statistics;
}

std::vector<CallPiece> pieces_of(const std::vector<TableWork>& tables, int row_alignment) {
  std::vector<CallPiece> pieces;
  std::vector<double> rows;
  for (const TableWork& table : tables) {
    pieces.push_back({statistics_of(table), std::llround(table.columns)});
    rows.push_back(table.rows);
  }
  lay_out(pieces, rows, row_alignment);
  return pieces;
}

ShardSeconds seconds_by_nets(const LearnedCosts& costs, const std::vector<TableWork>& tables) {
  CostVector sum;
  for (const CallPiece& piece : pieces_of(tables, costs.row_alignment()))
    LearnedCosts::add(sum, costs.vector_of(piece));
  return costs.seconds_of(sum);
}

std::unique_ptr<ComputeModel> laws_beside(const LearnedCosts& costs) {
  const std::string kernels = kernels_of(costs.setting());
  if (kernels.empty() || !has_factors(costs.layout())) return nullptr;
  return make_compute_model(parse_yaml(fmt::format("{{name: gpu_kernels, kernels: {}}}", kernels), "nets"));
}

bool strays(ComputeWork::Kind kind, Seconds by_nets, Seconds by_laws) {
  const auto [less, more] = std::minmax(by_nets.value, by_laws.value);
  return more > (kind == ComputeWork::Kind::lookup ? kLookupsApart : kUpdatesApart) * less;
}

std::string stray_text(ComputeWork::Kind kind, const std::string& what, Seconds by_nets, Seconds by_laws) {
  if (!strays(kind, by_nets, by_laws)) return "";
  return fmt::format("{} {:.3g} ms by the nets and {:.3g} ms by the laws of the same kernels", what, by_nets.ms(),
                     by_laws.ms());
}

bool is_learned(const Tree& compute_model) {
  return compute_model_name(compute_model) == kLearnedModel;
}

bool has_kernel_constants(const Tree& compute_model) {
  return is_learned(compute_model) || compute_model_name(compute_model) == "gpu_kernels";
}

std::shared_ptr<const LearnedCosts> shipped_costs() {
  static const std::shared_ptr<const LearnedCosts> costs = read_shipped_costs();
  return costs;
}

std::shared_ptr<const LearnedCosts> learned_costs_of(const Tree& compute_model) {
  const Tree* const costs = compute_model.find("costs");
  const Place place = costs == nullptr ? compute_model.place : costs->place;
  if (costs != nullptr && costs->scalar != kShippedWord) {
    auto read = std::make_shared<const LearnedCosts>(LearnedCosts::read(costs->scalar));
    refuse_published_layout(*read, place, costs->scalar);
    return read;
  }
  if (std::shared_ptr<const LearnedCosts> shipped = shipped_costs()) return shipped;
  throw input_error(place, "this installation has no shipped costs (scenarios/costs)",
                    "Name a file as compute_model.costs, or take compute_model: {name: gpu_kernels}");
}

std::string kernels_of(const LabelSetting& setting) {
  if (setting.provider == "fbgemm") return "fbgemm";
  return setting.provider == "cuda" || setting.provider == "executor" ? "executor" : "";
}

bool is_same_device(const std::string& device, const std::string& gpu) {
  static const GpuTable gpus = shipped_gpu_table();
  const GpuConstants* const found = gpus.find(gpu);
  return device == gpu || (found != nullptr && found->name == device);
}

void check_columns(const Table& table, const std::string& kernels) {
  if (table.dim % kColumnsAtOnce == 0) return;
  throw input_error(table.place,
                    fmt::format("the kernels {} look up whole groups of {} columns, but table '{}' has {}", kernels,
                                kColumnsAtOnce, table.name, table.dim),
                    "Take a dim that is a multiple of 4 for every table, as FBGEMM asks for");
}

void check_learned(const LearnedCosts* costs, const Tree& compute_model, const GpuSpec& gpu, const Workload& workload) {
  if (costs == nullptr) return;
  const LabelSetting& setting = costs->setting();
  if (!is_same_device(setting.device, gpu.model))
    refuse_at(compute_model.place,
              fmt::format("the nets of the compute model learned from times on {}, and the cluster has {}",
                          setting.device, gpu.model));
  if (workload.optimizer != setting.optimizer)
    refuse_at(compute_model.place,
              fmt::format("the nets of the compute model learned from updates by {}, and the workload has {}",
                          setting.optimizer, workload.optimizer));
  const std::string kernels = kernel_family_name(compute_model), learned = kernels_of(setting);
  if (!learned.empty() && kernels != learned)
    refuse_at(compute_model.place,
              fmt::format("the nets of the compute model learned from the kernels {}, and the case has {}", learned,
                          kernels));
  for (const Table& table : workload.tables) check_table(table, setting);
}

std::string beyond(std::string_view noun, double number, std::int64_t from, std::int64_t to) {
  if (to == 0 || (number >= static_cast<double>(from) && number <= static_cast<double>(to))) return "";
  if (from == to) return fmt::format("{:.0f} {} (learned from {})", number, noun, from);
  return fmt::format("{:.0f} {} (learned from {} to {})", number, noun, from, to);
}

std::vector<std::string> beyond_labels(const LearnedCosts& costs, const Workload& workload, std::int64_t batch,
                                       const GpuSpec& gpu) {
  const LearnedRange& range = costs.range();
  const std::int64_t one = costs.setting().batch;
  std::vector<std::string> texts;
  const std::string samples = one > 0 ? beyond("samples", static_cast<double>(batch), one, one)
                                      : beyond("samples", static_cast<double>(batch), range.batch_from, range.batch_to);
  if (!samples.empty()) texts.push_back("lookups have " + samples);
  for (const Table& table : workload.tables) {
    const std::string columns = beyond("columns", static_cast<double>(table.dim), range.columns_from, range.columns_to);
    if (!columns.empty()) texts.push_back(fmt::format("table '{}' has {}", table.name, columns));
  }
  add_strays(texts, costs, workload, batch, gpu);
  return texts;
}

}  // namespace shardsim
