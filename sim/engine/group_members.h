#pragma once

#include <span>
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
  static constexpr int kSeveral = -2;  // in place of a call
  const Seat& seat(int index) const { return seats_[static_cast<std::size_t>(index)]; }
  // The seat of the one member of the group that waits for a link, by its number among those in use; `kSeveral` where
  // several do. Most links have one, and a large world asks at each start and end of a transfer.
  const Seat& seat_at(int link) const { return seats_at_[static_cast<std::size_t>(link)]; }
  // `waiting_for`: the simulated ranks that wait for a link in use.
  template <typename WaitingFor>
  void seat_links(std::size_t links, const WaitingFor& waiting_for) {
    seats_at_.resize(links);
    for (std::size_t link = 0; link < links; ++link) seats_at_[link] = seat_of(waiting_for(link));
  }
  const std::vector<int>& members(int call) const { return members_[static_cast<std::size_t>(call)]; }  // rising

 private:
  Seat seat_of(std::span<const int> waiting) const;

  std::vector<Seat> seats_;                // [simulated rank]
  std::vector<Seat> seats_at_;             // [link in use]
  std::vector<std::vector<int>> members_;  // [call]
};

}  // namespace shardsim
