#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields/fields.h"

namespace shardsim {

// The SSDs of a node, which its GPUs share. The defaults are those of one drive, Samsung's PM9A3 (U.2, 2020), and a
// guess for any other node.
struct SsdSpec {
  Bandwidth read_bandwidth{6.5e9}, write_bandwidth{3.5e9};
  double iops = 900'000;
  std::optional<Bytes> capacity;
  bool operator==(const SsdSpec&) const = default;

  void keys(Fields& map) {
    map.usual("6.5 GB/s").take("read_bandwidth", read_bandwidth, "the rate at which they are read");
    map.usual("3.5 GB/s")
        .take("write_bandwidth", write_bandwidth,
              "the rate at which they are written; what RocksDB writes anew when it compacts is to be taken off");
    map.take("iops", iops, real_leaf(Bounds::above(0)), "reads of a block of 4 KiB in a second");
    map.take("capacity", capacity, bytes_leaf(Bounds::from(1)),
             "bytes that rows of `key_value` may take; a plan that needs more ends with exit code 3. Without this key "
             "it is not checked");
  }
};

// The operations that the fitted values of a GPU hold for: those that the measurements behind them cover.
struct WorkRange {
  Bytes bytes_from;
  std::optional<Bytes> bytes_to;  // absent: none was fitted
  double gflop_from = 0;
  double gflop_to = 0;  // 0: none was fitted
  bool operator==(const WorkRange&) const = default;

  void keys(Fields& map) {
    map.take("bytes_from", bytes_from, "memory traffic of the smallest lookup or update");
    map.take("bytes_to", bytes_to, "memory traffic of the largest lookup or update");
    map.take("gflop_from", gflop_from, real_leaf(Bounds::from(0)), "GFLOP of the smallest matrix product");
    map.take("gflop_to", gflop_to, real_leaf(Bounds::from(0)), "GFLOP of the largest matrix product");
    map.refuse_if(bytes_to && *bytes_to < bytes_from, "bytes_to", "bytes_to is below bytes_from",
                  "Write the larger one");
    map.refuse_if(gflop_to < gflop_from, "gflop_to", "gflop_to is below gflop_from", "Write the larger one");
  }
};

// Scales of ln(measured / predicted), of relative errors: beyond a factor of e^10 no prediction is worth an interval.
inline LeafReader<double> error_scale_leaf() {
  return real_leaf(Bounds::from(0).to(10));
}

// Errors of a calibration's predictions on operations that it left out, by kind, as in HeldOutCalls.
struct HeldOutWork {
  std::optional<double> lookup, update, product;
  bool operator==(const HeldOutWork&) const = default;

  void keys(Fields& map) {
    map.take("lookup", lookup, error_scale_leaf(), "mean of |ln(measured / predicted)| of lookups");
    map.take("update", update, error_scale_leaf(), "the same of updates");
    map.take("product", product, error_scale_leaf(), "the same of matrix products");
  }
};

// The precisions of products that a GPU can state a rate for. Every GPU states the first.
inline constexpr std::array<const char*, 7> kProductPrecisions = {"fp32", "fp64", "tf32", "fp16",
                                                                  "bf16", "fp8",  "int8"};
inline constexpr int kMostGpusPerNode = 144;  // a route is kept for every pair

// A device copy reaches this part of the data-sheet rate (1391 of 1555 GB/s on an A100, published).
inline constexpr double kCopyEfficiency = 0.894;

// Per lookup, that one SM would need to sort: 0.05 ns on the 132 SMs of an H100, the middle of the 0.03 to 0.06 ns that
// FBGEMM's updates show there (scenarios/measurements/fbgemm).
inline constexpr Seconds kSortOfSms{132 * 0.05e-9};

int capability_number(const std::string& compute_capability);  // 80 for "8.0"
LeafReader<std::string> capability_leaf();
LeafReader<Bytes> reserved_leaf(Bytes hbm);  // a share of the memory, or so many bytes
void flops_key(Fields& map, std::map<std::string, Flops>& flops);

struct GpuSpec {
  std::string model;
  int count = 0;  // per node
  std::string compute_capability;
  Bytes hbm;
  Bytes reserved;
  Bandwidth hbm_bandwidth;
  Bandwidth copy_bandwidth;
  Bytes l2;
  Bandwidth l2_bandwidth;
  int sm_count = 100;
  std::map<std::string, Flops> flops;  // by precision, at least fp32
  double flops_efficiency = 0.5;
  Seconds kernel_overhead{3e-6};
  Seconds launch_overhead{5e-6};
  double lookups_per_ns = 20;
  Seconds sort_per_lookup{kSortOfSms.value / 100};
  int sorted_update_kernels = 6;
  double sorted_update_efficiency = 0.5;
  double overlap_slowdown = 0;
  double stream_sharing = 0;
  std::optional<WorkRange> holds_for;   // absent: every operation
  std::optional<HeldOutWork> held_out;  // absent: not calibrated
  bool operator==(const GpuSpec&) const = default;

  Bytes usual_reserve() const;  // by model and hbm
  // l2, its rate and sm_count of the product if its whole name is known, else its family's; the sort by sm_count.
  void take_usual_chip();
  // `device` as in ClusterSpec.
  void keys(Fields& map, const std::string& device) {
    map.need("model", model, "the product name. If it contains the word A100, H100 or V100, it decides defaults below");
    map.need("count", count, up_to(kMostGpusPerNode), "GPUs per node");
    map.need("compute_capability", compute_capability, capability_leaf(),
             "`\"MAJOR.MINOR\"`; decides link rates and NCCL's rules for channels. `8` is `\"8.0\"`; `\"0.0\"` is for "
             "`device: cpu` only");
    map.refuse_if(capability_number(compute_capability) == 0 && device != "cpu", "compute_capability",
                  "compute capability 0.0 is for CPU ranks", "Write the GPU's own, or device: cpu");
    map.need("hbm", hbm, bytes_leaf(Bounds::from(1)),
             "memory of one GPU, as `nvidia-smi` shows it: the number in a product's name is neither GB nor GiB");
    if (map.reading()) reserved = usual_reserve();
    map.usual("3.5 GiB, at most 5 %")
        .take("reserved", reserved, reserved_leaf(hbm), "the part of the memory that no tensor gets, see below");
    map.need("hbm_bandwidth", hbm_bandwidth, rate_leaf(), "bandwidth of the memory according to the data sheet");
    if (map.reading()) copy_bandwidth = kCopyEfficiency * hbm_bandwidth;
    map.usual("0.894 x `hbm_bandwidth`")
        .take("copy_bandwidth", copy_bandwidth,
              "the rate that a copy reaches, counting bytes read plus bytes written (published for an A100: 1391 of "
              "1555 GB/s). `gpu_kernels` has a measured one for each product, see below");
    if (map.reading()) take_usual_chip();
    map.usual("by model; else 0 B").take("l2", l2, "size of the L2 cache; only `gpu_kernels` uses it, see below");
    map.usual("by model; else `copy_bandwidth`").take("l2_bandwidth", l2_bandwidth, "its rate, likewise");
    map.usual("by model; else 100").take("sm_count", sm_count, up_to(100'000), "multiprocessors, likewise");
    flops_key(map, flops);
    map.take("flops_efficiency", flops_efficiency, efficiency_leaf(),
             "the share of `flops` that dense layers reach (a guess)");
    map.take("kernel_overhead", kernel_overhead, "the time on the device that each kernel takes besides its work");
    map.take(
        "launch_overhead", launch_overhead,
        "time of the host per launch. It has no effect, because queued kernels hide it; a note says so if the file "
        "states another value");
    map.take("lookups_per_ns", lookups_per_ns, real_leaf(Bounds::above(0)), "rows a lookup can issue per ns (a guess)");
    map.usual("0.05 ns x 132 / SMs of the model")
        .take(
            "sort_per_lookup", sort_per_lookup,
            "time of the sort of an exact update, per lookup (0.03 to 0.06 ns were measured of FBGEMM on an H100 with "
            "132 SMs)");
    map.take("sorted_update_kernels", sorted_update_kernels, up_to(10'000), "kernels of an exact update (a guess)");
    map.take("sorted_update_efficiency", sorted_update_efficiency, efficiency_leaf(),
             "the share of `copy_bandwidth` that an exact update reaches (a guess)");
    map.take("overlap_slowdown", overlap_slowdown, share_leaf(Bounds::from(0).below(1)),  // 1 would stop compute
             "while a collective and compute run on one GPU, both run at (1 - value) of their rate");
    map.usual("0, or that of the [software](scenario.md#software)")
        .take("stream_sharing", stream_sharing,
              real_leaf(Bounds::from(0).to(10),
                        "0 means that streams do not slow each other down; 1 that two operations "
                        "side by side take as long as one after the other"),
              "of k compute operations on one GPU at the same time each runs at 1 / (1 + value (k - 1)) of its rate. "
              "Copies from the host, waits of the host and launches are not counted");
    map.usual("every operation").take("holds_for", holds_for, "the range for which fitted values hold, see below");
    map.take(
        "held_out", held_out,
        "how far a calibration's predictions of operations that it left out were off; [intervals](../confidence.md) "
        "with the compute model `roofline` use it. `cluster calibrate` writes this key");
    map.refuse("inplace_update_efficiency",
               "inplace_update_efficiency would have no effect: updates run at copy_bandwidth times "
               "sorted_update_efficiency, or as the compute model measured them",
               "Remove it, and set sorted_update_efficiency instead");
  }
};

struct HostSpec {
  std::optional<Bytes> memory;  // per node
  Bandwidth memory_bandwidth{51.0 * (1LL << 30)};
  std::optional<Bandwidth> gpu_link_bandwidth;
  double time_factor = 1;
  std::optional<SsdSpec> ssd;  // absent: the usual one
  bool operator==(const HostSpec&) const = default;

  void keys(Fields& map) {
    map.take(
        "memory", memory,
        "memory of a node that rows with the kernels `fused_uvm`, `fused_uvm_caching` and `dram_virtual_table` and "
        "the host's caches of [key-value stores](../lowering.md#key-value-stores) may take; a plan that needs "
        "more ends with exit code 3. Without this key it is not checked");
    map.usual("51 GiB/s")
        .take(
            "memory_bandwidth", memory_bandwidth,
            "rows of key-value stores are copied at it, by all GPUs of a node together; TorchRec's planner uses it for "
            "tables that are computed on the host. Where a plan has no such rows, a note says so if another value is "
            "stated");
    map.usual("the PCIe rate")
        .take("gpu_link_bandwidth", gpu_link_bandwidth, "the rate between a GPU and the memory of the host");
    map.take("time_factor", time_factor, factor_leaf(100),
             "the host times of [software](scenario.md#software) are multiplied by it");
    map.take("ssd", ssd,
             "the SSDs of a node, which tables of [key-value stores](../lowering.md#key-value-stores) may lie on");
  }
};

// The keys of a GPU that say something else than the defaults of its model and have no effect yet, as dotted paths: the
// models of kernels that will ask for them (L2 hits, occupancy, launches by the host) are still to come.
std::vector<std::string> keys_without_effect(const GpuSpec& gpu);

}  // namespace shardsim
