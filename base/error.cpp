#include "base/error.h"

#include <fmt/format.h>

#include "base/text.h"

namespace shardsim {
namespace {

// Its begin and end around "..." where it has more than `most` bytes.
std::string cut_in_middle(const std::string& text, std::size_t most) {
  const auto continues_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  if (text.size() <= most) return text;
  std::size_t head = most / 2, tail = text.size() - most / 3;
  while (continues_character(head)) --head;
  while (tail < text.size() && continues_character(tail)) ++tail;
  return text.substr(0, head) + " ... " + text.substr(tail);
}

constexpr std::size_t kLongestMessage = 1600;  // bytes; a screen of text

std::string sentence(const std::string& text) {
  return text.empty() || text.back() == '.' || text.back() == '?' ? text : fmt::format("{}.", text);
}

std::string message(const Place& place, const std::string& wrong, const std::string& remedy) {
  const std::string where = place.text();
  const std::string start = where.empty() ? sentence(wrong) : fmt::format("{}: {}", where, sentence(wrong));
  return remedy.empty() ? start : fmt::format("{} {}", start, sentence(remedy));
}

}  // namespace

std::string Place::text() const {
  if (line <= 0) return source;
  return column > 0 ? fmt::format("{}:{}:{}", source, line, column) : fmt::format("{}:{}", source, line);
}

// Names of files and values come from outside, and go to a terminal.
Error::Error(Failure failure, const Place& place, const std::string& wrong, const std::string& remedy)
    : std::runtime_error(cut_in_middle(printable(message(place, wrong, remedy)), kLongestMessage)),
      failure_(failure),
      place_(place) {}

Error input_error(const Place& place, const std::string& wrong, const std::string& remedy) {
  return {Failure::input, place, wrong, remedy};
}

Error run_error(const std::string& what_failed, const std::string& remedy) {
  return {Failure::run, Place{}, what_failed, remedy};
}

}  // namespace shardsim
