#include "base/tree/json_events.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace shardsim {
namespace {

constexpr std::size_t kJsonPart = std::size_t{1} << 18;  // bytes that are read at a time

// Thrown within this file only.
struct NoJson {};

class JsonScan {
 public:
  JsonScan(std::istream& in, JsonEvents& events) : in_(*in.rdbuf()), events_(events), buffer_(kJsonPart) {}

  std::optional<ScanFault> run() {
    try {
      char first = next();
      if (first == '\xef' && byte() == '\xbb' && byte() == '\xbf') first = next();  // the mark of UTF-8
      value(first);
      while (!open_.empty()) step();
      if (next() != 0) throw NoJson{};
      return std::nullopt;
    } catch (const NoJson&) {
      return fault();
    }
  }

 private:
  // At the byte that was read last.
  ScanFault fault() const {
    const std::int64_t column = gone_ + static_cast<std::int64_t>(at_) - line_start_;
    const bool fits = column <= std::numeric_limits<int>::max();
    return {line_, fits ? static_cast<int>(std::max<std::int64_t>(1, column)) : 0};
  }

  // More bytes behind those from `keep` on, which move to the front. False at the end.
  bool refill(std::size_t keep) {
    std::memmove(buffer_.data(), buffer_.data() + keep, end_ - keep);
    gone_ += static_cast<std::int64_t>(keep);
    at_ -= keep;
    end_ -= keep;
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const std::streamsize more = in_.sgetn(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
    end_ += static_cast<std::size_t>(std::max<std::streamsize>(0, more));
    return more > 0;
  }

  // The next byte that is no blank, which is read; 0 at the end.
  char next() {
    for (;;) {
      for (; at_ < end_; ++at_) {
        const char c = buffer_[at_];
        if (c == '\n') {
          ++line_;
          line_start_ = gone_ + static_cast<std::int64_t>(at_) + 1;
        }
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
        ++at_;
        if (c == 0) throw NoJson{};
        return c;
      }
      if (!refill(at_)) return 0;
    }
  }

  // The next value of the innermost list or map, or its end.
  void step() {
    const bool is_list = open_.back();
    char c = next();
    if (c == (is_list ? ']' : '}') && !after_comma_) return close(is_list);
    if (!first_ && !after_comma_) {
      if (c != ',') throw NoJson{};
      after_comma_ = true;
      return;
    }
    if (!is_list) {
      if (c != '"') throw NoJson{};
      events_.key(string());
      if (next() != ':') throw NoJson{};
      c = next();
    }
    first_ = after_comma_ = false;
    value(c);
  }

  void close(bool is_list) {
    open_.pop_back();
    first_ = false;
    events_.end(is_list);
  }

  void value(char c) {
    switch (c) {
      case '{':
      case '[':
        open_.push_back(c == '[');
        first_ = true;
        after_comma_ = false;
        return events_.begin(c == '[');
      case '"':
        return events_.text(string());
      case 't':
        return word("rue");
      case 'f':
        return word("alse");
      case 'n':
        return word(next_is('a') ? "an" : "ull");
      case 'N':
      case 'I':
      case 'i':
        return no_number(c);
      default:
        number(c);
    }
  }

  void word(std::string_view rest) {
    while (end_ - at_ < rest.size())
      if (!refill(at_)) throw NoJson{};
    if (std::string_view(buffer_.data() + at_, rest.size()) != rest) throw NoJson{};
    at_ += rest.size();
    events_.word();
  }

  // Some writers print a float whatever it holds: Python's NaN and Infinity, nan and inf of C++.
  void no_number(char first) { word(first == 'N' ? "aN" : first == 'n' ? "an" : first == 'I' ? "nfinity" : "nf"); }

  bool next_is(char expected) { return (at_ < end_ || refill(at_ - 1)) && buffer_[at_] == expected; }

  void number(char first) {
    if (first == '-' && (next_is('I') || next_is('i') || next_is('N') || next_is('n'))) return no_number(byte());
    if (first != '-' && (first < '0' || first > '9')) throw NoJson{};
    std::size_t begin = at_ - 1;
    for (;; ++at_) {
      if (at_ == end_) {
        if (!refill(begin)) break;
        begin = 0;
      }
      const char c = buffer_[at_];
      if ((c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+') break;
    }
    const std::string_view digits(buffer_.data() + begin, at_ - begin);
    double value = 0;
    const auto [read, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failed != std::errc() || read != digits.data() + digits.size()) throw NoJson{};
    events_.number(digits, value);
  }

  // The text behind a quotation mark, to the next one. Most have no escapes, and stay where they are.
  std::string_view string() {
    std::size_t begin = at_;
    for (;; ++at_) {
      if (at_ == end_) {
        if (!refill(begin)) throw NoJson{};
        begin = 0;
      }
      const char c = buffer_[at_];
      if (c == '"') break;
      if (c == '\\') return unescaped(begin);
      if (static_cast<unsigned char>(c) < 0x20) throw NoJson{};
    }
    ++at_;
    return {buffer_.data() + begin, at_ - 1 - begin};
  }

  char byte() {
    if (at_ == end_ && !refill(at_)) throw NoJson{};
    return buffer_[at_++];
  }

  std::string_view unescaped(std::size_t begin) {
    text_.assign(buffer_.data() + begin, at_ - begin);
    for (char c = byte(); c != '"'; c = byte()) {
      if (static_cast<unsigned char>(c) < 0x20) throw NoJson{};
      if (c == '\\') {
        escape();
      } else {
        text_ += c;
      }
    }
    return text_;
  }

  void escape() {
    constexpr std::string_view kNames = "\"\\/bfnrt", kBytes = "\"\\/\b\f\n\r\t";
    const char c = byte();
    if (c == 'u') return add_code(code());
    const std::size_t which = kNames.find(c);
    if (which == std::string_view::npos) throw NoJson{};
    text_ += kBytes[which];
  }

  std::uint32_t four_digits() {
    std::uint32_t value = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const char c = byte();
      std::uint32_t four = 0;
      if (std::from_chars(&c, &c + 1, four, 16).ptr != &c + 1) throw NoJson{};
      value = 16 * value + four;
    }
    return value;
  }

  // Characters beyond 16 bits are a pair of codes.
  std::uint32_t code() {
    constexpr std::uint32_t kHigh = 0xd800, kLow = 0xdc00, kEnd = 0xe000, kBeyond = 0x10000;
    const std::uint32_t first = four_digits();
    if (first < kHigh || first >= kEnd) return first;
    if (first >= kLow || byte() != '\\' || byte() != 'u') throw NoJson{};
    const std::uint32_t second = four_digits();
    if (second < kLow || second >= kEnd) throw NoJson{};
    return kBeyond + ((first - kHigh) << 10) + (second - kLow);
  }

  void add_code(std::uint32_t code) {
    const auto add = [&](std::uint32_t byte) { text_ += static_cast<char>(byte); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xc0 | (code >> 6));
      add(0x80 | (code & 0x3f));
    } else {
      if (code >= 0x10000) {
        add(0xf0 | (code >> 18));
        add(0x80 | ((code >> 12) & 0x3f));
      } else {
        add(0xe0 | (code >> 12));
      }
      add(0x80 | ((code >> 6) & 0x3f));
      add(0x80 | (code & 0x3f));
    }
  }

  std::streambuf& in_;
  JsonEvents& events_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;  // in the buffer
  int line_ = 1;
  std::int64_t gone_ = 0;        // bytes that were in the buffer before
  std::int64_t line_start_ = 0;  // in the text
  std::vector<bool> open_;       // lists and maps, true for a list
  bool first_ = false, after_comma_ = false;
  std::string text_;
};

}  // namespace

std::optional<ScanFault> scan_json(std::istream& in, JsonEvents& events) {
  return JsonScan(in, events).run();
}

}  // namespace shardsim
