#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/tree/map_reader.h"
#include "topology/graph/link.h"

namespace shardsim {

using TransferId = int;  // those of a session rise

// The way of a kind of transfer: it takes the same share of every link on it and draws at most `cap`.
struct TransferRoute {  // NOLINT(bugprone-exception-escape): Boost declares that a move of a small_vector does not
                        // throw
  boost::container::small_vector<LinkId, 1> links;  // one mostly, and a large world has a hundred thousand routes
  Bandwidth cap;                                    // 0: only the links limit it
};

// A simulation under way: a clock and the transfers that are moving bytes.
class NetworkSession {
 public:
  virtual ~NetworkSession() = default;
  virtual Seconds now() const = 0;
  // Starts moving `bytes` (more than 0) over route number `route`.
  virtual TransferId start(int route, double bytes) = 0;
  // From now on the link runs at `factor` (0 to 1, not 0) of its rate.
  virtual void set_rate_factor(LinkId link, double factor) = 0;
  // Lets time pass until a transfer ends or `until` is reached; returns the transfers that ended then (none at
  // `until`). An infinite `until` waits for a transfer. Contract: now() never exceeds `until`.
  virtual std::vector<TransferId> advance(Seconds until) = 0;
};

// Shares link capacity among active transfers.
// Contract: no link ever carries more than its rate; a transfer alone takes bytes / min(cap, narrowest link);
//           the same calls give the same times to the last bit.
class Network {
 public:
  virtual ~Network() = default;
  // Runs `body` with a session over these links and routes. At most once per process where the engine allows only one.
  virtual void run(const std::vector<Link>& links, const std::vector<TransferRoute>& routes,
                   const std::function<void(NetworkSession&)>& body) = 0;
  // True where no transfer ever waits for another one, so that whoever asks for times alone need not run it.
  virtual bool is_uncontended() const { return false; }
  // True where a process can run it only once: NetworkEntry::once.
  virtual bool is_once() const { return false; }
};

using NetworkMaker = std::unique_ptr<Network>(MapReader& options);

struct NetworkEntry {
  std::string_view name;
  std::string_view help;
  NetworkMaker* make;
  bool once = false;  // one engine per process
};

std::span<const NetworkEntry> networks();  // alphabetical

// Makes the implementation that `options` (a map with `name`) names. Errors: an unknown name (the known ones are
// listed), unknown options.
std::unique_ptr<Network> make_network(const Tree& options);

// True when a process can run such a network only once: whoever needs it again takes another process.
bool runs_once(const Tree& options);

}  // namespace shardsim
