#include "validate/execute/meet/salvage.h"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "validate/execute/meet/frame_link.h"

namespace shardsim {
namespace {

constexpr double kConnectS = 1;  // a host that has gone does not even refuse

// Connections to the lower ranks' doors, lowest first; those that nobody answers are left out.
std::vector<Descriptor> open_doors(const Orphan& orphan) {
  const TimePoint deadline = after_seconds(kConnectS);
  std::vector<Descriptor> sockets;
  for (int rank = 1; rank < orphan.rank; ++rank) sockets.push_back(start_connect(orphan.doors[rank]));
  std::vector<Descriptor> open;
  for (Descriptor& socket : sockets) {
    pollfd wanted{socket.fd(), POLLOUT, 0};
    if (socket.open() && poll(&wanted, 1, milliseconds_until(deadline)) > 0 && connect_error(socket) == 0)
      open.push_back(std::move(socket));
  }
  return open;
}

bool hand_over(Descriptor socket, int rank, const std::string& text, TimePoint deadline) {
  FrameLink link(std::move(socket));
  link.post({FrameKind::salvage, packed({std::to_string(rank), text})});
  const std::optional<Frame> answer = await_frame(link, deadline);
  return answer && answer->kind == FrameKind::salvaged;
}

// The rank that collects.
class Collector {
 public:
  Collector(const Orphan& orphan, const std::string& text) : orphan_(orphan), texts_(orphan.doors.size()) {
    texts_[orphan.rank] = text;
    came_.resize(texts_.size(), false);
  }

  std::vector<std::string> collect(TimePoint deadline) {
    while (waiting_for_some() && Clock::now() < deadline) {
      wait(deadline);
      while (true) {
        Descriptor socket = accept_from(orphan_.listener);
        if (!socket.open()) break;
        links_.push_back(std::make_unique<FrameLink>(std::move(socket)));
        links_.back()->trust();
      }
      for (auto& link : links_)
        if (!hear(*link)) link.reset();
      std::erase(links_, nullptr);
    }
    return texts_;
  }

 private:
  // Lower ranks would have been found.
  bool waiting_for_some() const { return std::ranges::count(came_.begin() + orphan_.rank + 1, came_.end(), false) > 0; }

  void wait(TimePoint deadline) const {
    std::vector<pollfd> wanted = {{orphan_.listener.fd(), POLLIN, 0}};
    for (const auto& link : links_) wanted.push_back({link->socket().fd(), POLLIN, 0});
    poll(wanted.data(), wanted.size(), std::min(kTickMs, milliseconds_until(deadline)));
  }

  // False when the connection has served.
  bool hear(FrameLink& link) {
    link.read();
    if (const std::optional<Frame> frame = link.next()) {
      keep(unpacked(frame->text));
      link.post({FrameKind::salvaged, ""});
    }
    return !link.closed() && !link.garbled();
  }

  void keep(std::vector<std::string> parts) {
    int rank = -1;
    if (parts.size() != 2) return;
    std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), rank);
    if (rank <= orphan_.rank || rank >= static_cast<int>(texts_.size())) return;
    texts_[rank] = std::move(parts[1]);
    came_[rank] = true;
  }

  const Orphan& orphan_;
  std::vector<std::string> texts_;
  std::vector<bool> came_;
  std::vector<std::unique_ptr<FrameLink>> links_;
};

}  // namespace

std::vector<std::string> salvage_among_orphans(const Orphan& orphan, const std::string& text, double limit_s) {
  const TimePoint deadline = after_seconds(limit_s);
  for (Descriptor& door : open_doors(orphan))
    if (hand_over(std::move(door), orphan.rank, text, deadline)) return {};
  return Collector(orphan, text).collect(deadline);
}

}  // namespace shardsim
