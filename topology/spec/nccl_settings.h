#pragma once

#include <string>
#include <string_view>

#include "base/fields/fields.h"
#include "topology/spec/network_spec.h"

namespace shardsim {

// NCCL_CROSS_NIC: 0 is never, 1 always, 2 (NCCL's default) where more bandwidth is found so.
inline constexpr int kNeverCrossNic = 0, kAlwaysCrossNic = 1, kCrossNicIfFaster = 2;

// The settings of NCCL's environment that take a choice out of its hands.
struct NcclSettings {
  std::string algorithm;              // as NCCL_ALGO: "Ring", "Tree,Ring", "^NVLS"; "": all of them
  std::string protocol;               // as NCCL_PROTO: "Simple", "^LL128"; "": all of them
  int cross_nic = kCrossNicIfFaster;  // as NCCL_CROSS_NIC: whether rings may leave a node by another NIC
  int channels = 0;  // of a kernel (CTAs): NCCL_MAX_CTAS and NCCL_MIN_CTAS alike; 0: as NCCL's search says
  bool operator==(const NcclSettings&) const = default;

  void keys(Fields& map);
};

// True when a list of NCCL_ALGO or NCCL_PROTO leaves the name in the choice: an empty list leaves all, one that begins
// with ^ all others. Upper and lower case are alike, as in NCCL.
bool leaves(std::string_view list, std::string_view name);
// True when the list names it, and does not exclude it.
bool names(std::string_view list, std::string_view name);
// The first word of the list that is none of NCCL's algorithms or protocols; "" when all are.
std::string unknown_algorithm(std::string_view list);
std::string unknown_protocol(std::string_view list);

}  // namespace shardsim
