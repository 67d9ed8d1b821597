#pragma once

#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "validate/execute/kernels/cuda_elements.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_group.h"

namespace shardsim::cuda {

// An optimizer with what does not change from row to row.
struct OptimizerStep {
  RowOptimizer optimizer;
  float learning_rate, epsilon, beta1, beta2;
  float correction1, correction2;  // adam: 1 - beta^step
};

// Errors: Failure::input for adam with step < 1.
inline OptimizerStep optimizer_step(const OptimizerSettings& settings) {
  if (settings.optimizer == RowOptimizer::adam && settings.step < 1) {
    throw input_error({}, "adam counts its steps from 1", "Give a step of 1 or more");
  }
  const double correction1 = 1 - std::pow(static_cast<double>(settings.beta1), settings.step);
  const double correction2 = 1 - std::pow(static_cast<double>(settings.beta2), settings.step);
  return {settings.optimizer,
          settings.learning_rate,
          settings.epsilon,
          settings.beta1,
          settings.beta2,
          static_cast<float>(correction1),
          static_cast<float>(correction2)};
}

// One row of a table, and where its state is.
template <typename T>
struct RowUpdate {
  T* weights;  // [dim]
  int dim;
  float* state;          // of the row: rowwise_adagrad one number, adagrad [dim], adam m [dim]
  std::int64_t squares;  // adam: from m to v
};

template <typename T>
__device__ RowUpdate<T> row_update(const TableView& table, std::int64_t row, T* arena, float* state,
                                   const OptimizerStep& step) {
  const std::int64_t element = row * table.dim;
  std::int64_t at = table.first_row + row;
  if (step.optimizer == RowOptimizer::adagrad) at = table.first_element + element;
  if (step.optimizer == RowOptimizer::adam) at = 2 * table.first_element + element;
  return {arena + table.begin + element, static_cast<int>(table.dim), state + (state == nullptr ? 0 : at),
          table.rows * table.dim};
}

// FBGEMM's exact_adagrad, column by column.
template <int width>
__device__ void adagrad(float* state, const OptimizerStep& step, const float (&gradient)[width],
                        float (&weights)[width]) {
  float sums[width];
  load<width>(state, sums);
#pragma unroll
  for (int i = 0; i < width; ++i) {
    sums[i] += gradient[i] * gradient[i];
    weights[i] -= step.learning_rate * gradient[i] / (sqrtf(sums[i]) + step.epsilon);
  }
  store<width>(sums, state);
}

template <int width>
__device__ void adam(float* moments, float* squares, const OptimizerStep& step, const float (&gradient)[width],
                     float (&weights)[width]) {
  float m[width], v[width];
  load<width>(moments, m);
  load<width>(squares, v);
#pragma unroll
  for (int i = 0; i < width; ++i) {
    m[i] = step.beta1 * m[i] + (1.0F - step.beta1) * gradient[i];
    v[i] = step.beta2 * v[i] + (1.0F - step.beta2) * gradient[i] * gradient[i];
    const float root = sqrtf(v[i] / step.correction2) + step.epsilon;
    weights[i] -= step.learning_rate * (m[i] / step.correction1) / root;
  }
  store<width>(m, moments);
  store<width>(v, squares);
}

// One step of the columns from c on; rate: by which sgd and rowwise_adagrad go down.
template <int width, typename T>
__device__ void step_columns(const RowUpdate<T>& row, const OptimizerStep& step, float rate, int c,
                             const float (&gradient)[width], float (&weights)[width]) {
  if (step.optimizer == RowOptimizer::adagrad) {
    adagrad<width>(row.state + c, step, gradient, weights);
  } else if (step.optimizer == RowOptimizer::adam) {
    adam<width>(row.state + c, row.state + row.squares + c, step, gradient, weights);
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i) weights[i] -= rate * gradient[i];
  }
}

template <int width>
__device__ float sum_of_squares(const float (&gradient)[width], float before) {
#pragma unroll
  for (int i = 0; i < width; ++i) before += gradient[i] * gradient[i];
  return before;
}

// Adds the mean squared gradient to the row's state (FBGEMM's exact_row_wise_adagrad); returns the rate. squares: of
// this thread's columns. All threads of the group call.
template <typename T>
__device__ float rowwise_rate(const RowUpdate<T>& row, const OptimizerStep& step, const Group& group, float squares) {
  const float sum = *row.state + group.sum(squares) / static_cast<float>(row.dim);
  __syncwarp(group.mask());  // all have read the state
  if (group.lane == 0) *row.state = sum;
  return step.learning_rate / (sqrtf(sum) + step.epsilon);
}

// One step of a row by the threads of a group. gradient_of(c, gradient) gives the gradient of the columns from c on;
// where a thread has more columns than it takes at a time, rowwise_adagrad asks for those behind the first twice rather
// than keep them. The weights are asked for first, so that they come while the gradient is summed.
template <int width, typename T, typename GradientOf>
__device__ void update_row(const RowUpdate<T>& row, const OptimizerStep& step, const Group& group,
                           const GradientOf& gradient_of) {
  const int first = static_cast<int>(group.lane) * width, next = static_cast<int>(group.lanes) * width;
  float weights[width] = {}, gradient[width] = {};
  if (first < row.dim) {
    load<width>(row.weights + first, weights);
    gradient_of(first, gradient);
  }
  float rate = step.learning_rate;
  if (step.optimizer == RowOptimizer::rowwise_adagrad) {
    float squares = sum_of_squares<width>(gradient, 0);
    for (int c = first + next; c < row.dim; c += next) {
      float more[width] = {};
      gradient_of(c, more);
      squares = sum_of_squares<width>(more, squares);
    }
    rate = rowwise_rate(row, step, group, squares);
  }
  for (int c = first; c < row.dim; c += next) {
    if (c > first) {
      load<width>(row.weights + c, weights);
#pragma unroll
      for (int i = 0; i < width; ++i) gradient[i] = 0;
      gradient_of(c, gradient);
    }
    step_columns<width>(row, step, rate, c, gradient, weights);
    store<width>(weights, row.weights + c);
  }
}

}  // namespace shardsim::cuda
