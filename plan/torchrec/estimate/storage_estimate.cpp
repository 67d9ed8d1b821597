#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {
namespace {

constexpr double kKeyValueLoadFactor = 0.2;
constexpr std::int64_t kMetadataBytes = 4;  // per row of a quantised table: scale and bias

std::int64_t half_even(double bytes) {
  return static_cast<std::int64_t>(std::nearbyint(bytes));
}

std::int64_t weight_bytes(const TableSpec& table) {
  const auto bits = static_cast<Wide>(table.element_bytes * 8);
  const Wide bytes = static_cast<Wide>(table.rows) * static_cast<Wide>(table.dim) * bits / 8;
  constexpr Wide kMost = static_cast<Wide>(1) << 62;
  if (bytes < kMost) return static_cast<std::int64_t>(bytes);
  throw PlannerError(PlannerFailure::other, fmt::format("table '{}' is larger than 2^62 bytes", table.name));
}

bool in_host_memory(ComputeKernel kernel, Device device) {
  const bool host_kernel = kernel == ComputeKernel::fused_uvm || kernel == ComputeKernel::fused_uvm_caching ||
                           kernel == ComputeKernel::quant_uvm || kernel == ComputeKernel::quant_uvm_caching;
  if (device == Device::cpu) return true;
  return host_kernel || (quantized(kernel) && device == Device::mtia);
}

void require_kernel(ComputeKernel kernel, Device device) {
  const bool uvm = kernel == ComputeKernel::fused_uvm || kernel == ComputeKernel::fused_uvm_caching;
  if (!uvm || device == Device::cuda) return;
  throw PlannerError(PlannerFailure::other,
                     fmt::format("kernel {} needs cuda, not {}", name_of(kernel), name_of(device)));
}

// Device memory of a key-value shard: its first-level cache, sized for the whole table whatever the shard.
std::int64_t first_level_cache(const TableSpec& table) {
  const double most = table.max_l1_cache_mb * 1024 * 1024;
  const double ratio = table.sharder_cache_load_factor.value_or(kKeyValueLoadFactor);
  const double wanted =
      std::ceil(static_cast<double>(table.rows) * ratio * table.element_bytes * static_cast<double>(table.dim));
  return static_cast<std::int64_t>(std::min(most, wanted));
}

bool counts_auxiliary(ComputeKernel kernel, const EstimateSettings& settings) {
  if (settings.without_cache_aux) return false;
  return settings.rules.cache_aux ? kernel == ComputeKernel::fused_uvm_caching : cached(kernel);
}

Storage tensor_of(const TableSpec& table, const TableStorage& stored, ShardingType type, std::int64_t rows,
                  std::int64_t cols) {
  if (type == ShardingType::data_parallel) return stored.raw;
  const Wide part = static_cast<Wide>(rows) * static_cast<Wide>(cols);
  const Wide all = static_cast<Wide>(table.rows) * static_cast<Wide>(table.dim);
  return {tensor_bytes(stored.raw.hbm, part, all), tensor_bytes(stored.raw.ddr, part, all)};
}

// The whole shard with its optimizer and the cache's auxiliary bytes, whatever share of it is cached.
std::int64_t ssd_bytes(const TableSpec& table, const TableStorage& stored, ShardingType type, ComputeKernel kernel,
                       const EstimateSettings& settings, std::int64_t rows, std::int64_t cols) {
  if (settings.version != PlannerVersion::v2026_08 || kernel != ComputeKernel::key_value) return 0;
  const Storage tensor = tensor_of(table, {{stored.whole, 0}, stored.whole}, type, rows, cols);
  if (settings.inference) return tensor.hbm;
  const std::int64_t aux = counts_auxiliary(kernel, settings) ? cache_aux_bytes(rows, storage_load_factor(table)) : 0;
  return aux + tensor.hbm + optimizer_bytes(tensor.hbm, table.optimizer, table.dim);
}

// On a cpu all buffers lie in host memory and no pipeline multiplies them.
Storage buffers_of(const TableSpec& table, ComputeKernel kernel, Device device, const EstimateSettings& settings,
                   std::int64_t input, std::int64_t output) {
  if (settings.inference) return {};
  if (device == Device::cpu) return {0, input + output};
  return {pipeline_bytes(settings, input, output, cached(kernel), table.prefetch_passes), 0};
}

void add_optimizer_and_cache(ShardStorage& shard, const TableSpec& table, ComputeKernel kernel,
                             const EstimateSettings& settings, std::int64_t rows) {
  if (settings.inference) return;
  shard.optimizer = {optimizer_bytes(shard.tensor.hbm, table.optimizer, table.dim),
                     optimizer_bytes(shard.tensor.ddr, table.optimizer, table.dim)};
  if (counts_auxiliary(kernel, settings)) shard.cache_aux = cache_aux_bytes(rows, storage_load_factor(table));
}

}  // namespace

Storage ShardStorage::resident() const {
  if (first_level_cache) return {*first_level_cache, 0, ssd};
  return {tensor.hbm + optimizer.hbm + cache_aux, tensor.ddr + optimizer.ddr, ssd};
}

double storage_load_factor(const TableSpec& table) {
  const double given = table.load_factor().value_or(0);
  return given == 0 ? kCachingRatio : given;
}

TableStorage table_storage(const TableSpec& table, ComputeKernel kernel, Device device, const Rules& rules) {
  require_kernel(kernel, device);
  TableStorage stored;
  stored.whole = weight_bytes(table);
  const bool metadata = quantized(kernel) || (rules.ec_metadata_bytes && !table.pooled);
  if (metadata) stored.whole += kMetadataBytes * table.rows;
  (in_host_memory(kernel, device) ? stored.raw.ddr : stored.raw.hbm) = stored.whole;
  if (cached(kernel)) stored.raw.hbm = half_even(static_cast<double>(stored.raw.ddr) * storage_load_factor(table));
  return stored;
}

ShardStorage shard_storage(const TableSpec& table, const TableStorage& stored, ShardingType type, ComputeKernel kernel,
                           const Topology& topology, const EstimateSettings& settings, std::int64_t rows,
                           std::int64_t cols, const BatchLoad& load) {
  const double element = table.output_element_bytes.value_or(table.element_bytes);
  const BufferBytes io = buffer_bytes(table, load, type, topology, rows, cols, element);
  ShardStorage shard;
  shard.input = io.input;
  shard.output = io.output;
  shard.tensor = tensor_of(table, stored, type, rows, cols);
  add_optimizer_and_cache(shard, table, kernel, settings, rows);
  shard.buffers = buffers_of(table, kernel, topology.device, settings, io.input, io.output);
  if (key_value_like(kernel) || table.use_virtual_table) shard.first_level_cache = first_level_cache(table);
  shard.ssd = ssd_bytes(table, stored, type, kernel, settings, rows, cols);
  return shard;
}

std::int64_t tensor_bytes(std::int64_t storage, Wide shard_elements, Wide table_elements) {
  return whole_bytes(exact_ratio(static_cast<Wide>(storage) * shard_elements, table_elements));
}

double optimizer_multiplier(Optimizer optimizer, std::int64_t table_columns) {
  switch (optimizer) {
    case Optimizer::none:
    case Optimizer::torch_sgd:
    case Optimizer::trec_sgd:
      return 0;
    case Optimizer::torch_adam:
    case Optimizer::trec_adam:
      return 2;
    case Optimizer::rowwise_adagrad:
      return 1 / static_cast<double>(table_columns);
    case Optimizer::torch_adagrad:
    case Optimizer::lamb:
      break;
  }
  return 1;
}

std::int64_t optimizer_bytes(std::int64_t tensor, Optimizer optimizer, std::int64_t table_columns) {
  return whole_bytes(static_cast<double>(tensor) * optimizer_multiplier(optimizer, table_columns));
}

std::int64_t cache_aux_bytes(std::int64_t rows, double load_factor) {
  return whole_bytes(static_cast<double>(rows) * (4 + load_factor * 16));
}

std::int64_t pipeline_bytes(const EstimateSettings& settings, std::int64_t input, std::int64_t output, bool cached,
                            std::optional<double> prefetch_passes) {
  const std::int64_t at_peak = settings.run_embedding_at_peak_memory ? output : 0;
  if (settings.pipeline == Pipeline::train_sparse_dist) return 2 * input + at_peak;
  if (settings.pipeline != Pipeline::train_prefetch_sparse_dist) return input + output;
  const double prefetch = (1 + 6 / prefetch_passes.value_or(1)) * static_cast<double>(cached ? input : 0);
  const double whole = settings.rules.prefetch_truncation ? std::ceil(prefetch) : std::trunc(prefetch);
  return 3 * input + static_cast<std::int64_t>(whole) + at_peak;
}

}  // namespace shardsim::torchrec
