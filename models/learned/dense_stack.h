#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/rng.h"

namespace shardsim {

// One dense layer: out = weights x in + biases, and no value below 0 behind a ReLU.
struct DenseLayerShape {
  int in = 0, out = 0;
  bool relu = true;
  bool operator==(const DenseLayerShape&) const = default;
};

// Dense layers one after the other, over many samples at a time. Samples lie one after the other in memory: sample i of
// a layer with `out` outputs is at [i x out]. Parameters are one list: of each layer its weights ([in x out], those of
// one input together), then its biases. `Scalar` is float, or double where gradients are proved.
// Single-threaded, and the order of additions does not depend on the machine's caches.
template <typename Scalar>
class DenseStack {
 public:
  explicit DenseStack(std::vector<DenseLayerShape> layers);

  const std::vector<DenseLayerShape>& layers() const { return layers_; }
  std::size_t parameter_count() const;
  // Weights and biases uniform in +-1/sqrt(in): the default of PyTorch's Linear, which the papers' nets begin with.
  void initialise(std::span<Scalar> parameters, Rng& rng) const;

  // Outputs of every layer, the last one's last.
  using Outputs = std::vector<std::vector<Scalar>>;
  void forward(std::span<const Scalar> parameters, std::span<const Scalar> inputs, Outputs& outputs) const;

  // Adds the gradient of the parameters to `gradient`. `of_outputs`: the gradient of the last layer's outputs. Fills
  // `of_inputs` unless it is null.
  void backward(std::span<const Scalar> parameters, std::span<const Scalar> inputs, const Outputs& outputs,
                std::vector<Scalar> of_outputs, std::span<Scalar> gradient, std::vector<Scalar>* of_inputs) const;

 private:
  std::vector<DenseLayerShape> layers_;
};

extern template class DenseStack<float>;
extern template class DenseStack<double>;

}  // namespace shardsim
