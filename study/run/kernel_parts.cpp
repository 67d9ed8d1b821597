#include "study/run/kernel_parts.h"

#include <algorithm>

#include "sim/engine/op_work.h"
#include "sim/engine/row_facts.h"

namespace shardsim {
namespace {

constexpr int kRank = 0;

// The same operation with those of its products alone that `wanted` takes, without the passes between them.
template <typename Wanted>
ComputeWork products_alone(ComputeWork work, Wanted wanted) {
  std::erase_if(work.products, [&](const ProductRun& run) { return !wanted(run); });
  work.hbm_bytes = work.kernels = 0;
  work.host_link = {0};
  work.flops = 0;
  for (const ProductRun& run : work.products)
    work.flops += run.count * 2 * run.product.m * run.product.n * run.product.k;
  return work;
}

void add_dense(KernelParts& parts, const ComputeWork& work, const GpuSpec& gpu, const ComputeModel& compute) {
  const double whole = compute.seconds(work, gpu).ms();
  if (work.fixed.value > 0 || work.products.empty()) {
    (work.flops > 0 ? parts.products : parts.elementwise) += whole;
    return;
  }
  const auto time_of = [&](const ComputeWork& some) {
    return some.products.empty() ? 0 : std::min(whole, compute.seconds(some, gpu).ms());
  };
  const double attention = time_of(products_alone(work, [](const ProductRun& run) { return run.share > 0; }));
  const double products = time_of(products_alone(work, [](const ProductRun& run) { return run.share <= 0; }));
  parts.attention += attention;
  parts.products += products;
  parts.elementwise += std::max(0.0, whole - attention - products);
}

}  // namespace

KernelParts KernelParts::of(const PreparedCase& prepared) {
  KernelParts parts;
  const Program& program = prepared.program();
  const GpuSpec& gpu = prepared.cluster.spec().gpu;
  const ComputeModel& compute = prepared.compute();
  const RowFacts facts(program);
  for (const Op& op : program.ops) {
    const std::vector<int> ranks = program.ranks_of(op);
    const auto at = std::ranges::find(ranks, kRank);
    if (op.is_collective() || op.op_class == OpClass::host || at == ranks.end()) continue;
    const auto position = static_cast<std::size_t>(at - ranks.begin());
    ComputeWork work = work_of(op, position, prepared.cluster.spec());
    work.rows = facts.of(op).at(position);
    work.tables = facts.of(op).tables_at(position);
    if (belongs_to_fusion(op.role) != Belonging::none) {
      parts.embedding += compute.seconds(work, gpu).ms();
    } else if (!occupies_gpu(op.role)) {
      parts.others += compute.seconds(work, gpu).ms();
    } else {
      add_dense(parts, work, gpu, compute);
    }
  }
  return parts;
}

std::optional<double> KernelParts::named(std::string_view kind) const {
  double ms = 0;
  if (kind == "attention") ms = attention;
  if (kind == "products") ms = products;
  if (kind == "elementwise") ms = elementwise;
  if (kind == "embedding") ms = embedding;
  if (kind == "others") ms = others;
  return ms > 0 ? std::optional(ms) : std::nullopt;
}

}  // namespace shardsim
