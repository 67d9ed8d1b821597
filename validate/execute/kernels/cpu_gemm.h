#pragma once

#include <cstdint>

namespace shardsim {

// c[m][n] = a[m][k] b[k][n], fp32, rows one after the other: what stands for dense layers on a CPU rank. Blocked for
// the caches and for vector registers; every element is summed in the order of k, so threads and processors do not
// change its bits.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, int threads);

}  // namespace shardsim
