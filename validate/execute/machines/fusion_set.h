#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace shardsim {

// The fusions of one rank, on whichever device (CpuFusion, CudaFusion), and the data of a Machine spread over them.
template <typename DeviceFusion>
class FusionSet {
 public:
  template <typename... Args>
  DeviceFusion& add(Args&&... args) {
    fusions_.push_back(std::make_unique<DeviceFusion>(std::forward<Args>(args)...));
    return *fusions_.back();
  }

  auto begin() const { return fusions_.begin(); }
  auto end() const { return fusions_.end(); }

  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const auto& fusion : fusions_) bytes += fusion->bytes();
    return bytes;
  }

  // Errors (Failure::run): the operation is no lookup.
  DeviceFusion& of(int lookup_op) const {
    for (const auto& fusion : fusions_) {
      if (fusion->sizes().fusion.lookup == lookup_op) return *fusion;
    }
    throw run_error("operation " + std::to_string(lookup_op) + " is no lookup", "");
  }

  // Empty where no fusion of this rank holds the shard.
  std::vector<float> shard_rows(int shard) const {
    for (const auto& fusion : fusions_) {
      std::vector<float> rows = fusion->shard_rows(shard);
      if (!rows.empty()) return rows;
    }
    return {};
  }

  void load_rows(int shard, const std::vector<float>& rows) {
    for (const auto& fusion : fusions_) fusion->load_rows(shard, rows);
  }

 private:
  std::vector<std::unique_ptr<DeviceFusion>> fusions_;
};

}  // namespace shardsim
