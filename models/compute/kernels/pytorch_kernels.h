#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/compute/dense_kernel.h"
#include "models/compute/gpus/gpu_constants.h"

namespace shardsim {

// Holds what the kernels of PyTorch's dense part reach on one GPU (scenarios/gpus/pytorch.yaml). Rates are those of the
// GPU that they were fitted on; others have them in proportion to their own (docs/formats/measurements.md, "PyTorch's
// dense part").
struct PytorchKernels {
  // Products of one precision, aligned or not, in one layout.
  struct Product {
    std::string precision;  // fp32, tf32, half (fp16 and bf16)
    bool aligned = true;    // rows of all operands begin at multiples of 16 bytes
    DenseKernelKind layout = DenseKernelKind::product;
    Flops rate;                                                // of all SMs in tiles of 256 x 128
    double tile_128x128, tile_128x64, tile_64x64, tile_32x32;  // of that rate
    Seconds start;                                             // of the kernel, and its end
    Seconds tile;                                              // of each tile of an SM, beside its FLOP
    double memory_share = 1;                                   // of the rate of passes, that operands are read with
    Seconds split;  // a reduction kernel behind a product that is split over k
  };
  // Batched products of a sample's vectors, by precision and alignment as above.
  struct Batched {
    std::string precision;
    bool aligned = true;
    DenseKernelKind layout = DenseKernelKind::batched_product;
    Seconds sample;     // of all SMs together, at 32 vectors
    Seconds column;     // of each column
    double growth = 1;  // exponent of vectors / 32
    Seconds start;
  };

  // Attention over all items of a sample, by precision: PyTorch takes one kernel for fp32 and tf32, and another for
  // half.
  struct Attention {
    std::string precision;
    bool gradient = false;
    double tile = 64;     // items of a block of queries, and of keys
    Seconds start;        // of the kernels
    Seconds head;         // of each head of a sample
    Seconds head_column;  // the same for each of its columns
    Seconds tiles;        // of each block of queries with each block of keys
    Seconds tiles_column;
  };

  // EmbeddingBag and what follows from its sparse gradients (pytorch_times.h). Of all SMs together, for 32 columns.
  struct Bags {
    Seconds lookup_start, lookup_bag, lookup_row;
    Seconds lookup_missed;         // of a row, longer where L2 does not hold it
    Seconds lookup_chain;          // of a row, for the warp that waits for it
    Seconds copy_start, copy_row;  // of whole rows by index, whatever their columns
    Seconds add_start, add_row;    // of gradients to rows by index
    Seconds add_missed;
    Seconds add_hottest;             // of each gradient of the row that has most of them: they are added one by one
    Seconds sum_start, sum_hottest;  // of gradients of equal rows, the latter as above
  };

  std::string gpu;                             // of the entry of the table of GPUs that the rates are of
  Seconds gap;                                 // between two kernels
  Seconds start;                               // of a pass
  Bandwidth memory;                            // passes in order
  std::map<std::string, Bandwidth> memory_of;  // the same, of other GPUs where it was measured; else as their copy rate
  Bandwidth cache;                             // the same from L2
  Bytes cached;                     // of a pass, up to which all of it lies in L2; with twice as much, nothing does
  double strided = 1;               // of `memory`
  double elements_per_ns = 0;       // of sums of strided gradients
  double wide_elements_per_ns = 0;  // the same where a vector has 512 bytes and more
  double widening = 1;              // of `memory`
  Seconds widening_start;
  Seconds rows_sum_start, rows_sum_turn;
  Seconds column_sum_start, column_sum_row;  // of rows of one number, which one block adds up
  Seconds gather_start, gather_element;
  Seconds scatter_start, scatter_element, scatter_element_half;
  Seconds
      chunk_access;  // of a full chunk of 65,536 elements, for each tensor that the optimizer's kernel reads or writes
  Seconds norm_row, norm_column;                    // of a layer norm forward, for each row and each number of it
  Seconds norm_gradient_row, norm_gradient_column;  // the same of its input's gradient
  Seconds norm_weights_row;                         // of the gradients of its parameters, of 64 columns
  double norm_weights_growth = 0;                   // exponent of columns / 64
  Bags bags;
  std::vector<Product> products;
  std::vector<Batched> batched;
  std::vector<Attention> attention;  // that is not causal; the rest is a share of the peak rate
  std::vector<SourcedValue> sources;
};

// With the starts of all kernels, and the gaps between them, so many times as long.
PytorchKernels with_starts(PytorchKernels numbers, double factor);

// What `gpu` reaches in passes over memory, on `reference` at the rate of the numbers.
double pass_rate(const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference);  // bytes/s
// Bytes of the last pass that its L2 still holds.
double held_bytes(const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference);

// The shipped scenarios/gpus/pytorch.yaml, read once.
const PytorchKernels& shipped_pytorch_kernels();
PytorchKernels pytorch_kernels_from_tree(const Tree& tree);

}  // namespace shardsim
