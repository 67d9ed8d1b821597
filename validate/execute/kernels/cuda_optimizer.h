#pragma once

#include <cstdint>

#include "validate/execute/kernels/cuda_elements.h"
#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim::cuda {

// An optimizer with what does not change from row to row.
struct OptimizerStep {
  RowOptimizer optimizer;
  float learning_rate, epsilon, beta1, beta2;
  float correction1, correction2;  // adam: 1 - beta^step
};

OptimizerStep optimizer_step(const OptimizerSettings& settings);  // errors: Failure::input for adam with step < 1

// The row of threads threadIdx.x in [0, blockDim.x), at most a warp, that work on one row together.
__device__ inline unsigned row_mask() {
  if (blockDim.x >= 32) return 0xFFFFFFFFU;
  const unsigned lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
  return ((1U << blockDim.x) - 1U) << (lane / blockDim.x * blockDim.x);
}

__device__ inline float row_sum(float value) {
  const unsigned mask = row_mask();
  for (int offset = static_cast<int>(blockDim.x) / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(mask, value, offset, static_cast<int>(blockDim.x));
  }
  return value;
}

// One row of a table, its summed gradient, and where the row's state is.
template <typename T>
struct RowUpdate {
  T* weights;             // [dim]
  const float* gradient;  // [dim]
  std::int64_t dim;
  float* row_state;  // rowwise_adagrad: one number
  float* sums;       // adagrad: [dim]
  float* moments;    // adam: m [dim]
  float* squares;    // adam: v [dim]
};

// `change` maps (column block, weights, gradients) to the new weights, over the columns of this thread.
template <int width, typename T, typename Change>
__device__ void change_row(const RowUpdate<T>& row, const Change& change) {
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < row.dim; c += blockDim.x * width) {
    float weights[width], gradient[width];
    load<width>(row.weights + c, weights);
    load<width>(row.gradient + c, gradient);
    change(c, weights, gradient);
    store<width>(weights, row.weights + c);
  }
}

template <int width, typename T>
__device__ void step_down(const RowUpdate<T>& row, float rate) {
  change_row<width>(row, [&](std::int64_t, float(&weights)[width], const float(&gradient)[width]) {
#pragma unroll
    for (int i = 0; i < width; ++i) weights[i] -= rate * gradient[i];
  });
}

// Sum of the mean squared gradients (FBGEMM's exact_row_wise_adagrad); this thread's columns, then the row's threads.
template <int width, typename T>
__device__ void rowwise_adagrad(const RowUpdate<T>& row, const OptimizerStep& step) {
  float squares = 0;
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < row.dim; c += blockDim.x * width) {
    float gradient[width];
    load<width>(row.gradient + c, gradient);
#pragma unroll
    for (int i = 0; i < width; ++i) squares += gradient[i] * gradient[i];
  }
  const float sum = *row.row_state + row_sum(squares) / static_cast<float>(row.dim);
  __syncwarp(row_mask());  // all have read the state
  if (threadIdx.x == 0) *row.row_state = sum;
  step_down<width>(row, step.learning_rate / (sqrtf(sum) + step.epsilon));
}

// FBGEMM's exact_adagrad, column by column.
template <int width, typename T>
__device__ void adagrad(const RowUpdate<T>& row, const OptimizerStep& step) {
  change_row<width>(row, [&](std::int64_t c, float(&weights)[width], const float(&gradient)[width]) {
    float sums[width];
    load<width>(row.sums + c, sums);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      sums[i] += gradient[i] * gradient[i];
      weights[i] -= step.learning_rate * gradient[i] / (sqrtf(sums[i]) + step.epsilon);
    }
    store<width>(sums, row.sums + c);
  });
}

template <int width, typename T>
__device__ void adam(const RowUpdate<T>& row, const OptimizerStep& step) {
  change_row<width>(row, [&](std::int64_t c, float(&weights)[width], const float(&gradient)[width]) {
    float m[width], v[width];
    load<width>(row.moments + c, m);
    load<width>(row.squares + c, v);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      m[i] = step.beta1 * m[i] + (1.0F - step.beta1) * gradient[i];
      v[i] = step.beta2 * v[i] + (1.0F - step.beta2) * gradient[i] * gradient[i];
      const float root = sqrtf(v[i] / step.correction2) + step.epsilon;
      weights[i] -= step.learning_rate * (m[i] / step.correction1) / root;
    }
    store<width>(m, row.moments + c);
    store<width>(v, row.squares + c);
  });
}

template <int width, typename T>
__device__ void update_row(const RowUpdate<T>& row, const OptimizerStep& step) {
  if (step.optimizer == RowOptimizer::sgd) step_down<width>(row, step.learning_rate);
  if (step.optimizer == RowOptimizer::rowwise_adagrad) rowwise_adagrad<width>(row, step);
  if (step.optimizer == RowOptimizer::adagrad) adagrad<width>(row, step);
  if (step.optimizer == RowOptimizer::adam) adam<width>(row, step);
}

template <typename T>
__device__ RowUpdate<T> row_update(const TableView& table, std::int64_t row, T* arena, float* state,
                                   const float* gradient) {
  T* const weights = arena + table.begin + row * table.dim;
  if (state == nullptr) return {weights, gradient, table.dim, nullptr, nullptr, nullptr, nullptr};
  float* const moments = state + 2 * table.first_element + row * table.dim;
  return {weights,
          gradient,
          table.dim,
          state + table.first_row + row,
          state + table.first_element + row * table.dim,
          moments,
          moments + table.rows * table.dim};
}

}  // namespace shardsim::cuda
