#pragma once

#include <cstddef>
#include <optional>

#include "program/program.h"

namespace shardsim {

// The result of resolve_matrix(), for a Program that outlives it. A matrix is copied only where an operation moves it
// in the other direction: it may have a number for each pair of ranks.
class ResolvedMatrix {
 public:
  ResolvedMatrix(const Program& program, const MatrixUse& use, std::size_t set = 0)
      : stored_(program.matrices[static_cast<std::size_t>(use.of_set(set))].bytes) {
    if (use.transposed) turned_ = resolve_matrix(program, use, set);
  }

  const ByteMatrix& operator*() const { return turned_ ? *turned_ : stored_; }

 private:
  const ByteMatrix& stored_;
  std::optional<ByteMatrix> turned_;
};

}  // namespace shardsim
