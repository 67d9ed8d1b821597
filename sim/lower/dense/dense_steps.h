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
  std::int64_t gradients = 0;         // bytes of these
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

// A bucket of gradients that come behind those of the dense part: its bytes, and how many of them are there once it is
// full.
struct LateBucket {
  std::int64_t bytes = 0;
  std::size_t gradients = 0;
};

// Packs them behind the steps, whose last bucket is taken away from them where it has room. Sizes in the order in which
// the gradients come.
std::vector<LateBucket> late_buckets(std::vector<DenseStep>& steps, const std::vector<std::int64_t>& bytes);

// Sizes in the order in which their gradients come, packed into buckets by the same rule.
std::vector<std::int64_t> gradient_buckets(const std::vector<std::int64_t>& bytes);

}  // namespace shardsim
