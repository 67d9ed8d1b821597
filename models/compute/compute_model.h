#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/map_reader.h"
#include "models/access/row_reuse.h"
#include "models/compute/dense_kernel.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/gpu_spec.h"

namespace shardsim {

// Known figures about the rows of a lookup or an update, as sums and means over all tables of the call; 0 means that a
// figure is not known.
struct RowWork {
  double distinct = 0;         // different rows among the lookups
  double distinct_growth = 0;  // d ln distinct / d ln lookups, 1 where no row comes twice
  double bytes = 0;            // of a row
  double table_rows = 0;       // of all tables, met or not
  double table_count = 1;
  double vectors = 0;  // bags: vectors that a pooled lookup writes, gradients that its update reads; 0: one a lookup
  double vector_bytes = 0;  // of one of them
  double id_bytes = 8;      // of an id
  double update_bytes = 0;  // update: read and written of each different row, what the optimizer keeps included
  double summed_bytes = 0;  // of these: of its summed gradient where it is written; 0: sum and update are one kernel
  bool is_warm = false;     // the batch is that of the call before: rows that fit into L2 lie there
  bool in_place = false;    // update: every lookup adds to its row by itself (older kernels), none is sorted
  double passed_bytes = 0;  // in place: read and written in order before and after, as sums that start at 0
};

// The part of one table in a fused lookup or update, on one rank: what sums over tables cannot say.
struct TableWork {
  double rows = 0;     // held, met or not
  double columns = 0;  // held
  double row_bytes = 0;
  bool pooled = true;
  double bags = 0;     // of ids: a pooled table writes a vector for each, a sequence one for every lookup
  double lookups = 0;  // of the rank; the figures of `reuse` are of as many or, of all owners of cut rows, of more
  RowReuse reuse;

  // The part of the figures of `reuse` that falls to the rank.
  double share() const { return reuse.lookups > 0 ? lookups / reuse.lookups : 0; }
  double vectors() const { return pooled ? bags : lookups; }
};

// A matrix product (m x k) (k x n); 0 where only its FLOP are known.
struct ProductWork {
  double m = 0, n = 0, k = 0;
};

// Equal products of one operation.
struct ProductRun {
  ProductWork product;
  double count = 1;
  double share = 0;  // of the peak rate, whatever the shape (attention); 0: the shape decides
};

// A radix sort of `lookups` pairs.
struct SortWork {
  int key_bits = 32;  // that tell keys apart
  int key_bytes = 4, value_bytes = 4;
};

// The work of one compute operation.
struct ComputeWork {
  enum class Kind { lookup, update, dense, sort };
  Kind kind = Kind::dense;
  double hbm_bytes = 0;  // read plus written
  Seconds host_link;     // that its bytes between host memory and the device take at least
  double flops = 0;
  std::string precision = "fp32";  // of those, as in GpuSpec::flops
  double lookups = 0;              // rows read by the operation
  std::string optimizer;           // update: of the workload; "" where gradients are only summed
  bool sorted_update = false;      // update: exact, sorted (several kernels)
  bool indexed = false;  // a lookup by pointers that a kernel of its own wrote; an update whose keys a sort has sorted
  RowWork rows;          // lookup, update
  std::vector<TableWork> tables;     // lookup, update: one by one in the order of the call; none: not known
  ProductWork product;               // dense
  std::vector<ProductRun> products;  // dense: all of its products one by one; none: not known
  double kernels = 0;  // dense, sort: beside products and the sort; 0: not known, one of a dense operation
  std::span<const DenseKernel> by_kernel;  // dense: all of its kernels, as PyTorch runs them; none: not known
  SortWork sort;                           // sort
  Seconds fixed;                           // measured duration that replaces the model, when above 0
};

// Predicts the seconds that a device takes for one operation that runs alone on it.
// Contract: pure; never negative; never shorter for more bytes, FLOP or lookups. A `fixed` duration is returned
// unchanged.
class ComputeModel {
 public:
  virtual ~ComputeModel() = default;
  virtual Seconds seconds(const ComputeWork& work, const GpuSpec& gpu) const = 0;

  // What seconds() says on one GPU, for those who ask about many operations on it: what is known of the GPU is found
  // once. The model and `gpu` outlive it.
  using OnGpu = std::function<Seconds(const ComputeWork& work)>;
  virtual OnGpu on(const GpuSpec& gpu) const {
    return [this, &gpu](const ComputeWork& work) { return seconds(work, gpu); };
  }
};

// The reason why the fitted values of the GPU do not hold for an operation ("3 GiB (fitted up to 1 GiB)"), although
// they are used for it. "" if they hold, nothing was fitted, or the time of the operation is given.
std::string outside_fit(const ComputeWork& work, const GpuSpec& gpu);

// The rate of the GPU for products in the work's precision. Error (Failure::input): the GPU does not state it.
Flops product_rate(const ComputeWork& work, const GpuSpec& gpu);

using ComputeModelMaker = std::unique_ptr<ComputeModel>(MapReader& options);

struct ComputeModelEntry {
  std::string_view name;
  std::string_view help;
  ComputeModelMaker* make;
  bool asks_row_growth = false;  // RowWork::distinct_growth changes what it answers
};

std::span<const ComputeModelEntry> compute_models();  // alphabetical

// Makes the implementation that `options` (a map with `name`) names. Errors: an unknown name (the known ones are
// listed), unknown options.
std::unique_ptr<ComputeModel> make_compute_model(const Tree& options);

// The model of a case that names none, unless usual_compute_model() says otherwise.
inline constexpr const char* kDefaultComputeModel = "gpu_kernels";

// The model of a case on such GPUs that names none: gpu_kernels; roofline where the file of the cluster states what
// kernels reach (as a calibration does, or a made-up GPU) and for ranks on CPUs.
std::string usual_compute_model(const GpuSpec& gpu);

// The name that the options state; without one, the default model's.
std::string compute_model_name(const Tree& options);

// True for the model `roofline`, which takes its rates from the cluster's `gpu` alone, so that its fits and guesses
// count.
bool is_roofline(const Tree& options);

// `asks_row_growth` of the entry that the options name; false if there is no such entry.
bool asks_row_growth(const Tree& options);

// The family of kernels that the options of gpu_kernels name, the usual one where they name none; "" of other models.
std::string kernel_family_name(const Tree& options);

// True when the options name kernels whose laws go table by table, so that ComputeWork::tables changes what they
// answer.
bool asks_tables(const Tree& options);

// True when these are a family with a file of its own (shipped_kernel_family()).
bool has_kernel_family(const Tree& options);

// The keys of a cluster's file that the roofline alone reads, of those that are not as the GPU's model has them.
std::vector<std::string> roofline_keys(const GpuSpec& gpu);

}  // namespace shardsim
