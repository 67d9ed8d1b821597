#include <fmt/format.h>

#include <cerrno>
#include <thread>

#include "base/error.h"
#include "validate/execute/meet/join.h"

namespace shardsim {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(50);
constexpr double kVerdictOfRoot = 2;  // seconds that rank 0's answer may take after its own limit

// A rank other than 0 on its way in.
class Visit {
 public:
  Visit(const Launch& launch, double limit_s)
      : launch_(launch), limit_s_(limit_s), deadline_(after_seconds(limit_s)), state_("nothing was tried") {}

  Joined arrive() {
    do {
      if (std::unique_ptr<FrameLink> link = connect()) {
        link->post({FrameKind::hello, packed({std::to_string(launch_.rank), std::to_string(launch_.world_size)})});
        if (std::optional<Frame> welcome = await_welcome(*link)) return seated(std::move(link), welcome->text);
      }
      std::this_thread::sleep_for(kBetweenTries);
    } while (Clock::now() < deadline_);
    throw run_error(fmt::format("rank 0 is missing: no rendezvous at {} within {:g} s ({})", where(), limit_s_, state_),
                    "Start all ranks; MASTER_ADDR and MASTER_PORT must be the same on every rank");
  }

 private:
  std::string where() const { return fmt::format("{}:{}", launch_.master_host, launch_.master_port); }

  std::unique_ptr<FrameLink> connect() {
    std::string why;
    const std::optional<std::string> host = resolve(launch_.master_host, why);
    if (!host) {
      state_ = why;
      return nullptr;
    }
    int error = 0;
    Descriptor socket = connect_to({*host, launch_.master_port}, deadline_, error);
    if (socket.open()) return std::make_unique<FrameLink>(std::move(socket));
    state_ = error_text(error);
    return nullptr;
  }

  // None: to be tried again, since rank 0 of an earlier run may have been there, about to end.
  std::optional<Frame> await_welcome(FrameLink& link) {
    std::optional<Frame> frame = await_frame(link, deadline_);
    if (frame && frame->kind == FrameKind::accepted) {
      frame = await_frame(link, after_seconds(limit_s_ + kVerdictOfRoot));
      if (!frame)
        throw run_error(fmt::format("rank 0 {} during the rendezvous", link.closed() ? "died" : "fell silent"),
                        "Look at what rank 0 printed");
    }
    if (link.garbled() || (frame && frame->kind != FrameKind::welcome && frame->kind != FrameKind::rejected))
      throw run_error(fmt::format("what listens at {} is not rank 0 of a run of shardsim", where()),
                      "Set MASTER_PORT to a free port, the same on every rank");
    if (frame && frame->kind == FrameKind::rejected) reject(*frame);
    state_ = link.closed() ? "something there hung up at once" : "something there listens but does not answer";
    return frame;
  }

  [[noreturn]] void reject(const Frame& frame) const {
    const std::vector<std::string> parts = unpacked(frame.text);
    throw run_error(parts.empty() ? "rank 0 refused this rank" : parts[0], parts.size() == 2 ? parts[1] : "");
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
  std::string state_;  // of the last try
};

}  // namespace

Joined join_as_member(const Launch& launch, double limit_s) {
  return Visit(launch, limit_s).arrive();
}

}  // namespace shardsim
