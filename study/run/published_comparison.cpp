#include "study/run/published_comparison.h"

#include <algorithm>
#include <string_view>

#include "base/judgement/pair.h"
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

constexpr const char* kThroughputGain = "throughput_gain";
constexpr const char* kMemorySaved = "memory_saved";
constexpr const char* kPeakMemory = "peak_memory";
constexpr std::string_view kKernelsPrefix = "kernels:";

// Returns the time of the operations of one name: a collective's calls count as if alone, those that compute as they
// ran.
std::optional<double> time_ms(const std::vector<NamedTime>& times, std::string_view name, double NamedTime::*of) {
  const auto time = std::ranges::find(times, name, &NamedTime::name);
  return time == times.end() ? std::nullopt : std::optional((*time).*of);
}

// "rows:flex" and "coverage:flex": over all tables.
std::optional<double> of_strategy(const CaseResult& result, const std::string& quantity) {
  const bool rows = quantity.starts_with("rows:");
  const std::string strategy = quantity.substr(quantity.find(':') + 1);
  std::optional<double> sum;
  for (const PlacementSummary& placement : result.placements) {
    if (strategy_name(placement.strategy) != strategy) continue;
    sum = sum.value_or(0) + (rows ? static_cast<double>(placement.rows) : 100 * placement.access_share);
  }
  return sum;
}

// Returns the time of collectives that no compute hides, on the mean rank.
double exposed_collectives_ms(const std::vector<NamedTime>& times) {
  double sum = 0;
  for (const NamedTime& time : times) sum += time.exposed_ms;
  return sum;
}

// GiB that the fullest GPU holds at its simulated peak; none where it is not known.
std::optional<double> peak_memory(const CaseResult& result) {
  if (result.memory_profile.ranks.empty()) return std::nullopt;
  return static_cast<double>(result.memory_profile.highest().bytes()) / kGiB;
}

std::optional<double> predicted(const std::string& quantity, const CaseResult& result, double iteration_ms,
                                const std::vector<NamedTime>& times) {
  if (quantity == "iteration") return iteration_ms;
  if (quantity == kThroughputGain || quantity == kMemorySaved || quantity.starts_with(kKernelsPrefix))
    return std::nullopt;
  if (quantity.starts_with(kOperationPrefix))
    return time_ms(times, std::string_view(quantity).substr(kOperationPrefix.size()), &NamedTime::span_ms);
  if (quantity.starts_with(kRunPrefix))
    return std::stod(quantity.substr(kRunPrefix.size())) * iteration_ms + result.fill_ms;
  if (quantity == kPeakMemory) return peak_memory(result);
  if (quantity == kExposedCollectives) return exposed_collectives_ms(times);
  if (quantity.find(':') != std::string::npos) return of_strategy(result, quantity);
  return time_ms(times, quantity, &NamedTime::alone_ms);
}

// Returns the fitted share of the iteration that is predicted, in percent.
double fitted_share_pct(const Published& published, const CaseResult& result, const KernelParts& parts) {
  double ms = 0;
  for (const std::string& part : published.fitted_in) {
    if (part == "host") {
      ms += result.host ? result.host->waits_for_host_ms : 0;
    } else {
      ms += parts.named(std::string_view(part).substr(kKernelsPrefix.size())).value_or(0);
    }
  }
  return 100 * ms / result.iteration_ms;
}

// GiB that the fullest GPU holds less at its simulated peak than that of `base`; none where a peak is not known.
std::optional<double> memory_saved(const CaseResult& result, const CaseResult& base) {
  if (result.memory_profile.ranks.empty() || base.memory_profile.ranks.empty()) return std::nullopt;
  const std::int64_t bytes = base.memory_profile.highest().bytes() - result.memory_profile.highest().bytes();
  return static_cast<double>(bytes) / kGiB;
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

std::optional<double> Comparison::error_pct() const {
  return percent_off(predicted, published.value);
}

std::optional<double> Comparison::error_at_observed_payload_pct() const {
  return percent_off(predicted_at_observed_payload, published.value);
}

std::vector<Comparison> compared_with_published(const CaseResult& result, const std::vector<Published>& published,
                                                const std::function<KernelParts()>& parts) {
  std::vector<Comparison> comparisons;
  std::optional<KernelParts> known;
  for (const Published& each : published) {
    Comparison comparison{each, predicted(each.quantity, result, result.iteration_ms, result.times), std::nullopt};
    if (parts && each.quantity.starts_with(kKernelsPrefix)) {
      if (!known) known = parts();
      comparison.predicted = known->named(std::string_view(each.quantity).substr(kKernelsPrefix.size()));
    }
    if (each.at_observed_payload && result.at_observed_payload) {
      comparison.predicted_at_observed_payload =
          predicted(each.quantity, result, result.at_observed_payload->iteration_ms, result.at_observed_payload->times);
    }
    if (parts && !each.fitted_in.empty()) {
      if (!known) known = parts();
      comparison.fitted_share_pct = fitted_share_pct(each, result, *known);
    }
    comparisons.push_back(comparison);
  }
  return comparisons;
}

void compare_with_base(CaseResult& result, const CaseResult& base) {
  const double batches = result.samples() / base.samples();
  const auto gain_pct = [&](double own_ms, double other_ms) { return 100 * (batches * (other_ms / own_ms) - 1); };
  const auto &observed = result.iteration_ms_at_observed_payload,
             &base_observed = base.iteration_ms_at_observed_payload;
  for (Comparison& comparison : result.published) {
    if (comparison.published.quantity == kMemorySaved) comparison.predicted = memory_saved(result, base);
    if (comparison.published.quantity != kThroughputGain) continue;
    comparison.predicted = gain_pct(result.iteration_ms, base.iteration_ms);
    if (!comparison.published.at_observed_payload || !observed || !base_observed) continue;
    comparison.predicted_at_observed_payload = gain_pct(*observed, *base_observed);
  }
}

}  // namespace shardsim
