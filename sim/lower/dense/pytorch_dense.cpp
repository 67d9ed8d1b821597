#include "sim/lower/dense/pytorch_dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardsim {
namespace {

constexpr double kFloat = 4, kHalf = 2, kCast = kFloat + kHalf;  // bytes of a number, and of one that is cast
constexpr double kLossPasses = 5, kLossGradientPasses = 5;
constexpr double kTriangleKernels = 8;  // that work on the indices of the triangle alone
constexpr double kTriangleBytes = 16;
constexpr double kPytorchScores = 2, kPytorchScoreGradients = 5;

// Which part of a pass L2 may hold: all of it where the kernel before wrote what is read, two thirds where one of three
// tensors is older.
constexpr double kFresh = 1, kHalfFresh = 2.0 / 3;

class KernelList {
 public:
  explicit KernelList(const Workload& workload)
      : half_(workload.dense.precision == "fp16" || workload.dense.precision == "bf16") {}

  bool half() const { return half_; }
  double element() const { return half_ ? kHalf : kFloat; }

  void call(const char* op, DenseKernel kernel, double calls = 1) {
    kernel.op = op;
    kernel.calls = calls;
    kernels_.push_back(std::move(kernel));
  }
  void pass(const char* op, double bytes, double fresh = 0, double calls = 1) {
    call(op, {.kind = DenseKernelKind::pass, .bytes = bytes, .fresh = fresh}, calls);
  }
  void strided(const char* op, double bytes, double calls = 1) {
    call(op, {.kind = DenseKernelKind::strided_pass, .bytes = bytes, .fresh = kHalfFresh}, calls);
  }
  // To half precision before a product, and gradients back to that of the parameters.
  void cast(double numbers) {
    if (half_) pass("cast", kCast * numbers);
  }
  // What autocast runs in fp32: layer norms.
  void to_floats(double numbers) {
    if (half_) call("cast", {.kind = DenseKernelKind::widening_pass, .bytes = kCast * numbers});
  }
  void widen(double numbers) {
    if (half_) call("cast_backward", {.kind = DenseKernelKind::widening_pass, .bytes = kCast * numbers});
  }
  // Tensors joined in rows of `samples`, one kernel; of fp32 vectors with dense ones in half precision a kernel each,
  // if every table has a tensor of its own.
  void join(double samples, double columns, double tensors) {
    const double bytes = 2 * samples * columns * kFloat;
    const bool one_by_one = half_ && tensors > 2;
    if (!one_by_one) return pass("concatenation", bytes);
    strided("concatenation", bytes / tensors);
    kernels_.back().count = tensors;
  }
  void repeat_from(std::size_t first, double times) {
    for (std::size_t i = first; i < kernels_.size(); ++i) {
      kernels_[i].count *= times;
      kernels_[i].calls *= times;
    }
  }
  std::size_t size() const { return kernels_.size(); }

  // Sums over the kernels are what other compute models, and the executor, go by.
  DenseWork take() {
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

 private:
  bool half_;
  std::vector<DenseKernel> kernels_;
};

// The interaction's input: the output of the bottom layers and the vectors of the tables.
struct Joined {
  double samples = 0, width = 0, bottom = 0;
  double tensors = 2;  // that are joined: the dense one, and that of the tables, or one of each
  // Tables with a tensor of their own get a slice of its gradient, which is not copied.
  bool one_by_one() const { return tensors > 2; }
};

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

// A linear layer, once: `m` samples, `in` columns to `out`.
class Linear {
 public:
  Linear(KernelList& list, double m, double in, double out, bool has_bias, bool has_relu)
      : list_(list), m_(m), in_(in), out_(out), has_bias_(has_bias), has_relu_(has_relu) {}

  void forward(bool casts_input) const {
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

  void backward(bool is_input, bool widens_input) const {
    if (has_relu_) list_.pass("relu_backward", 3 * m_ * out_ * list_.element(), kHalfFresh);
    products(is_input);
    if (has_bias_) list_.call("linear_backward", {.kind = DenseKernelKind::rows_sum, .m = m_, .n = out_}, 0);
    if (has_bias_ && out_ > 1) list_.pass("linear_backward", 0, 0, 0);  // a memset
    list_.widen(in_ * out_);
    if (has_bias_) list_.widen(out_);
    if (widens_input) list_.widen(m_ * in_);
  }

 private:
  void products(bool is_input) const {
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

  KernelList& list_;
  double m_, in_, out_;
  bool has_bias_, has_relu_;
};

// The dot interaction: `vectors` of each sample with each other, the lower triangle of them behind the dense vector.
class Dot {
 public:
  Dot(KernelList& list, const DenseLayer& layer, const Joined& joined)
      : list_(list),
        joined_(joined),
        vectors_(static_cast<double>(layer.out)),
        columns_(joined.width / vectors_),
        pairs_(vectors_ * (vectors_ - 1) / 2) {}

  void forward() const {
    const double m = joined_.samples;
    list_.join(m, joined_.width, joined_.tensors);
    list_.cast(m * joined_.width);
    list_.call("dot", {.kind = DenseKernelKind::batched_product, .m = vectors_, .k = columns_, .batch = m});
    list_.call("triangle", {.kind = DenseKernelKind::gather, .elements = m * pairs_});
    list_.pass("concatenation", 2 * m * (columns_ + pairs_) * list_.element(), kFresh);
  }

  void backward() const {
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
    if (!joined_.one_by_one())
      list_.strided("concatenation_backward", 2 * m * (joined_.width - joined_.bottom) * kFloat);
  }

 private:
  KernelList& list_;
  const Joined& joined_;
  double vectors_, columns_, pairs_;
};

// One layer of DCN v2 of low rank: x0 (W V x + b) + x.
class Cross {
 public:
  Cross(KernelList& list, double m, double width, double rank) : list_(list), m_(m), width_(width), rank_(rank) {}

  void forward() const {
    list_.cast(m_ * width_);
    list_.cast(2 * width_ * rank_);
    list_.call("linear", {.kind = DenseKernelKind::product, .m = m_, .n = rank_, .k = width_});
    list_.call("linear", {.kind = DenseKernelKind::product, .m = m_, .n = width_, .k = rank_});
    const double numbers = m_ * width_;
    list_.strided("cross", (list_.element() + kFloat) * numbers);
    list_.pass("cross", 3 * numbers * kFloat, kHalfFresh);
    list_.pass("cross", 3 * numbers * kFloat, kHalfFresh);
  }

  // Each product of the sum has a gradient, and those of x and x0 are added to what came from the layers behind.
  void backward() const {
    const double numbers = m_ * width_;
    for (int i = 0; i < 2; ++i) list_.pass("cross_backward", 3 * numbers * kFloat, kHalfFresh);
    list_.cast(numbers);
    list_.call("cross_backward", {.kind = DenseKernelKind::rows_sum, .m = m_, .n = width_});
    list_.call("linear_backward", {.kind = DenseKernelKind::product_weight_gradient, .m = width_, .n = rank_, .k = m_});
    list_.call("linear_backward", {.kind = DenseKernelKind::product_input_gradient, .m = m_, .n = rank_, .k = width_},
               0);
    list_.call("linear_backward", {.kind = DenseKernelKind::product_weight_gradient, .m = rank_, .n = width_, .k = m_});
    list_.call("linear_backward", {.kind = DenseKernelKind::product_input_gradient, .m = m_, .n = width_, .k = rank_},
               0);
    list_.widen(2 * width_ * rank_);
    list_.widen(numbers);
    for (int i = 0; i < 2; ++i) list_.pass("cross_backward", 3 * numbers * kFloat, kHalfFresh);
  }

 private:
  KernelList& list_;
  double m_, width_, rank_;
};

// Around the attention of a history of `items` items with itself, what nn.MultiheadAttention with `batch_first` runs:
// it lays the items of all samples behind each other by position, and queries, keys and values apart by head.
class MultiheadAttention {
 public:
  MultiheadAttention(KernelList& list, double items, double width)
      : list_(list), items_(items), width_(width), bytes_(items * width * list.element()) {}

  void in_projection() const {
    list_.cast(items_ * width_);
    list_.strided("elementwise", 2 * bytes_);
    list_.cast(kHeadsOf * width_ * width_);
    list_.cast(kHeadsOf * width_);
    list_.call("linear", {.kind = DenseKernelKind::product, .m = items_, .n = kHeadsOf * width_, .k = width_});
    list_.strided("linear", 2 * kHeadsOf * bytes_, 0);  // the bias
    list_.strided("elementwise", 2 * kHeadsOf * bytes_);
  }

  // Gradients of queries, keys and values are laid back by position, each in two copies, and written into zeros of the
  // size of all three, which are then added up.
  void in_projection_backward() const {
    for (int i = 0; i < 2 * kHeadsOf; ++i) list_.strided("elementwise_backward", 2 * bytes_, i % 2);
    for (int i = 0; i < kHeadsOf; ++i) {
      list_.pass("elementwise_backward", kHeadsOf * bytes_);
      list_.pass("elementwise_backward", 2 * bytes_, 0, 0);
      if (i > 0) list_.pass("elementwise_backward", 3 * kHeadsOf * bytes_, 0, 0);
    }
    list_.strided("elementwise_backward", 2 * kHeadsOf * bytes_);
    list_.call("linear_backward", {.kind = DenseKernelKind::rows_sum, .m = items_, .n = kHeadsOf * width_}, 0);
    list_.call("linear_backward",
               {.kind = DenseKernelKind::product_input_gradient, .m = items_, .n = width_, .k = kHeadsOf * width_});
    list_.call("linear_backward",
               {.kind = DenseKernelKind::product_weight_gradient, .m = kHeadsOf * width_, .n = width_, .k = items_}, 0);
    list_.widen(kHeadsOf * width_ * width_);
    list_.widen(kHeadsOf * width_);
    list_.widen(items_ * width_);
  }

  void out_projection() const { list_.strided("elementwise", 2 * bytes_); }
  void out_projection_backward() const { list_.strided("elementwise_backward", 2 * bytes_); }

 private:
  static constexpr int kHeadsOf = 3;  // queries, keys and values
  KernelList& list_;
  double items_, width_, bytes_;
};

// What stands behind a layer: its input is added, then a norm, then a mean of items. Under autocast all in fp32, for
// the input is, and norms ask for it.
class Behind {
 public:
  Behind(KernelList& list, const DenseLayer& layer, double rows)
      : list_(list), layer_(layer), rows_(rows), numbers_(rows * static_cast<double>(layer.out)) {}

  void forward() const {
    if (layer_.residual) add("elementwise", (list_.element() + 2 * kFloat) * numbers_, 1);
    if (layer_.norm != NormKind::none) norm();
    if (layer_.mean_of_items) list_.pass("elementwise", kFloat * numbers_);
  }

  void backward() const {
    if (layer_.mean_of_items) list_.pass("elementwise_backward", kFloat * numbers_);
    if (layer_.norm != NormKind::none) norm_backward();
    if (layer_.residual) {
      list_.cast(numbers_);
      add("elementwise_backward", 3 * kFloat * numbers_, 0);
    }
  }

 private:
  bool swish() const { return layer_.norm == NormKind::swish_layer_norm; }

  // What nn.MultiheadAttention returns has the items of a sample apart.
  void add(const char* op, double bytes, double calls) const {
    if (layer_.part == AttentionPart::out_projection) return list_.strided(op, bytes, calls);
    list_.pass(op, bytes, kHalfFresh, calls);
  }

  DenseKernel kernel(DenseKernelKind kind, double tensors) const {
    return {.kind = kind, .m = rows_, .n = static_cast<double>(layer_.out), .bytes = tensors * kFloat * numbers_};
  }

  void norm() const {
    if (!layer_.residual) list_.to_floats(numbers_);
    list_.call("elementwise", kernel(DenseKernelKind::layer_norm, 2), 2);
    if (!swish()) return;
    list_.pass("elementwise", 2 * kFloat * numbers_, kFresh);
    list_.pass("elementwise", 3 * kFloat * numbers_, kHalfFresh);
  }

  void norm_backward() const {
    if (swish()) {
      list_.pass("elementwise_backward", 3 * kFloat * numbers_);
      for (int i = 0; i < 2; ++i) list_.pass("elementwise_backward", 3 * kFloat * numbers_, kHalfFresh, i);
    }
    list_.call("elementwise_backward", kernel(DenseKernelKind::layer_norm_gradient, 3), 2);
    list_.call("elementwise_backward", kernel(DenseKernelKind::layer_norm_weights, 2), 0);
    if (swish()) list_.pass("elementwise_backward", 3 * kFloat * numbers_, kHalfFresh, 0);
    if (!layer_.residual) list_.cast(numbers_);
  }

  KernelList& list_;
  const DenseLayer& layer_;
  double rows_, numbers_;
};

// Walks over the layers of one workload.
class PytorchDense {
 public:
  PytorchDense(const Workload& workload, const DenseStyle& style)
      : workload_(workload),
        dense_(workload.dense),
        items_(style.items),
        share_(style.attention_share),
        list_(workload) {
    const auto above = std::ranges::find_if_not(dense_.layers, is_bottom);
    above_ = static_cast<int>(above - dense_.layers.begin());
    const bool joins = above != dense_.layers.end() && !above->per_item && !above->attention &&
                       std::ranges::any_of(workload.tables, &Table::vector_per_feature);
    if (joins) joined_ = joined_of(workload, static_cast<double>(above->in));
  }

  DenseWork forward(bool bottom) {
    for (int index = 0; index < static_cast<int>(dense_.layers.size()); ++index) {
      if (is_bottom(layer(index)) == bottom) forward(index);
    }
    if (!bottom) loss();
    return list_.take();
  }

  DenseWork backward(const std::vector<LayerRun>& runs) {
    if (!runs.empty() && runs.front().layer == last_above()) loss_gradient();
    for (const LayerRun& run : runs) {
      const std::size_t first = list_.size();
      const bool is_input = run.layer == 0 && run.first == 0 && has_input_layer(dense_);
      backward(run.layer, is_input && run.count == 1);
      list_.repeat_from(first, static_cast<double>(run.count));
      if (run.layer == above_ && run.first == 0) take_apart();
    }
    return list_.take();
  }

 private:
  const DenseLayer& layer(int index) const { return dense_.layers[static_cast<std::size_t>(index)]; }
  bool is_dot(int index) const { return dense_.interaction == "dot" && layer(index).name == "dot"; }
  bool is_cross(int index, const char* name) const { return dense_.interaction == "dcn" && layer(index).name == name; }
  double samples(int index) const { return samples_of_layer(workload_, layer(index), items_); }

  int last_above() const {
    for (int index = static_cast<int>(dense_.layers.size()); index-- > 0;)
      if (!is_bottom(layer(index))) return index;
    return -1;
  }

  // Inputs that are not the product of a layer under autocast: data, joined vectors, what cross layers return.
  bool takes_floats(int index) const {
    if (index == 0) return true;
    if (layer(index - 1).norm != NormKind::none || layer(index - 1).residual) return true;
    if (layer(index).part == AttentionPart::out_projection) return false;
    return index == above_ || is_cross(index - 1, "cross_w") || layer(index).per_item;
  }
  bool has_relu(int index) const {
    const DenseLayer& of = layer(index);
    return of.out > 1 && of.usual_passes();
  }
  Linear linear(int index) {
    return {list_, samples(index), static_cast<double>(layer(index).in), static_cast<double>(layer(index).out),
            true,  has_relu(index)};
  }

  void join() {
    if (joined_.width <= 0 || dense_.interaction == "dot") return;
    for (std::int64_t copy = 1; copy < dense_.concatenations; ++copy)
      list_.join(joined_.samples, joined_.width - joined_.bottom, joined_.tensors);
    list_.join(joined_.samples, joined_.width, joined_.tensors);
  }
  // The gradient of the tables' vectors, in one piece.
  void take_apart() {
    if (joined_.width <= 0 || dense_.interaction == "dot" || joined_.one_by_one()) return;
    list_.strided("concatenation_backward", 2 * joined_.samples * (joined_.width - joined_.bottom) * kFloat);
  }

  void forward(int index) {
    const DenseLayer& of = layer(index);
    if (index == above_) join();
    const std::size_t first = list_.size();
    if (is_dot(index)) {
      Dot(list_, of, joined_).forward();
    } else if (of.attention) {
      attention(index, "attention", kPytorchScores);
    } else if (of.part == AttentionPart::in_projection) {
      multihead(index).in_projection();
    } else if (is_cross(index, "cross_w")) {
      cross(index).forward();
    } else if (!is_cross(index, "cross_v")) {
      if (of.part == AttentionPart::out_projection) multihead(index).out_projection();
      linear(index).forward(takes_floats(index));
    }
    add_stated_passes(index, "elementwise", 1);
    Behind(list_, of, samples(index)).forward();
    list_.repeat_from(first, static_cast<double>(of.repeat));
  }

  void backward(int index, bool is_input) {
    const DenseLayer& of = layer(index);
    Behind(list_, of, samples(index)).backward();
    add_stated_passes(index, "elementwise_backward", 1.5);
    if (of.part == AttentionPart::out_projection) multihead(index).out_projection_backward();
    if (is_dot(index)) {
      Dot(list_, of, joined_).backward();
    } else if (of.attention) {
      attention(index, "attention_backward", kPytorchScoreGradients);
    } else if (of.part == AttentionPart::in_projection) {
      multihead(index).in_projection_backward();
    } else if (is_cross(index, "cross_w")) {
      cross(index).backward();
    } else if (!is_cross(index, "cross_v")) {
      linear(index).backward(is_input, takes_floats(index) && !is_input);
    }
  }

  MultiheadAttention multihead(int index) {
    const DenseLayer& of = layer(index);
    const std::int64_t width = of.part == AttentionPart::in_projection ? of.in : of.out;
    return {list_, samples(index), static_cast<double>(width)};
  }

  Cross cross(int index) {
    return {list_, samples(index), static_cast<double>(layer(index).out), static_cast<double>(layer(index).in)};
  }

  void attention(int index, const char* op, double products) {
    const Attention& of = *layer(index).attention;
    const auto batch = static_cast<double>(workload_.batch_per_gpu);
    const double pairs = items_ == nullptr ? batch * of.pairs() : of.pairs_of(batch, items_->of_table);
    // Only attention to all items was measured: the kernels compute whole blocks of the mean square of the lengths.
    list_.call(op, {.kind = DenseKernelKind::attention,
                    .m = of.causal ? 0 : std::sqrt(pairs / batch),
                    .n = static_cast<double>(of.heads),
                    .k = static_cast<double>(of.head_dim),
                    .batch = batch,
                    .elements = 2 * products * static_cast<double>(of.heads * of.head_dim) * pairs,
                    .share = share_});
  }

  void add_stated_passes(int index, const char* op, double factor) {
    if (!layer(index).elementwise) return;
    const auto count = static_cast<int>(std::ceil(*layer(index).elementwise / 2));
    const double bytes = factor * *layer(index).elementwise * samples(index) * static_cast<double>(layer(index).out) *
                         list_.element() / count;
    for (int i = 0; i < count; ++i) list_.pass(op, bytes, kHalfFresh);
  }

  // Binary cross entropy with logits: element-wise kernels on a number a sample, and a mean.
  void loss() {
    const auto m = static_cast<double>(workload_.batch_per_gpu);
    for (int i = 0; i < kLossPasses; ++i) list_.pass("loss", 2 * m * kFloat, kFresh, i == 0 ? 1 : 0);
    list_.call("loss", {.kind = DenseKernelKind::rows_sum, .m = m, .n = 1}, 0);
  }
  void loss_gradient() {
    const auto m = static_cast<double>(workload_.batch_per_gpu);
    for (int i = 0; i < kLossGradientPasses; ++i) list_.pass("loss_backward", 2 * m * kFloat, kFresh, i == 0 ? 1 : 0);
  }

  const Workload& workload_;
  const DensePart& dense_;
  const RankItems* items_;
  double share_;  // of the peak rate, that attention reaches
  KernelList list_;
  int above_ = 0;  // the first layer that is no bottom one
  Joined joined_;  // of that layer; no columns: it joins nothing
};

// The kernels of PyTorch's optimizers with the tensors that each reads or writes (torch/optim, foreach and fused).
struct OptimizerKernels {
  const char* name;
  std::vector<double> accesses;
};
const std::vector<OptimizerKernels>& optimizer_kernels() {
  static const std::vector<OptimizerKernels> all = {{"sgd", {3}},
                                                    {"adagrad", {4, 2, 2, 2, 4}},
                                                    {"adam", {3, 2, 4, 2, 2, 2, 5}},
                                                    {"adam_fused", {7}},
                                                    {"lamb", {3, 2, 4, 2, 2, 2, 5, 3, 3}}};
  return all;
}

}  // namespace

DenseWork pytorch_forward(const Workload& workload, bool bottom, const DenseStyle& style) {
  return PytorchDense(workload, style).forward(bottom);
}

DenseWork pytorch_backward(const Workload& workload, const std::vector<LayerRun>& runs, const DenseStyle& style) {
  return PytorchDense(workload, style).backward(runs);
}

DenseWork pytorch_optimizer(const Workload& workload) {
  const std::vector<OptimizerKernels>& known = optimizer_kernels();
  const std::string& name = workload.dense.optimizer.empty() ? workload.optimizer : workload.dense.optimizer;
  auto found = std::ranges::find(known, name, &OptimizerKernels::name);
  if (found == known.end()) found = known.begin();
  double largest = 0;
  for (const DenseLayer& layer : workload.dense.layers)
    if (layer.weights) largest = std::max(largest, static_cast<double>(layer.in) * static_cast<double>(layer.out));
  const double elements = static_cast<double>(workload.dense.parameters.count) / kFloat;
  KernelList list(workload);
  for (const double accesses : found->accesses)
    list.call("optimizer",
              {.kind = DenseKernelKind::multi_tensor,
               .m = largest,
               .bytes = accesses * elements * kFloat,
               .elements = elements},
              list.size() == 0 ? 1 : 0);
  return list.take();
}

}  // namespace shardsim
