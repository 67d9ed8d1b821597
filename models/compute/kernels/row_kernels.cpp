#include <algorithm>
#include <cmath>

#include "models/compute/kernels/kernels.h"

namespace shardsim {
namespace {

constexpr double kSector = 32;           // bytes that a read of memory moves at least
constexpr double kOffsetBytes = 8;       // of a bag
constexpr double kNearlyAll = 1 - 1e-9;  // of the lookups: no row comes twice
constexpr int kBisections = 60;
constexpr double kMostReuse = 700;  // e^y is still a number

double in_sectors(double bytes) {
  return kSector * std::ceil(bytes / kSector);
}

double vector_bytes(const ComputeWork& work) {
  const RowWork& rows = work.rows;
  if (rows.vectors > 0) return rows.vectors * (in_sectors(rows.vector_bytes) + kOffsetBytes);
  return work.lookups * in_sectors(rows.vector_bytes);
}

// y of y / (e^y - 1) = growth, which falls from 1 to 0 as y grows.
double reuse_of(double growth) {
  double low = 0, high = kMostReuse;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (middle / std::expm1(middle) > growth ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Tables whose bags are worked at at the same time share the cache; a large batch goes table after table.
double tables_in_flight(const ComputeWork& work, const GpuConstants& gpu) {
  const double bags = std::max(work.rows.vectors > 0 ? work.rows.vectors : work.lookups, 1.0) / work.rows.table_count;
  return std::clamp(std::ceil(gpu.bags_of_sm * gpu.sm_count / bags), 1.0, std::max(work.rows.table_count, 1.0));
}

double cached_bytes(const GpuConstants& gpu) {
  return gpu.l2_share * static_cast<double>(gpu.l2.count);
}

// A kernel reads a key or the place of a vector (4 bytes) and writes where it lies (8).
constexpr double kPointerBytes = 12;

Seconds pointers_time(const ComputeWork& work, const GpuConstants& gpu) {
  if (!work.indexed) return {0};
  return gpu.kernel_fixed + Seconds{work.lookups * kPointerBytes / gpu.copy_bandwidth.bytes_per_second};
}

// Each table that is worked at finds the cache for itself and those beside it.
double row_reads(const ComputeWork& work, const GpuConstants& gpu) {
  const double turns = std::max(work.rows.table_count, 1.0) / tables_in_flight(work, gpu);
  return dram_row_reads(work.lookups, work.rows, turns * cached_bytes(gpu));
}

}  // namespace

double even_growth(double lookups, double rows) {
  const double reuse = lookups / rows;
  return reuse > 0 ? reuse / std::expm1(std::min(reuse, kMostReuse)) : 1;
}

double dram_row_reads(double lookups, const RowWork& rows, double cache_bytes) {
  const double distinct = std::min(rows.distinct, lookups);
  if (distinct <= 0 || distinct >= kNearlyAll * lookups) return lookups;
  const double in_cache = cache_bytes / in_sectors(rows.bytes);
  if (distinct <= in_cache || rows.distinct_growth <= 0) return distinct;
  const double reuse = reuse_of(std::min(rows.distinct_growth, 1.0));
  const double even_rows = distinct / -std::expm1(-reuse);
  const double even_lookups = std::min(lookups, reuse * even_rows);
  return std::max(distinct, even_lookups * (1 - std::min(in_cache / even_rows, 1.0)));
}

Seconds lookup_time(const ComputeWork& work, const GpuConstants& gpu) {
  const double rate = gpu.random_row_rate(gpu.row_read_share);
  const double issue = work.lookups / (gpu.lookups_per_ns * 1e9);
  if (work.rows.bytes <= 0)
    return gpu.kernel_fixed + Seconds{std::max({work.hbm_bytes / rate, issue, work.host_link.value})};
  const double row = in_sectors(work.rows.bytes);
  const double beside = vector_bytes(work) + work.lookups * work.rows.id_bytes;
  const bool stays = work.rows.is_warm && work.rows.distinct * row <= cached_bytes(gpu);
  const double from_dram = stays ? 0 : row_reads(work, gpu) * row + beside;
  const double from_l2 = (work.lookups * row + beside) / gpu.gather_l2.bytes_per_second;
  return pointers_time(work, gpu) + gpu.kernel_fixed +
         Seconds{std::max({from_dram / rate, from_l2, issue, work.host_link.value})};
}

namespace {

constexpr int kKeyBits = 8;           // that a pass of the sort looks at
constexpr double kSortedPair = 8;     // bytes of a key and a value of 4 bytes each
constexpr double kKeyPassBytes = 60;  // read and written per lookup beside the sort (HugeCTR's kernels, counted)
constexpr int kKeyPassKernels = 10, kReduceKernels = 3;
constexpr double kReduceBytes = 12;                               // of a sorted lookup that the reduction reads
constexpr int kPassKernels = 2;                                   // one sets sums to 0, one converts them
constexpr double kInPlaceSmall = 2.05e9, kInPlaceLarge = 8.19e9;  // bytes of the tables

// Between 2 and 8 GB linearly in the logarithm of the size.
double in_place_share(const ComputeWork& work, const GpuConstants& gpu) {
  if (work.optimizer == "rowwise_adagrad") return gpu.in_place_share_adagrad;
  const double bytes = std::clamp(work.rows.table_rows * work.rows.bytes, kInPlaceSmall, kInPlaceLarge);
  const double large = std::log(bytes / kInPlaceSmall) / std::log(kInPlaceLarge / kInPlaceSmall);
  return gpu.in_place_share_2gb + large * (gpu.in_place_share - gpu.in_place_share_2gb);
}

Seconds in_place_update(const ComputeWork& work, const GpuConstants& gpu) {
  const double bytes =
      2 * row_reads(work, gpu) * in_sectors(work.rows.bytes) + vector_bytes(work) + work.lookups * work.rows.id_bytes;
  const double copy = gpu.copy_bandwidth.bytes_per_second;
  const Seconds added = gpu.kernel_fixed + Seconds{bytes / (in_place_share(work, gpu) * copy)};
  if (work.rows.passed_bytes <= 0) return added;
  return added + kPassKernels * gpu.kernel_fixed + Seconds{work.rows.passed_bytes / copy};
}

// The sort of keys that number all rows.
SortWork sort_of(const ComputeWork& work) {
  SortWork sort = work.sort;
  if (work.rows.table_rows > 1) sort.key_bits = static_cast<int>(std::ceil(std::log2(work.rows.table_rows)));
  return sort;
}

// Gradients are read once per lookup, from L2 where they fit; `written`: bytes of sums that go to memory beside.
double gradient_seconds(const ComputeWork& work, const GpuConstants& gpu, double written) {
  const double one = in_sectors(work.rows.vector_bytes);
  const double all = one * (work.rows.vectors > 0 ? work.rows.vectors : work.lookups);
  const double kept = std::min(cached_bytes(gpu) / std::max(all, 1.0), 1.0);
  const double read_again = std::max(all, work.lookups * one * (1 - kept) * gpu.gradient_miss_share);
  const double from_dram = ((kept < 1 ? read_again : all) + written) / gpu.random_row_rate(gpu.row_update_share);
  const double from_l2 = (work.lookups * one + written) / gpu.gather_l2.bytes_per_second;
  return std::max({from_dram, from_l2, work.lookups / (gpu.lookups_per_ns * 1e9)});
}

}  // namespace

Seconds sort_time(double pairs, const SortWork& sort, const GpuConstants& gpu) {
  if (pairs <= 0) return {0};
  const double bytes = sort.key_bytes + sort.value_bytes;
  const double memory = gpu.sort_share * gpu.copy_bandwidth.bytes_per_second / (2 * bytes);
  const double ranking = gpu.sort_pairs_per_ns * 1e9 * std::max(1.0, kSortedPair / bytes);
  const int passes = std::max(1, (sort.key_bits + kKeyBits - 1) / kKeyBits);
  return gpu.sort_fixed + passes * (gpu.sort_pass_fixed + Seconds{pairs / std::min(memory, ranking)});
}

namespace {

// The keys are sorted: sums of the gradients, then each different row with its sum and its state.
Seconds indexed_update(const ComputeWork& work, const GpuConstants& gpu) {
  const double rate = gpu.random_row_rate(gpu.row_update_share), sums = work.rows.distinct * work.rows.summed_bytes;
  const double applied = work.rows.distinct * work.rows.update_bytes - sums;
  return pointers_time(work, gpu) + (kReduceKernels + 1) * gpu.kernel_fixed +
         Seconds{gradient_seconds(work, gpu, sums) + std::max(applied, 0.0) / rate};
}

}  // namespace

Seconds update_time(const ComputeWork& work, const GpuConstants& gpu) {
  const double rate = gpu.random_row_rate(gpu.row_update_share), copy = gpu.copy_bandwidth.bytes_per_second;
  if (work.rows.in_place && work.rows.bytes > 0) return in_place_update(work, gpu);
  if (work.indexed && work.rows.distinct > 0 && work.rows.bytes > 0) return indexed_update(work, gpu);
  const Seconds keys = (kKeyPassKernels + kReduceKernels) * gpu.kernel_fixed +
                       Seconds{work.lookups * (kKeyPassBytes + kReduceBytes) / copy} +
                       sort_time(work.lookups, sort_of(work), gpu);
  if (work.rows.bytes <= 0 || work.rows.distinct <= 0)
    return keys + Seconds{std::max(work.hbm_bytes / rate, work.host_link.value)};
  const double written = work.rows.distinct * work.rows.update_bytes / rate;
  return keys + gpu.kernel_fixed + Seconds{std::max(gradient_seconds(work, gpu, 0) + written, work.host_link.value)};
}

}  // namespace shardsim
