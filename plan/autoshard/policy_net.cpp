#include "plan/autoshard/policy_net.h"

#include <algorithm>
#include <utility>

namespace shardsim {
namespace {

constexpr int kLstmLayers = 2, kValueHidden = 64;

template <typename Scalar>
void add_to(Scalar* to, const Scalar* from, int width) {
  for (int k = 0; k < width; ++k) to[k] += from[k];
}

// The policy's input for a rank: the numbers of the state, those of the rank, then their products.
template <typename Scalar>
void multiply(const Scalar* state, const Scalar* rank, int width, Scalar* to) {
  for (int k = 0; k < width; ++k) {
    to[k] = state[k];
    to[width + k] = rank[k];
    to[2 * width + k] = state[k] * rank[k];
  }
}

// The way back through it: adds to the gradient of the state, and sets that of the rank.
template <typename Scalar>
void unmultiply(const Scalar* of_product, const Scalar* state, const Scalar* rank, int width, Scalar* of_state,
                Scalar* of_rank) {
  for (int k = 0; k < width; ++k) {
    of_state[k] += of_product[k] + of_product[2 * width + k] * rank[k];
    of_rank[k] = of_product[width + k] + of_product[2 * width + k] * state[k];
  }
}

}  // namespace

template <typename Scalar>
PolicyNet<Scalar>::PolicyNet(int features)
    : costs_(features),
      step_({{1, kVector, false}}),
      load_({{2, kVector, false}}),
      value_({{kWidth, kValueHidden, true}, {kValueHidden, 1, false}}),
      logits_({{3 * kWidth, 128, true}, {128, 128, true}, {128, 64, true}, {64, 1, false}}),
      lstm_(kWidth, kWidth, kLstmLayers) {}

template <typename Scalar>
std::size_t PolicyNet<Scalar>::parameter_count() const {
  return costs_.parameter_count() + step_.parameter_count() + load_.parameter_count() + lstm_.parameter_count() +
         value_.parameter_count() + logits_.parameter_count();
}

template <typename Scalar>
std::span<const Scalar> PolicyNet<Scalar>::of_costs(std::span<const Scalar> parameters) const {
  return parameters.first(costs_.parameter_count());
}

template <typename Scalar>
template <typename Number>
auto PolicyNet<Scalar>::parts_of(std::span<Number> parameters) const -> Parts<Number> {
  const auto next = [&](std::size_t count) {
    const std::span<Number> part = parameters.first(count);
    parameters = parameters.subspan(count);
    return part;
  };
  Parts<Number> parts;
  parts.tables = next(costs_.tables().parameter_count());
  parts.head = next(costs_.head().parameter_count());
  parts.step = next(step_.parameter_count());
  parts.load = next(load_.parameter_count());
  parts.lstm = next(lstm_.parameter_count());
  parts.value = next(value_.parameter_count());
  parts.logits = next(logits_.parameter_count());
  return parts;
}

template <typename Scalar>
void PolicyNet<Scalar>::initialise(std::span<Scalar> parameters, Rng& rng) const {
  const Parts<Scalar> parts = parts_of(parameters);
  costs_.initialise(parameters.first(costs_.parameter_count()), rng);
  step_.initialise(parts.step, rng);
  load_.initialise(parts.load, rng);
  lstm_.initialise(parts.lstm, rng);
  value_.initialise(parts.value, rng);
  logits_.initialise(parts.logits, rng);
}

template <typename Scalar>
void PolicyNet<Scalar>::start(std::span<const Scalar> parameters, const Episodes<Scalar>& episodes, Pass& pass) const {
  const Parts<const Scalar> parts = parts_of(parameters);
  const auto steps = static_cast<std::size_t>(episodes.steps());
  pass.values = episodes.values;
  pass.values.resize(pass.values.size() + static_cast<std::size_t>(episodes.features), Scalar(0));
  costs_.tables().forward(parts.tables, pass.values, pass.tables);
  pass.shares.resize(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t placed = i / static_cast<std::size_t>(episodes.count);  // tables before this step
    pass.shares[i] = static_cast<Scalar>(placed) / static_cast<Scalar>(episodes.tables);
  }
  step_.forward(parts.step, pass.shares, pass.step);
  pass.states.resize(steps * kWidth);
  for (std::size_t i = 0; i < steps; ++i) {
    std::copy_n(pass.tables.back().data() + i * kVector, kVector, pass.states.data() + i * kWidth);
    std::copy_n(pass.step.back().data() + i * kVector, kVector, pass.states.data() + i * kWidth + kVector);
  }
  lstm_.forward(parts.lstm, pass.states, episodes.count, pass.lstm);
  value_.forward(parts.value, pass.lstm.back().outputs, pass.value);
  const std::size_t offers = steps * static_cast<std::size_t>(episodes.ranks);
  pass.ranks.resize(offers * kWidth);
  pass.products.resize(offers * 3 * kWidth);
  pass.sums.assign(static_cast<std::size_t>(episodes.count * episodes.ranks * kVector), Scalar(0));
}

template <typename Scalar>
std::span<const Scalar> PolicyNet<Scalar>::offer(std::span<const Scalar> parameters, const Episodes<Scalar>& episodes,
                                                 int step, Pass& pass) const {
  const Parts<const Scalar> parts = parts_of(parameters);
  const auto offers = static_cast<std::size_t>(episodes.count * episodes.ranks);
  const std::size_t first = static_cast<std::size_t>(step) * offers;
  typename Pass::Outputs load;
  load_.forward(parts.load, std::span<const Scalar>(episodes.loads).subspan(2 * first, 2 * offers), load);
  const Scalar* zeros = pass.tables.back().data() + episodes.steps() * kVector;
  for (std::size_t i = 0; i < offers; ++i) {
    Scalar* rank = pass.ranks.data() + (first + i) * kWidth;
    std::copy_n(pass.sums.data() + i * kVector, kVector, rank);
    add_to(rank, zeros, kVector);
    std::copy_n(load.back().data() + i * kVector, kVector, rank + kVector);
    const std::size_t state = (first + i) / static_cast<std::size_t>(episodes.ranks);
    multiply(pass.lstm.back().outputs.data() + state * kWidth, rank, kWidth,
             pass.products.data() + (first + i) * 3 * kWidth);
  }
  const std::span<const Scalar> products(pass.products);
  logits_.forward(parts.logits, products.subspan(first * 3 * kWidth, offers * 3 * kWidth), pass.logits);
  return pass.logits.back();
}

template <typename Scalar>
void PolicyNet<Scalar>::place(const Episodes<Scalar>& episodes, int step, Pass& pass) const {
  for (int e = 0; e < episodes.count; ++e) {
    const int i = step * episodes.count + e;
    const int shard = e * episodes.ranks + episodes.rank_of[static_cast<std::size_t>(i)];
    add_to(pass.sums.data() + shard * kVector, pass.tables.back().data() + i * kVector, kVector);
  }
}

template <typename Scalar>
void PolicyNet<Scalar>::finish(std::span<const Scalar> parameters, Pass& pass) const {
  logits_.forward(parts_of(parameters).logits, pass.products, pass.logits);
}

template <typename Scalar>
std::vector<Scalar> PolicyNet<Scalar>::backward_of_ranks(const Parts<const Scalar>& parts,
                                                         const Episodes<Scalar>& episodes, const Pass& pass,
                                                         const std::vector<Scalar>& of_products,
                                                         const Parts<Scalar>& gradient,
                                                         std::vector<Scalar>& of_vectors) const {
  const int steps = episodes.steps(), ranks = episodes.ranks;
  std::vector<Scalar> of_states(static_cast<std::size_t>(steps * kWidth), Scalar(0));
  std::vector<Scalar> of_loads(static_cast<std::size_t>(steps * ranks * kVector));
  // The gradient of what lies on each shard from the step on: a table's vector is in the sums of all later steps.
  std::vector<Scalar> of_sums(pass.sums.size(), Scalar(0));
  Scalar* of_zeros = of_vectors.data() + steps * kVector;
  std::vector<Scalar> of_rank(kWidth);
  for (int i = steps - 1; i >= 0; --i) {
    Scalar* of_shards = of_sums.data() + (i % episodes.count) * ranks * kVector;
    add_to(of_vectors.data() + i * kVector, of_shards + episodes.rank_of[static_cast<std::size_t>(i)] * kVector,
           kVector);
    for (int r = 0; r < ranks; ++r) {
      const int at = i * ranks + r;
      unmultiply(of_products.data() + at * 3 * kWidth, pass.lstm.back().outputs.data() + i * kWidth,
                 pass.ranks.data() + at * kWidth, kWidth, of_states.data() + i * kWidth, of_rank.data());
      add_to(of_shards + r * kVector, of_rank.data(), kVector);
      add_to(of_zeros, of_rank.data(), kVector);
      std::copy_n(of_rank.data() + kVector, kVector, of_loads.data() + at * kVector);
    }
  }
  typename Pass::Outputs load;
  load_.forward(parts.load, episodes.loads, load);
  load_.backward(parts.load, episodes.loads, load, std::move(of_loads), gradient.load, nullptr);
  return of_states;
}

template <typename Scalar>
void PolicyNet<Scalar>::backward(std::span<const Scalar> parameters, const Episodes<Scalar>& episodes, const Pass& pass,
                                 std::vector<Scalar> of_logits, std::vector<Scalar> of_values,
                                 std::span<Scalar> gradient) const {
  const Parts<const Scalar> parts = parts_of(parameters);
  const Parts<Scalar> of_parts = parts_of(gradient);
  std::vector<Scalar> of_products, of_outputs;
  logits_.backward(parts.logits, pass.products, pass.logits, std::move(of_logits), of_parts.logits, &of_products);
  value_.backward(parts.value, pass.lstm.back().outputs, pass.value, std::move(of_values), of_parts.value, &of_outputs);
  std::vector<Scalar> of_vectors(pass.tables.back().size(), Scalar(0));
  const std::vector<Scalar> of_states = backward_of_ranks(parts, episodes, pass, of_products, of_parts, of_vectors);
  add_to(of_outputs.data(), of_states.data(), static_cast<int>(of_states.size()));
  const std::vector<Scalar> of_read =
      lstm_.backward(parts.lstm, pass.states, episodes.count, pass.lstm, std::move(of_outputs), of_parts.lstm);
  std::vector<Scalar> of_steps(static_cast<std::size_t>(episodes.steps() * kVector));
  for (int i = 0; i < episodes.steps(); ++i) {
    add_to(of_vectors.data() + i * kVector, of_read.data() + i * kWidth, kVector);
    std::copy_n(of_read.data() + i * kWidth + kVector, kVector, of_steps.data() + i * kVector);
  }
  step_.backward(parts.step, pass.shares, pass.step, std::move(of_steps), of_parts.step, nullptr);
  costs_.tables().backward(parts.tables, pass.values, pass.tables, std::move(of_vectors), of_parts.tables, nullptr);
}

template class PolicyNet<float>;
template class PolicyNet<double>;

}  // namespace shardsim
