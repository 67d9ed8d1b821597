#include "sim/engine/group_members.h"

#include <algorithm>

namespace shardsim {

GroupMembers::GroupMembers(const std::vector<OpWork::Call>& calls, const std::vector<int>& index_of_rank,
                           std::size_t simulated)
    : seats_(simulated), members_(calls.size()) {
  for (std::size_t call = 0; call < calls.size(); ++call) {
    std::vector<int>& members = members_[call];
    for (const int rank : calls[call].ranks) {
      const int index = index_of_rank[static_cast<std::size_t>(rank)];
      if (index >= 0 && seat(index).call < 0) members.push_back(index);
    }
    std::sort(members.begin(), members.end());
    for (std::size_t position = 0; position < members.size(); ++position) {
      seats_[static_cast<std::size_t>(members[position])] = {static_cast<int>(call), static_cast<int>(position)};
    }
  }
}

GroupMembers::Seat GroupMembers::seat_of(std::span<const int> waiting) const {
  Seat found;
  for (const int index : waiting) {
    if (seat(index).call < 0) continue;
    if (found.call >= 0) return {kSeveral, 0};
    found = seat(index);
  }
  return found;
}

}  // namespace shardsim
