#include "validate/execute/wires/pair_sockets.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <list>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/meet/handshake.h"

namespace shardsim {
namespace {

// Who connects, on which channel.
struct Greeting {
  std::int32_t rank = 0;
  std::int32_t channel = 0;
};
static_assert(sizeof(Greeting) == 8);

// A connection to a lower rank, or from one that has not said which it is.
struct Conversation {
  Descriptor socket;
  Handshake handshake;
  TimePoint deadline;
  int peer = -1;          // who was called; -1: this rank was
  Greeting greeting{};    // what the caller says, once the handshake is over
  std::size_t moved = 0;  // bytes of it
};

constexpr double kLimitS = 8;              // for all connections
constexpr double kCallerS = 5;             // for a caller to say who it is
constexpr std::size_t kSpareCallers = 64;  // beside the peers that are awaited
constexpr const char* kReach = "Ranks must reach each other on any port: look for a firewall between them";

// The connections of one rank while they come about, both ways at once, so that no rank waits for another's turn.
class Pairs {
 public:
  Pairs(const Rendezvous& rendezvous, int channels, const StopSign& stop)
      : rank_(rendezvous.rank()),
        key_(rendezvous.run_key()),
        stop_(stop),
        deadline_(after_seconds(kLimitS)),
        sockets_(static_cast<std::size_t>(channels)) {
    for (auto& of_channel : sockets_) of_channel.resize(static_cast<std::size_t>(rendezvous.world_size()));
    most_callers_ = kSpareCallers + sockets_.size() * sockets_[0].size();
  }

  void run(const Descriptor& listener, const std::vector<Address>& doors) {
    for (int channel = 0; channel < static_cast<int>(sockets_.size()); ++channel)
      for (int peer = 0; peer < rank_; ++peer)
        calls_.push_back(call(peer, doors[static_cast<std::size_t>(peer)], channel));
    while (!calls_.empty() || !missing().empty()) {
      check_stop();
      if (Clock::now() >= deadline_) throw too_late();
      wait(listener);
      for (std::size_t taken = 0; taken < most_callers_ && take_caller(listener); ++taken) {
      }
      std::erase_if(callers_, [this](Conversation& caller) { return heard(caller); });
      std::erase_if(calls_, [this, &doors](Conversation& one) { return answered(one, doors); });
    }
  }

  PairSockets take() { return std::move(sockets_); }
  int strangers() const { return strangers_; }

 private:
  void check_stop() const {
    if (stop_.raised()) throw run_error(stop_.why(), "");
  }

  Error too_late() const {
    std::vector<int> ranks = missing();
    if (!ranks.empty())
      return run_error(fmt::format("{} did not connect to this rank within {:g} s", rank_list(ranks), kLimitS), kReach);
    for (const Conversation& one : calls_) ranks.push_back(one.peer);
    return run_error(fmt::format("{} did not answer this rank within {:g} s", rank_list(ranks), kLimitS), kReach);
  }

  Error no_connection(int peer, const Address& door, const std::string& why) const {
    return run_error(fmt::format("no connection to rank {} at {}: {}", peer, door.text(), why), kReach);
  }

  Conversation call(int peer, const Address& door, int channel) {
    check_stop();
    int error = 0;
    Descriptor socket = connect_to(door, deadline_, error);
    if (!socket.open()) throw no_connection(peer, door, error_text(error));
    Conversation one{std::move(socket), Handshake::by_caller(key_), deadline_, peer, {rank_, channel}};
    one.handshake.go_on(one.socket);  // at once: the other end weighs by it who is a stranger
    return one;
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
    for (const auto* conversations : {&callers_, &calls_})
      for (const Conversation& one : *conversations)
        wanted.push_back(
            {one.socket.fd(), static_cast<short>(POLLIN | (one.handshake.wants_to_send() ? POLLOUT : 0)), 0});
    poll(wanted.data(), wanted.size(), std::min(kTickMs, milliseconds_until(deadline_)));
  }

  // False when nobody waits. If there are too many, the one goes that has waited longest without a word; a peer speaks
  // at once.
  bool take_caller(const Descriptor& listener) {
    Descriptor socket = accept_from(listener);
    if (!socket.open() && (errno == EMFILE || errno == ENFILE)) throw system_failure({errno, std::system_category()});
    if (!socket.open()) return false;
    if (callers_.size() >= most_callers_) {
      const auto silent = std::ranges::find_if(
          callers_, [](const Conversation& caller) { return !caller.handshake.heard_something(); });
      if (silent == callers_.end()) return true;
      callers_.erase(silent);
      ++strangers_;
    }
    callers_.push_back({std::move(socket), Handshake::by_callee(key_), after_seconds(kCallerS)});
    return true;
  }

  // True when there is nothing more to hear: it has its place, or is a stranger.
  bool heard(Conversation& caller) {
    const Handshake::State state = caller.handshake.go_on(caller.socket);
    const bool late = Clock::now() >= caller.deadline;
    if (state == Handshake::State::proven) return greeted(caller) || late;
    if (state == Handshake::State::under_way && !late) return false;
    ++strangers_;
    return true;
  }

  bool greeted(Conversation& caller) {
    char* const bytes = reinterpret_cast<char*>(&caller.greeting);
    const ssize_t got = recv(caller.socket.fd(), bytes + caller.moved, sizeof(Greeting) - caller.moved, 0);
    if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    caller.moved += static_cast<std::size_t>(got);
    if (got == 0 || caller.moved < sizeof(Greeting)) return got == 0;
    const Greeting& greeting = caller.greeting;
    const bool known = greeting.channel >= 0 && greeting.channel < static_cast<int>(sockets_.size()) &&
                       greeting.rank > rank_ && greeting.rank < static_cast<int>(sockets_[0].size());
    if (known && !sockets_[greeting.channel][greeting.rank].open())
      sockets_[greeting.channel][greeting.rank] = std::move(caller.socket);
    return true;
  }

  // True when the lower rank has proved to be one of the run, and knows who called.
  bool answered(Conversation& one, const std::vector<Address>& doors) {
    const Handshake::State state = one.handshake.go_on(one.socket);
    if (state == Handshake::State::under_way) return false;
    const int peer = one.peer;
    const Address& door = doors[static_cast<std::size_t>(peer)];
    if (state == Handshake::State::closed) throw no_connection(peer, door, "the other end hung up");
    if (state == Handshake::State::refused) throw no_connection(peer, door, "the other end is no rank of this run");
    // The first bytes of a connection always fit.
    if (send(one.socket.fd(), &one.greeting, sizeof(Greeting), MSG_NOSIGNAL) != sizeof(Greeting))
      throw no_connection(peer, door, error_text(errno));
    sockets_[static_cast<std::size_t>(one.greeting.channel)][static_cast<std::size_t>(peer)] = std::move(one.socket);
    return true;
  }

  int rank_;
  const std::string key_;
  const StopSign& stop_;
  TimePoint deadline_;
  PairSockets sockets_;
  std::list<Conversation> calls_, callers_;
  std::size_t most_callers_ = 0;
  int strangers_ = 0;
};

Descriptor listen_here(const std::string& address) {
  try {
    return listen_on({address, 0});
  } catch (const std::system_error& error) {
    throw run_error(fmt::format("cannot listen on {}: {}", address, error_text(error.code().value())), "");
  }
}

}  // namespace

PairSockets connect_pairs(Rendezvous& rendezvous, int channels, const StopSign& stop) {
  const Descriptor listener = listen_here(rendezvous.address());
  std::vector<Address> doors;
  for (const std::string& door : rendezvous.all_gather(local_address(listener).text(), "connecting sockets"))
    doors.push_back(address_of_text(door));
  Pairs pairs(rendezvous, channels, stop);
  pairs.run(listener, doors);
  rendezvous.turned_away(pairs.strangers());
  rendezvous.barrier("connecting sockets");
  return pairs.take();
}

}  // namespace shardsim
