#include "validate/execute/meet/frame_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace shardsim {
namespace {

constexpr std::size_t kLongestOfStranger = 64 << 10;

bool try_again(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

FrameLink::FrameLink(Descriptor socket)
    : socket_(std::move(socket)), reader_(kLongestOfStranger), heard_(Clock::now()) {}

bool FrameLink::post(const Frame& frame) {
  const std::lock_guard lock(mutex_);
  waiting_ += encoded(frame);
  return send_waiting();
}

bool FrameLink::flush() {
  const std::lock_guard lock(mutex_);
  return send_waiting();
}

bool FrameLink::all_sent() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty();
}

// An error of sending is left to read(), which first takes what the other end said before it went.
bool FrameLink::send_waiting() {
  while (sent_ < waiting_.size()) {
    const ssize_t sent = send(socket_.fd(), waiting_.data() + sent_, waiting_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && try_again(errno)) return false;
    if (sent < 0) break;
    sent_ += static_cast<std::size_t>(sent);
  }
  waiting_.clear();
  sent_ = 0;
  return true;
}

void FrameLink::read() {
  std::array<char, 65536> bytes;
  while (!closed_ && !garbled()) {
    const ssize_t got = recv(socket_.fd(), bytes.data(), bytes.size(), 0);
    if (got < 0 && try_again(errno)) return;
    if (got <= 0) {
      closed_ = true;
      return;
    }
    heard_ = Clock::now();
    reader_.feed(bytes.data(), static_cast<std::size_t>(got));
  }
}

void FrameLink::hang_up() {
  closed_ = true;
  shutdown(socket_.fd(), SHUT_RDWR);
}

std::optional<Frame> await_frame(FrameLink& link, TimePoint deadline) {
  while (true) {
    link.read();
    if (std::optional<Frame> frame = link.next()) return frame;
    const int left = milliseconds_until(deadline);
    if (link.closed() || link.garbled() || left == 0) return std::nullopt;
    pollfd wanted{link.socket().fd(), static_cast<short>(POLLIN | (link.flush() ? 0 : POLLOUT)), 0};
    poll(&wanted, 1, left);
  }
}

}  // namespace shardsim
