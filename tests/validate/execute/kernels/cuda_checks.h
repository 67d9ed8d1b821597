#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim {

// Counts checks and names those that failed.
class CheckTally {
 public:
  // fault: "" when the check passed.
  void record(const std::string& what, const std::string& fault) {
    fault.empty() ? ++passed_ : ++failed_;
    if (!fault.empty()) std::printf("FAILED %s: %s\n", what.c_str(), fault.c_str());
  }
  int passed() const { return passed_; }
  int failed() const { return failed_; }

 private:
  int passed_ = 0, failed_ = 0;
};

// Random inputs with empty bags, repeated indices, first and last rows, dims that are no multiple of a vector.
void check_lookups(CheckTally& tally);
void check_gathers(CheckTally& tally);
void check_updates(CheckTally& tally);
// Runs of equal indices around the length from which they are summed in parts, up to all indices equal.
void check_hot_rows(CheckTally& tally);
void check_fill(CheckTally& tally);
// Ids that the device draws: those of the host, with the loads and the number of different rows that their laws expect.
void check_draws(CheckTally& tally);
// Rows behind the 2^32nd element and behind 20 GB, where numbers of 32 bits would go wrong: gathered, pooled and
// updated. Says which were left out because the GPU has less free memory.
void check_large_tables(CheckTally& tally);
void check_work(CheckTally& tally);  // dense products, ids on the wire, durations

// A copy of `values` in device memory that holds nothing beside it.
template <typename T>
cuda::DeviceBuffer on_device(const std::vector<T>& values) {
  cuda::DeviceBuffer buffer(values.size() * sizeof(T), "a check");
  buffer.upload(values.data(), values.size() * sizeof(T));
  return buffer;
}

template <typename T>
std::vector<T> from_device(const cuda::DeviceBuffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  buffer.download(values.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace shardsim
