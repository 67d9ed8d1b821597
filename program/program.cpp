#include "program/program.h"

namespace shardsim {
ByteMatrix resolve_matrix(const Program& program, const MatrixUse& use, std::size_t set) {
  ByteMatrix matrix = program.matrices[static_cast<std::size_t>(use.of_set(set))].bytes;
  if (use.transposed) matrix.transposed = !matrix.transposed;
  return matrix;
}

std::vector<int> ops_in_role(const Program& program, int fusion, OpRole role) {
  std::vector<int> ids;
  for (const Op& op : program.ops) {
    if (op.fusion == fusion && op.role == role) ids.push_back(op.id);
  }
  return ids;
}

std::vector<int> Program::ranks_of(const Op& op) const {
  return op.ranks.empty() ? all_ranks(world_size) : op.ranks;
}

}  // namespace shardsim
