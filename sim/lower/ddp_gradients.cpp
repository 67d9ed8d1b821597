#include <algorithm>
#include <cmath>

#include "sim/lower/lowering.h"

namespace shardsim {

// The first batch writes its gradients, each other one reads them, and what it adds, and writes their sum
// (GradientAccumulationWrapper in pytorch/torchrec torchrec/distributed/train_pipeline/gradient_accumulation.py; DDP
// keeps them beside its buckets under no_sync).
constexpr double kAddedAccesses = 3;

double Lowering::added_share() const {
  return static_cast<double>(workload_.accumulate - 1) / static_cast<double>(workload_.accumulate);
}

namespace {

// PyTorch adds tensor by tensor: weights, biases, the two of a norm.
double tensors_of(const DenseStep& step, const DensePart& dense) {
  double tensors = 0;
  for (const LayerRun& run : step.layers) {
    const DenseLayer& layer = dense.layers[static_cast<std::size_t>(run.layer)];
    tensors += static_cast<double>(run.count) * ((layer.weights ? 2 : 0) + (layer.norm != NormKind::none ? 2 : 0));
  }
  return tensors;
}

}  // namespace

std::vector<int> Lowering::accumulate_step(std::size_t step, std::vector<int> after) {
  const auto bytes = static_cast<double>(steps_[step].gradients);
  if (!accumulates() || bytes <= 0) return after;
  const int id = add_pass("accumulate_gradients", {OpRole::dense_accumulate}, Stream::compute,
                          {kAddedAccesses * added_share() * bytes}, std::move(after));
  if (software_ != nullptr)
    op_at(id).kernels = std::max(1, static_cast<int>(added_share() * tensors_of(steps_[step], workload_.dense)));
  return {id};
}

// -1: nothing is added up.
int Lowering::accumulate_rows(const FusionGroup& group, const LookupPart& part, int gradient) {
  if (!accumulates() || !part.accumulates) return -1;
  Op& op = add_row_work("accumulate_", OpRole::accumulate_gradient, group, part, {gradient}, stream_of_rows(group));
  op.hbm_bytes.values = part.of_ranks(part.applied.held_bytes);
  for (double& bytes : op.hbm_bytes.values) bytes *= kAddedAccesses * added_share();
  return op.id;
}

// The gradient of a table that is not sharded has all rows, and begins with zeros. -1 if the group's tables are
// sharded.
int Lowering::clear_rows(const FusionGroup& group, const LookupPart& part, const std::vector<int>& after) {
  if (group.sharded) return -1;
  return add_pass("zero_gradient_unsharded", group.as(OpRole::accumulate_gradient), Stream::compute,
                  part.of_ranks(part.applied.held_bytes), after);
}

// The gradients of tables that are not sharded come behind all of the dense part's, and fill its last bucket up.
void Lowering::take_late_buckets() {
  std::vector<std::int64_t> bytes;
  for (std::size_t index = groups_.size(); index-- > 0;) {
    if (groups_[index].sharded) continue;
    for (const LookupPart& part : groups_[index].parts)
      bytes.push_back(std::llround(std::ranges::max(part.applied.held_bytes)));
  }
  if (!bytes.empty()) late_ = late_buckets(steps_, bytes);
}

void Lowering::reduce_late_buckets() {
  std::vector<int> gradients;
  for (std::size_t index = groups_.size(); index-- > 0;) {
    if (groups_[index].sharded) continue;
    for (std::size_t part = 0; part < groups_[index].parts.size(); ++part)
      gradients.push_back(std::max(ops_[index].gradients[part], ops_[index].accumulated[part]));
  }
  for (const LateBucket& bucket : late_) {
    std::vector<int> after = dense_;
    after.insert(after.end(), gradients.begin(), gradients.begin() + static_cast<std::ptrdiff_t>(bucket.gradients));
    reduce_buckets({bucket.bytes}, after);
  }
}

std::int64_t Lowering::unsharded_bytes() const {
  std::int64_t bytes = 0;
  for (const Table& table : workload_.tables)
    if (!table.sharded) bytes += static_cast<std::int64_t>(table.rows) * table.row_bytes();
  return bytes;
}

// The optimizer of the dense part passes over tables that are not sharded, too: to it they are tensors like those of
// layers.
DensePart Lowering::with_unsharded() const {
  DensePart all = workload_.dense;
  all.parameters.count += unsharded_bytes();
  for (const Table& table : workload_.tables)
    if (!table.sharded)
      all.layers.push_back({.name = table.name, .in = static_cast<std::int64_t>(table.rows), .out = table.dim});
  return all;
}

}  // namespace shardsim
