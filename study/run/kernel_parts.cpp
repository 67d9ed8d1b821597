#include "study/run/kernel_parts.h"

#include <algorithm>

#include "sim/engine/op_work.h"
#include "sim/engine/row_facts.h"

namespace shardsim {
namespace {

constexpr int kTimedRank = 0;

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

// Kernels one by one say themselves what they are.
void add_by_kernel(KernelParts& parts, ComputeWork work, const GpuSpec& gpu, const ComputeModel& compute) {
  for (const DenseKernel& kernel : work.by_kernel) {
    work.by_kernel = {&kernel, 1};
    const bool product = kernel.kind <= DenseKernelKind::batched_product_gradient;
    double& part = kernel.kind == DenseKernelKind::attention ? parts.attention
                   : product                                 ? parts.products
                                                             : parts.elementwise;
    part += compute.seconds(work, gpu).ms();
  }
}

void add_dense(KernelParts& parts, const ComputeWork& work, const GpuSpec& gpu, const ComputeModel& compute) {
  if (!work.by_kernel.empty() && work.fixed.value <= 0) return add_by_kernel(parts, work, gpu, compute);
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
    const auto at = std::ranges::find(ranks, kTimedRank);
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

std::optional<std::vector<DenseOperatorTime>> dense_operator_times(const PreparedCase& prepared) {
  const std::optional<Software>& software = prepared.item.software;
  if (!software || !software->pytorch) return std::nullopt;
  const ClusterSpec& spec = prepared.cluster.spec();
  std::vector<DenseOperatorTime> times;
  for (const std::string& op : dense_operators()) times.push_back({op});
  for (const Op& op : prepared.program().ops) {
    for (const DenseKernel& kernel : op.by_kernel) {
      const auto found = std::ranges::find(times, kernel.op, &DenseOperatorTime::op);
      ComputeWork work = work_of(op, kTimedRank, spec);
      work.by_kernel = {&kernel, 1};
      found->calls += kernel.calls;
      found->kernels += kernel.count;
      found->gpu_ms += prepared.compute().seconds(work, spec.gpu).ms();
      const auto call = software->operator_times.find(kernel.op);
      if (call != software->operator_times.end())
        found->host_ms += spec.host.time_factor * kernel.calls * call->second.ms();
    }
  }
  std::erase_if(times, [](const DenseOperatorTime& time) { return time.kernels == 0; });
  return times;
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
