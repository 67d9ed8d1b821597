#pragma once

#include <vector>

#include "sim/engine/op_work.h"

namespace shardsim {

// Which of a group's rank sets each simulated rank is in, and at what position among the simulated ranks of the set.
// All collectives of the group ask it: it is found out once.
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
