#include "validate/execute/meet/rendezvous.h"

#include "validate/execute/meet/star.h"

namespace shardsim {

std::unique_ptr<Rendezvous> Rendezvous::join(const Launch& launch, double limit_s) {
  return std::make_unique<Star>(launch, join_ranks(launch, limit_s));
}

}  // namespace shardsim
