#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "validate/execute/meet/launch.h"

namespace shardsim {

// Where the ranks of a run meet: a star of TCP connections to rank 0 that carries small messages outside the timed
// parts, and that notices when a rank has gone. Not for bulk data.
//
// A rank that ends without leave(), calls fail(), or is not heard of within a limit (RendezvousLimits) fails the run:
// every other rank's pending and later calls throw Error (Failure::run) with one message that names the rank and what
// it was doing. Several ranks may be threads of one process. One thread per rank makes the collective calls.
class Rendezvous {
 public:
  // Returns when all ranks are here. Errors (Failure::run): the port is taken (names it and the remedy); after
  // `limit_s` seconds the missing ranks are named, on every rank that is there.
  static std::unique_ptr<Rendezvous> join(const Launch& launch, double limit_s = 8);
  virtual ~Rendezvous() = default;

  virtual const Launch& launch() const = 0;
  int rank() const { return launch().rank; }
  int world_size() const { return launch().world_size; }
  virtual std::string address() const = 0;  // IPv4, by which the other ranks reach this one

  // Collective: every rank calls these in the same order. `what` says in messages what was going on.
  virtual std::vector<std::string> all_gather(std::string_view text, std::string_view what) = 0;  // by rank
  virtual std::vector<std::string> gather(std::string_view text, std::string_view what) = 0;  // by rank; {} but at 0
  virtual std::string from_root(std::string_view text, std::string_view what) = 0;            // rank 0's text
  virtual void barrier(std::string_view what) = 0;

  // Seconds of CLOCK_MONOTONIC at rank 0 less those here, and how far off that may be. Ranks of one kernel share the
  // clock: 0 and 0. Else the exchange with the shortest round trip of a few hundred; the residual is half of it.
  struct ClockOffset {
    double seconds = 0;
    double residual = 0;
  };
  virtual ClockOffset clock_offset() = 0;  // collective

  // A rank that cannot go on: tells the others why. `doing` names the operation. Callable from any thread. Returns once
  // failure() is settled, at most 2 s: what broke here may be the death of another rank, which then is the reason.
  virtual void fail(std::string_view why, std::string_view doing) = 0;
  // Why the run failed ("rank 3 died during global_all_to_all"), or "" while all is well. From any thread.
  virtual std::string failure() const = 0;
  // Each is called once, from a thread of the rendezvous, when the run has failed (also when it already has); used to
  // stop wires and kernels. Must not outlive what it touches.
  virtual void on_failure(std::function<void(const std::string& why)> react) = 0;
  // What this rank is doing, for the others' messages should it die. Cheap: told to the others up to 5 times a second.
  virtual void doing(std::string_view operation) = 0;

  // After a failure: hands this rank's text to rank 0, which gets those that arrive within `limit_s`; the others get
  // {}. Where rank 0 is no longer there, each rank gets its own text back. By rank; "" for a rank that said nothing.
  // Does not throw.
  virtual std::vector<std::string> salvage(std::string_view text, double limit_s = 3) = 0;

  virtual void leave() = 0;  // collective: the run is over
};

}  // namespace shardsim
