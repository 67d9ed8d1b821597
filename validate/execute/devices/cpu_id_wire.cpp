#include "validate/execute/devices/cpu_id_wire.h"

#include <algorithm>

namespace shardsim {
namespace {

// `count` ids from one width to another.
template <typename From, typename To>
void convert_ids(const void* from, void* to, std::size_t count) {
  const From* in = static_cast<const From*>(from);
  std::transform(in, in + count, static_cast<To*>(to), [](From value) { return static_cast<To>(value); });
}

}  // namespace

CpuIdWire::CpuIdWire(std::int64_t asked, std::int64_t served, std::int64_t id_bytes) {
  if (id_bytes == 8) return;
  in_.resize(static_cast<std::size_t>(asked * id_bytes));
  out_.resize(static_cast<std::size_t>(served * id_bytes));
}

void CpuIdWire::exchange(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix,
                         const std::vector<std::int64_t>& from, std::vector<std::int64_t>& to) {
  if (in_.empty() && out_.empty()) {
    all_to_all(wire, seat, matrix, reinterpret_cast<const std::byte*>(from.data()),
               reinterpret_cast<std::byte*>(to.data()));
    return;
  }
  convert_ids<std::int64_t, std::int32_t>(from.data(), in_.data(), from.size());
  all_to_all(wire, seat, matrix, in_.data(), out_.data());
  convert_ids<std::int32_t, std::int64_t>(out_.data(), to.data(), to.size());
}

}  // namespace shardsim
