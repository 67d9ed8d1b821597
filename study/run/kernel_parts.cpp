#include "study/run/kernel_parts.h"

#include <algorithm>

#include "models/compute/kernels/pytorch_kernels.h"
#include "models/compute/learned_model.h"
#include "sim/engine/op_work.h"
#include "sim/engine/row_facts.h"

namespace shardsim {
namespace {

constexpr int kTimedRank = 0;

constexpr const char* kInputCopies = "input copies";
constexpr const char* kLookups = "lookups";
constexpr const char* kUpdates = "updates";
constexpr const char* kProducts = "products";
constexpr const char* kInteraction = "interaction";
constexpr const char* kAttention = "attention";
constexpr const char* kElementwise = "element-wise";
constexpr const char* kDenseOptimizer = "dense optimizer";
constexpr const char* kOtherPasses = "other passes";

// In the order of a step.
std::vector<OperatorClassTime> no_class_times() {
  return {{kInputCopies}, {kLookups},        {kProducts}, {kInteraction}, {kAttention},
          {kElementwise}, {kDenseOptimizer}, {kUpdates},  {kOtherPasses}};
}

const char* class_of_operator(std::string_view op) {
  constexpr std::string_view kBackward = "_backward";
  if (op == "optimizer") return kDenseOptimizer;
  if (op.ends_with(kBackward)) op.remove_suffix(kBackward.size());
  if (op == "linear") return kProducts;
  if (op == "attention") return kAttention;
  if (op == "dot" || op == "triangle" || op == "concatenation") return kInteraction;
  return kElementwise;
}

const char* class_of_operation(const Op& op) {
  if (op.role == OpRole::copy_inputs) return kInputCopies;
  if (op.op_class == OpClass::lookup) return kLookups;
  return op.op_class == OpClass::update ? kUpdates : kOtherPasses;
}

// Each kernel of the operation with its class.
template <typename Add>
void by_class_of_operator(const Op& op, const Add& add) {
  const auto is_no_cast = [](const DenseKernel& kernel) { return kernel.op != "cast"; };
  for (auto kernel = op.by_kernel.begin(); kernel != op.by_kernel.end(); ++kernel) {
    const auto needs = std::find_if(kernel, op.by_kernel.end(), is_no_cast);
    add(*kernel, needs == op.by_kernel.end() ? kProducts : class_of_operator(needs->op));
  }
}

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

// visit(op, its work) for each operation that runs on the GPU of rank 0.
template <typename Visit>
void for_each_work(const PreparedCase& prepared, const Visit& visit) {
  const Program& program = prepared.program();
  const RowFacts facts(program);
  for (const Op& op : program.ops) {
    const std::vector<int> ranks = program.ranks_of(op);
    const auto at = std::ranges::find(ranks, kTimedRank);
    if (op.is_collective() || op.op_class == OpClass::host || at == ranks.end()) continue;
    const auto position = static_cast<std::size_t>(at - ranks.begin());
    ComputeWork work = work_of(op, position, prepared.cluster.spec());
    const RowFacts::OfOp rows = facts.of(op);
    work.rows = rows.at(position);
    work.tables = rows.tables_at(position);
    visit(op, work);
  }
}

}  // namespace

KernelParts KernelParts::of(const PreparedCase& prepared) {
  KernelParts parts;
  const GpuSpec& gpu = prepared.cluster.spec().gpu;
  const ComputeModel& compute = prepared.compute();
  for_each_work(prepared, [&](const Op& op, const ComputeWork& work) {
    if (belongs_to_fusion(op.role) != Belonging::none) {
      parts.embedding += compute.seconds(work, gpu).ms();
    } else if (!occupies_gpu(op.role)) {
      parts.others += compute.seconds(work, gpu).ms();
    } else {
      add_dense(parts, work, gpu, compute);
    }
  });
  return parts;
}

std::optional<std::vector<OperatorClassTime>> operator_class_times(const PreparedCase& prepared) {
  const std::optional<Software>& software = prepared.item.software;
  if (!software || !software->pytorch) return std::nullopt;
  const GpuSpec& gpu = prepared.cluster.spec().gpu;
  const bool has_gaps = has_kernel_constants(prepared.item.compute_model);
  const double gap_ms = has_gaps ? shipped_pytorch_kernels().gap.ms() : 0;
  std::vector<OperatorClassTime> times = no_class_times();
  const auto add = [&](const char* name, const ComputeWork& work, double gaps) {
    const double ms = prepared.compute().seconds(work, gpu).ms() - gaps * gap_ms;
    std::ranges::find(times, name, &OperatorClassTime::name)->gpu_ms += ms;
  };
  for_each_work(prepared, [&](const Op& op, ComputeWork work) {
    if (op.by_kernel.empty()) return add(class_of_operation(op), work, 0);
    by_class_of_operator(op, [&](const DenseKernel& kernel, const char* name) {
      work.by_kernel = {&kernel, 1};
      add(name, work, kernel.count);
    });
  });
  std::erase_if(times, [](const OperatorClassTime& time) { return time.gpu_ms <= 0; });
  return times;
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
