#pragma once

#include <vector>

#include "validate/execute/meet/rendezvous.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {

// [channel][rank]; not open at the own rank.
using PairSockets = std::vector<std::vector<Descriptor>>;

// One TCP connection per pair of ranks and channel: each rank connects to every lower one and accepts from every higher
// one. Each connection begins with a handshake by the key of the run (meet/handshake.h); then the caller says (rank,
// channel), each as 4 bytes in the byte order of the machine. Who does not know the key is turned away, and counted by
// the rendezvous. Collective over the rendezvous. Errors (Failure::run): a peer that does not connect, named; the
// reason of `stop`, once that is raised.
PairSockets connect_pairs(Rendezvous& rendezvous, int channels, const StopSign& stop);

}  // namespace shardsim
