#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "program/program.h"

namespace shardsim {

// The work of layers of the dense part, one by one, on one rank: products by their shapes, passes over what lies
// between them, and what the host is asked for (docs/lowering.md, "The dense part, layer by layer").
struct DenseWork {
  struct Product {
    double m = 0, n = 0, k = 0;
    double count = 1;
    double share = 0;  // as OpProduct
  };
  std::vector<Product> products;
  double bytes = 0;                         // of the passes, read plus written
  double kernels = 0;                       // of the passes
  double operators = 0;                     // of the framework
  std::vector<DenseKernel> by_kernel = {};  // all of it, as PyTorch runs it; none: by products and passes alone

  void add(const DenseWork& more);
};

// Some repeats of a layer: `first` and those behind it.
struct LayerRun {
  int layer = 0;  // of DensePart::layers
  std::int64_t first = 0, count = 1;
  bool operator==(const LayerRun&) const = default;
};

// Items of one rank's drawn batch: of all its sequences, and of those of each table of the workload.
struct RankItems {
  double all = 0;
  std::vector<double> of_table;
};

// The way in which passes between products run: `fused` as HugeCTR and compilers do, or one operator each.
struct DenseStyle {
  bool fused = true;
  double attention_share = 1;        // of the peak rate, that attention reaches
  const RankItems* items = nullptr;  // of the rank's batch; null: as many as expected
};

// The forward pass of one rank's batch, the bottom layers or the others.
DenseWork forward_work(const Workload& workload, bool bottom, const DenseStyle& style);

// The backward pass of these layers.
DenseWork backward_work(const Workload& workload, const std::vector<LayerRun>& layers, const DenseStyle& style);

// The optimizer's pass over the parameters of the dense part.
DenseWork optimizer_work(const DensePart& dense, const std::string& optimizer, bool fused);

// Tensors that the dense part's parameters are: weights and biases of its layers.
double parameter_tensors(const DensePart& dense);

// Puts it into an operation: `of_ranks` is one for all, or one for each rank.
void put_dense_work(Op& op, const std::vector<DenseWork>& of_ranks);

// True when the first layer works on data, which needs no gradient.
bool has_input_layer(const DensePart& dense);

// FLOP of a layer, once, of one rank's batch.
double forward_flops_of(const Workload& workload, const DenseLayer& layer, const RankItems* items);
double backward_flops_of(const Workload& workload, const DenseLayer& layer, const RankItems* items);

// Samples of one rank's batch that a layer works on, or items.
double samples_of_layer(const Workload& workload, const DenseLayer& layer, const RankItems* items);

}  // namespace shardsim
