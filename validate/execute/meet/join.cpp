#include "validate/execute/meet/join.h"

namespace shardsim {

Joined join_ranks(const Launch& launch, double limit_s) {
  if (launch.rank == 0) return join_as_root(launch, limit_s);
  return join_as_member(launch, limit_s);
}

}  // namespace shardsim
