#include "sim/lower/dense/dense_steps.h"

#include <algorithm>

#include "models/collective/byte_matrix.h"

namespace shardsim {
namespace {

constexpr std::int64_t kFirstBucket = 1 << 20;
constexpr std::int64_t kBucket = 25 << 20;
constexpr std::int64_t kMostLayers = 4096;  // beyond that the repeats of a layer are one piece

// A layer, or all repeats of it, with its parameters: bias before weights, as gradients come.
struct Piece {
  double backward_flops = 0;
  double bias = 0, weights = 0;  // elements
  bool bottom = false;
  LayerRun run;
};

// In the order of the backward pass.
std::vector<Piece> pieces_of(const Workload& workload, const RankItems* items) {
  const std::vector<DenseLayer>& layers = workload.dense.layers;
  std::int64_t count = 0;
  for (const DenseLayer& layer : layers) count += std::min(layer.repeat, kMostLayers + 1);
  const bool apart = count <= kMostLayers;
  std::vector<Piece> pieces;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const auto times = static_cast<double>(apart ? 1 : layer->repeat);
    const double rows = layer->weights ? times : 0;
    const Piece piece{backward_flops_of(workload, *layer, items) * times,
                      static_cast<double>(layer->out) * rows,
                      static_cast<double>(layer->in) * static_cast<double>(layer->out) * rows,
                      is_bottom(*layer),
                      {static_cast<int>(layers.rend() - layer) - 1, 0, apart ? 1 : layer->repeat}};
    for (std::int64_t left = apart ? layer->repeat : 1; left-- > 0;) {
      pieces.push_back(piece);
      pieces.back().run.first = left;
    }
  }
  if (has_input_layer(workload.dense)) {
    pieces.back().backward_flops -= forward_flops_of(workload, layers.front(), items);
  }
  return pieces;
}

void add_run(std::vector<LayerRun>& runs, const LayerRun& run) {
  if (!runs.empty() && runs.back().layer == run.layer) {
    runs.back().first = run.first;
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

// Fills buckets in the order of the gradients.
class BucketPacker {
 public:
  // Appends the bucket that this completes.
  void add(std::int64_t bytes, std::vector<std::int64_t>& buckets) {
    held_ += bytes;
    if (held_ >= cap_) take(buckets);
  }
  void take(std::vector<std::int64_t>& buckets) {
    cap_ = kBucket;
    if (held_ > 0) buckets.push_back(held_);
    held_ = 0;
  }

 private:
  std::int64_t held_ = 0, cap_ = kFirstBucket;
};

}  // namespace

double dense_forward_flops(const Workload& workload, bool bottom, const RankItems* items) {
  double flops = 0;
  for (const DenseLayer& layer : workload.dense.layers) {
    if (is_bottom(layer) == bottom)
      flops += forward_flops_of(workload, layer, items) * static_cast<double>(layer.repeat);
  }
  return flops;
}

std::vector<DenseStep> dense_backward_steps(const Workload& workload, const RankItems* items) {
  const std::int64_t parameters = workload.dense.parameters.count;
  const std::vector<Piece> pieces = pieces_of(workload, items);
  BucketPacker packer;
  if (pieces.empty())
    return {{0,
             parameters > 0 ? std::vector<std::int64_t>{parameters} : std::vector<std::int64_t>{},
             false,
             {},
             parameters}};
  std::vector<double> elements;
  for (const Piece& piece : pieces) elements.insert(elements.end(), {piece.bias, piece.weights});
  const std::vector<std::int64_t> bytes = split_by_largest_remainder(parameters, elements);
  std::vector<DenseStep> steps(1);
  steps.back().bottom = pieces.front().bottom;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!steps.back().buckets.empty() || steps.back().bottom != pieces[i].bottom) {
      steps.push_back({0, {}, pieces[i].bottom, {}, 0});
    }
    steps.back().flops += pieces[i].backward_flops;
    add_run(steps.back().layers, pieces[i].run);
    steps.back().gradients += bytes[2 * i] + bytes[2 * i + 1];
    packer.add(bytes[2 * i], steps.back().buckets);
    packer.add(bytes[2 * i + 1], steps.back().buckets);
  }
  packer.take(steps.back().buckets);
  return steps;
}

std::vector<LateBucket> late_buckets(std::vector<DenseStep>& steps, const std::vector<std::int64_t>& bytes) {
  std::size_t filled = 0;
  for (const DenseStep& step : steps) filled += step.buckets.size();
  std::int64_t held = 0;
  const auto cap = [&] { return filled == 0 ? kFirstBucket : kBucket; };
  if (!steps.empty() && !steps.back().buckets.empty()) {
    --filled;
    const std::int64_t last = steps.back().buckets.back();
    if (last < cap()) {
      held = last;
      steps.back().buckets.pop_back();
    } else {
      ++filled;
    }
  }
  std::vector<LateBucket> buckets;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    held += bytes[i];
    if (held < cap() && i + 1 < bytes.size()) continue;
    buckets.push_back({held, i + 1});
    held = 0;
    ++filled;
  }
  return buckets;
}

std::vector<std::int64_t> gradient_buckets(const std::vector<std::int64_t>& bytes) {
  BucketPacker packer;
  std::vector<std::int64_t> buckets;
  for (const std::int64_t each : bytes) packer.add(each, buckets);
  packer.take(buckets);
  return buckets;
}

}  // namespace shardsim
