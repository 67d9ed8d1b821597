#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/map_reader.h"
#include "topology/link.h"

namespace shardsim {

using TransferId = int;

// A simulation under way: a clock and the transfers that are moving bytes.
class NetworkSession {
 public:
  virtual ~NetworkSession() = default;
  virtual Seconds now() const = 0;
  // Starts moving `bytes` over all links of `route` at once, drawing at most `cap` (0: no cap).
  virtual TransferId start(const std::vector<LinkId>& route, double bytes, Bandwidth cap) = 0;
  // Lets time pass until a transfer ends or `until` is reached; returns the transfers that ended then (none at `until`).
  // Infinity waits for a transfer. Contract: now() never exceeds `until`.
  virtual std::vector<TransferId> advance(Seconds until) = 0;
};

// Shares link capacity among active transfers.
// Contract: no link ever carries more than its rate; a transfer alone takes bytes / min(cap, narrowest link);
//           the same calls give the same times to the last bit.
class Network {
 public:
  virtual ~Network() = default;
  // Runs `body` with a session over these links. Called at most once per process where the engine allows only one.
  virtual void run(const std::vector<Link>& links, const std::function<void(NetworkSession&)>& body) = 0;
};

struct NetworkEntry {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Network> (*make)(MapReader& options);
};

std::span<const NetworkEntry> networks();  // alphabetical
std::unique_ptr<Network> make_network(const Tree& options);

}  // namespace shardsim
