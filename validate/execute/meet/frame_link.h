#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "validate/execute/meet/frame.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {

// One connection that carries frames both ways without ever blocking. One thread reads and flushes; any may post.
class FrameLink {
 public:
  explicit FrameLink(Descriptor socket);

  // Sends what the kernel takes; the rest goes by flush(). False when some is left.
  bool post(const Frame& frame);
  bool flush();
  bool all_sent() const;

  // Takes what has come. Afterwards closed() says whether the other end has gone, garbled() whether it speaks something
  // else.
  void read();
  std::optional<Frame> next() { return reader_.next(); }  // of what has come
  bool closed() const { return closed_; }
  bool garbled() const { return reader_.garbled(); }
  void close() { closed_ = true; }                             // as if the other end had gone
  void hang_up();                                              // the other end will see that this one has gone
  void trust() { reader_.set_longest(std::size_t{8} << 30); }  // frames of any sensible length, from now on

  const Descriptor& socket() const { return socket_; }
  TimePoint heard() const { return heard_; }  // when bytes last came; of the reading thread

 private:
  bool send_waiting();  // mutex held

  Descriptor socket_;
  FrameReader reader_;
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
