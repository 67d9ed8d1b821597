#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {
namespace {

std::vector<int> ports_of(const Launch& launch) {
  std::vector<int> ports{launch.master_port};
  ports.insert(ports.end(), launch.other_ports.begin(), launch.other_ports.end());
  return ports;
}

Error all_taken(const Launch& launch) {
  std::vector<std::string> ports;
  for (const int port : ports_of(launch)) ports.push_back(std::to_string(port));
  const bool one = ports.size() == 1;
  return run_error(fmt::format("{} {} {} in use on this host, so rank 0 cannot listen there", one ? "port" : "ports",
                               join(ports), one ? "is" : "are"),
                   "Set MASTER_PORT to a free port, the same on every rank, or give --port");
}

bool is_loopback_name(const std::string& host) {
  return host == "localhost" || host.starts_with("127.0.0.");
}

// Runs on one host are not offered to the network.
Descriptor listen_for(const Launch& launch) {
  const std::string host = is_loopback_name(launch.master_host) ? "127.0.0.1" : "0.0.0.0";
  for (const int port : ports_of(launch)) {
    try {
      return listen_on({host, port});
    } catch (const std::system_error& error) {
      const int code = error.code().value();
      if (code == EADDRINUSE) continue;
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
    for (const auto& link : newcomers_) wanted.push_back({link->socket().fd(), POLLIN, 0});
    for (const auto& link : joined_.links)
      if (link) wanted.push_back({link->socket().fd(), POLLIN, 0});
    poll(wanted.data(), wanted.size(), std::min(kTickMs, milliseconds_until(deadline_)));
  }

  void take_newcomers() {
    while (true) {
      Descriptor socket = accept_from(listener_);
      if (!socket.open()) return;
      newcomers_.push_back(std::make_unique<FrameLink>(std::move(socket)));
    }
  }

  void hear_newcomers() {
    for (auto& link : newcomers_) {
      link->read();
      const std::optional<Frame> frame = link->next();
      if (frame)
        seat(std::move(link), *frame);
      else if (link->garbled())
        strangers_ = true;
      if (link && (link->closed() || link->garbled())) link.reset();
    }
    std::erase(newcomers_, nullptr);
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
      rejected_.push_back(wrong);
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

  // A rank that died while it waited is missing again.
  void forget_leavers() {
    for (auto& link : joined_.links) {
      if (!link) continue;
      link->read();
      if (link->closed()) link.reset();
    }
  }

  [[noreturn]] void give_up() {
    std::string wrong = fmt::format("{} did not come to the rendezvous on port {} within {:g} s", rank_list(missing()),
                                    local_address(listener_).port, limit_s_);
    if (!rejected_.empty()) wrong += fmt::format(" ({})", rejected_.front());
    if (strangers_) wrong += " (something that is no rank connected to the port)";
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
    for (auto& link : joined_.links) {
      if (!link) continue;
      const Address seen = peer_address(link->socket());
      link->trust();
      link->post({FrameKind::welcome, seen.loopback() && !outside.empty() ? outside : seen.host});
    }
    joined_.address = outside.empty() ? "127.0.0.1" : outside;
  }

  const Launch& launch_;
  double limit_s_;
  TimePoint deadline_;
  Descriptor listener_;
  Joined joined_;
  std::vector<std::unique_ptr<FrameLink>> newcomers_;  // that have not said who they are
  std::vector<std::string> rejected_;
  bool strangers_ = false;
};

constexpr auto kBetweenTries = std::chrono::milliseconds(50);
constexpr double kVerdictOfRoot = 2;  // seconds that rank 0's answer may take after its own limit
constexpr double kAnswer = 2;         // seconds for an answer to a greeting, where rank 0 may be at another port

// A rank other than 0 on its way in.
class Visit {
 public:
  Visit(const Launch& launch, double limit_s)
      : launch_(launch),
        limit_s_(limit_s),
        deadline_(after_seconds(limit_s)),
        ports_(ports_of(launch)),
        state_("nothing was tried") {}

  Joined arrive() {
    do {
      port_ = ports_[tries_++ % ports_.size()];
      if (std::unique_ptr<FrameLink> link = connect()) {
        link->post({FrameKind::hello,
                    pack_texts({std::to_string(launch_.rank), std::to_string(launch_.world_size), launch_.run})});
        if (std::optional<Frame> welcome = await_welcome(*link)) return seated(std::move(link), welcome->text);
      }
      if (tries_ % ports_.size() == 0) std::this_thread::sleep_for(kBetweenTries);
    } while (Clock::now() < deadline_);
    throw run_error(fmt::format("rank 0 is missing: no rendezvous at {} within {:g} s ({})", where(), limit_s_, state_),
                    "Start all ranks; MASTER_ADDR and MASTER_PORT must be the same on every rank");
  }

 private:
  std::string where() const { return fmt::format("{}:{}", launch_.master_host, port_); }
  bool may_be_elsewhere() const { return ports_.size() > 1; }

  std::unique_ptr<FrameLink> connect() {
    std::string why;
    const std::optional<std::string> host = resolve(launch_.master_host, why);
    if (!host) {
      state_ = why;
      return nullptr;
    }
    int error = 0;
    Descriptor socket = connect_to({*host, port_}, deadline_, error);
    if (socket.open()) return std::make_unique<FrameLink>(std::move(socket));
    state_ = error_text(error);
    return nullptr;
  }

  // None: to be tried again, here or at the next port, since rank 0 of an earlier run may have been there, about to
  // end, or the agent of the launcher.
  std::optional<Frame> await_welcome(FrameLink& link) {
    std::optional<Frame> frame =
        await_frame(link, may_be_elsewhere() ? std::min(deadline_, after_seconds(kAnswer)) : deadline_);
    if (frame && frame->kind == FrameKind::accepted) {
      frame = await_frame(link, after_seconds(limit_s_ + kVerdictOfRoot));
      if (!frame)
        throw run_error(fmt::format("rank 0 {} during the rendezvous", link.closed() ? "died" : "fell silent"),
                        "Look at what rank 0 printed");
    }
    if (link.garbled() || (frame && frame->kind != FrameKind::welcome && frame->kind != FrameKind::rejected)) {
      state_ = "something there is not rank 0 of a run of shardsim";
      if (may_be_elsewhere()) return std::nullopt;
      throw run_error(fmt::format("what listens at {} is not rank 0 of a run of shardsim", where()),
                      "Set MASTER_PORT to a free port, the same on every rank, or give --port");
    }
    if (frame && frame->kind == FrameKind::rejected) return rejected(*frame);
    state_ = link.closed() ? "something there hung up at once" : "something there listens but does not answer";
    return frame;
  }

  // With a remedy rank 0 speaks for this run; without one it belongs to another.
  std::optional<Frame> rejected(const Frame& frame) {
    const std::vector<std::string> parts = unpack_texts(frame.text);
    if (parts.size() == 2) throw run_error(parts[0], parts[1]);
    state_ = parts.empty() ? "rank 0 refused this rank" : parts[0];
    return std::nullopt;
  }

  Joined seated(std::unique_ptr<FrameLink> link, const std::string& address) const {
    Joined joined;
    joined.links.resize(static_cast<std::size_t>(launch_.world_size));
    link->trust();
    joined.links[0] = std::move(link);
    joined.address = address;
    return joined;
  }

  const Launch& launch_;
  double limit_s_;
  TimePoint deadline_;
  std::vector<int> ports_;
  std::size_t tries_ = 0;
  int port_ = 0;       // of the last try
  std::string state_;  // of it
};

}  // namespace

Joined join_ranks(const Launch& launch, double limit_s) {
  if (launch.rank > 0) return Visit(launch, limit_s).arrive();
  if (launch.world_size > 1) return Door(launch, limit_s).open();
  Joined alone;
  alone.links.resize(1);
  alone.address = "127.0.0.1";
  return alone;
}

}  // namespace shardsim
