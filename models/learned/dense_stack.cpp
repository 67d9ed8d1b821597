#include "models/learned/dense_stack.h"

#include <cmath>
#include <utility>

#include "models/learned/eigen_maps.h"

namespace shardsim {
namespace {

// Eigen cuts products to fit the caches that it finds, which decides in which order it adds. These sizes are stated
// instead of asked for, so that every machine gives the same bits.
void state_cache_sizes() {
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 8 << 20);
}

std::size_t size_of(const DenseLayerShape& layer) {
  return static_cast<std::size_t>(layer.in + 1) * static_cast<std::size_t>(layer.out);
}

// The parameters of one layer, or their gradient.
template <typename Number>
struct LayerView {
  LayerView(Number* at, const DenseLayerShape& layer)
      : weights(at, layer.out, layer.in), biases(at + layer.in * layer.out, layer.out, 1) {}
  ParameterMap<Number> weights, biases;
};

}  // namespace

template <typename Scalar>
DenseStack<Scalar>::DenseStack(std::vector<DenseLayerShape> layers) : layers_(std::move(layers)) {
  state_cache_sizes();
}

template <typename Scalar>
std::size_t DenseStack<Scalar>::parameter_count() const {
  std::size_t count = 0;
  for (const DenseLayerShape& layer : layers_) count += size_of(layer);
  return count;
}

template <typename Scalar>
void DenseStack<Scalar>::initialise(std::span<Scalar> parameters, Rng& rng) const {
  std::size_t at = 0;
  for (const DenseLayerShape& layer : layers_) {
    const double bound = 1 / std::sqrt(static_cast<double>(layer.in));
    for (std::size_t i = 0; i < size_of(layer); ++i)
      parameters[at++] = static_cast<Scalar>(bound * (2 * rng.uniform() - 1));
  }
}

template <typename Scalar>
void DenseStack<Scalar>::forward(std::span<const Scalar> parameters, std::span<const Scalar> inputs,
                                 Outputs& outputs) const {
  outputs.resize(layers_.size());
  const Scalar* at = parameters.data();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DenseLayerShape& layer = layers_[i];
    const auto in = columns_of(i == 0 ? inputs : std::span<const Scalar>(outputs[i - 1]), layer.in);
    outputs[i].resize(static_cast<std::size_t>(in.cols() * layer.out));
    auto out = columns_of(outputs[i], layer.out);
    const LayerView<const Scalar> view(at, layer);
    out.noalias() = view.weights * in;
    out.colwise() += view.biases.col(0);
    if (layer.relu) out = out.cwiseMax(Scalar(0));
    at += size_of(layer);
  }
}

template <typename Scalar>
void DenseStack<Scalar>::backward(std::span<const Scalar> parameters, std::span<const Scalar> inputs,
                                  const Outputs& outputs, std::vector<Scalar> of_outputs, std::span<Scalar> gradient,
                                  std::vector<Scalar>* of_inputs) const {
  std::size_t end = parameters.size();
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const DenseLayerShape& layer = layers_[i];
    end -= size_of(layer);
    auto of_out = columns_of(of_outputs, layer.out);
    const auto out = columns_of(std::span<const Scalar>(outputs[i]), layer.out);
    if (layer.relu) of_out.array() *= (out.array() > Scalar(0)).template cast<Scalar>();
    const auto in = columns_of(i == 0 ? inputs : std::span<const Scalar>(outputs[i - 1]), layer.in);
    LayerView<Scalar> of_parameters(gradient.data() + end, layer);
    of_parameters.weights.noalias() += of_out * in.transpose();
    of_parameters.biases.col(0) += of_out.rowwise().sum();
    if (i == 0 && of_inputs == nullptr) return;
    std::vector<Scalar> of_in(static_cast<std::size_t>(in.size()));
    const LayerView<const Scalar> view(parameters.data() + end, layer);
    columns_of(of_in, layer.in).noalias() = view.weights.transpose() * of_out;
    of_outputs = std::move(of_in);
  }
  if (of_inputs != nullptr) *of_inputs = std::move(of_outputs);
}

template class DenseStack<float>;
template class DenseStack<double>;

}  // namespace shardsim
