#include "models/compute/dense_kernel.h"

#include <array>

namespace shardsim {
namespace {

constexpr std::array<std::string_view, 17> kKindNames = {"product",
                                                         "product_input_gradient",
                                                         "product_weight_gradient",
                                                         "batched_product",
                                                         "batched_product_gradient",
                                                         "attention",
                                                         "pass",
                                                         "strided_pass",
                                                         "strided_sum",
                                                         "widening_pass",
                                                         "rows_sum",
                                                         "gather",
                                                         "scatter",
                                                         "multi_tensor",
                                                         "layer_norm",
                                                         "layer_norm_gradient",
                                                         "layer_norm_weights"};

}  // namespace

std::string_view dense_kernel_kind_name(DenseKernelKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::vector<std::string> words_of(DenseKernelKind) {
  return {kKindNames.begin(), kKindNames.end()};
}

const std::vector<std::string>& dense_operators() {
  static const std::vector<std::string> names = {"linear",
                                                 "relu",
                                                 "attention",
                                                 "concatenation",
                                                 "dot",
                                                 "triangle",
                                                 "cross",
                                                 "elementwise",
                                                 "cast",
                                                 "loss",
                                                 "loss_backward",
                                                 "linear_backward",
                                                 "relu_backward",
                                                 "attention_backward",
                                                 "concatenation_backward",
                                                 "dot_backward",
                                                 "triangle_backward",
                                                 "cross_backward",
                                                 "elementwise_backward",
                                                 "cast_backward",
                                                 "optimizer"};
  return names;
}

}  // namespace shardsim
