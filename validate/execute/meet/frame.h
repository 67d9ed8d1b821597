#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/execute/meet/tcp.h"

namespace shardsim {

// The frames on the connections of a rendezvous: a magic, a kind, a length and a text, in the byte order of the
// machine; all ranks of a run have the same one.
enum class FrameKind : std::uint32_t {
  hello,         // rank -> 0: rank, world size and name of the run
  accepted,      // 0 -> rank: you are in; the others are awaited
  rejected,      // 0 -> rank: what is wrong and what to do
  welcome,       // 0 -> rank: all are here; your address, and the nonce of the run's key
  contribution,  // rank -> 0: to a collective call
  result,        // 0 -> rank: of it
  alive,         // either way: what the sender is doing
  report,        // rank -> 0: it cannot go on
  failed,        // 0 -> rank: why the run failed
  ping,          // rank -> 0: what is your clock?
  pong,          // 0 -> rank: nanoseconds
  salvage,       // rank -> 0: what was measured before the failure
  salvaged,      // 0 -> rank: it is here
};

struct Frame {
  FrameKind kind = FrameKind::alive;
  std::string text;
};

std::string encoded(const Frame& frame);

// The longest text of a connection whose other end has not been given a place among the ranks.
inline constexpr std::size_t kLongestOfNewcomer = 4 << 10;

// Frames out of a stream of bytes.
class FrameReader {
 public:
  explicit FrameReader(std::size_t longest) : longest_(longest) {}
  void set_longest(std::size_t bytes) { longest_ = bytes; }
  // The number of bytes that may be fed before next() has to be asked: never more than a frame's of the longest text
  // are kept.
  std::size_t room() const;
  void feed(const char* data, std::size_t bytes) { buffer_.append(data, bytes); }
  // The next whole frame. Sets garbled() at bytes that are no frame, or one with a longer text; then gives none.
  std::optional<Frame> next();
  bool garbled() const { return garbled_; }
  // The fault of the bytes that made it garbled.
  const std::string& complaint() const { return complaint_; }

 private:
  void refuse(const std::string& complaint);

  std::string buffer_;
  std::size_t longest_;  // bytes of a text
  bool garbled_ = false;
  std::string complaint_;
};

// Several texts as one.
std::string pack_texts(const std::vector<std::string>& texts);
std::vector<std::string> unpack_texts(std::string_view text);  // {} when it is none

// One connection that carries frames both ways without ever blocking. One thread reads and flushes; any may post.
class FrameLink {
 public:
  explicit FrameLink(Descriptor socket);

  // Sends what the kernel takes; the rest goes by flush(). False when some is left.
  bool post(const Frame& frame);
  bool flush();
  bool all_sent() const;

  // Takes what has come, up to what the longest text allows: next() has to be asked between two calls. Afterwards
  // closed() says whether the other end has gone, garbled() whether it speaks something else.
  void read();
  std::optional<Frame> next() { return reader_.next(); }  // of what has come
  bool closed() const { return closed_; }
  bool garbled() const { return reader_.garbled(); }
  const std::string& complaint() const { return reader_.complaint(); }
  void close() { closed_ = true; }                           // as if the other end had gone
  void hang_up();                                            // the other end will see that this one has gone
  void set_longest(std::size_t bytes) { longest_ = bytes; }  // of the texts that come from now on; from any thread

  const Descriptor& socket() const { return socket_; }
  TimePoint heard() const { return heard_; }  // when bytes last came; of the reading thread

 private:
  bool send_waiting();  // mutex held

  Descriptor socket_;
  FrameReader reader_;
  std::atomic<std::size_t> longest_;
  TimePoint heard_;
  std::atomic<bool> closed_ = false;
  mutable std::mutex mutex_;
  std::string waiting_;   // to be sent
  std::size_t sent_ = 0;  // of it
};

// Waits for one frame, until `deadline`. None: the time is over, or the other end has gone or is garbled (ask the
// link).
std::optional<Frame> await_frame(FrameLink& link, TimePoint deadline);

}  // namespace shardsim
