#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"

// A function so marked is compiled for plain x86-64, AVX2 and AVX-512, and the processor chooses at the start of the
// program. All give the same bits: no multiplication is fused with an addition, no sum is reordered. Sanitizers cannot
// run before the choice is made, so they get the plain one, as other compilers and processors do.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SHARDSIM_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define SHARDSIM_VECTOR_CLONES
#endif

// Into the clones, where it is compiled for their processor.
#define SHARDSIM_IN_CLONES [[gnu::always_inline]] inline

namespace shardsim {

// body(part) for every part of [0, parts), each on a thread of its own, part 0 on the caller's. Returns when all have
// ended; then throws what the lowest failing part threw. Errors (Failure::run): a thread cannot be started.
// `refused` is told that first, while those that were started run.
void run_parts(int parts, const std::function<void(int part)>& body,
               const std::function<void(const Error& error)>& refused = {});

// Cuts [0, items) into `parts` equal intervals; body(first, end) is not called for empty ones.
void run_intervals(std::int64_t items, int parts,
                   const std::function<void(std::int64_t first, std::int64_t end)>& body);

}  // namespace shardsim
