#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tree/map_reader.h"
#include "models/compute/gpus/gpu_constants.h"

namespace shardsim {

// The kernels of embeddings of one software, whose times follow from each table of a call (kernels/table_kernels.h).
// Rates are those of the GPU that they were fitted on; others have them in proportion to their own copy rates, L2 and
// SMs.
struct KernelFamily {
  // Numbers of a lookup. Lanes: threads, of which a group of 8, 16 or 32 reads one bag.
  struct Lookup {
    Seconds start;            // of the kernel, and its end
    Seconds bag_start;        // of a group: its offsets, first id, and write
    Seconds row_from_l2;      // that a group waits for a row which L1 does not hold
    Seconds row_from_dram;    // and longer where L2 does not hold it
    Seconds sequence_row;     // that a group waits for each row that it copies, without pooling
    Seconds sequence_dram;    // and longer where L2 does not hold it
    Seconds ids;              // that a group waits for as many ids as it has lanes
    double groups_of_sm = 1;  // groups of 32 lanes whose waits overlap
    Seconds row_issue;        // of all SMs, for a row by 32 lanes
    Seconds vector_issue;     // of all SMs, for a vector
    double more_columns = 0;  // a further 128 columns of a group, of the cost of the first
    Bandwidth memory;         // rows that L2 does not hold, vectors, ids
    Bandwidth cache;          // rows from L2
    Bytes written_back;       // lines of others that L2 still holds, written back as it fills
    double drain = 1;         // exponent with which the longest bag adds to the rest
  };
  // Numbers of an update, exact and sorted.
  struct Update {
    Seconds start;        // of all kernels
    Seconds table;        // of each table
    Seconds bag;          // numbered with its table
    Seconds longest_bag;  // of the longest bag, for each 32 of its ids
    Seconds sort_pass;    // of 8 bits, its kernels
    Seconds pass_pair;    // a pair in a pass
    Seconds pair;         // a pair in runs, sums and searches
    Seconds row;          // a row of a short run
    Seconds row_lanes;    // by 32 lanes
    Seconds state;        // of a row, where the optimizer keeps something of it: its mean of squares and what follows
    Seconds gradient;     // of a short run, by 32 lanes
    Seconds piece;        // of a long run, by 32 lanes
    Seconds piece_gradient;   // of it
    Seconds longest_piece;    // for each lookup of the longest one
    double more_columns = 0;  // as of lookups
    Bandwidth memory;         // rows with state, gradients
    Bandwidth cache;          // gradients from L2
  };

  std::string name, gpu;   // of the entry of the table of GPUs whose rates those above are
  Bytes l1;                // of an SM, that rows lie in
  double l2_share = 1;     // of L2, the same
  int least_lanes = 8;     // of a group
  bool own_lanes = false;  // a group has the lanes of its own table, else those of the widest one of the call
  int row_alignment = 4;   // bytes at whose multiples a table begins in the memory of all
  // A dense operation whose products nobody names is run as products of equal sides, multiples of 64 and at most this;
  // 0: it is work for the best product.
  std::int64_t cube_side = 0;
  Lookup lookup;
  Update update;
  std::vector<SourcedValue> sources;  // paths are the keys
};

inline constexpr const char* kUsualKernels = "fbgemm";       // where nobody says whose
inline constexpr const char* kHugectrKernels = "hugectr";    // laws by sums over tables (kernels/kernels.h)
inline constexpr const char* kBagKernels = "embedding_bag";  // PyTorch's own (kernels/pytorch_times.h)

// The families whose laws go table by table, and all names that `kernels` may have, alphabetical.
std::vector<std::string> table_kernel_names();
std::vector<std::string> kernel_names();

// A shipped family (scenarios/gpus/NAME.yaml, schema shardsim.kernels/1). Errors (Failure::input, with place): an
// unknown name, unknown and missing keys, numbers out of range.
KernelFamily shipped_kernel_family(const std::string& name, const Place& place);
KernelFamily kernel_family_from_tree(const Tree& tree);

// The family as it runs on `gpu`, fitted on `reference`.
KernelFamily carried_to(KernelFamily family, const GpuConstants& gpu, const GpuConstants& reference);

// With what every call takes, whatever its work, so many times as long: kernels, sorts, and an update's tables.
KernelFamily with_starts(KernelFamily family, double factor);

// Shows each number of a family with its part of the file and its key: visit("lookup", "start", family.lookup.start).
template <typename Family, typename Visit>
void visit_numbers(Family& family, Visit visit) {
  auto& lookup = family.lookup;
  visit("lookup", "start", lookup.start);
  visit("lookup", "bag_start", lookup.bag_start);
  visit("lookup", "row_from_l2", lookup.row_from_l2);
  visit("lookup", "row_from_dram", lookup.row_from_dram);
  visit("lookup", "sequence_row", lookup.sequence_row);
  visit("lookup", "sequence_dram", lookup.sequence_dram);
  visit("lookup", "ids", lookup.ids);
  visit("lookup", "groups_of_sm", lookup.groups_of_sm);
  visit("lookup", "row_issue", lookup.row_issue);
  visit("lookup", "vector_issue", lookup.vector_issue);
  visit("lookup", "more_columns", lookup.more_columns);
  visit("lookup", "memory", lookup.memory);
  visit("lookup", "cache", lookup.cache);
  visit("lookup", "written_back", lookup.written_back);
  visit("lookup", "drain", lookup.drain);
  auto& update = family.update;
  visit("update", "start", update.start);
  visit("update", "table", update.table);
  visit("update", "bag", update.bag);
  visit("update", "longest_bag", update.longest_bag);
  visit("update", "sort_pass", update.sort_pass);
  visit("update", "pass_pair", update.pass_pair);
  visit("update", "pair", update.pair);
  visit("update", "row", update.row);
  visit("update", "row_lanes", update.row_lanes);
  visit("update", "state", update.state);
  visit("update", "gradient", update.gradient);
  visit("update", "piece", update.piece);
  visit("update", "piece_gradient", update.piece_gradient);
  visit("update", "longest_piece", update.longest_piece);
  visit("update", "more_columns", update.more_columns);
  visit("update", "memory", update.memory);
  visit("update", "cache", update.cache);
}

}  // namespace shardsim
