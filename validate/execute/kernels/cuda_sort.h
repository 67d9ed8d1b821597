#pragma once

#include <cstddef>
#include <cstdint>

#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim::cuda {

// What follows is CUB; apart from the rest because it takes longest to compile. `count` below 2^31.

std::size_t sorting_bytes(std::int64_t count);  // device memory that the calls below take

struct SortMemory {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// By the lowest `bits` bits of the keys; equal keys keep their order.
void sort_pairs(const std::uint64_t* keys, std::uint64_t* sorted_keys, const std::uint32_t* values,
                std::uint32_t* sorted_values, std::int64_t count, int bits, const SortMemory& memory, Stream stream);

// Where each run of equal keys starts, in order, and how many runs there are.
void find_runs(const std::uint64_t* sorted_keys, std::int64_t count, std::uint32_t* starts, std::uint32_t* runs,
               const SortMemory& memory, Stream stream);

}  // namespace shardsim::cuda
