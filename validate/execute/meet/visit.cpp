#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/meet/handshake.h"
#include "validate/execute/meet/join.h"

namespace shardsim {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(50);
constexpr auto kNameWait = std::chrono::seconds(3);  // for a name that may just have been given, as in containers
constexpr double kVerdictOfRoot = 2;                 // seconds that rank 0's answer may take after its own limit
constexpr double kAnswer = 2;  // seconds for an answer to a greeting, where rank 0 may be at another port

constexpr const char* kHungUp = "something there hung up at once";
constexpr const char* kSilent = "something there listens but does not answer";

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
      if (std::unique_ptr<FrameLink> link = known(connect())) {
        link->post({FrameKind::hello,
                    pack_texts({std::to_string(launch_.rank), std::to_string(launch_.world_size), launch_.run})});
        if (std::optional<Frame> welcome = await_welcome(*link)) return seated(std::move(link), *welcome);
      }
      if (tries_ % ports_.size() == 0) std::this_thread::sleep_for(kBetweenTries);
    } while (Clock::now() < deadline_);
    throw run_error(fmt::format("rank 0 is missing: no rendezvous at {} within {:g} s ({})", where(), limit_s_, state_),
                    "Start all ranks; MASTER_ADDR and MASTER_PORT must be the same on every rank");
  }

 private:
  std::string where() const { return fmt::format("{}:{}", launch_.master_host, port_); }
  bool may_be_elsewhere() const { return ports_.size() > 1; }
  TimePoint answer_deadline() const {
    return may_be_elsewhere() ? std::min(deadline_, after_seconds(kAnswer)) : deadline_;
  }

  Descriptor connect() {
    std::string why;
    const std::optional<std::string> host = resolve(launch_.master_host, why);
    if (!host) {
      if (!unknown_since_) unknown_since_ = Clock::now();
      if (Clock::now() - *unknown_since_ >= kNameWait) throw unknown_host(launch_, why);
      state_ = why;
      return {};
    }
    unknown_since_.reset();
    check_secret(launch_, *host);
    int error = 0;
    Descriptor socket = connect_to({*host, port_}, deadline_, error);
    if (!socket.open()) state_ = error_text(error);
    return socket;
  }

  // The connection, once its other end has proved to know the secret. None: to be tried again, here or at the next
  // port, since rank 0 of an earlier run may have been there, about to end, or the agent of the launcher.
  std::unique_ptr<FrameLink> known(Descriptor socket) {
    if (!socket.open()) return nullptr;
    Handshake handshake = Handshake::by_caller(launch_.secret);
    const TimePoint deadline = answer_deadline();
    Handshake::State state = handshake.go_on(socket);
    while (state == Handshake::State::under_way && Clock::now() < deadline) {
      pollfd wanted{socket.fd(), static_cast<short>(POLLIN | (handshake.wants_to_send() ? POLLOUT : 0)), 0};
      poll(&wanted, 1, milliseconds_until(deadline));
      state = handshake.go_on(socket);
    }
    if (state == Handshake::State::proven) return std::make_unique<FrameLink>(std::move(socket));
    if (state == Handshake::State::refused) {
      handshake.knows_another_key() ? meet_other_secret() : meet_stranger();
      return nullptr;
    }
    state_ = state == Handshake::State::closed ? kHungUp : kSilent;
    return nullptr;
  }

  void meet_other_secret() {
    state_ = "rank 0 there has another secret";
    if (!may_be_elsewhere())
      throw run_error(fmt::format("rank 0 at {} has another secret than rank {}", where(), launch_.rank),
                      "SHARDSIM_SECRET, or the file of --secret-file, must be the same for every rank");
  }

  void meet_stranger() {
    state_ = "something there is not rank 0 of a run of shardsim";
    if (!may_be_elsewhere())
      throw run_error(fmt::format("what listens at {} is not rank 0 of a run of shardsim", where()),
                      "Set MASTER_PORT to a free port, the same on every rank, or give --port");
  }

  // None: to be tried again, as above.
  std::optional<Frame> await_welcome(FrameLink& link) {
    std::optional<Frame> frame = await_frame(link, answer_deadline());
    if (frame && frame->kind == FrameKind::accepted) {
      frame = await_frame(link, after_seconds(limit_s_ + kVerdictOfRoot));
      if (!frame)
        throw run_error(fmt::format("rank 0 {} during the rendezvous", link.closed() ? "died" : "fell silent"),
                        "Look at what rank 0 printed");
    }
    if (link.garbled() || (frame && frame->kind != FrameKind::welcome && frame->kind != FrameKind::rejected)) {
      meet_stranger();
      return std::nullopt;
    }
    if (frame && frame->kind == FrameKind::rejected) return rejected(*frame);
    state_ = link.closed() ? kHungUp : kSilent;
    return frame;
  }

  // With a remedy rank 0 speaks for this run; without one it belongs to another.
  std::optional<Frame> rejected(const Frame& frame) {
    const std::vector<std::string> parts = unpack_texts(frame.text);
    if (parts.size() == 2) throw run_error(parts[0], parts[1]);
    state_ = parts.empty() ? "rank 0 refused this rank" : parts[0];
    return std::nullopt;
  }

  Joined seated(std::unique_ptr<FrameLink> link, const Frame& welcome) const {
    const std::vector<std::string> parts = unpack_texts(welcome.text);
    if (parts.size() != 2)
      throw run_error("rank 0 speaks another version of the rendezvous", "Start the same build on every rank");
    Joined joined;
    joined.links.resize(static_cast<std::size_t>(launch_.world_size));
    joined.links[0] = std::move(link);
    joined.address = parts[0];
    joined.run_key = run_key_of(launch_, parts[1]);
    return joined;
  }

  const Launch& launch_;
  double limit_s_;
  TimePoint deadline_;
  std::vector<int> ports_;
  std::size_t tries_ = 0;
  int port_ = 0;                            // of the last try
  std::string state_;                       // of it
  std::optional<TimePoint> unknown_since_;  // the name of rank 0's host
};

}  // namespace

Joined visit_door(const Launch& launch, double limit_s) {
  return Visit(launch, limit_s).arrive();
}

}  // namespace shardsim
