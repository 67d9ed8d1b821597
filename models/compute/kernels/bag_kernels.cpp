#include "models/compute/kernels/bag_kernels.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

constexpr double kBagColumns = 32;                // of a warp
constexpr double kBagElement = 4, kBagIndex = 8;  // bytes: rows and gradients are fp32, ids and offsets int64
constexpr double kRowTensors = 3;                 // that an update moves: a gradient, and its row read and written

class BagTimes {
 public:
  BagTimes(const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference)
      : law_(numbers.bags),
        memory_(pass_rate(numbers, gpu, reference)),
        slower_memory_(numbers.memory.bytes_per_second / memory_),
        held_(held_bytes(numbers, gpu, reference)),
        sms_(static_cast<double>(gpu.sm_count) / static_cast<double>(reference.sm_count)) {}

  double lookup(const std::vector<TableWork>& tables) const {
    double work = 0, chain = 0;
    for (const TableWork& table : tables) {
      work += table.pooled ? bags(table) : copies(table.lookups, table.columns);
      if (table.pooled && table.bags > 0)
        chain = std::max(chain, std::ceil(table.lookups / table.bags) * law_.lookup_chain.value);
    }
    return law_.lookup_start.value + std::max(work, chain);
  }

  double update(const std::vector<TableWork>& tables, bool sums_first) const {
    double copied = 0, added = 0, hottest = 0;
    bool has_bags = false;
    for (const TableWork& table : tables) {
      if (table.pooled) copied += copies(table.lookups, table.columns);
      has_bags = has_bags || table.pooled;
      added += sums(table);
      hottest = std::max(hottest, table.share() * table.reuse.largest);
    }
    if (has_bags) copied += law_.copy_start.value;
    if (sums_first) return copied + law_.sum_start.value + added + hottest * law_.sum_hottest.value;
    return copied + law_.add_start.value + std::max(added, hottest * law_.add_hottest.value);
  }

 private:
  // Lookups whose rows L2 does not hold.
  double missed(const TableWork& table) const {
    const double share = table.share(), rows = held_ / std::max(table.row_bytes, 1.0);
    return share > 0 ? std::min(share * table.reuse.missed_by(rows / share), table.lookups) : 0;
  }

  double bags(const TableWork& table) const {
    const double warps = std::ceil(table.columns / kBagColumns);
    const double written = table.bags * (table.columns * kBagElement + kBagIndex) + table.lookups * kBagIndex;
    return warps * (table.bags * law_.lookup_bag.value + table.lookups * law_.lookup_row.value) / sms_ +
           warps * missed(table) * law_.lookup_missed.value * slower_memory_ + written / memory_;
  }

  double copies(double rows, double columns) const {
    return std::max(rows * law_.copy_row.value / sms_, 2 * rows * columns * kBagElement / memory_);
  }

  // The gradients lie in memory, the rows perhaps in L2.
  double sums(const TableWork& table) const {
    const double parts = table.columns / kBagColumns;
    const double from_memory = (table.lookups + (kRowTensors - 1) * missed(table)) / kRowTensors;
    return parts * (table.lookups * law_.add_row.value / sms_ + from_memory * law_.add_missed.value * slower_memory_);
  }

  const PytorchKernels::Bags& law_;
  double memory_, slower_memory_, held_, sms_;
};

}  // namespace

Seconds bags_lookup_time(const std::vector<TableWork>& tables, const PytorchKernels& numbers, const GpuConstants& gpu,
                         const GpuConstants& reference) {
  return {BagTimes(numbers, gpu, reference).lookup(tables)};
}

Seconds bags_update_time(const std::vector<TableWork>& tables, const std::string& optimizer,
                         const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference) {
  const bool sums_first = !optimizer.empty() && optimizer != "sgd" && optimizer != "none";
  return {BagTimes(numbers, gpu, reference).update(tables, sums_first)};
}

}  // namespace shardsim
