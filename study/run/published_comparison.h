#pragma once

#include <functional>
#include <vector>

#include "study/result/result.h"
#include "study/run/kernel_parts.h"

namespace shardsim {

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
