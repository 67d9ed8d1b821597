#include "plan/autoshard/lstm.h"

#include <cmath>
#include <utility>

#include "models/learned/eigen_maps.h"
#include "plan/autoshard/exponential.h"

namespace shardsim {
namespace {

// The parameters of one layer, or their gradient.
template <typename Number>
struct LstmLayer {
  LstmLayer(Number* at, int in, int hidden)
      : of_inputs(at, 4 * hidden, in),
        of_outputs(at + 4 * hidden * in, 4 * hidden, hidden),
        biases(at + 4 * hidden * (in + hidden), 4 * hidden, 1) {}
  ParameterMap<Number> of_inputs, of_outputs, biases;
};

// One step of one sequence: the sums of its gates become the gates, and the cell and the output follow.
template <typename Scalar>
void activate(Scalar* gates, const Scalar* cell_before, int hidden, Scalar* cell, Scalar* cell_tanh, Scalar* output) {
  for (int k = 0; k < hidden; ++k) {
    const auto in = static_cast<Scalar>(sigmoid(gates[k]));
    const auto forget = static_cast<Scalar>(sigmoid(gates[hidden + k]));
    const auto fresh = static_cast<Scalar>(hyperbolic_tangent(gates[2 * hidden + k]));
    const auto out = static_cast<Scalar>(sigmoid(gates[3 * hidden + k]));
    cell[k] = in * fresh + (cell_before != nullptr ? forget * cell_before[k] : Scalar(0));
    cell_tanh[k] = static_cast<Scalar>(hyperbolic_tangent(cell[k]));
    output[k] = out * cell_tanh[k];
    gates[k] = in, gates[hidden + k] = forget, gates[2 * hidden + k] = fresh, gates[3 * hidden + k] = out;
  }
}

// The gradient of the sums of the gates, from that of the output and of the cell; the latter becomes that of the cell
// before.
template <typename Scalar>
void deactivate(const Scalar* gates, const Scalar* cell_before, const Scalar* cell_tanh, const Scalar* of_output,
                int hidden, Scalar* of_cell, Scalar* of_sums) {
  for (int k = 0; k < hidden; ++k) {
    const Scalar in = gates[k], forget = gates[hidden + k], fresh = gates[2 * hidden + k], out = gates[3 * hidden + k];
    const Scalar cell = of_cell[k] + of_output[k] * out * (1 - cell_tanh[k] * cell_tanh[k]);
    const Scalar before = cell_before != nullptr ? cell_before[k] : Scalar(0);
    of_sums[k] = cell * fresh * in * (1 - in);
    of_sums[hidden + k] = cell * before * forget * (1 - forget);
    of_sums[2 * hidden + k] = cell * in * (1 - fresh * fresh);
    of_sums[3 * hidden + k] = of_output[k] * cell_tanh[k] * out * (1 - out);
    of_cell[k] = cell * forget;
  }
}

template <typename Scalar>
void layer_forward(const LstmLayer<const Scalar>& layer, std::span<const Scalar> inputs, int in, int hidden,
                   int sequences, typename Lstm<Scalar>::LayerPass& pass) {
  const auto x = columns_of(inputs, in);
  const auto count = static_cast<std::size_t>(x.cols()) * static_cast<std::size_t>(hidden);
  pass.gates.resize(4 * count);
  for (std::vector<Scalar>* values : {&pass.cells, &pass.cell_tanh, &pass.outputs}) values->resize(count);
  auto gates = columns_of(pass.gates, 4 * hidden);
  gates.noalias() = layer.of_inputs * x;
  gates.colwise() += layer.biases.col(0);
  auto outputs = columns_of(pass.outputs, hidden);
  for (Eigen::Index first = 0; first < x.cols(); first += sequences) {
    if (first > 0) {
      gates.middleCols(first, sequences).noalias() +=
          layer.of_outputs * outputs.middleCols(first - sequences, sequences);
    }
    for (Eigen::Index i = first; i < first + sequences; ++i) {
      const Scalar* before = first > 0 ? pass.cells.data() + (i - sequences) * hidden : nullptr;
      activate(pass.gates.data() + i * 4 * hidden, before, hidden, pass.cells.data() + i * hidden,
               pass.cell_tanh.data() + i * hidden, pass.outputs.data() + i * hidden);
    }
  }
}

// Through time, from the last step to the first; returns the gradient of the sums of the gates.
template <typename Scalar>
EigenMatrix<Scalar> through_time(const LstmLayer<const Scalar>& layer, int hidden, int sequences,
                                 const typename Lstm<Scalar>::LayerPass& pass, std::vector<Scalar>& of_outputs) {
  auto of_out = columns_of(of_outputs, hidden);
  EigenMatrix<Scalar> of_sums(4 * hidden, of_out.cols());
  EigenMatrix<Scalar> of_cells = EigenMatrix<Scalar>::Zero(hidden, sequences);
  for (Eigen::Index first = of_out.cols() - sequences; first >= 0; first -= sequences) {
    for (Eigen::Index s = 0; s < sequences; ++s) {
      const Eigen::Index i = first + s;
      const Scalar* before = first > 0 ? pass.cells.data() + (i - sequences) * hidden : nullptr;
      deactivate(pass.gates.data() + i * 4 * hidden, before, pass.cell_tanh.data() + i * hidden,
                 of_outputs.data() + i * hidden, hidden, of_cells.data() + s * hidden, of_sums.data() + i * 4 * hidden);
    }
    if (first == 0) break;
    of_out.middleCols(first - sequences, sequences).noalias() +=
        layer.of_outputs.transpose() * of_sums.middleCols(first, sequences);
  }
  return of_sums;
}

}  // namespace

template <typename Scalar>
std::size_t Lstm<Scalar>::size_of(int layer) const {
  return 4 * static_cast<std::size_t>(hidden_) * static_cast<std::size_t>(in_of(layer) + hidden_ + 1);
}

template <typename Scalar>
std::size_t Lstm<Scalar>::parameter_count() const {
  std::size_t count = 0;
  for (int layer = 0; layer < layers_; ++layer) count += size_of(layer);
  return count;
}

template <typename Scalar>
void Lstm<Scalar>::initialise(std::span<Scalar> parameters, Rng& rng) const {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_));
  for (Scalar& parameter : parameters) parameter = static_cast<Scalar>(bound * (2 * rng.uniform() - 1));
}

template <typename Scalar>
void Lstm<Scalar>::forward(std::span<const Scalar> parameters, std::span<const Scalar> inputs, int sequences,
                           Pass& pass) const {
  pass.resize(static_cast<std::size_t>(layers_));
  const Scalar* at = parameters.data();
  for (int layer = 0; layer < layers_; ++layer) {
    const auto number = static_cast<std::size_t>(layer);
    const std::span<const Scalar> in = layer == 0 ? inputs : std::span<const Scalar>(pass[number - 1].outputs);
    layer_forward<Scalar>({at, in_of(layer), hidden_}, in, in_of(layer), hidden_, sequences, pass[number]);
    at += size_of(layer);
  }
}

template <typename Scalar>
std::vector<Scalar> Lstm<Scalar>::backward(std::span<const Scalar> parameters, std::span<const Scalar> inputs,
                                           int sequences, const Pass& pass, std::vector<Scalar> of_outputs,
                                           std::span<Scalar> gradient) const {
  std::size_t end = parameter_count();
  for (int number = layers_ - 1; number >= 0; --number) {
    end -= size_of(number);
    const LayerPass& done = pass[static_cast<std::size_t>(number)];
    const LstmLayer<const Scalar> layer(parameters.data() + end, in_of(number), hidden_);
    LstmLayer<Scalar> of_layer(gradient.data() + end, in_of(number), hidden_);
    const EigenMatrix<Scalar> of_sums = through_time(layer, hidden_, sequences, done, of_outputs);
    const std::span<const Scalar> in =
        number == 0 ? inputs : std::span<const Scalar>(pass[static_cast<std::size_t>(number) - 1].outputs);
    const Eigen::Index later = of_sums.cols() - sequences;
    of_layer.of_inputs.noalias() += of_sums * columns_of(in, in_of(number)).transpose();
    of_layer.of_outputs.noalias() +=
        of_sums.rightCols(later) *
        columns_of(std::span<const Scalar>(done.outputs), hidden_).leftCols(later).transpose();
    of_layer.biases.col(0) += of_sums.rowwise().sum();
    of_outputs.assign(in.size(), Scalar(0));
    columns_of(of_outputs, in_of(number)).noalias() = layer.of_inputs.transpose() * of_sums;
  }
  return of_outputs;
}

template class Lstm<float>;
template class Lstm<double>;

}  // namespace shardsim
