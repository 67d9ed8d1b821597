#include "validate/execute/meet/frame.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace shardsim {
namespace {

constexpr std::array<char, 8> kMagic = {'S', 'H', 'R', 'D', 'S', 'I', 'M', '1'};

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t kind = 0;
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;
};

void append_number(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

bool take_number(std::string_view& text, std::uint64_t& number) {
  if (text.size() < sizeof number) return false;
  std::memcpy(&number, text.data(), sizeof number);
  text.remove_prefix(sizeof number);
  return true;
}

}  // namespace

std::string encoded(const Frame& frame) {
  Header header;
  header.kind = static_cast<std::uint32_t>(frame.kind);
  header.bytes = frame.text.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes += frame.text;
}

std::size_t FrameReader::room() const {
  const std::size_t whole = longest_ + sizeof(Header);
  return whole - std::min(whole, buffer_.size());
}

void FrameReader::refuse(const std::string& complaint) {
  garbled_ = true;
  complaint_ = complaint;
}

std::optional<Frame> FrameReader::next() {
  Header header;
  // The first bytes tell, however few.
  const std::size_t seen = std::min(buffer_.size(), kMagic.size());
  if (std::memcmp(buffer_.data(), kMagic.data(), seen) != 0) refuse("bytes that are no message of a rank");
  if (garbled_ || buffer_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, buffer_.data(), sizeof header);
  if (header.kind > static_cast<std::uint32_t>(FrameKind::salvaged)) refuse("a message of an unknown kind");
  if (header.bytes > longest_)
    refuse(fmt::format("a message of {} bytes, where {} are the most", header.bytes, longest_));
  if (garbled_ || buffer_.size() < sizeof header + header.bytes) return std::nullopt;
  Frame frame{static_cast<FrameKind>(header.kind), buffer_.substr(sizeof header, header.bytes)};
  buffer_.erase(0, sizeof header + header.bytes);
  return frame;
}

std::string pack_texts(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    append_number(all, text.size());
    all += text;
  }
  return all;
}

std::vector<std::string> unpack_texts(std::string_view text) {
  std::vector<std::string> texts;
  std::uint64_t bytes = 0;
  while (!text.empty()) {
    if (!take_number(text, bytes) || bytes > text.size()) return {};
    texts.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return texts;
}

FrameLink::FrameLink(Descriptor socket)
    : socket_(std::move(socket)), reader_(kLongestOfNewcomer), longest_(kLongestOfNewcomer), heard_(Clock::now()) {}

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
  reader_.set_longest(longest_);
  while (!closed_ && !garbled() && reader_.room() > 0) {
    const ssize_t got = recv(socket_.fd(), bytes.data(), std::min(bytes.size(), reader_.room()), 0);
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
