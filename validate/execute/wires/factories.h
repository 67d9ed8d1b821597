#pragma once

#include <memory>

#include "validate/execute/wires/wire.h"

namespace shardsim {

// Starts MPI in this process and ends it with the wire, unless the run fails. Errors besides a wire's (Failure::run):
// several ranks in one process, ranks that MPI numbers otherwise, no MPI_THREAD_MULTIPLE. Only in builds with MPI.
std::unique_ptr<Wire> connect_mpi(Rendezvous& rendezvous, int channels);

std::unique_ptr<Wire> connect_sockets(Rendezvous& rendezvous, int channels);

}  // namespace shardsim
