#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/wires/cpu_collectives.h"

namespace shardsim {

// A collective of a CPU rank that carries no rows of a fusion: bytes of its size.
class PlainCollective {
 public:
  PlainCollective(const Program& program, const Op& op, int rank, GroupSeat seat);
  void run(Wire& wire, std::vector<float>& scratch);
  std::int64_t bytes() const;

 private:
  CollectiveKind kind_;
  GroupSeat seat_;
  ByteMatrix matrix_;  // of an all_to_all
  std::vector<std::byte> in_, out_;
  std::vector<float> values_;  // of kinds that add or gather
};

}  // namespace shardsim
