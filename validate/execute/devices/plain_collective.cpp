#include "validate/execute/devices/plain_collective.h"

#include "validate/execute/buffers/rank_buffers.h"

namespace shardsim {

PlainCollective::PlainCollective(const Program& program, const Op& op, int rank, GroupSeat seat)
    : kind_(*collective_kind(op.op_class)), seat_(std::move(seat)) {
  const CollectiveBytes sizes = collective_bytes(program, op, rank);
  in_.resize(static_cast<std::size_t>(sizes.in));
  out_.resize(static_cast<std::size_t>(sizes.out));
  if (op.op_class == OpClass::all_to_all) {
    matrix_ = resolve_matrix(program, op.matrix);
  } else {
    values_.resize(static_cast<std::size_t>(sizes.in) / sizeof(float));
  }
}

void PlainCollective::run(Wire& wire, std::vector<float>& scratch) {
  float* const values = values_.data();
  switch (kind_) {
    case CollectiveKind::all_to_all:
      return all_to_all(wire, seat_, matrix_, in_.data(), out_.data());
    case CollectiveKind::all_reduce:
      return all_reduce(wire, seat_, values, values_.size(), scratch);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(wire, seat_, values, values_.size(), scratch);
    case CollectiveKind::all_gather:
      return all_gather(wire, seat_, values, values_.size());
    case CollectiveKind::broadcast:
      return broadcast(wire, seat_, in_.data(), in_.size());
    case CollectiveKind::send_recv:
      return send_recv(wire, seat_, in_.data(), out_.data(), in_.size());
  }
}

std::int64_t PlainCollective::bytes() const {
  return static_cast<std::int64_t>(in_.size() + out_.size());
}

}  // namespace shardsim
