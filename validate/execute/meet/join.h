#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "validate/execute/meet/frame.h"
#include "validate/execute/meet/launch.h"

namespace shardsim {

// The meeting of the ranks of a run: rank 0 opens a door at MASTER_ADDR, and the others visit it. Each connection
// begins with a handshake (meet/handshake.h), so a stranger takes nobody's place and holds up nobody.
struct Joined {
  std::vector<std::unique_ptr<FrameLink>> links;  // by rank: of rank 0 to all others, of a rank to rank 0; else null
  std::string address;                            // IPv4, by which the other ranks reach this one
  std::string run_key;  // of this run alone, for the handshakes of the connections between its other ranks
  int strangers = 0;    // how many connections were turned away, at rank 0
};

// Seconds in which all ranks must have come: the nodes of a job start apart.
inline constexpr double kJoinLimit = 120;

// Errors as Rendezvous::join.
Joined join_ranks(const Launch& launch, double limit_s);

// Its two sides: of rank 0 in a world of two or more (door.cpp), and of the others (visit.cpp).
Joined open_door(const Launch& launch, double limit_s);
Joined visit_door(const Launch& launch, double limit_s);

// The two sides share these.

// Launch::master_port, then the others where rank 0 may be.
std::vector<int> ports_of(const Launch& launch);

// The error of a rank whose host cannot resolve the name of the host of rank 0 (Failure::input, naming the variable,
// this rank and its host, and the name). Every rank reports it by itself, because a rank without that name cannot reach
// rank 0, and a launcher may show the output of only one rank.
Error unknown_host(const Launch& launch, const std::string& why);

// Errors (Failure::input): no secret, although other machines reach `address`, an IPv4 one that MASTER_ADDR stands for.
void check_secret(const Launch& launch, const std::string& address);

// The key of one run, of which rank 0 drew `nonce`: nobody finds it out who does not know the secret, and it differs
// from that of every other run with the same secret.
std::string run_key_of(const Launch& launch, const std::string& nonce);

}  // namespace shardsim
