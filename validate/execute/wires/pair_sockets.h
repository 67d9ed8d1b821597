#pragma once

#include <memory>
#include <vector>

#include "validate/execute/meet/rendezvous.h"
#include "validate/execute/meet/stop_sign.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {

// [channel][rank]; not open at the own rank.
using PairSockets = std::vector<std::vector<Descriptor>>;

// One TCP connection per pair of ranks and channel: each rank connects to every lower one and accepts from every higher
// one; the first 8 bytes say (rank, channel), each as 4 bytes in the byte order of the machine. Collective. `stop` ends
// it early. Errors (Failure::run): peers that do not connect within `limit_s` are named.
PairSockets connect_pairs(Rendezvous& rendezvous, int channels, const StopSign& stop, double limit_s = 8);

}  // namespace shardsim
