#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "validate/execute/wires/cpu_collectives.h"

namespace shardsim {

// Ids on their way between CPU ranks: as they are, or narrowed to 4 bytes each.
class CpuIdWire {
 public:
  CpuIdWire() = default;
  CpuIdWire(std::int64_t asked, std::int64_t served, std::int64_t id_bytes);  // counts of this rank

  void exchange(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, const std::vector<std::int64_t>& from,
                std::vector<std::int64_t>& to);

  std::size_t bytes() const { return in_.size() + out_.size(); }

 private:
  std::vector<std::byte> in_, out_;  // empty: ids of 8 bytes
};

}  // namespace shardsim
