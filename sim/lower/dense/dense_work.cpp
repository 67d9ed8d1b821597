#include "sim/lower/dense/dense_work.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace shardsim {
namespace {

constexpr double kTensorCoreWidth = 8;  // widths are padded to whole ones of these
constexpr double kLeastWidth = 4;
constexpr int kLossKernels = 4;
constexpr double kScoreProducts = 2, kScoreGradientProducts = 5;

bool on_tensor_cores(const DensePart& dense) {
  return dense.precision != "fp32";
}

bool in_half(const DensePart& dense) {
  return dense.precision == "fp16" || dense.precision == "bf16";
}

double element_bytes_of(const DensePart& dense) {
  return in_half(dense) ? 2 : 4;
}

bool is_cross(const DensePart& dense, const DenseLayer& layer) {
  return dense.interaction == "dcn" && (layer.name == "cross_v" || layer.name == "cross_w");
}

// A product that ends in a bias and an activation: all but those of the interaction and the last one, to a single
// number.
bool is_activated(const DensePart& dense, const DenseLayer& layer) {
  return layer.weights && !is_cross(dense, layer) && layer.out > 1 && layer.usual_passes();
}

// Tensors of the layer's output that passes behind it read and write. Fused, what is between them stays in registers.
// Eager, SwishLayerNorm takes a sigmoid and a product more than a norm, and backward two products, the sigmoid's
// gradient and a sum.
double passes_behind(const DenseLayer& layer, bool fused, bool forward) {
  const bool norm = layer.norm != NormKind::none, swish = layer.norm == NormKind::swish_layer_norm && !fused;
  const double stated = (forward ? 1 : 1.5) * layer.elementwise.value_or(0);
  const double of_norm = !norm ? 0 : forward ? 2 : fused ? 3 : 5;
  const double of_swish = !swish ? 0 : forward ? 5 : 12;
  const double of_residual = !layer.residual ? 0 : forward && fused && norm ? 1 : 3;
  return stated + of_norm + of_swish + of_residual + (layer.mean_of_items ? 1 : 0);
}

// Returns the pairs of items in one rank's batch, per head.
double pairs_of_batch(const Workload& workload, const Attention& attention, const RankItems* items) {
  const auto samples = static_cast<double>(workload.batch_per_gpu);
  return items == nullptr ? samples * attention.pairs() : attention.pairs_of(samples, items->of_table);
}

// Passes over `elements` numbers each, every one a kernel.
DenseWork passes(double count, double elements, const DensePart& dense, double kernels) {
  DenseWork work;
  work.bytes = count * elements * element_bytes_of(dense);
  work.kernels = kernels;
  return work;
}

// One layer, once. Forward, or its gradients.
class LayerWork {
 public:
  LayerWork(const Workload& workload, const DenseLayer& layer, const DenseStyle& style)
      : workload_(workload),
        dense_(workload.dense),
        layer_(layer),
        style_(style),
        samples_(samples_of_layer(workload, layer, style.items)),
        in_(padded(static_cast<double>(layer.in))),
        out_(padded(static_cast<double>(layer.out))) {}

  DenseWork forward() const {
    if (layer_.attention) return attention(kScoreProducts);
    if (!layer_.weights) return dot(true);
    DenseWork work;
    work.products = {{samples_, out_, in_}};
    work.operators = 2;
    add_passes(work, true);
    return work;
  }

  // Returns the work for the gradients of its weights and of its input; with `is_input` there is none for the input.
  DenseWork backward(bool is_input) const {
    if (layer_.attention) return attention(kScoreGradientProducts);
    if (!layer_.weights) return dot(false);
    DenseWork work;
    work.products = {{in_, out_, samples_}};
    if (!is_input) work.products.push_back({samples_, in_, out_});
    work.operators = 2;
    add_passes(work, false);
    return work;
  }

 private:
  double padded(double width) const {
    if (!on_tensor_cores(dense_)) return std::max(width, kLeastWidth);
    return kTensorCoreWidth * std::ceil(width / kTensorCoreWidth);
  }

  // A cross layer is counted at its second product, after which x0 (W V x + b) + x is taken. Fused, a bias and an
  // activation are part of their product.
  void add_passes(DenseWork& work, bool forward) const {
    const double out = samples_ * static_cast<double>(layer_.out);
    if (passes_behind(layer_, style_.fused, true) > 0) {
      add_stated_passes(work, forward, out);
    } else if (is_cross(dense_, layer_)) {
      if (layer_.name != "cross_w") return;
      work.operators += 2;
      const double count = style_.fused ? (forward ? 4 : 6) : (forward ? 6 : 10);
      work.add(passes(count, out, dense_, style_.fused ? 1 : 3));
    } else if (!style_.fused && is_activated(dense_, layer_)) {
      work.add(passes(forward ? 2 : 4, out, dense_, forward ? 1 : 2));
    }
  }

  // A pass reads a tensor and writes one, and backward one more.
  void add_stated_passes(DenseWork& work, bool forward, double elements) const {
    const double kernels = std::ceil(passes_behind(layer_, style_.fused, true) / 2);
    work.add(passes(passes_behind(layer_, style_.fused, forward), elements, dense_, kernels));
    work.operators += kernels;
  }

  // Forward scores and their sums are a product each, one kernel together; backward there are five.
  DenseWork attention(double products) const {
    const Attention& attention = *layer_.attention;
    const double pairs = static_cast<double>(attention.heads) * pairs_of_batch(workload_, attention, style_.items);
    DenseWork work;
    work.products = {{pairs, products, static_cast<double>(attention.head_dim), 1, style_.attention_share}};
    work.operators = 1;
    if (passes_behind(layer_, style_.fused, true) > 0)
      add_stated_passes(work, products == kScoreProducts, samples_ * static_cast<double>(layer_.out));
    return work;
  }

  // Small products of each sample's vectors with each other, which memory bounds: vectors are read, the square written.
  DenseWork dot(bool forward) const {
    const double columns = samples_ * static_cast<double>(layer_.in);
    const double square = samples_ * static_cast<double>(layer_.out) * static_cast<double>(layer_.out);
    DenseWork work;
    if (forward) {
      work = passes(style_.fused ? 1 : 2, columns, dense_, style_.fused ? 2 : 3);
      work.add(passes(1, square, dense_, 0));
    } else {
      work = passes(style_.fused ? 2 : 3, columns, dense_, style_.fused ? 2 : 6);
      work.add(passes(2, square, dense_, 0));
    }
    work.operators = 4;
    return work;
  }

  const Workload& workload_;
  const DensePart& dense_;
  const DenseLayer& layer_;
  const DenseStyle& style_;
  const double samples_, in_, out_;
};

DenseWork repeated(DenseWork work, std::int64_t count) {
  const auto times = static_cast<double>(count);
  for (DenseWork::Product& product : work.products) product.count *= times;
  work.bytes *= times;
  work.kernels *= times;
  work.operators *= times;
  return work;
}

// The layer that takes the vectors of the tables, joined with the output of the bottom layers; null: none does.
const DenseLayer* joining_layer(const Workload& workload) {
  const std::vector<DenseLayer>& layers = workload.dense.layers;
  const auto first = std::ranges::find_if_not(layers, is_bottom);
  const auto is_joined = [](const Table& table) { return table.vector_per_feature(); };
  if (first == layers.end() || first->per_item || std::ranges::none_of(workload.tables, is_joined)) return nullptr;
  return &*first;
}

// Vectors are joined forward, their gradients taken apart backward.
DenseWork joining(const Workload& workload, const DenseLayer& layer, bool forward, const DenseStyle& style) {
  const double columns = static_cast<double>(workload.batch_per_gpu) * static_cast<double>(layer.in);
  const double backward = style.fused ? 3 : 2;
  DenseWork work = passes(forward ? 2 : backward, columns, workload.dense, style.fused ? 1 : 2);
  work.operators = 1;
  // Gradients of earlier copies are views of that of the last one.
  if (forward && workload.dense.concatenations > 1) return repeated(std::move(work), workload.dense.concatenations);
  return work;
}

double parameters_of_dense(const DensePart& dense) {
  return static_cast<double>(dense.parameters.count) / 4;
}

// Weights are kept in fp32, and turned into what products take once per iteration.
DenseWork weights_in_half(const DensePart& dense, bool fused) {
  DenseWork work;
  if (!in_half(dense)) return work;
  work.bytes = 6 * parameters_of_dense(dense);
  work.kernels = fused ? 1 : parameter_tensors(dense);
  return work;
}

// Bytes of a parameter that an optimizer reads and writes: gradient, weight and states, in half precision the copy of
// the weight, too, and the margins of the kernels.
struct OptimizerPass {
  const char* name;
  double half, full;
  int eager_kernels;
};
constexpr OptimizerPass kOptimizers[] = {
    {"sgd", 12, 12, 2},   {"adagrad", 22, 20, 8}, {"rowwise_adagrad", 22, 20, 8},
    {"adam", 30, 28, 10}, {"lamb", 38, 36, 14},
};
constexpr int kFusedOptimizerKernels = 2;

// Layers may be repeated absurdly often.
int counted(double number) {
  return static_cast<int>(std::min(number, 1e6));
}

}  // namespace

void DenseWork::add(const DenseWork& more) {
  products.insert(products.end(), more.products.begin(), more.products.end());
  bytes += more.bytes;
  kernels += more.kernels;
  operators += more.operators;
  by_kernel.insert(by_kernel.end(), more.by_kernel.begin(), more.by_kernel.end());
}

double samples_of_layer(const Workload& workload, const DenseLayer& layer, const RankItems* items) {
  const auto batch = static_cast<double>(workload.batch_per_gpu);
  if (layer.items) {
    double more = 0;  // than on average
    for (const int table : layer.items->tables) {
      const auto index = static_cast<std::size_t>(table);
      if (items != nullptr) more += items->of_table[index] - batch * workload.tables[index].average_length;
    }
    return batch * layer.items->length + more;
  }
  if (layer.per_item && items != nullptr) return items->all;
  double per_sample = 1;
  if (layer.per_item) {
    per_sample = 0;
    for (const Table& table : workload.tables) {
      if (table.kind == TableKind::sequence) per_sample += table.distribution().total();
    }
  }
  return per_sample * batch;
}

double forward_flops_of(const Workload& workload, const DenseLayer& layer, const RankItems* items) {
  if (layer.attention)
    return 2 * kScoreProducts * static_cast<double>(layer.in) * pairs_of_batch(workload, *layer.attention, items);
  return 2.0 * static_cast<double>(layer.in) * static_cast<double>(layer.out) *
         samples_of_layer(workload, layer, items);
}

double backward_flops_of(const Workload& workload, const DenseLayer& layer, const RankItems* items) {
  const double of_forward = layer.attention ? kScoreGradientProducts / kScoreProducts : 2;
  return of_forward * forward_flops_of(workload, layer, items);
}

DenseWork forward_work(const Workload& workload, bool bottom, const DenseStyle& style) {
  const std::vector<DenseLayer>& layers = workload.dense.layers;
  const bool has_bottom = std::ranges::any_of(layers, is_bottom);
  const DenseLayer* const joins = joining_layer(workload);
  DenseWork work;
  if (bottom == has_bottom) work = weights_in_half(workload.dense, style.fused);
  for (const DenseLayer& layer : layers) {
    if (is_bottom(layer) != bottom) continue;
    if (&layer == joins) work.add(joining(workload, layer, true, style));
    work.add(repeated(LayerWork(workload, layer, style).forward(), layer.repeat));
  }
  if (bottom) return work;
  work.kernels += kLossKernels;
  work.operators += 1;
  return work;
}

DenseWork backward_work(const Workload& workload, const std::vector<LayerRun>& runs, const DenseStyle& style) {
  const std::vector<DenseLayer>& layers = workload.dense.layers;
  const DenseLayer* const joins = joining_layer(workload);
  const bool has_input = has_input_layer(workload.dense);
  DenseWork work;
  for (const LayerRun& run : runs) {
    const DenseLayer& layer = layers[static_cast<std::size_t>(run.layer)];
    const LayerWork of_layer(workload, layer, style);
    const bool is_input = run.layer == 0 && run.first == 0 && has_input;
    if (run.count > (is_input ? 1 : 0)) work.add(repeated(of_layer.backward(false), run.count - (is_input ? 1 : 0)));
    if (is_input) work.add(of_layer.backward(true));
    if (&layer == joins && run.first == 0) work.add(joining(workload, layer, false, style));
  }
  return work;
}

bool has_input_layer(const DensePart& dense) {
  return !dense.layers.empty() && !dense.layers.front().per_item && !dense.layers.front().attention &&
         !dense.input_gradient;
}

DenseWork optimizer_work(const DensePart& dense, const std::string& optimizer, bool fused) {
  const auto* const found = std::ranges::find(kOptimizers, optimizer, &OptimizerPass::name);
  DenseWork work;
  work.bytes = parameters_of_dense(dense) * (in_half(dense) ? found->half : found->full);
  work.kernels = fused ? kFusedOptimizerKernels : found->eager_kernels;
  return work;
}

double parameter_tensors(const DensePart& dense) {
  double tensors = 0;
  for (const DenseLayer& layer : dense.layers) {
    const bool has_bias = layer.name != "cross_v" || dense.interaction != "dcn";
    if (layer.weights) tensors += static_cast<double>(layer.repeat) * (has_bias ? 2 : 1);
    if (layer.norm != NormKind::none) tensors += 2 * static_cast<double>(layer.repeat);
  }
  return tensors;
}

void put_dense_work(Op& op, const std::vector<DenseWork>& of_ranks) {
  const auto by_rank = [&](const std::function<double(const DenseWork&)>& number) {
    PerRank numbers{{}};
    for (const DenseWork& work : of_ranks) numbers.values.push_back(number(work));
    if (std::ranges::all_of(numbers.values, [&](double each) { return each == numbers.values.front(); }))
      numbers.values.resize(1);
    return numbers;
  };
  const DenseWork& first = of_ranks.front();
  op.hbm_bytes = by_rank([](const DenseWork& work) { return work.bytes; });
  op.kernels = counted(first.kernels);
  op.by_kernel = first.by_kernel;
  for (std::size_t i = 0; i < first.products.size(); ++i) {
    op.products.push_back({by_rank([i](const DenseWork& work) { return work.products[i].m; }),
                           by_rank([i](const DenseWork& work) { return work.products[i].n; }),
                           by_rank([i](const DenseWork& work) { return work.products[i].k; }),
                           counted(first.products[i].count), first.products[i].share});
  }
}

}  // namespace shardsim
