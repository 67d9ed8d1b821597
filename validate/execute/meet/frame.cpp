#include "validate/execute/meet/frame.h"

#include <array>
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

std::optional<Frame> FrameReader::next() {
  Header header;
  // A stranger's first bytes tell, however few.
  const std::size_t seen = std::min(buffer_.size(), kMagic.size());
  if (std::memcmp(buffer_.data(), kMagic.data(), seen) != 0) garbled_ = true;
  if (garbled_ || buffer_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, buffer_.data(), sizeof header);
  if (header.kind > static_cast<std::uint32_t>(FrameKind::salvaged) || header.bytes > longest_) garbled_ = true;
  if (garbled_ || buffer_.size() < sizeof header + header.bytes) return std::nullopt;
  Frame frame{static_cast<FrameKind>(header.kind), buffer_.substr(sizeof header, header.bytes)};
  buffer_.erase(0, sizeof header + header.bytes);
  return frame;
}

std::string packed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    append_number(all, text.size());
    all += text;
  }
  return all;
}

std::vector<std::string> unpacked(std::string_view text) {
  std::vector<std::string> texts;
  std::uint64_t bytes = 0;
  while (!text.empty()) {
    if (!take_number(text, bytes) || bytes > text.size()) return {};
    texts.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return texts;
}

}  // namespace shardsim
