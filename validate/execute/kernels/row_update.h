#pragma once

#include <cstdint>
#include <vector>

#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// One step of an optimizer over one row, with the summed gradient of that row.
struct RowStep {
  OptimizerSettings settings;
  float first_bias = 1, second_bias = 1;  // adam: 1 - beta^step

  explicit RowStep(const OptimizerSettings& of);
};

// `first`, `second`: rowwise_adagrad: first[0] is the row's sum of mean squared gradients; adam: first[dim] is m,
// second[dim] is v; sgd: neither.
//   sgd              w -= lr g
//   rowwise_adagrad  s += mean(g^2); w -= lr g / (sqrt(s) + eps)
//   adam             m, v as Kingma and Ba have them, of touched rows alone; w -= lr m^ / (sqrt(v^) + eps)
// as in FBGEMM's exact optimizers without weight decay (pytorch/FBGEMM, fbgemm_gpu/codegen/genscript/optimizers.py).
void update_row(ElementType type, void* row, std::int64_t dim, const float* gradient, float* first, float* second,
                const RowStep& step);

// A row that an update touches, and the gradient that one lookup of it brings.
struct TouchedRow {
  std::int64_t row = 0;       // running number over the tables of the call
  std::int64_t gradient = 0;  // its first element among the gradients
};

// By row; entries of one row keep their order. Radix sort: the time grows with the entries, not with their disorder.
// `scratch` grows and is overwritten. Rows are at least 0 and below `rows`.
void sort_by_row(std::vector<TouchedRow>& touched, std::vector<TouchedRow>& scratch, std::int64_t rows);

}  // namespace shardsim
