#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "study/planning/prepared_case.h"
#include "study/result/result.h"

namespace shardsim {

// The GPU time of one iteration by the kind of its kernels, on rank 0, in milliseconds, each kernel alone on its GPU:
// what a profiler's trace is summed up to. Where a compute model knows no single kernels, an operation counts as a
// whole.
struct KernelParts {
  double attention = 0;
  double products = 0;     // dense, by shape
  double elementwise = 0;  // passes of the dense part, its optimizer among them
  double embedding = 0;    // lookups, updates, sorts, and what moves ids and vectors of tables on the GPU
  double others = 0;       // copies from the host

  static KernelParts of(const PreparedCase& prepared);

  // By the name that a published number has of it: "attention", ...; nothing for another name.
  std::optional<double> named(std::string_view kind) const;
};

// The operators of the dense part on rank 0, in the order of a step, where the Program says its kernels one by one;
// nothing elsewhere.
std::optional<std::vector<DenseOperatorTime>> dense_operator_times(const PreparedCase& prepared);

// Where these are known, all time of kernels of rank 0 by class, without what lies between them, classes without any
// left out. A cast belongs to the operator that needs its result, as autocast makes it there; gradients of tables to
// the updates.
std::optional<std::vector<OperatorClassTime>> operator_class_times(const PreparedCase& prepared);

// A published time of the collectives that no compute hides.
inline constexpr const char* kExposedCollectives = "exposed_collectives";

// The case's published numbers beside its own, from the figures that it holds already (`times` among them) and from
// `parts`, which are asked for where times of kernels are published.
std::vector<Comparison> compared_with_published(const CaseResult& result, const std::vector<Published>& published,
                                                const std::function<KernelParts()>& parts = {});

// Adds the published numbers of a case beside `base`, the one that it is relative to, when both are there: the gain, by
// samples per second, so that it means the same between cases of different batches, and the memory saved.
void compare_with_base(CaseResult& result, const CaseResult& base);

}  // namespace shardsim
