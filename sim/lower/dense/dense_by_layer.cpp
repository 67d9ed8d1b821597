#include "sim/lower/dense/pytorch_dense.h"
#include "sim/lower/lowering.h"

namespace shardsim {

void Lowering::put_forward_work(int id, bool bottom) {
  put_work(id, [&](const DenseStyle& style) {
    return software_->pytorch ? pytorch_forward(workload_, bottom, style) : forward_work(workload_, bottom, style);
  });
}

void Lowering::put_backward_work(int id, const std::vector<LayerRun>& layers) {
  put_work(id, [&](const DenseStyle& style) {
    return software_->pytorch ? pytorch_backward(workload_, layers, style) : backward_work(workload_, layers, style);
  });
}

void Lowering::put_optimizer_work(int id) {
  const DensePart dense = with_unsharded();
  put_work(id, [&](const DenseStyle& style) {
    return software_->pytorch ? pytorch_optimizer(dense, workload_.optimizer)
                              : optimizer_work(dense, workload_.optimizer, style.fused);
  });
}

// Each rank whose sequences were drawn has work of its own.
void Lowering::put_work(int id, const std::function<DenseWork(const DenseStyle&)>& of_style) {
  if (software_ == nullptr) return;
  std::vector<DenseWork> of_ranks;
  if (flops_differ()) {
    for (const RankItems& items : *items_)
      of_ranks.push_back(of_style({software_->fused, software_->attention_share, &items}));
  } else {
    of_ranks.push_back(of_style({software_->fused, software_->attention_share, nullptr}));
  }
  operators_[id] = of_ranks.front().operators;
  put_dense_work(op_at(id), of_ranks);
}

}  // namespace shardsim
