// The wires; with MPI where it was there at build time (SHARDSIM_MPI).
#include <array>

#include "validate/execute/wires/wire.h"

namespace shardsim {
namespace {

constexpr std::array kTable = {
#ifdef SHARDSIM_MPI
    WireEntry{"mpi", "MPI, one communicator per channel, a process per rank", connect_mpi},
#endif
    WireEntry{"sockets", "TCP, one connection per pair of ranks and channel, driven by poll", connect_sockets},
};

}  // namespace

std::span<const WireEntry> wires() {
  return kTable;
}

std::string_view cpu_transports() {
  return kTable.size() > 1 ? "sockets,mpi" : "sockets";
}

}  // namespace shardsim
