#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "validate/execute/kernels/embedding.h"

namespace shardsim::reference {

// The results that the embedding kernels of any device must reach: plain loops in double precision, written from the
// definitions in validate/execute/kernels/*.h and sharing no code with them. Plain C++, no other library.

// IEEE binary16 and bfloat16 by their definitions: sign, exponent, mantissa.
inline double of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

inline double of_brain(std::uint16_t bits) {
  const int exponent = bits >> 7 & 255, mantissa = bits & 127;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 255) return mantissa != 0 ? NAN : sign * INFINITY;
  return exponent == 0 ? sign * std::ldexp(mantissa, -133) : sign * std::ldexp(128 + mantissa, exponent - 134);
}

inline double element(ElementType type, const void* arena, std::int64_t at) {
  if (type == ElementType::fp32) {
    float value = 0;
    std::memcpy(&value, static_cast<const char*>(arena) + 4 * at, sizeof(value));
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(arena) + 2 * at, sizeof(bits));
  return type == ElementType::fp16 ? of_half(bits) : of_brain(bits);
}

// Largest relative error of storing a number in the type: half a unit in the last place.
inline double rounding(ElementType type) {
  return type == ElementType::fp32 ? 0x1p-24 : type == ElementType::fp16 ? 0x1p-11 : 0x1p-8;
}

struct PooledResult {
  std::vector<double> out;        // [bags][output_dim]
  std::vector<double> magnitude;  // sums of absolute values: what rounding errors are in proportion to
};

inline PooledResult pooled_lookup(const TableBatch& tables, const void* arena, std::span<const std::int64_t> indices,
                                  std::span<const std::int64_t> offsets, std::span<const float> weights = {}) {
  const std::int64_t width = tables.output_dim();
  PooledResult result;
  result.out.assign(static_cast<std::size_t>(tables.bags * width), 0);
  result.magnitude = result.out;
  std::int64_t column = 0;
  for (int t = 0; t < tables.tables(); ++t) {
    for (std::int64_t bag = 0; bag < tables.bags; ++bag)
      for (std::int64_t i = offsets[t * tables.bags + bag]; i < offsets[t * tables.bags + bag + 1]; ++i)
        for (std::int64_t c = 0; c < tables.dim[t]; ++c) {
          const double weight = weights.empty() ? 1 : static_cast<double>(weights[static_cast<std::size_t>(i)]);
          const double value = weight * element(tables.type, arena, tables.begin[t] + indices[i] * tables.dim[t] + c);
          result.out[bag * width + column + c] += value;
          result.magnitude[bag * width + column + c] += std::abs(value);
        }
    column += tables.dim[t];
  }
  return result;
}

// Tables and states as doubles. Rows that no index names stay as they were.
struct Trained {
  std::vector<double> weights;  // of the arena
  std::vector<double> state;    // as state_elements has it, tables one after the other
};

inline Trained before(const TableBatch& tables, const void* arena, std::int64_t elements,
                      std::span<const float> state) {
  Trained trained;
  for (std::int64_t i = 0; i < elements; ++i) trained.weights.push_back(element(tables.type, arena, i));
  trained.state.assign(state.begin(), state.end());
  return trained;
}

// One step of the optimizer on one row; `state` is the table's.
inline void step_row(Trained& trained, std::int64_t weights, std::int64_t state, std::int64_t rows, std::int64_t dim,
                     std::int64_t row, const std::vector<double>& gradient, const OptimizerSettings& settings) {
  double* const w = trained.weights.data() + weights + row * dim;
  const double rate = settings.learning_rate, epsilon = settings.epsilon;
  if (settings.optimizer == RowOptimizer::sgd)
    for (std::int64_t c = 0; c < dim; ++c) w[c] -= rate * gradient[c];
  if (settings.optimizer == RowOptimizer::rowwise_adagrad) {
    double square = 0;
    for (const double g : gradient) square += g * g;
    double& sum = trained.state[state + row];
    sum += square / static_cast<double>(dim);
    for (std::int64_t c = 0; c < dim; ++c) w[c] -= rate * gradient[c] / (std::sqrt(sum) + epsilon);
  }
  if (settings.optimizer == RowOptimizer::adagrad) {
    for (std::int64_t c = 0; c < dim; ++c) {
      double& sum = trained.state[state + row * dim + c];
      sum += gradient[c] * gradient[c];
      w[c] -= rate * gradient[c] / (std::sqrt(sum) + epsilon);
    }
  }
  if (settings.optimizer == RowOptimizer::adam) {
    const double beta1 = settings.beta1, beta2 = settings.beta2;
    for (std::int64_t c = 0; c < dim; ++c) {
      double& m = trained.state[state + row * dim + c];
      double& v = trained.state[state + (rows + row) * dim + c];
      m = beta1 * m + (1 - beta1) * gradient[c];
      v = beta2 * v + (1 - beta2) * gradient[c] * gradient[c];
      const double m_hat = m / (1 - std::pow(beta1, settings.step)), v_hat = v / (1 - std::pow(beta2, settings.step));
      w[c] -= rate * m_hat / (std::sqrt(v_hat) + epsilon);
    }
  }
}

// Gradients of equal rows are summed first; then each touched row takes one step.
inline void update_pooled(Trained& trained, const TableBatch& tables, std::span<const std::int64_t> indices,
                          std::span<const std::int64_t> offsets, std::span<const float> gradients,
                          const OptimizerSettings& settings) {
  std::int64_t column = 0, state = 0;
  for (int t = 0; t < tables.tables(); ++t) {
    std::map<std::int64_t, std::vector<double>> sums;
    for (std::int64_t bag = 0; bag < tables.bags; ++bag)
      for (std::int64_t i = offsets[t * tables.bags + bag]; i < offsets[t * tables.bags + bag + 1]; ++i) {
        std::vector<double>& sum = sums.try_emplace(indices[i], tables.dim[t], 0.0).first->second;
        for (std::int64_t c = 0; c < tables.dim[t]; ++c) sum[c] += gradients[bag * tables.output_dim() + column + c];
      }
    for (const auto& [row, gradient] : sums)
      step_row(trained, tables.begin[t], state, tables.rows[t], tables.dim[t], row, gradient, settings);
    column += tables.dim[t];
    state += static_cast<std::int64_t>(state_elements(settings.optimizer, tables.rows[t], tables.dim[t]));
  }
}

}  // namespace shardsim::reference
