#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// The kinds of kernels that PyTorch runs for the dense part, by what their time depends on.
enum class DenseKernelKind {
  product,                   // (m x k) (k x n), a linear layer forward: the weights are stored (n x k)
  product_input_gradient,    // the same of a gradient and stored weights: (m x n) = (m x k) (k x n)
  product_weight_gradient,   // (m x n) over k samples, both stored by sample; split over k
  batched_product,           // of `batch` samples: m vectors of k columns with each other
  batched_product_gradient,  // one of the two products that its backward pass takes
  attention,                 // `elements` FLOP at `share` of the peak rate
  pass,                      // element-wise: `bytes` read and written in order
  strided_pass,              // the same, one side not in order: slices, copies of slices, rows added to all
  strided_sum,               // a gradient added to one that is stored transposed, `k` columns a vector
  widening_pass,             // bf16 to fp32, which is not vectorized
  rows_sum,                  // the sum of m rows of n numbers: the gradient of a bias
  gather,                    // `elements` numbers selected by index
  scatter,                   // `elements` gradients added to where their numbers were selected, in turn
  multi_tensor,              // an optimizer's pass over tensors; the largest has `m` elements
  layer_norm,                // of m rows of n numbers in fp32
  layer_norm_gradient,       // the gradient of its input
  layer_norm_weights         // and those of its parameters
};

std::string_view dense_kernel_kind_name(DenseKernelKind kind);
std::vector<std::string> words_of(DenseKernelKind);  // in the order of the enumerators

// Equal kernels of one operator of the framework.
struct DenseKernel {
  std::string op = {};  // the operator that launches them: one of dense_operators()
  DenseKernelKind kind = DenseKernelKind::pass;
  double m = 0, n = 0, k = 0;
  double batch = 0;
  double bytes = 0;  // read plus written
  double fresh = 0;  // part of the bytes that L2 would hold, were it large enough: what the kernel before has written
  double elements = 0;  // as the kind says
  double share = 0;     // attention
  double count = 1;     // kernels
  double calls = 0;     // of the operator on the host, which launches these kernels and those behind it without calls
  bool operator==(const DenseKernel&) const = default;
};

// The operators, in the order in which a step has them. A software states the host's time for a call of each.
const std::vector<std::string>& dense_operators();

}  // namespace shardsim
