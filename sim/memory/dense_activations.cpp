#include "sim/memory/dense_activations.h"

#include <algorithm>

#include "sim/lower/dense/dense_work.h"

namespace shardsim {
namespace {

constexpr double kAttentionTensors = 4;  // queries, keys, values and the result

double element_bytes(const DensePart& dense) {
  return dense.precision == "fp16" || dense.precision == "bf16" ? 2 : 4;
}

// Numbers that one repeat of a layer keeps of a sample, or of an item.
double kept_numbers(const DensePart& dense, const DenseLayer& layer) {
  const auto in = static_cast<double>(layer.in), out = static_cast<double>(layer.out);
  const double of_norm = layer.norm == NormKind::none ? 0 : layer.norm == NormKind::layer_norm ? 1 : 2;
  const double passes = (layer.elementwise.value_or(0) / 2 + of_norm) * out;
  if (layer.attention) return kAttentionTensors * out + passes;
  if (!layer.weights) return in + out * out;  // the vectors, and their products with each other
  const bool cross = dense.interaction == "dcn" && layer.name == "cross_w";
  return in + passes + (cross ? out : 0);  // a cross layer multiplies its result by the first input
}

double half_weights(const DensePart& dense) {
  return element_bytes(dense) == 2 ? static_cast<double>(dense.parameters.count) / 2 : 0;
}

}  // namespace

double dense_activation_bytes(const Workload& workload, const LayerRun& run) {
  const DensePart& dense = workload.dense;
  const DenseLayer& layer = dense.layers[static_cast<std::size_t>(run.layer)];
  return static_cast<double>(run.count) * samples_of_layer(workload, layer, {}) * kept_numbers(dense, layer) *
         element_bytes(dense);
}

bool tells_dense_activations(const DensePart& dense) {
  return !dense.measured && (!dense.layers.empty() || dense.parameters.count == 0);
}

double dense_activation_bytes(const Workload& workload, bool bottom) {
  const DensePart& dense = workload.dense;
  if (!tells_dense_activations(dense)) return 0;
  double bytes = 0;
  bool in_place = element_bytes(dense) == 4;  // the first layer of items works on the vectors, which are counted
  for (const DenseLayer& layer : dense.layers) {
    if (is_bottom(layer) != bottom) continue;
    if (!bottom && layer.per_item && !layer.attention && in_place) {
      in_place = false;
      bytes -= samples_of_layer(workload, layer, {}) * static_cast<double>(layer.in) * element_bytes(dense);
    }
    bytes += static_cast<double>(layer.repeat) * samples_of_layer(workload, layer, {}) * kept_numbers(dense, layer) *
             element_bytes(dense);
  }
  const bool first = bottom == std::ranges::any_of(dense.layers, is_bottom);
  return bytes + (first ? half_weights(dense) : 0);
}

}  // namespace shardsim
