#include "sim/lower/dense/pytorch_dense.h"

#include <algorithm>
#include <cmath>

#include "sim/lower/dense/pytorch_modules.h"

namespace shardsim {
namespace pytorch {
namespace {

constexpr double kLossPasses = 5, kLossGradientPasses = 5;
constexpr double kPytorchScores = 2, kPytorchScoreGradients = 5;

// Walks over the layers of one workload.
class PytorchDense {
 public:
  PytorchDense(const Workload& workload, const DenseStyle& style)
      : workload_(workload),
        dense_(workload.dense),
        items_(style.items),
        share_(style.attention_share),
        list_(workload.dense) {
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
}  // namespace pytorch

DenseWork pytorch_forward(const Workload& workload, bool bottom, const DenseStyle& style) {
  return pytorch::PytorchDense(workload, style).forward(bottom);
}

DenseWork pytorch_backward(const Workload& workload, const std::vector<LayerRun>& runs, const DenseStyle& style) {
  return pytorch::PytorchDense(workload, style).backward(runs);
}

DenseWork pytorch_optimizer(const DensePart& dense, const std::string& of_tables) {
  const std::vector<pytorch::OptimizerKernels>& known = pytorch::optimizer_kernels();
  const std::string& name = dense.optimizer.empty() ? of_tables : dense.optimizer;
  auto found = std::ranges::find(known, name, &pytorch::OptimizerKernels::name);
  if (found == known.end()) found = known.begin();
  double largest = 0;
  for (const DenseLayer& layer : dense.layers)
    if (layer.weights) largest = std::max(largest, static_cast<double>(layer.in) * static_cast<double>(layer.out));
  const double elements = static_cast<double>(dense.parameters.count) / pytorch::kFloat;
  pytorch::KernelList list(dense);
  for (const double accesses : found->accesses)
    list.call("optimizer",
              {.kind = DenseKernelKind::multi_tensor,
               .m = largest,
               .bytes = accesses * elements * pytorch::kFloat,
               .elements = elements},
              list.size() == 0 ? 1 : 0);
  return list.take();
}

}  // namespace shardsim
