// The wires of a build without MPI.
#include <array>

#include "validate/execute/wires/wire.h"

namespace shardsim {
namespace {

constexpr std::array kTable = {
    WireEntry{"sockets", "TCP, one connection per pair of ranks and channel, driven by poll", connect_sockets},
};

}  // namespace

std::span<const WireEntry> wires() {
  return kTable;
}

std::string_view cpu_transports() {
  return "sockets";
}

}  // namespace shardsim
