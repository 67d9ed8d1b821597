#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/op_work.h"

namespace shardsim {

// The reductions of one Program of a case, for the next one of the same case: gradients have as many bytes whatever is
// looked up, and to expand an all-reduce of a large world in every way takes as long as a simulation. Works are moved,
// not copied, so that a large world's loads are in memory once.
class KnownReductions {
 public:
  // Keeps what `works`, those of the Program, have of reductions.
  void keep(const Program& program, std::vector<OpWork> works);
  // Takes out the work of a reduction that moves the same bytes in the same rank sets.
  std::optional<OpWork> take(const Op& op, const Program& program);

 private:
  struct Known {
    Op op;
    OpWork work;
  };
  std::vector<Known> known_;
};

// As expand_ops(), with the reductions that are known of another Program on the same cluster with the same algorithms.
std::vector<OpWork> expand_ops(const Program& program, const Cluster& cluster, const ComputeModel& compute,
                               const std::map<std::string, std::string>& algorithms, KnownReductions& known);

}  // namespace shardsim
