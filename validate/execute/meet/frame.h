#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// What goes over the connections of a rendezvous: frames of a magic, a kind, a length and a text. In the byte order of
// the machine; all ranks of a run have the same one.
enum class FrameKind : std::uint32_t {
  hello,         // rank -> 0: rank and world size
  accepted,      // 0 -> rank: you are in; the others are awaited
  rejected,      // 0 -> rank: what is wrong and what to do
  welcome,       // 0 -> rank: all are here; your address
  contribution,  // rank -> 0: to a collective call
  result,        // 0 -> rank: of it
  alive,         // either way: what the sender is doing
  report,        // rank -> 0: it cannot go on
  failed,        // 0 -> rank: why the run failed
  ping,          // rank -> 0: what is your clock?
  pong,          // 0 -> rank: nanoseconds
  salvage,       // to the lowest surviving rank: what was measured
  salvaged,      // the answer: it is here
};

struct Frame {
  FrameKind kind = FrameKind::alive;
  std::string text;
};

std::string encoded(const Frame& frame);

// Frames out of a stream of bytes.
class FrameReader {
 public:
  explicit FrameReader(std::size_t longest) : longest_(longest) {}
  void set_longest(std::size_t bytes) { longest_ = bytes; }
  void feed(const char* data, std::size_t bytes) { buffer_.append(data, bytes); }
  // The next whole frame. Sets garbled() at bytes that are no frame, or one with a longer text; then gives none.
  std::optional<Frame> next();
  bool garbled() const { return garbled_; }

 private:
  std::string buffer_;
  std::size_t longest_;
  bool garbled_ = false;
};

// Several texts as one.
std::string packed(const std::vector<std::string>& texts);
std::vector<std::string> unpacked(std::string_view text);  // {} when it is none

}  // namespace shardsim
