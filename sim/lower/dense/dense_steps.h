#pragma once

#include <cstdint>
#include <vector>

#include "models/workload/workload.h"
#include "sim/lower/dense/dense_work.h"

namespace shardsim {

// A piece of the dense part's backward pass, up to where a bucket of gradients is full.
struct DenseStep {
  double flops = 0;
  std::vector<std::int64_t> buckets;  // bytes to all-reduce behind it
  bool bottom = false;                // layers that run before the embeddings are there
  std::vector<LayerRun> layers = {};  // whose gradients it computes, in its order
  bool operator==(const DenseStep&) const = default;
};

// FLOP of the forward pass of one rank's batch: 2 in out per sample or item. `items` of the batch; null: as many as
// expected.
double dense_forward_flops(const Workload& workload, bool bottom, const RankItems* items = nullptr);

// Steps in the order of the backward pass: layers in reverse, 4 in out per sample or item, half that for the first
// layer when it works on samples (its input needs no gradient). Parameters are packed in that order until a bucket
// reaches its size: 1 MiB the first, 25 MiB the others (pytorch/pytorch torch/nn/parallel/distributed.py;
// pytorch/torchrec torchrec/distributed/model_parallel.py, bucket_cap_mb). Never empty; a part without layers is one
// step with all its parameters.
std::vector<DenseStep> dense_backward_steps(const Workload& workload, const RankItems* items = nullptr);

// Sizes in the order in which their gradients come, packed into buckets by the same rule.
std::vector<std::int64_t> gradient_buckets(const std::vector<std::int64_t>& bytes);

}  // namespace shardsim
