#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <list>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/meet/handshake.h"
#include "validate/execute/meet/join.h"
#include "validate/execute/meet/secret.h"

namespace shardsim {
namespace {

Error all_taken(const Launch& launch) {
  std::vector<std::string> ports;
  for (const int port : ports_of(launch)) ports.push_back(std::to_string(port));
  const bool one = ports.size() == 1;
  return run_error(fmt::format("{} {} {} in use on this host, so rank 0 cannot listen there", one ? "port" : "ports",
                               join(ports), one ? "is" : "are"),
                   "Set MASTER_PORT to a free port, the same on every rank, or give --port");
}

// Returns the address of MASTER_ADDR on this host, so that other networks of it are not offered the port.
std::string address_to_listen_at(const Launch& launch) {
  constexpr const char* kHowToSetAddress = "Set MASTER_ADDR to a name or an IPv4 address of the host of rank 0";
  std::string why;
  const std::optional<std::string> address = resolve(launch.master_host, why);
  if (!address) throw unknown_host(launch, why);
  const bool meant = launch.master_host == "localhost" || launch.master_host.starts_with("127.");
  if (Address{*address, 0}.loopback() && !meant && launch.local_size < launch.world_size)
    throw run_error(fmt::format("on the host of rank 0 MASTER_ADDR {} is {}, which other nodes do not reach",
                                excerpt(launch.master_host), *address),
                    kHowToSetAddress + std::string(" that its other nodes know it by"));
  check_secret(launch, *address);
  return *address;
}

Descriptor listen_for(const Launch& launch) {
  const std::string host = address_to_listen_at(launch);
  for (const int port : ports_of(launch)) {
    try {
      return listen_on({host, port});
    } catch (const std::system_error& error) {
      const int code = error.code().value();
      if (code == EADDRINUSE) continue;
      if (code == EADDRNOTAVAIL)
        throw run_error(fmt::format("rank 0 cannot listen at MASTER_ADDR {} ({}): its host has no such address",
                                    excerpt(launch.master_host), host),
                        "Set MASTER_ADDR to a name or an IPv4 address of the host of rank 0");
      throw run_error(fmt::format("rank 0 cannot listen on port {}: {}", port, error_text(code)),
                      "Set MASTER_PORT to another port, the same on every rank, or give --port");
    }
  }
  throw all_taken(launch);
}

int number_or(const std::string& text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A connection whose other end has not said which rank it is.
struct Newcomer {
  Descriptor socket;  // until the handshake is over
  Handshake handshake;
  TimePoint deadline;  // by which it must have said so
  std::unique_ptr<FrameLink> link{};

  const Descriptor& connection() const { return link ? link->socket() : socket; }
  bool silent() const { return !link && !handshake.heard_something(); }
};

constexpr double kNewcomerS = 5;             // for a newcomer to say who it is
constexpr std::size_t kMostNewcomers = 128;  // at a time

// Rank 0 while the others come.
class Door {
 public:
  Door(const Launch& launch, double limit_s)
      : launch_(launch), limit_s_(limit_s), deadline_(after_seconds(limit_s)), listener_(listen_for(launch)) {
    joined_.links.resize(static_cast<std::size_t>(launch.world_size));
  }

  Joined open() {
    while (!missing().empty()) {
      if (Clock::now() >= deadline_) give_up();
      wait();
      take_newcomers();
      hear_newcomers();
      forget_leavers();
    }
    welcome();
    return std::move(joined_);
  }

 private:
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int rank = 1; rank < launch_.world_size; ++rank)
      if (!joined_.links[rank]) ranks.push_back(rank);
    return ranks;
  }

  void wait() {
    std::vector<pollfd> wanted = {{listener_.fd(), POLLIN, 0}};
    for (const Newcomer& newcomer : newcomers_) {
      const bool sends = !newcomer.link && newcomer.handshake.wants_to_send();
      wanted.push_back({newcomer.connection().fd(), static_cast<short>(POLLIN | (sends ? POLLOUT : 0)), 0});
    }
    for (const auto& link : joined_.links)
      if (link) wanted.push_back({link->socket().fd(), POLLIN, 0});
    poll(wanted.data(), wanted.size(), std::min(kTickMs, milliseconds_until(deadline_)));
  }

  // So many at a time that those who are there are heard in between, however many knock. The first words of a rank have
  // come with its connection, as a rule: only then is it weighed who has to make room.
  void take_newcomers() {
    for (std::size_t taken = 0; taken < kMostNewcomers / 2; ++taken) {
      Descriptor socket = accept_from(listener_);
      const bool full = !socket.open() && (errno == EMFILE || errno == ENFILE);
      if (full && newcomers_.empty())
        throw run_error("rank 0 has no descriptor left for the others: " + error_text(errno),
                        "Raise the limit of open files (ulimit -n)");
      if (full || newcomers_.size() >= kMostNewcomers) make_room();
      if (!socket.open()) return;
      newcomers_.push_back({std::move(socket), Handshake::by_callee(launch_.secret), after_seconds(kNewcomerS)});
      if (hear(newcomers_.back())) newcomers_.pop_back();
    }
  }

  // The one goes that has waited longest without a word, or else the one that has waited longest. Where it was a rank,
  // it comes again.
  void make_room() {
    const auto silent = std::ranges::find_if(newcomers_, &Newcomer::silent);
    newcomers_.erase(silent == newcomers_.end() ? newcomers_.begin() : silent);
    ++joined_.strangers;
  }

  void hear_newcomers() {
    std::erase_if(newcomers_, [this](Newcomer& newcomer) { return hear(newcomer); });
  }

  // True when there is nothing more to hear: it has its place, or is none of the ranks.
  bool hear(Newcomer& newcomer) {
    if (!newcomer.link) {
      const Handshake::State state = newcomer.handshake.go_on(newcomer.socket);
      const bool late = state == Handshake::State::under_way && Clock::now() >= newcomer.deadline;
      if (late || state == Handshake::State::refused || state == Handshake::State::closed) {
        ++joined_.strangers;
        return true;
      }
      if (state != Handshake::State::proven) return false;
      newcomer.link = std::make_unique<FrameLink>(std::move(newcomer.socket));
    }
    FrameLink& link = *newcomer.link;
    link.read();
    const std::optional<Frame> frame = link.next();
    if (frame) seat(std::move(newcomer.link), *frame);
    return frame || link.closed() || link.garbled() || Clock::now() >= newcomer.deadline;
  }

  void seat(std::unique_ptr<FrameLink> link, const Frame& hello) {
    const std::vector<std::string> parts = unpack_texts(hello.text);
    if (hello.kind != FrameKind::hello || parts.size() != 3) return;
    if (parts[2] != launch_.run) {  // it will look at its other ports
      link->post({FrameKind::rejected, pack_texts({"rank 0 of another run listens on this port"})});
      return;
    }
    const int rank = number_or(parts[0], -1), world_size = number_or(parts[1], -1);
    const std::string wrong = objection(rank, world_size);
    if (wrong.empty()) {
      link->post({FrameKind::accepted, ""});
      joined_.links[rank] = std::move(link);
    } else {
      rejected_ = rejected_.empty() ? wrong : rejected_;
      link->post(
          {FrameKind::rejected,
           pack_texts({wrong, "Look at the launcher's variables; two runs on one host need different MASTER_PORTs"})});
    }
  }

  std::string objection(int rank, int world_size) const {
    if (world_size != launch_.world_size)
      return fmt::format("rank {} was started for a world of {} ranks, but rank 0 for one of {}", rank, world_size,
                         launch_.world_size);
    if (rank < 1 || rank >= launch_.world_size) return fmt::format("there is no rank {} to come", rank);
    return joined_.links[rank] ? fmt::format("rank {} came twice", rank) : "";
  }

  // A rank that died while it waited is missing again, and so is one that does not wait to be welcomed.
  void forget_leavers() {
    for (auto& link : joined_.links) {
      if (!link) continue;
      link->read();
      if (link->closed() || link->next() || link->garbled()) link.reset();
    }
  }

  [[noreturn]] void give_up() {
    std::string wrong = fmt::format("{} did not come to the rendezvous on port {} within {:g} s", rank_list(missing()),
                                    local_address(listener_).port, limit_s_);
    if (!rejected_.empty()) wrong += fmt::format(" ({})", rejected_);
    if (joined_.strangers > 0)
      wrong += fmt::format(" (turned away: {} that {} no rank with the secret of this run)",
                           counted(static_cast<std::size_t>(joined_.strangers), "connection"),
                           joined_.strangers == 1 ? "was" : "were");
    const std::string remedy = "Start all ranks, and look at what the missing ones printed";
    for (auto& link : joined_.links)
      if (link) link->post({FrameKind::rejected, pack_texts({wrong, remedy})});
    throw run_error(wrong, remedy);
  }

  // Ranks of rank 0's host may have come through loopback, where other hosts would not find them.
  void welcome() {
    std::string outside;
    for (const auto& link : joined_.links)
      if (link && !peer_address(link->socket()).loopback()) outside = local_address(link->socket()).host;
    const std::string nonce = random_secret();
    for (auto& link : joined_.links) {
      if (!link) continue;
      const Address seen = peer_address(link->socket());
      const std::string address = seen.loopback() && !outside.empty() ? outside : seen.host;
      link->post({FrameKind::welcome, pack_texts({address, nonce})});
    }
    joined_.address = outside.empty() ? "127.0.0.1" : outside;
    joined_.run_key = run_key_of(launch_, nonce);
  }

  const Launch& launch_;
  double limit_s_;
  TimePoint deadline_;
  Descriptor listener_;
  Joined joined_;
  std::list<Newcomer> newcomers_;  // the one that has waited longest first
  std::string rejected_;           // why the first rank was that had to be
};

}  // namespace

Joined open_door(const Launch& launch, double limit_s) {
  return Door(launch, limit_s).open();
}

}  // namespace shardsim
