#pragma once

#include <vector>

#include "sim/engine/op_work.h"

namespace shardsim {

// The rank set of a group that each simulated rank is in, and its position among the simulated ranks of the set. It is
// found out once, for all collectives of the group.
class GroupMembers {
 public:
  // `calls`: of any collective of the group. `index_of_rank`: [rank] among the simulated ones, -1 where it is not
  // simulated; `simulated`: how many are.
  GroupMembers(const std::vector<OpWork::Call>& calls, const std::vector<int>& index_of_rank, std::size_t simulated);

  struct Seat {
    int call = -1;  // -1: in no set
    int position = 0;
  };
  const Seat& seat(int index) const { return seats_[static_cast<std::size_t>(index)]; }
  const std::vector<int>& members(int call) const { return members_[static_cast<std::size_t>(call)]; }  // rising

 private:
  std::vector<Seat> seats_;                // [simulated rank]
  std::vector<std::vector<int>> members_;  // [call]
};

}  // namespace shardsim
