#pragma once

#include <vector>

#include "program/program.h"

namespace shardsim {

// In which order a Program brings the input of its fusion groups. TorchRec's collections do it one after the other
// where no pipeline works ahead: each permutes, exchanges and orders its ids, which ends with a recat, and has its
// lookups before the next one begins. All other Programs have one turn.
class InputTurns {
 public:
  explicit InputTurns(const Program& program);

  int count() const { return static_cast<int>(ends_.size()); }
  // The turn of `op`. An operation on input has the turn of the recat that it serves or is; lookups and all behind them
  // have the turn of their fusion group, which is the first turn if the group exchanges no ids.
  int of(const Op& op) const;
  int of_fusion(int fusion) const;

 private:
  std::vector<int> ends_;       // the last operation in front of the lookups, by turn
  std::vector<int> of_fusion_;  // [fusion]
};

}  // namespace shardsim
