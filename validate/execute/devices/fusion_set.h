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

  // Null: it has no fusion with that (first) lookup.
  DeviceFusion* find(int lookup_op) const {
    for (const auto& fusion : fusions_) {
      if (fusion->sizes().fusion.lookup == lookup_op) return fusion.get();
    }
    return nullptr;
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

// The fusion of that lookup, of sequences or pooled: what `act` makes of it.
// Errors (Failure::run): the operation is no lookup.
template <typename Sequences, typename Pooled, typename Act>
auto with_fusion(const FusionSet<Sequences>& sequences, const FusionSet<Pooled>& pooled, int lookup_op,
                 const Act& act) {
  if (Sequences* const found = sequences.find(lookup_op)) return act(*found);
  if (Pooled* const found = pooled.find(lookup_op)) return act(*found);
  throw run_error("operation " + std::to_string(lookup_op) + " is no lookup", "");
}

}  // namespace shardsim
