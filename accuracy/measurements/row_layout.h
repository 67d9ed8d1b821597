#pragma once

#include <string>

#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/system_map.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// The user's statement of how many nodes and GPUs a run used; 0: not said.
struct StatedCounts {
  int nodes = 0, gpus_per_node = 0;
  std::string place;   // "system 'x' of the map", "--nodes and --gpus-per-node", for messages
  std::string remedy;  // where to state what is missing
};

// As the entry of a map says it.
StatedCounts counts_of(const MappedSystem& system);

// Gives a row the nodes and GPUs per node as the cluster counts them. A log counts hosts: those of an NVLink domain
// become one node, in as few domains as hold them evenly. What is stated must agree with the ranks that the log shows,
// and decides how they lie on nodes; a row of a table keeps its own counts. Errors (Failure::input at the row): counts
// that contradict each other (the message names all of them), or that nobody gives.
void lay_out(MeasuredRow& row, const StatedCounts& stated, const ClusterSpec& spec);

// The least rate at which a row's bytes must have crossed the links of a GPU, or the NICs of a node, and what these
// carry; both 0 for rows of tables, which state their system themselves. The row is laid out.
struct LinkRates {
  Bandwidth measured, carried;
  double times() const {
    return carried.bytes_per_second > 0 ? measured.bytes_per_second / carried.bytes_per_second : 0;
  }
};
LinkRates link_rates(const MeasuredRow& row, const ClusterSpec& spec);

// Why a time shorter than any that the cluster's links allow is no time of this cluster: "1439 GB/s measured, and its
// links carry 450"; "" where the links can carry it, and for rows of tables, which state their system themselves. The
// row is laid out.
std::string above_links(const MeasuredRow& row, const ClusterSpec& spec);

// Says that the log is of another GPU than the cluster's: "the log is of NVIDIA H20-3e, the cluster dgx_h200 has
// H200-SXM-141GB"; "" where both name the same product, or one of them none.
std::string other_gpu(const MeasuredRow& row, const ClusterSpec& spec);

}  // namespace shardsim
