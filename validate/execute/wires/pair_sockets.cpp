#include "validate/execute/wires/pair_sockets.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "validate/execute/meet/rank_list.h"

namespace shardsim {
namespace {

// Who connects, on which channel.
struct Greeting {
  std::int32_t rank = 0;
  std::int32_t channel = 0;
};
static_assert(sizeof(Greeting) == 8);

// A connection that has not said all of its greeting.
struct Caller {
  Descriptor socket;
  std::array<char, sizeof(Greeting)> bytes{};
  std::size_t got = 0;
};

Error not_connected(const std::vector<int>& ranks, double limit_s) {
  return run_error(fmt::format("{} did not connect to this rank within {:g} s", rank_list(ranks), limit_s),
                   "Ranks must reach each other on any port: look for a firewall between them");
}

class Pairs {
 public:
  Pairs(int rank, int world_size, int channels, const StopSign& stop, double limit_s)
      : rank_(rank), stop_(stop), limit_s_(limit_s), deadline_(after_seconds(limit_s)), sockets_(channels) {
    for (auto& of_channel : sockets_) of_channel.resize(static_cast<std::size_t>(world_size));
  }

  void connect_lower(const std::vector<Address>& doors) {
    for (int channel = 0; channel < static_cast<int>(sockets_.size()); ++channel)
      for (int peer = 0; peer < rank_; ++peer) sockets_[channel][peer] = connect(peer, doors[peer], channel);
  }

  void accept_higher(const Descriptor& listener) {
    while (!missing().empty()) {
      check_stop();
      if (Clock::now() >= deadline_) throw not_connected(missing(), limit_s_);
      wait(listener);
      for (Descriptor socket = accept_from(listener); socket.open(); socket = accept_from(listener))
        callers_.push_back({std::move(socket)});
      std::erase_if(callers_, [this](Caller& caller) { return served(caller); });
    }
  }

  PairSockets take() { return std::move(sockets_); }

 private:
  void check_stop() const {
    if (stop_.raised()) throw run_error(stop_.why(), "");
  }

  Descriptor connect(int peer, const Address& door, int channel) const {
    check_stop();
    int error = 0;
    Descriptor socket = connect_to(door, deadline_, error);
    const Greeting greeting{rank_, channel};
    // The first 8 bytes of a connection always fit.
    if (socket.open() && send(socket.fd(), &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting) return socket;
    throw run_error(
        fmt::format("no connection to rank {} at {}: {}", peer, door.text(), error_text(socket.open() ? errno : error)),
        "Ranks must reach each other on any port: look for a firewall between them");
  }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int peer = rank_ + 1; peer < static_cast<int>(sockets_[0].size()); ++peer)
      if (std::ranges::any_of(sockets_, [peer](const auto& of_channel) { return !of_channel[peer].open(); }))
        ranks.push_back(peer);
    return ranks;
  }

  void wait(const Descriptor& listener) const {
    std::vector<pollfd> wanted = {{listener.fd(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}};
    for (const Caller& caller : callers_) wanted.push_back({caller.socket.fd(), POLLIN, 0});
    poll(wanted.data(), wanted.size(), std::min(kTickMs, milliseconds_until(deadline_)));
  }

  // True when there is nothing more to hear: it has its place, or is a stranger.
  bool served(Caller& caller) {
    const ssize_t got = recv(caller.socket.fd(), caller.bytes.data() + caller.got, caller.bytes.size() - caller.got, 0);
    if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    caller.got += static_cast<std::size_t>(got);
    if (got == 0 || caller.got < caller.bytes.size()) return got == 0;
    Greeting greeting;
    std::memcpy(&greeting, caller.bytes.data(), sizeof greeting);
    const bool known = greeting.channel >= 0 && greeting.channel < static_cast<int>(sockets_.size()) &&
                       greeting.rank > rank_ && greeting.rank < static_cast<int>(sockets_[0].size());
    if (known && !sockets_[greeting.channel][greeting.rank].open())
      sockets_[greeting.channel][greeting.rank] = std::move(caller.socket);
    return true;
  }

  int rank_;
  const StopSign& stop_;
  double limit_s_;
  TimePoint deadline_;
  PairSockets sockets_;
  std::vector<Caller> callers_;
};

Descriptor listen_here(const std::string& address) {
  try {
    return listen_on({address, 0});
  } catch (const std::system_error& error) {
    throw run_error(fmt::format("cannot listen on {}: {}", address, error_text(error.code().value())), "");
  }
}

}  // namespace

PairSockets connect_pairs(Rendezvous& rendezvous, int channels, const StopSign& stop, double limit_s) {
  const Descriptor listener = listen_here(rendezvous.address());
  std::vector<Address> doors;
  for (const std::string& door : rendezvous.all_gather(local_address(listener).text(), "connecting sockets"))
    doors.push_back(address_of_text(door));
  Pairs pairs(rendezvous.rank(), rendezvous.world_size(), channels, stop, limit_s);
  pairs.connect_lower(doors);
  pairs.accept_higher(listener);
  rendezvous.barrier("connecting sockets");
  return pairs.take();
}

}  // namespace shardsim
