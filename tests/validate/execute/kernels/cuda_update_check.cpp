#include <cmath>

#include "tests/validate/execute/kernels/cuda_check_batch.h"
#include "tests/validate/execute/kernels/cuda_checks.h"
#include "tests/validate/execute/kernels/embedding_reference.h"
#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr RowOptimizer kOptimizers[] = {RowOptimizer::sgd, RowOptimizer::rowwise_adagrad, RowOptimizer::adagrad,
                                        RowOptimizer::adam};

const char* optimizer_text(RowOptimizer optimizer) {
  if (optimizer == RowOptimizer::adagrad) return "Adagrad";
  return optimizer == RowOptimizer::sgd ? "sgd" : optimizer == RowOptimizer::adam ? "adam" : "row-wise Adagrad";
}

OptimizerSettings settings_of(RowOptimizer optimizer) {
  OptimizerSettings settings;
  settings.optimizer = optimizer;
  settings.learning_rate = 0.05F;
  settings.epsilon = 1e-3F;
  settings.step = 3;
  return settings;
}

// A random batch with a state, on the device too.
struct Training {
  RandomBatch batch;
  std::vector<float> state;
  OptimizerSettings settings;
  DeviceBuffer arena, device_state, indices, offsets, gradients;

  Training(RandomBatch of, RowOptimizer optimizer) : batch(std::move(of)), settings(settings_of(optimizer)) {
    Rng rng(7);
    for (int t = 0; t < batch.tables.tables(); ++t) {
      const std::size_t count = state_elements(optimizer, batch.tables.rows[t], batch.tables.dim[t]);
      for (std::size_t i = 0; i < count; ++i) state.push_back(static_cast<float>(rng.uniform()));
    }
    upload();
  }

  void upload() {
    arena = on_device(batch.arena);
    device_state = on_device(state);
    indices = on_device(batch.indices);
    offsets = on_device(batch.offsets);
    gradients = on_device(batch.gradients);
  }

  std::int64_t lookups() const { return static_cast<std::int64_t>(batch.indices.size()); }

  void update() {
    const cuda::DeviceTables tables(batch.tables);
    const cuda::UpdateWorkspace workspace(lookups() + 3, tables.largest_dim(), tables.tables());
    cuda::update_pooled(tables, arena.data(), device_state.as<float>(), indices.as<std::int64_t>(), lookups(),
                        offsets.as<std::int64_t>(), gradients.as<float>(), settings, workspace, nullptr);
    cuda::check(cudaDeviceSynchronize(), "an update");
  }

  reference::Trained expected() const {
    reference::Trained trained = reference::before(batch.tables, batch.arena.data(), batch.elements, state);
    reference::update_pooled(trained, batch.tables, batch.indices, batch.offsets, batch.gradients, settings);
    return trained;
  }

  // Gradients below 1, at most some 400 of one row: sums and steps in fp32 stay within 1e-5 of the double result;
  // storing adds half a unit in the last place of the type.
  std::string fault(const reference::Trained& right) const {
    const std::vector<std::byte> got = from_device<std::byte>(arena);
    for (std::int64_t i = 0; i < batch.elements; ++i) {
      const double value = reference::element(batch.tables.type, got.data(), i);
      const double most = 1e-5 + reference::rounding(batch.tables.type) * std::abs(right.weights[i]) * 1.001;
      if (!(std::abs(value - right.weights[i]) <= most))
        return "weight " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
               std::to_string(right.weights[i]);
    }
    const std::vector<float> states = from_device<float>(device_state);
    for (std::size_t i = 0; i < states.size(); ++i)
      if (!(std::abs(states[i] - right.state[i]) <= 1e-5 * (1 + std::abs(right.state[i]))))
        return "state " + std::to_string(i) + " is " + std::to_string(states[i]) + ", not " +
               std::to_string(right.state[i]);
    return {};
  }
};

std::string pooled_fault(RandomBatch batch, RowOptimizer optimizer) {
  Training training(std::move(batch), optimizer);
  const reference::Trained right = training.expected();
  training.update();
  return training.fault(right);
}

// The same input twice must give the same bits.
std::string repetition_fault(const RandomBatch& batch, RowOptimizer optimizer) {
  Training one(batch, optimizer), other(batch, optimizer);
  one.update();
  other.update();
  const bool same = from_device<std::byte>(one.arena) == from_device<std::byte>(other.arena) &&
                    from_device<float>(one.device_state) == from_device<float>(other.device_state);
  return same ? "" : "two runs differ";
}

// One table whose bag b is the index b % rows; a gathered row each.
Training one_index_per_bag(ElementType type, RowOptimizer optimizer, std::int64_t dim, std::int64_t lookups) {
  RandomBatch batch = aligned_batch(type, 21, {dim});
  batch.tables.bags = lookups;
  batch.indices.clear();
  batch.offsets.assign(1, 0);
  batch.gradients.clear();
  Rng rng(3);
  for (std::int64_t i = 0; i < lookups; ++i) {
    batch.indices.push_back(i * 7 % batch.tables.rows[0]);
    batch.offsets.push_back(i + 1);
    for (std::int64_t c = 0; c < dim; ++c) batch.gradients.push_back(small_real(rng));
  }
  return {std::move(batch), optimizer};
}

std::string rows_fault(ElementType type, RowOptimizer optimizer, std::int64_t dim) {
  Training training = one_index_per_bag(type, optimizer, dim, 150);
  const reference::Trained right = training.expected();
  const cuda::UpdateWorkspace workspace(training.lookups(), dim);
  cuda::update_rows(type, training.batch.tables.rows[0], dim, training.arena.data(), training.device_state.as<float>(),
                    training.indices.as<std::int64_t>(), training.lookups(), training.gradients.as<float>(),
                    training.settings, workspace, nullptr);
  return training.fault(right);
}

std::string dense_fault(ElementType type, RowOptimizer optimizer, std::int64_t dim) {
  const std::int64_t rows = random_batch(type, 21, {dim}).tables.rows[0];
  Training training = one_index_per_bag(type, optimizer, dim, rows);  // bag i is not row i: one gradient for all
  const std::vector<float> first(training.batch.gradients.begin(), training.batch.gradients.begin() + dim);
  for (std::int64_t i = 0; i < rows; ++i) {
    training.batch.indices[i] = i;
    std::copy(first.begin(), first.end(), training.batch.gradients.begin() + i * dim);
  }
  training.upload();
  const reference::Trained right = training.expected();
  cuda::update_dense(type, rows, dim, training.arena.data(), training.device_state.as<float>(),
                     training.gradients.as<float>(), training.settings, nullptr);
  return training.fault(right);
}

// Whole numbers: sums are exact in any order. Run r has lengths[r] lookups, shuffled among each other.
struct Hot {
  std::vector<std::int64_t> indices;
  std::vector<float> gradients;
  std::vector<double> sums;  // [rows][dim]
};

Hot hot_input(const std::vector<std::int64_t>& lengths, std::int64_t dim) {
  Hot hot;
  Rng rng(11);
  for (std::size_t row = 0; row < lengths.size(); ++row)
    hot.indices.insert(hot.indices.end(), static_cast<std::size_t>(lengths[row]), static_cast<std::int64_t>(row));
  for (std::size_t i = hot.indices.size(); i > 1; --i) std::swap(hot.indices[i - 1], hot.indices[rng.below(i)]);
  hot.sums.assign(lengths.size() * static_cast<std::size_t>(dim), 0);
  for (const std::int64_t row : hot.indices)
    for (std::int64_t c = 0; c < dim; ++c) {
      hot.gradients.push_back(static_cast<float>(rng.below(5)) - 2);
      hot.sums[static_cast<std::size_t>(row * dim + c)] += hot.gradients.back();
    }
  return hot;
}

std::string hot_fault(const std::vector<std::int64_t>& lengths, std::int64_t dim) {
  const Hot hot = hot_input(lengths, dim);
  const auto rows = static_cast<std::int64_t>(lengths.size()), count = static_cast<std::int64_t>(hot.indices.size());
  const DeviceBuffer indices = on_device(hot.indices), gradients = on_device(hot.gradients);
  const DeviceBuffer dense = on_device(std::vector<float>(hot.sums.size(), 100)),
                     table = on_device(std::vector<float>(hot.sums.size(), 3));
  const cuda::UpdateWorkspace workspace(count, dim);
  cuda::update_rows(ElementType::fp32, rows, dim, dense.data(), nullptr, indices.as<std::int64_t>(), count,
                    gradients.as<float>(), summing_settings(), workspace, nullptr);
  OptimizerSettings settings;
  settings.learning_rate = 1;
  cuda::update_rows(ElementType::fp32, rows, dim, table.data(), nullptr, indices.as<std::int64_t>(), count,
                    gradients.as<float>(), settings, workspace, nullptr);
  const std::vector<float> added = from_device<float>(dense), trained = from_device<float>(table);
  for (std::size_t i = 0; i < hot.sums.size(); ++i) {
    if (added[i] != 100 + hot.sums[i])
      return "scattered sum " + std::to_string(i) + " is " + std::to_string(added[i] - 100) + ", not " +
             std::to_string(hot.sums[i]);
    if (trained[i] != 3 - hot.sums[i])
      return "updated weight " + std::to_string(i) + " is " + std::to_string(trained[i]) + ", not " +
             std::to_string(3 - hot.sums[i]);
  }
  return {};
}

}  // namespace

void check_updates(CheckTally& tally) {
  for (const RowOptimizer optimizer : kOptimizers)
    for (const ElementType type : kElementTypes) {
      const std::string with = std::string(", ") + optimizer_text(optimizer) + ", " + type_name(type);
      for (const std::vector<std::int64_t>& dims : dims_to_check()) {
        tally.record("pooled update" + with + ", " + dims_text(dims),
                     pooled_fault(aligned_batch(type, 4, dims), optimizer));
        tally.record("pooled update, tables without lookups" + with + ", " + dims_text(dims),
                     pooled_fault(half_empty_batch(type, 8, dims), optimizer));
        tally.record("pooled update, not aligned" + with + ", " + dims_text(dims),
                     pooled_fault(random_batch(type, 5, dims), optimizer));
      }
      tally.record("repeated update" + with, repetition_fault(aligned_batch(type, 6, {64, 12}), optimizer));
      for (const std::int64_t dim : {1, 4, 32, 67, 128, 260}) {
        tally.record("update of rows" + with + ", dim " + std::to_string(dim), rows_fault(type, optimizer, dim));
        tally.record("dense update" + with + ", dim " + std::to_string(dim), dense_fault(type, optimizer, dim));
      }
    }
}

void check_hot_rows(CheckTally& tally) {
  // Around what a warp and a block sum, and around windows of warps.
  const std::vector<std::vector<std::int64_t>> runs{{1},
                                                    {31, 1},
                                                    {32, 1},
                                                    {33, 1},
                                                    {3, 32, 32},
                                                    {1, 33, 33, 2},
                                                    {63, 2, 64, 1, 65},
                                                    {1023, 2, 1024, 1, 1025},
                                                    {1, 2048, 1, 2049, 300},
                                                    {10000},
                                                    {3, 0, 5000, 1},
                                                    {32, 3000, 1024, 4000}};
  for (const std::vector<std::int64_t>& lengths : runs)
    for (const std::int64_t dim : {1, 4, 67, 128, 200}) {
      std::string what = "runs of";
      for (const std::int64_t length : lengths) what += " " + std::to_string(length);
      tally.record(what + ", dim " + std::to_string(dim), hot_fault(lengths, dim));
    }
}

}  // namespace shardsim
