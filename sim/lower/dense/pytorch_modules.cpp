#include "sim/lower/dense/pytorch_modules.h"

#include <algorithm>
#include <iterator>

namespace shardsim::pytorch {
namespace {

constexpr double kCast = kFloat + kHalf;
constexpr double kTriangleKernels = 8;  // that work on the indices of the triangle alone
constexpr double kTriangleBytes = 16;

}  // namespace

void KernelList::call(const char* op, DenseKernel kernel, double calls) {
  kernel.op = op;
  kernel.calls = calls;
  kernels_.push_back(std::move(kernel));
}

void KernelList::pass(const char* op, double bytes, double fresh, double calls) {
  call(op, {.kind = DenseKernelKind::pass, .bytes = bytes, .fresh = fresh}, calls);
}

void KernelList::strided(const char* op, double bytes, double calls) {
  call(op, {.kind = DenseKernelKind::strided_pass, .bytes = bytes, .fresh = kHalfFresh}, calls);
}

void KernelList::cast(double numbers) {
  if (half_) pass("cast", kCast * numbers);
}

void KernelList::to_floats(double numbers) {
  if (half_) call("cast", {.kind = DenseKernelKind::widening_pass, .bytes = kCast * numbers});
}

void KernelList::widen(double numbers) {
  if (half_) call("cast_backward", {.kind = DenseKernelKind::widening_pass, .bytes = kCast * numbers});
}

void KernelList::join(double samples, double columns, double tensors) {
  const double bytes = 2 * samples * columns * kFloat;
  const bool one_by_one = half_ && tensors > 2;
  if (!one_by_one) return pass("concatenation", bytes);
  strided("concatenation", bytes / tensors);
  kernels_.back().count = tensors;
}

void KernelList::repeat_from(std::size_t first, double times) {
  for (std::size_t i = first; i < kernels_.size(); ++i) {
    kernels_[i].count *= times;
    kernels_[i].calls *= times;
  }
}

DenseWork KernelList::take() {
  DenseWork work;
  for (const DenseKernel& kernel : kernels_) {
    work.operators += kernel.calls;
    const bool is_product = kernel.kind <= DenseKernelKind::product_weight_gradient;
    if (is_product) work.products.push_back({kernel.m, kernel.n, kernel.k, kernel.count});
    if (kernel.kind == DenseKernelKind::attention) continue;
    if (!is_product) work.bytes += kernel.count * kernel.bytes;
    if (!is_product) work.kernels += kernel.count;
  }
  work.by_kernel = std::move(kernels_);
  return work;
}

Joined joined_of(const Workload& workload, double width) {
  const std::vector<DenseLayer>& layers = workload.dense.layers;
  const auto above = std::ranges::find_if_not(layers, is_bottom);
  const double bottom = above == layers.begin() ? 0 : static_cast<double>(std::prev(above)->out);
  Joined joined{static_cast<double>(workload.batch_per_gpu), width, bottom};
  if (workload.embedding_kernels != "per_table") return joined;
  joined.tensors = 1;
  for (const Table& table : workload.tables)
    if (table.vector_per_feature()) joined.tensors += static_cast<double>(table.features.size());
  return joined;
}

void Linear::forward(bool casts_input) const {
  if (casts_input) list_.cast(m_ * in_);
  list_.cast(in_ * out_);
  if (has_bias_) list_.cast(out_);
  if (out_ == 1) {
    list_.pass("linear", m_ * list_.element());  // the bias, copied for each sample
    list_.pass("linear", m_ * in_ * list_.element(), kFresh, 0);
  } else {
    list_.call("linear", {.kind = DenseKernelKind::product, .m = m_, .n = out_, .k = in_});
  }
  if (has_relu_) list_.pass("relu", 2 * m_ * out_ * list_.element(), kFresh);
}

void Linear::backward(bool is_input, bool widens_input) const {
  if (has_relu_) list_.pass("relu_backward", 3 * m_ * out_ * list_.element(), kHalfFresh);
  products(is_input);
  if (has_bias_) list_.call("linear_backward", {.kind = DenseKernelKind::rows_sum, .m = m_, .n = out_}, 0);
  if (has_bias_ && out_ > 1) list_.pass("linear_backward", 0, 0, 0);  // a memset
  list_.widen(in_ * out_);
  if (has_bias_) list_.widen(out_);
  if (widens_input) list_.widen(m_ * in_);
}

void Linear::products(bool is_input) const {
  if (out_ == 1) {
    list_.pass("linear_backward", m_ * in_ * list_.element());
    list_.pass("linear_backward", m_ * in_ * list_.element(), 0, 0);
    return;
  }
  if (!is_input)
    list_.call("linear_backward", {.kind = DenseKernelKind::product_input_gradient, .m = m_, .n = in_, .k = out_});
  list_.call("linear_backward", {.kind = DenseKernelKind::product_weight_gradient, .m = out_, .n = in_, .k = m_},
             is_input ? 1 : 0);
}

void Dot::forward() const {
  const double m = joined_.samples;
  list_.join(m, joined_.width, joined_.tensors);
  list_.cast(m * joined_.width);
  list_.call("dot", {.kind = DenseKernelKind::batched_product, .m = vectors_, .k = columns_, .batch = m});
  list_.call("triangle", {.kind = DenseKernelKind::gather, .elements = m * pairs_});
  list_.pass("concatenation", 2 * m * (columns_ + pairs_) * list_.element(), kFresh);
}

void Dot::backward() const {
  const double m = joined_.samples, element = list_.element();
  list_.strided("triangle_backward", 2 * m * pairs_ * element, 0);
  list_.pass("triangle_backward", m * vectors_ * vectors_ * element, kFresh);
  for (int i = 0; i < kTriangleKernels; ++i) list_.pass("triangle_backward", kTriangleBytes * pairs_, kFresh, 0);
  list_.call("triangle_backward", {.kind = DenseKernelKind::scatter, .elements = m * pairs_}, 0);
  const DenseKernel product{
      .kind = DenseKernelKind::batched_product_gradient, .m = vectors_, .k = columns_, .batch = m};
  list_.call("dot_backward", product);
  list_.call("dot_backward", product, 0);
  list_.call("dot_backward",
             {.kind = DenseKernelKind::strided_sum,
              .k = columns_,
              .bytes = 3 * m * joined_.width * element,
              .elements = m * joined_.width},
             0);
  list_.widen(m * joined_.width);
  list_.strided("concatenation_backward", 3 * m * columns_ * element);
  if (!joined_.one_by_one()) list_.strided("concatenation_backward", 2 * m * (joined_.width - joined_.bottom) * kFloat);
}

void Cross::forward() const {
  list_.cast(m_ * width_);
  list_.cast(2 * width_ * rank_);
  list_.call("linear", {.kind = DenseKernelKind::product, .m = m_, .n = rank_, .k = width_});
  list_.call("linear", {.kind = DenseKernelKind::product, .m = m_, .n = width_, .k = rank_});
  const double numbers = m_ * width_;
  list_.strided("cross", (list_.element() + kFloat) * numbers);
  list_.pass("cross", 3 * numbers * kFloat, kHalfFresh);
  list_.pass("cross", 3 * numbers * kFloat, kHalfFresh);
}

void Cross::backward() const {
  const double numbers = m_ * width_;
  for (int i = 0; i < 2; ++i) list_.pass("cross_backward", 3 * numbers * kFloat, kHalfFresh);
  list_.cast(numbers);
  list_.call("cross_backward", {.kind = DenseKernelKind::rows_sum, .m = m_, .n = width_});
  list_.call("linear_backward", {.kind = DenseKernelKind::product_weight_gradient, .m = width_, .n = rank_, .k = m_});
  list_.call("linear_backward", {.kind = DenseKernelKind::product_input_gradient, .m = m_, .n = rank_, .k = width_}, 0);
  list_.call("linear_backward", {.kind = DenseKernelKind::product_weight_gradient, .m = rank_, .n = width_, .k = m_});
  list_.call("linear_backward", {.kind = DenseKernelKind::product_input_gradient, .m = m_, .n = width_, .k = rank_}, 0);
  list_.widen(2 * width_ * rank_);
  list_.widen(numbers);
  list_.pass("cross_backward", 3 * numbers * kFloat, kHalfFresh, 2);
  // The gradient of the input is added to that of x behind the product that makes it, or behind its cast.
  list_.pass(list_.half() ? "cross_backward" : "linear_backward", 3 * numbers * kFloat, kHalfFresh, 0);
}

void MultiheadAttention::in_projection() const {
  list_.cast(items_ * width_);
  list_.strided("elementwise", 2 * bytes_);
  list_.cast(kHeadsOf * width_ * width_);
  list_.cast(kHeadsOf * width_);
  list_.call("linear", {.kind = DenseKernelKind::product, .m = items_, .n = kHeadsOf * width_, .k = width_});
  list_.strided("linear", 2 * kHeadsOf * bytes_, 0);  // the bias
  list_.strided("elementwise", 2 * kHeadsOf * bytes_);
}

void MultiheadAttention::in_projection_backward() const {
  for (int i = 0; i < 2 * kHeadsOf; ++i) list_.strided("elementwise_backward", 2 * bytes_, i % 2);
  for (int i = 0; i < kHeadsOf; ++i) {
    list_.pass("elementwise_backward", kHeadsOf * bytes_);
    list_.pass("elementwise_backward", 2 * bytes_, 0, 0);
    if (i > 0) list_.pass("elementwise_backward", 3 * kHeadsOf * bytes_, 0, 0);
  }
  list_.strided("elementwise_backward", 2 * kHeadsOf * bytes_);
  list_.call("elementwise_backward", {.kind = DenseKernelKind::rows_sum, .m = items_, .n = kHeadsOf * width_}, 0);
  list_.call("linear_backward",
             {.kind = DenseKernelKind::product_input_gradient, .m = items_, .n = width_, .k = kHeadsOf * width_});
  list_.call("linear_backward",
             {.kind = DenseKernelKind::product_weight_gradient, .m = kHeadsOf * width_, .n = width_, .k = items_}, 0);
  list_.widen(kHeadsOf * width_ * width_);
  list_.widen(kHeadsOf * width_);
  list_.widen(items_ * width_);
}

void Behind::forward() const {
  if (layer_.residual) add("elementwise", (list_.element() + 2 * kFloat) * numbers_, 1);
  if (layer_.norm != NormKind::none) norm();
  if (layer_.mean_of_items) list_.pass("elementwise", kFloat * numbers_);
}

void Behind::backward() const {
  if (layer_.mean_of_items) list_.pass("elementwise_backward", kFloat * numbers_);
  if (layer_.norm != NormKind::none) norm_backward();
  if (layer_.residual) {
    list_.cast(numbers_);
    add("elementwise_backward", 3 * kFloat * numbers_, 0);
  }
}

void Behind::add(const char* op, double bytes, double calls) const {
  if (layer_.part == AttentionPart::out_projection) return list_.strided(op, bytes, calls);
  list_.pass(op, bytes, kHalfFresh, calls);
}

DenseKernel Behind::kernel(DenseKernelKind kind, double tensors) const {
  return {.kind = kind, .m = rows_, .n = static_cast<double>(layer_.out), .bytes = tensors * kFloat * numbers_};
}

void Behind::norm() const {
  if (!layer_.residual) list_.to_floats(numbers_);
  list_.call("elementwise", kernel(DenseKernelKind::layer_norm, 2), 2);
  if (!swish()) return;
  list_.pass("elementwise", 2 * kFloat * numbers_, kFresh);
  list_.pass("elementwise", 3 * kFloat * numbers_, kHalfFresh);
}

void Behind::norm_backward() const {
  if (swish()) {
    list_.pass("elementwise_backward", 3 * kFloat * numbers_);
    for (int i = 0; i < 2; ++i) list_.pass("elementwise_backward", 3 * kFloat * numbers_, kHalfFresh, i);
  }
  list_.call("elementwise_backward", kernel(DenseKernelKind::layer_norm_gradient, 3), 2);
  list_.call("elementwise_backward", kernel(DenseKernelKind::layer_norm_weights, 2), 0);
  if (swish()) list_.pass("elementwise_backward", 3 * kFloat * numbers_, kHalfFresh, 0);
  if (!layer_.residual) list_.cast(numbers_);
}

}  // namespace shardsim::pytorch
