#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/map_reader.h"
#include "base/units.h"

namespace shardsim {

// The training software: the host's work in every iteration before the GPU can work, and the differences of its kernels
// from those of other software. Host times are those of a host with `host.time_factor` 1 (docs/formats/scenario.md,
// Software). A time stated for an operator, a module or a table holds the launches of its kernels; all other kernels
// take `launch` each.
struct Software {
  std::string name, summary;
  std::string with_graph;  // the preset of the same software with its launches in a CUDA graph; "": none

  Seconds launch;        // of one kernel
  Seconds send_receive;  // of one send or one receive of an all_to_all; each peer has one of both
  // Part of the start of an all_to_all inside a node, as benchmarks measure it, that is its launch by their host.
  Seconds launch_in_start;
  // The parts that are one CUDA graph: none, each stretch of the dense part, or the whole iteration.
  enum class Graph { none, dense, iteration } graph = Graph::none;
  Seconds graph_launch, graph_node;  // of a graph, and of each kernel in it besides

  Seconds operator_forward, operator_backward;  // of one operator of the dense part
  // Host times of every sharded module and strategy (a fusion group of the Program).
  Seconds module_dist, module_call, module_output, module_backward;
  Seconds per_feature;  // of the input
  Seconds per_table;    // half of it at the lookup, half at the update; of the rank with most tables
  Seconds per_sample;   // of a rank's batch: loading it
  Seconds fixed;        // of an iteration, whatever it is
  // True when the thread that launches kernels also waits at the points where a Program waits for the host; else
  // another thread waits there.
  bool blocking_waits = false;
  // True when the host continues with the next iteration while the GPU works on this one; else it waits for the end of
  // this one.
  bool runs_ahead = true;
  Seconds optimizer_sgd, optimizer_adagrad, optimizer_adam;  // of each tensor of parameters of the dense part

  // The dense part as kernels of PyTorch, one by one, each operator with its own time of the host instead of
  // operator_forward, operator_backward and those of the optimizers.
  bool pytorch = false;
  std::map<std::string, Seconds> operator_times;  // of a call, by dense_operators(); empty unless pytorch
  Seconds optimizer_per_tensor;                   // of the operator `optimizer`, for each tensor of parameters besides
  bool input_copies = true;                       // false: the batch lies on the GPU
  // Part of the start of a fused update, as benchmarks measure it, that is the launch of its kernels by their host.
  Seconds launch_in_update;

  std::string kernels;       // whose lookups and updates of rows it runs, as kernel_names() of models/compute has them
  Seconds kernel_fixed;      // on the GPU: start and end of a kernel, in place of the GPU's constant
  double in_situ = 1;        // part of a product's rate that is left in a running iteration
  double update_factor = 1;  // of the time that an update of rows takes where one fused kernel makes it
  double attention_share = 1;  // of the peak rate, that attention reaches, forward and backward
  bool fused = true;           // passes over activations are fused, else one operator each
  double stream_sharing = 0;   // gpu.stream_sharing, where the cluster states none

  Place place;                        // where a case asks for it
  std::vector<SourcedValue> sources;  // paths are the keys

  Seconds optimizer_tensor(std::string_view optimizer) const;  // as a workload names it
  bool operator==(const Software& other) const;                // places and summaries do not count
};

struct SoftwareTable {
  std::vector<Software> presets;
  std::vector<std::string> names() const;
};

// The shipped scenarios/software/presets.yaml, read once: every case of a scenario asks for it.
const SoftwareTable& shipped_software();

// A file of schema shardsim.software/1. Errors (Failure::input, with place): unknown and missing keys, a name twice.
SoftwareTable software_table_from_tree(const Tree& tree);

// The preset that a case's map names, with what the map states beside the name. Errors (Failure::input, with place): an
// unknown name (lists the known ones), unknown keys, what no software can be.
Software software_from_tree(const Tree& map, const SoftwareTable& known);

}  // namespace shardsim
