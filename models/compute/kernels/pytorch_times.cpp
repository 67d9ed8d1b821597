#include "models/compute/kernels/pytorch_times.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardsim {
namespace {

constexpr double kVectorBytes = 16;    // bytes
constexpr double kTileVectors = 32;    // of a batched product
constexpr double kAlignedVectors = 4;  // whole ones of these, and columns, are aligned in a batched product
constexpr double kChunk = 65536;       // elements of a tensor that one block of an optimizer's kernel works on
constexpr double kWideVector = 512;    // bytes
constexpr double kManyNormRows = 65536, kNormPart = 32, kNormColumns = 64;
constexpr double kProductOverlap = 1.5;  // exponent with which operands add to the work of the tiles
constexpr double kLeastSplitPart = 128, kLeastPartOfMany = 512;
constexpr std::array kPytorchSplits = {2, 3, 4, 6, 8, 12, 16, 24, 32};

bool is_half(const std::string& precision) {
  return precision == "fp16" || precision == "bf16";
}

double element_of(const std::string& precision) {
  return is_half(precision) ? 2 : 4;
}

std::string law_precision(const std::string& precision) {
  return is_half(precision) ? "half" : precision;
}

class PytorchTimes {
 public:
  PytorchTimes(const std::string& precision, const PytorchKernels& numbers, const GpuConstants& gpu,
               const GpuConstants& reference)
      : precision_(precision),
        numbers_(numbers),
        sms_(static_cast<double>(gpu.sm_count)),
        rate_(ratio_of_rates(gpu, reference)),
        memory_(pass_rate(numbers, gpu, reference)),
        cache_(numbers.cache.bytes_per_second * gpu.gather_l2.bytes_per_second / reference.gather_l2.bytes_per_second),
        cached_(held_bytes(numbers, gpu, reference)),
        scalar_(sms_ / static_cast<double>(reference.sm_count)) {}

  double of(const DenseKernel& kernel) const {
    switch (kernel.kind) {
      case DenseKernelKind::product:
      case DenseKernelKind::product_input_gradient:
      case DenseKernelKind::product_weight_gradient:
        return product(kernel);
      case DenseKernelKind::batched_product:
      case DenseKernelKind::batched_product_gradient:
        return batched(kernel);
      case DenseKernelKind::attention:
        return attention(kernel);
      case DenseKernelKind::pass:
        return pass(kernel);
      case DenseKernelKind::strided_pass:
        return numbers_.start.value + moved(kernel) / numbers_.strided;
      case DenseKernelKind::strided_sum:
        return strided_sum(kernel);
      case DenseKernelKind::widening_pass:
        return numbers_.widening_start.value + kernel.bytes / (numbers_.widening * memory_);
      case DenseKernelKind::rows_sum:
        return rows_sum(kernel);
      case DenseKernelKind::gather:
        return numbers_.gather_start.value + kernel.elements * numbers_.gather_element.value / scalar_;
      case DenseKernelKind::scatter: {
        const Seconds each = is_half(precision_) ? numbers_.scatter_element_half : numbers_.scatter_element;
        return numbers_.scatter_start.value + kernel.elements * each.value / scalar_;
      }
      case DenseKernelKind::multi_tensor:
        return multi_tensor(kernel);
      case DenseKernelKind::layer_norm:
        return norm(kernel, numbers_.norm_row, numbers_.norm_column);
      case DenseKernelKind::layer_norm_gradient:
        return norm(kernel, numbers_.norm_gradient_row, numbers_.norm_gradient_column);
      case DenseKernelKind::layer_norm_weights:
        return norm_weights(kernel);
    }
    return 0;
  }

 private:
  // GPUs differ in the rates of their data sheets; a GPU without that precision has that of fp32.
  double ratio_of_rates(const GpuConstants& gpu, const GpuConstants& reference) {
    const auto rate_of = [&](const GpuConstants& each) {
      auto found = each.flops.find(precision_);
      if (found == each.flops.end()) found = each.flops.find("fp32");
      return found == each.flops.end() ? 0 : found->second.per_second;
    };
    peak_ = rate_of(gpu);
    const double of_reference = rate_of(reference);
    return peak_ > 0 && of_reference > 0 ? peak_ / of_reference : 1;
  }

  bool aligned(double a, double b) const {
    const double bytes = element_of(precision_);
    return std::fmod(a * bytes, kVectorBytes) == 0 && std::fmod(b * bytes, kVectorBytes) == 0;
  }

  // Judged by the widths of the layer, which are the rows of the operands as they are stored; samples never matter.
  bool aligned(const DenseKernel& kernel) const {
    if (kernel.kind == DenseKernelKind::product_weight_gradient) return aligned(kernel.m, kernel.n);
    return aligned(kernel.n, kernel.k);
  }

  template <typename Law>
  const Law& law_for(const std::vector<Law>& laws, DenseKernelKind layout, bool is_aligned) const {
    const std::string precision = law_precision(precision_);
    const Law* best = &laws.front();
    int least = 1 << 10;
    for (const Law& law : laws) {
      const int differs = (law.layout != layout ? 4 : 0) + (law.precision != precision ? 2 : 0) +
                          (law.aligned != is_aligned && precision != "fp32" ? 1 : 0);
      if (differs < least) {
        least = differs;
        best = &law;
      }
    }
    return *best;
  }

  double product(const DenseKernel& of) const {
    const PytorchKernels::Product& law = law_for(numbers_.products, of.kind, aligned(of));
    const std::array<std::array<double, 3>, 8> tiles = {{{256, 128, 1},
                                                         {128, 256, 1},
                                                         {128, 128, law.tile_128x128},
                                                         {128, 64, law.tile_128x64},
                                                         {64, 128, law.tile_128x64},
                                                         {64, 64, law.tile_64x64},
                                                         {32, 32, law.tile_32x32}}};
    double least = HUGE_VAL;
    for (const auto& [rows, columns, share] : tiles) {
      if (share <= 0) continue;
      const double blocks = std::ceil(of.m / rows) * std::ceil(of.n / columns);
      const auto take = [&, rows = rows, columns = columns, share = share](double split) {
        const double waves = std::ceil(blocks * split / sms_);
        const double one = 2 * rows * columns * of.k / split * sms_ / (law.rate.per_second * rate_ * share);
        const double sums = split > 1 ? law.split.value + 2 * split * of.m * of.n * 4 / cache_ : 0;
        least = std::min(least, waves * (one + law.tile.value) + sums);
      };
      take(1);
      if (of.kind != DenseKernelKind::product_weight_gradient) continue;
      for (const int split : kPytorchSplits)
        if (of.k / split >= kLeastSplitPart) take(split);
      // Over very many samples, as many parts as fill the GPU: cuBLAS takes 132 for items of attention on an H100.
      const double filling = std::floor(sms_ / blocks);
      if (filling > kPytorchSplits.back() && of.k / filling >= kLeastPartOfMany) take(filling);
    }
    const double operands = (of.m * of.k + of.k * of.n + of.m * of.n) * element_of(precision_);
    return law.start.value + beside(least, operands / (law.memory_share * memory_));
  }

  // Products without tensor cores hide the reading of their operands; with them, tiles are done as fast as those come.
  double beside(double work, double read) const {
    if (precision_ == "fp32") return std::max(work, read);
    return std::pow(std::pow(work, kProductOverlap) + std::pow(read, kProductOverlap), 1 / kProductOverlap);
  }

  double batched(const DenseKernel& of) const {
    const bool whole = std::fmod(of.m, kAlignedVectors) == 0 && std::fmod(of.k, kAlignedVectors) == 0;
    const PytorchKernels::Batched& law = law_for(numbers_.batched, of.kind, whole);
    const double vectors = std::pow(of.m / kTileVectors, law.growth);
    const double bytes = of.batch * (2 * of.m * of.k + of.m * of.m) * element_of(precision_);
    const double work = of.batch * vectors * (law.sample.value + of.k * law.column.value) / scalar_;
    return law.start.value + std::max(work, bytes / memory_);
  }

  double attention(const DenseKernel& of) const {
    const bool gradient = of.op.ends_with("_backward");
    const std::string precision = is_half(precision_) ? "half" : "tf32";  // one kernel for fp32, whatever is allowed
    for (const PytorchKernels::Attention& law : numbers_.attention) {
      if (of.m <= 0 || law.precision != precision || law.gradient != gradient) continue;
      const double blocks = std::ceil(of.m / law.tile - 1e-9);
      const double head = law.head.value + of.k * law.head_column.value;
      const double pairs = blocks * blocks * (law.tiles.value + of.k * law.tiles_column.value);
      return law.start.value + of.batch * of.n * (head + pairs) / rate_;
    }
    return numbers_.start.value + of.elements / (of.share * peak_);
  }

  // Seconds for the bytes: those that the kernel before has left in L2 from there.
  double moved(const DenseKernel& kernel) const {
    const double hot = kernel.fresh * std::clamp(2 - kernel.bytes / cached_, 0.0, 1.0);
    return kernel.bytes * (hot / cache_ + (1 - hot) / memory_);
  }
  double pass(const DenseKernel& kernel) const { return numbers_.start.value + moved(kernel); }

  double strided_sum(const DenseKernel& kernel) const {
    const bool wide = kernel.k * element_of(precision_) >= kWideVector;
    const double per_ns = (wide ? numbers_.wide_elements_per_ns : numbers_.elements_per_ns) * scalar_;
    return numbers_.start.value + std::max(kernel.elements / (per_ns * 1e9), kernel.bytes / memory_);
  }

  double rows_sum(const DenseKernel& kernel) const { return rows_sum(kernel, element_of(precision_)); }
  double rows_sum(const DenseKernel& kernel, double element) const {
    if (kernel.n == 1) return numbers_.column_sum_start.value + kernel.m * numbers_.column_sum_row.value;
    const double bytes = kernel.m * kernel.n * element;
    return numbers_.rows_sum_start.value + bytes / memory_ + rows_sum_turns(kernel) * numbers_.rows_sum_turn.value;
  }

  // Blocks of 128 threads take four columns a thread, and parts of the rows such that the GPU is full, or each has 16
  // rows. The last block of each column then adds up what the others have left, in turns of as many as it has rows of
  // threads (setReduceConfig in Reduce.cuh of PyTorch 2.11).
  double rows_sum_turns(const DenseKernel& kernel) const {
    constexpr double kThreads = 128, kColumnsAtOnce = 4, kWarp = 32, kBlocksOfAnSm = 16, kFewestRows = 16,
                     kMostRows = 256;
    const auto power_below = [](double number) { return std::exp2(std::floor(std::log2(std::max(1.0, number)))); };
    const double columns = std::max(1.0, std::floor(kernel.n / kColumnsAtOnce));
    const double width = std::min(power_below(columns), kWarp);
    const double height = std::min(power_below(kernel.m), kThreads / width);
    const double rows_of_thread = std::ceil(kernel.m / height);
    if (rows_of_thread < kFewestRows) return 0;
    const double filling = std::ceil(sms_ * kBlocksOfAnSm / std::ceil(columns / width));
    const double blocks = std::min(filling, std::ceil(rows_of_thread / kFewestRows));
    return std::max(blocks, std::ceil(rows_of_thread / kMostRows)) / height;
  }

  double multi_tensor(const DenseKernel& kernel) const {
    const double accesses = kernel.bytes / (4 * kernel.elements);
    const double chunk = std::min(1.0, kernel.m / kChunk);
    return numbers_.start.value + chunk * accesses * numbers_.chunk_access.value + kernel.bytes / memory_;
  }

  // A block of threads takes a row.
  double norm(const DenseKernel& kernel, Seconds row, Seconds column) const {
    const double rows = kernel.m * (row.value + kernel.n * column.value) / scalar_;
    return numbers_.start.value + std::max(rows, kernel.bytes / memory_);
  }

  // Blocks walk over all rows of some columns. Of many rows and few columns every block takes a part of the rows, and
  // two kernels sum the parts (layer_norm_kernel.cu of PyTorch 2.11).
  double norm_weights(const DenseKernel& kernel) const {
    if (kernel.m > kManyNormRows && kernel.n / kNormPart < sms_ / 2) {
      DenseKernel parts = kernel;
      parts.m = kernel.m / kNormPart;
      const double sums = rows_sum(parts, element_of("fp32"));
      return numbers_.start.value + kernel.bytes / memory_ + 2 * (sums + numbers_.gap.value);
    }
    const double growth = std::pow(kernel.n / kNormColumns, numbers_.norm_weights_growth);
    return numbers_.start.value + std::max(kernel.m * numbers_.norm_weights_row.value * growth, kernel.bytes / memory_);
  }

  const std::string& precision_;
  const PytorchKernels& numbers_;
  double peak_ = 0;
  const double sms_, rate_, memory_, cache_, cached_, scalar_;
};

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

Seconds dense_kernels_time(std::span<const DenseKernel> kernels, const std::string& precision,
                           const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference) {
  const PytorchTimes times(precision, numbers, gpu, reference);
  double sum = 0;
  for (const DenseKernel& kernel : kernels) sum += kernel.count * (times.of(kernel) + numbers.gap.value);
  return {sum};
}

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
