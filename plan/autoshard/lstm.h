#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/rng.h"

namespace shardsim {

// Layers of long short-term memory (Hochreiter, Schmidhuber, 1997; forget gates: Gers et al., 2000), each reading the
// outputs of the one before, from a state of zeros. Many sequences of equal length at a time: value k of sequence s at
// step t is at [(t x sequences + s) x width + k].
// Parameters of a layer: weights of its inputs ([in x 4 hidden], those of one input together), of its own last outputs
// ([hidden x 4 hidden]), biases; gates in the order input, forget, cell, output. PyTorch's LSTM has a second list of
// biases, which adds nothing but another start.
template <typename Scalar>
class Lstm {
 public:
  Lstm(int inputs, int hidden, int layers) : inputs_(inputs), hidden_(hidden), layers_(layers) {}

  int hidden() const { return hidden_; }
  std::size_t parameter_count() const;
  // Uniform in +-1/sqrt(hidden): the default of PyTorch's LSTM.
  void initialise(std::span<Scalar> parameters, Rng& rng) const;

  // The values that one layer keeps for its backward pass; gates are kept after their activation functions.
  struct LayerPass {
    std::vector<Scalar> gates;                      // [steps x sequences x 4 hidden]
    std::vector<Scalar> cells, cell_tanh, outputs;  // [steps x sequences x hidden]
  };
  using Pass = std::vector<LayerPass>;
  void forward(std::span<const Scalar> parameters, std::span<const Scalar> inputs, int sequences, Pass& pass) const;

  // Adds the gradient of the parameters to `gradient`, and returns that of the inputs. `of_outputs`: of the last
  // layer's outputs.
  std::vector<Scalar> backward(std::span<const Scalar> parameters, std::span<const Scalar> inputs, int sequences,
                               const Pass& pass, std::vector<Scalar> of_outputs, std::span<Scalar> gradient) const;

 private:
  int in_of(int layer) const { return layer == 0 ? inputs_ : hidden_; }
  std::size_t size_of(int layer) const;

  int inputs_, hidden_, layers_;
};

extern template class Lstm<float>;
extern template class Lstm<double>;

}  // namespace shardsim
