#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/validate/execute/kernels/embedding_reference.h"
#include "tests/validate/execute/kernels/random_batch.h"
#include "validate/execute/kernels/cpu_kernels.h"

namespace shardsim::cpu_update_test {
namespace {

constexpr RowOptimizer kOptimizers[] = {RowOptimizer::sgd, RowOptimizer::rowwise_adagrad, RowOptimizer::adagrad,
                                        RowOptimizer::adam};

OptimizerSettings settings_of(RowOptimizer optimizer) {
  OptimizerSettings settings;
  settings.optimizer = optimizer;
  settings.learning_rate = 0.05F;
  settings.epsilon = 1e-3F;
  settings.step = 3;
  return settings;
}

// Tables and states of a random batch before an update, states not zero.
struct Training {
  RandomBatch batch;
  std::vector<float> state;

  Training(ElementType type, RowOptimizer optimizer, std::uint64_t seed, const std::vector<std::int64_t>& dims)
      : batch(random_batch(type, seed, dims)) {
    Rng rng(seed + 1000);
    for (int t = 0; t < batch.tables.tables(); ++t) {
      const std::size_t count = state_elements(optimizer, batch.tables.rows[t], batch.tables.dim[t]);
      for (std::size_t i = 0; i < count; ++i) state.push_back(static_cast<float>(rng.uniform()));
    }
  }

  void update(const OptimizerSettings& settings, int threads) {
    update_pooled(batch.tables, batch.arena.data(), state.data(), batch.indices, batch.offsets, batch.gradients.data(),
                  settings, threads);
  }
  reference::Trained expected(const OptimizerSettings& settings) const {
    reference::Trained trained = reference::before(batch.tables, batch.arena.data(), batch.elements, state);
    reference::update_pooled(trained, batch.tables, batch.indices, batch.offsets, batch.gradients, settings);
    return trained;
  }

  // The number of weights and states that are wrong. Gradients below 1, at most some 400 of one row: sums and steps in
  // fp32 stay within 1e-5 of the double result; storing adds half a unit in the last place of the type.
  int wrong(const reference::Trained& expected) const {
    int count = 0;
    for (std::int64_t i = 0; i < batch.elements; ++i) {
      const double got = reference::element(batch.tables.type, batch.arena.data(), i);
      const double most = 1e-5 + reference::rounding(batch.tables.type) * std::abs(expected.weights[i]) * 1.001;
      count += std::abs(got - expected.weights[i]) <= most ? 0 : 1;
    }
    for (std::size_t i = 0; i < state.size(); ++i)
      count += std::abs(state[i] - expected.state[i]) <= 1e-5 * (1 + std::abs(expected.state[i])) ? 0 : 1;
    return count;
  }
};

}  // namespace

TEST_CASE("an update sums the gradients of a row and takes one step: every optimizer, type and odd batch") {
  for (const RowOptimizer optimizer : kOptimizers)
    for (const ElementType type : kElementTypes)
      for (std::uint64_t seed = 1; seed < 8; ++seed) {
        CAPTURE(static_cast<int>(optimizer));
        CAPTURE(static_cast<int>(type));
        CAPTURE(seed);
        Training training(type, optimizer, seed, {4, 1, 67, 32});
        const reference::Trained expected = training.expected(settings_of(optimizer));
        training.update(settings_of(optimizer), 1);
        CHECK(training.wrong(expected) == 0);
      }
}

TEST_CASE("one step per row is not one step per lookup: the reference tells them apart") {
  Training training(ElementType::fp32, RowOptimizer::adam, 2, {32});
  const OptimizerSettings settings = settings_of(RowOptimizer::adam);
  const reference::Trained expected = training.expected(settings);
  for (std::size_t i = 0; i < training.batch.offsets.size() - 1; ++i) {  // bag by bag instead
    std::vector<std::int64_t> offsets = training.batch.offsets;
    for (std::size_t j = 0; j < offsets.size(); ++j) offsets[j] = training.batch.offsets[std::clamp(j, i, i + 1)];
    update_pooled(training.batch.tables, training.batch.arena.data(), training.state.data(), training.batch.indices,
                  offsets, training.batch.gradients.data(), settings, 1);
  }
  CHECK(training.wrong(expected) > 0);
}

TEST_CASE("any number of threads gives the same bits") {
  for (const RowOptimizer optimizer : kOptimizers) {
    Training alone(ElementType::fp16, optimizer, 5, {4, 67}), many = alone;
    alone.update(settings_of(optimizer), 1);
    many.update(settings_of(optimizer), 5);
    CHECK(alone.batch.arena == many.batch.arena);
    CHECK(alone.state == many.state);
  }
}

TEST_CASE("rows after a gather are updated as bags of one index each are") {
  for (const RowOptimizer optimizer : kOptimizers) {
    Training training(ElementType::bf16, optimizer, 6, {32});
    RandomBatch& batch = training.batch;
    const auto lookups = static_cast<std::int64_t>(batch.indices.size());
    batch.tables.bags = lookups;
    batch.offsets.clear();
    for (std::int64_t i = 0; i <= lookups; ++i) batch.offsets.push_back(i);
    batch.gradients.resize(static_cast<std::size_t>(lookups) * 32, 0.25F);
    const reference::Trained expected = training.expected(settings_of(optimizer));
    update_rows(ElementType::bf16, batch.tables.rows[0], 32, batch.arena.data() + 2 * batch.tables.begin[0],
                training.state.data(), batch.indices, batch.gradients.data(), settings_of(optimizer), 2);
    CHECK(training.wrong(expected) == 0);
  }
}

TEST_CASE("a dense update takes a step on every row") {
  Training training(ElementType::fp32, RowOptimizer::rowwise_adagrad, 7, {67});
  RandomBatch& batch = training.batch;
  batch.tables.bags = batch.tables.rows[0];
  batch.indices.clear();
  batch.offsets.assign(1, 0);
  for (std::int64_t row = 0; row < batch.tables.rows[0]; ++row) {
    batch.indices.push_back(row);
    batch.offsets.push_back(row + 1);
  }
  batch.gradients.resize(static_cast<std::size_t>(batch.tables.rows[0]) * 67, 0.5F);
  const OptimizerSettings settings = settings_of(RowOptimizer::rowwise_adagrad);
  const reference::Trained expected = training.expected(settings);
  update_dense(ElementType::fp32, batch.tables.rows[0], 67, batch.arena.data() + 4 * batch.tables.begin[0],
               training.state.data(), batch.gradients.data(), settings, 3);
  CHECK(training.wrong(expected) == 0);
}

TEST_CASE("scattered gradients are added to what is there") {
  const std::vector<std::int64_t> indices{2, 0, 2, 2};
  const std::vector<float> gradients{1, 2, 3, 4, 5, 6, 7, 8};
  for (const int threads : {1, 3}) {
    std::vector<float> dense(6, 100);
    update_rows(ElementType::fp32, 3, 2, dense.data(), nullptr, indices, gradients.data(), summing_settings(), threads);
    CHECK(dense == std::vector<float>{103, 104, 100, 100, 113, 116});
  }
  std::vector<float> dense(6);
  CHECK_THROWS_AS(
      update_rows(ElementType::fp32, 2, 2, dense.data(), nullptr, indices, gradients.data(), summing_settings(), 2),
      std::out_of_range);
}

TEST_CASE("plain SGD with rate 1 on whole numbers is exact, thousands of repeated indices included") {
  std::vector<float> table(12, 5.0F);
  std::vector<std::int64_t> indices;
  std::vector<float> gradients;
  for (int i = 0; i < 5000; ++i) {
    indices.push_back(i % 5 == 0 ? 5 : i % 2);
    gradients.insert(gradients.end(), {1.0F, i % 3 == 0 ? -1.0F : 2.0F});
  }
  std::vector<double> expected(12, 5);
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (int c = 0; c < 2; ++c) expected[indices[i] * 2 + c] -= gradients[2 * i + c];
  OptimizerSettings settings;
  settings.learning_rate = 1;
  update_rows(ElementType::fp32, 6, 2, table.data(), nullptr, indices, gradients.data(), settings, 2);
  CHECK(std::vector<double>(table.begin(), table.end()) == expected);
}

TEST_CASE("nothing is touched without indices, and indices outside the table are refused") {
  for (const RowOptimizer optimizer : kOptimizers) {
    Training training(ElementType::fp32, optimizer, 9, {4, 8});
    const Training before = training;
    training.batch.indices.clear();
    training.batch.offsets.assign(training.batch.offsets.size(), 0);
    training.update(settings_of(optimizer), 2);
    CHECK(training.batch.arena == before.batch.arena);
    CHECK(training.state == before.state);
  }
  Training training(ElementType::fp32, RowOptimizer::sgd, 9, {4, 8});
  training.batch.indices.back() = training.batch.tables.rows.back();
  CHECK_THROWS_AS(training.update(settings_of(RowOptimizer::sgd), 2), std::out_of_range);
}

}  // namespace shardsim::cpu_update_test
