#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "models/collective/collective.h"
#include "models/collective/nccl/cost.h"

namespace shardsim {

// What NCCL makes of one call, whatever the cluster's overheads: its choice, and what the schedule of that puts on the
// links. Times follow from it and the overheads.
struct NcclSchedule {
  NcclTime chosen;
  std::vector<LinkLoad> loads;
};

// The schedules of the calls on one machine. Fits ask for the same calls again and again, on clusters that differ in
// their overheads alone: each is searched once.
class KeptSchedules {
 public:
  // The schedule of a call of so many bytes with NICs of that rate (`nic_rate` of its overheads); `make` is asked for
  // one that is not known.
  template <typename Make>
  const NcclSchedule& of(const CollectiveCall& call, std::int64_t bytes, std::optional<Bandwidth> nic_rate, Make make) {
    const Key key{bytes,     call.bytes, call.kind, call.nvls_reduces, nic_rate ? nic_rate->bytes_per_second : -1,
                  call.ranks};
    const auto known = schedules_.find(key);
    return known != schedules_.end() ? known->second : schedules_.emplace(key, make()).first->second;
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, CollectiveKind, bool, double, std::vector<int>>;
  std::map<Key, NcclSchedule> schedules_;
};

}  // namespace shardsim
