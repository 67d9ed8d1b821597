#pragma once

#include <string>
#include <vector>

#include "accuracy/measurements/calls/measured_calls.h"
#include "models/compute/gpus/kernel_family.h"

namespace shardsim {

// The numbers of a family that come nearest to the calls that fit (MeasuredCall::fits), those of lookups from forward
// and those of updates from backward times, by the logarithms of predicted over measured, large ones damped. A set of n
// calls weighs as n^(1/4) single ones; a number that the calls say little of stays near where it was. The same bits on
// every run. The calls must be of the GPU that the family is of, whose constants are `gpu`.
// Errors (Failure::input): no call fits; a call of another GPU.
KernelFamily fitted_family(KernelFamily start, const std::vector<MeasuredCalls>& files, const GpuConstants& gpu);

// The family as the text of its file: every number with the rows that it was fitted on.
std::string family_text(const KernelFamily& family, const std::vector<MeasuredCalls>& files);

}  // namespace shardsim
