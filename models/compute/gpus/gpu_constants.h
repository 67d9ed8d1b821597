#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tree/map_reader.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Rates and times that kernels reach on one kind of GPU: the numbers that the compute model gpu_kernels asks for beside
// the rates of the data sheet. Each says in the file where it comes from (docs/formats/measurements.md, GPUs).
struct GpuConstants {
  std::string name;                // of the product
  std::vector<std::string> words;  // all of them in a GPU's name make it this one

  std::string compute_capability;      // data sheet; "": no unknown GPU is taken to be like it
  Bandwidth hbm_bandwidth;             // data sheet
  Bandwidth copy_bandwidth;            // streams, read plus written
  Bytes l2;                            // data sheet
  double l2_share = 1;                 // of it, that rows can lie in
  Bandwidth gather_l2;                 // rows that lookups read from L2
  int sm_count = 0;                    // streaming multiprocessors
  Bytes bytes_in_flight;               // of an SM that reads random rows
  Seconds dram_latency;                // of one read
  double row_read_share = 1;           // of the copy rate, of rows that a lookup reads
  double row_update_share = 1;         // of rows that an update reads and writes, and of gradients
  double lookups_per_ns = 1;           // that can be issued
  Seconds kernel_fixed;                // start and end of a kernel
  Seconds sort_fixed;                  // of a radix sort
  Seconds sort_pass_fixed;             // of each of its passes of 8 bits
  double sort_pairs_per_ns = 1;        // that a pass can rank, keys and values of 4 bytes
  double sort_share = 1;               // of the copy rate, of a pass
  double in_place_share = 1;           // of the copy rate, of updates lookup by lookup in 8 GB of rows and more
  double in_place_share_2gb = 1;       // the same in 2 GB and less
  double in_place_share_adagrad = 1;   // the same, approximate row-wise Adagrad, rows of any size
  double all_rows_share = 1;           // of the copy rate, of an optimizer's pass over all rows
  std::map<std::string, Flops> flops;  // data sheet, dense, by precision
  double fp32_share = 1;               // of the data sheet, the best product without tensor cores
  double tensor_core_share = 1;        // the same with them
  double bags_of_sm = 0;               // that an SM works at, on average
  double gradient_miss_share = 1;      // of gradients that do not fit into L2 and are read again
  double exposed_write = 1;            // part of the writing of a product's tile that the next tile does not hide
  double tile_128x128_share = 1;       // of the rate of the best tiles (256 x 128), of a product in smaller ones
  double tile_128x64_share = 1;
  double tile_64x64_share = 1;

  std::vector<SourcedValue> sources;  // paths are the keys; those of the GPU that it is `like` where it has no own

  // The rate of random rows: `share` of the copy rate, and no more than the reads that the SMs keep in flight.
  double random_row_rate(double share) const;  // bytes/s
  double share_of_peak(const std::string& precision) const;
  // Rows of measurements that one of its numbers was fitted on.
  bool is_fitted_on(const std::string& row_id) const;
};

struct GpuTable {
  std::vector<GpuConstants> gpus;

  // The GPU of that name, else the one most of whose words are in the name ("NVIDIA A100 80GB PCIe"); null: none.
  const GpuConstants* find(const std::string& name) const;
  std::vector<std::string> names() const;
  // For a GPU that find() does not know: the one of the newest generation (compute capability) that is not newer than
  // it, and of these the one whose memory is nearest in rate. Null: the table knows no generation.
  const GpuConstants* nearest(const GpuSpec& gpu) const;
  // The constants of `gpu` with what its cluster states: those named `name` ("": its model), else those of nearest(),
  // scaled. None: ranks on CPUs, whose capability is 0.
  std::optional<GpuConstants> constants_of(const std::string& name, const GpuSpec& gpu) const;
};

// The shipped scenarios/gpus/kernels.yaml.
GpuTable shipped_gpu_table();

// A file of schema shardsim.gpus/1 on top of another table: entries may be `like` those of it, and those of the same
// name replace them. Errors (Failure::input, with place): unknown and missing keys, a name twice, `like` an unknown
// GPU.
GpuTable read_gpu_table(const std::string& path, GpuTable base = {});
GpuTable gpu_table_from_tree(const Tree& tree, GpuTable base);

// The constants with what the file of a cluster says otherwise than by default: its copy rate, L2, SMs, issue rate and
// kernel start go before the table, and its rates of products always do. Where it states no copy rate, that of the
// table follows the cluster's rate of the data sheet in proportion.
GpuConstants with_stated(GpuConstants constants, const GpuSpec& gpu);

// Returns what a GPU of the same generation is taken to reach, from the data sheet of `gpu`: SMs as stated, else as
// many as its fp32 rate speaks for; what SMs do (ranking, issue, rows from L2) in proportion to that rate; L2 in
// proportion to the SMs, unless stated. Rates of memory follow in with_stated().
GpuConstants scaled_to(GpuConstants nearest, const GpuSpec& gpu);

// With all fixed parts of the times of kernels, of a sort and of its passes so many times as long.
GpuConstants with_starts(GpuConstants constants, double factor);

// The GPU as a cluster that states the data sheet alone has it; the other way round.
GpuSpec spec_of(const GpuConstants& constants);

}  // namespace shardsim
