#pragma once

#include <map>
#include <vector>

#include "models/compute/compute_model.h"
#include "program/program.h"

namespace shardsim {

// The facts that a Program states about the rows of its lookups and updates, beyond the amounts of the operation
// itself. A lookup and the update of the same shards each state a part of it, so that one is completed from the other.
class RowFacts {
 public:
  explicit RowFacts(const Program& program);

  // Those of one operation, by position of its ranks. Numbers that the Program does not hold stay 0: all of rows in
  // host memory, and how the different rows grow with the lookups unless the lowering was asked (LoweringOptions).
  class OfOp {
   public:
    RowWork at(std::size_t position) const;
    // Returns what each table does there that has lookups; none: the lookup does not say.
    std::vector<TableWork> tables_at(std::size_t position) const;

   private:
    friend class RowFacts;
    const Program* program_ = nullptr;
    const Op* lookup_ = nullptr;
    const Op* update_ = nullptr;
    bool is_update_ = false;         // whose vectors are gradients
    const Op* part_ = nullptr;       // does a part of the lookup's lookups; null: all of them
    std::vector<TableWork> tables_;  // of the lookup; bags and lookups are those of a rank
    double share_at(std::size_t position) const;
    double table_rows_ = 0, table_count_ = 1, id_bytes_ = 0;
  };
  OfOp of(const Op& op) const;

 private:
  struct Pair {
    const Op* lookup = nullptr;
    const Op* update = nullptr;
  };
  double table_rows(const Op& op) const;

  const Program& program_;
  std::map<std::vector<int>, Pair> by_shards_;
};

}  // namespace shardsim
