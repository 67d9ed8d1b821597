#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

struct Sending {
  int peer = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

struct Receiving {
  int peer = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// Carries bytes between the CPU ranks of a run.
// Contract: on one channel, calls of the two ends of a pair come in the same order; channels are independent and may be
// used from different threads at once. A rank never sends to itself. Errors: Failure::run naming the peer.
class Wire {
 public:
  virtual ~Wire() = default;
  // Moves all of it at once, in the order given where the medium takes one thing at a time. Returns when every send is
  // with the medium (its buffer may be reused) and every receive is complete.
  virtual void exchange(int channel, std::span<const Sending> sends, std::span<const Receiving> receives) = 0;
  // The same, but nobody sends before its receiver is in the call too. Here each rank waits for all its receivers; a
  // wire that can lets each pair begin by itself.
  virtual void exchange_when_met(int channel, std::span<const Sending> sends, std::span<const Receiving> receives);
  // [peer] Bytes that this rank has given to the medium on the channel so far, counted where that takes them. For the
  // thread that uses the channel.
  virtual const std::vector<std::int64_t>& sent(int channel) const = 0;
  // From any thread: every exchange under way and to come throws. A failure of the rendezvous does it by itself.
  virtual void stop() = 0;
};

struct WireEntry {
  std::string_view name;
  std::string_view help;
  // Connects all pairs on `channels` channels. Collective over the rendezvous. Errors (Failure::run): a peer that does
  // not connect, named.
  std::unique_ptr<Wire> (*connect)(Rendezvous& rendezvous, int channels);
};

std::span<const WireEntry> wires();  // alphabetical; "mpi" only where it was built
std::string_view cpu_transports();   // their names, comma-separated, the default first

// Starts MPI in this process and ends it with the wire, unless the run fails. Errors besides a wire's (Failure::run):
// several ranks in one process, ranks that MPI numbers otherwise, no MPI_THREAD_MULTIPLE. Only in builds with MPI.
std::unique_ptr<Wire> connect_mpi(Rendezvous& rendezvous, int channels);

std::unique_ptr<Wire> connect_sockets(Rendezvous& rendezvous, int channels);

}  // namespace shardsim
