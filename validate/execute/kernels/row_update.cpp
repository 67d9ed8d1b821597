#include "validate/execute/kernels/row_update.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "validate/execute/kernels/element.h"
#include "validate/execute/kernels/parallel.h"

namespace shardsim {
namespace {

template <typename Element>
SHARDSIM_IN_CLONES void descend(Element* __restrict row, std::int64_t dim, const float* __restrict gradient,
                                float rate) {
  for (std::int64_t c = 0; c < dim; ++c) row[c] = narrowed<Element>(widened(row[c]) - rate * gradient[c]);
}

// In double, in order of the columns: the same on every processor, whatever it can add at once.
float mean_square(const float* gradient, std::int64_t dim) {
  double sum = 0;
  for (std::int64_t c = 0; c < dim; ++c) sum += static_cast<double>(gradient[c]) * gradient[c];
  return static_cast<float>(sum / static_cast<double>(dim));
}

SHARDSIM_IN_CLONES void move_averages(std::int64_t dim, const float* __restrict gradient, float* __restrict m,
                                      float* __restrict v, const RowStep& step) {
  const float keep1 = step.settings.beta1, keep2 = step.settings.beta2;
  for (std::int64_t c = 0; c < dim; ++c) {
    m[c] = keep1 * m[c] + (1 - keep1) * gradient[c];
    v[c] = keep2 * v[c] + (1 - keep2) * gradient[c] * gradient[c];
  }
}

template <typename Element>
SHARDSIM_IN_CLONES void adam(Element* __restrict row, std::int64_t dim, const float* __restrict m,
                             const float* __restrict v, const RowStep& step) {
  const float rate = step.settings.learning_rate / step.first_bias;
  for (std::int64_t c = 0; c < dim; ++c) {
    const float root = std::sqrt(v[c] / step.second_bias) + step.settings.epsilon;
    row[c] = narrowed<Element>(widened(row[c]) - rate * m[c] / root);
  }
}

template <typename Element>
SHARDSIM_IN_CLONES void update_typed(Element* row, std::int64_t dim, const float* gradient, float* first, float* second,
                                     const RowStep& step) {
  if (step.settings.optimizer == RowOptimizer::adam) {
    move_averages(dim, gradient, first, second, step);
    return adam(row, dim, first, second, step);
  }
  float rate = step.settings.learning_rate;
  if (step.settings.optimizer == RowOptimizer::rowwise_adagrad) {
    first[0] += mean_square(gradient, dim);
    rate /= std::sqrt(first[0]) + step.settings.epsilon;
  }
  descend(row, dim, gradient, rate);
}

SHARDSIM_VECTOR_CLONES void update_fp32(float* row, std::int64_t dim, const float* gradient, float* first,
                                        float* second, const RowStep& step) {
  update_typed(row, dim, gradient, first, second, step);
}
SHARDSIM_VECTOR_CLONES void update_fp16(Half* row, std::int64_t dim, const float* gradient, float* first, float* second,
                                        const RowStep& step) {
  update_typed(row, dim, gradient, first, second, step);
}
SHARDSIM_VECTOR_CLONES void update_bf16(Brain* row, std::int64_t dim, const float* gradient, float* first,
                                        float* second, const RowStep& step) {
  update_typed(row, dim, gradient, first, second, step);
}

}  // namespace

RowStep::RowStep(const OptimizerSettings& of)
    : settings(of),
      first_bias(static_cast<float>(1 - std::pow(static_cast<double>(of.beta1), of.step))),
      second_bias(static_cast<float>(1 - std::pow(static_cast<double>(of.beta2), of.step))) {}

void update_row(ElementType type, void* row, std::int64_t dim, const float* gradient, float* first, float* second,
                const RowStep& step) {
  if (step.settings.optimizer == RowOptimizer::none) return;
  if (type == ElementType::fp32) return update_fp32(static_cast<float*>(row), dim, gradient, first, second, step);
  if (type == ElementType::fp16) return update_fp16(static_cast<Half*>(row), dim, gradient, first, second, step);
  update_bf16(static_cast<Brain*>(row), dim, gradient, first, second, step);
}

namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kFew = 256;  // below, comparing beats counting

std::size_t digit(const TouchedRow& touched, int shift) {
  return static_cast<std::size_t>(touched.row >> shift) & (kDigits - 1);
}

void one_pass(const std::vector<TouchedRow>& from, std::vector<TouchedRow>& to, int shift) {
  std::array<std::size_t, kDigits> place{};
  for (const TouchedRow& touched : from) ++place[digit(touched, shift)];
  std::size_t before = 0;
  for (std::size_t& count : place) {
    const std::size_t begin = before;
    before += count;
    count = begin;
  }
  for (const TouchedRow& touched : from) to[place[digit(touched, shift)]++] = touched;
}

}  // namespace

void sort_by_row(std::vector<TouchedRow>& touched, std::vector<TouchedRow>& scratch, std::int64_t rows) {
  if (touched.size() < kFew) {
    std::ranges::stable_sort(touched, {}, &TouchedRow::row);
    return;
  }
  scratch.resize(touched.size());
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    one_pass(touched, scratch, shift);
    touched.swap(scratch);
  }
}

}  // namespace shardsim
