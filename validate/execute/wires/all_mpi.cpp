// The wires of a build with MPI.
#include <array>

#include "validate/execute/wires/wire.h"

namespace shardsim {
namespace {

constexpr std::array kTable = {
    WireEntry{"mpi", "MPI, one communicator per channel, a process per rank", connect_mpi},
    WireEntry{"sockets", "TCP, one connection per pair of ranks and channel, driven by poll", connect_sockets},
};

}  // namespace

std::span<const WireEntry> wires() {
  return kTable;
}

std::string_view cpu_transports() {
  return "sockets,mpi";
}

}  // namespace shardsim
