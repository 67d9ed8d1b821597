#include "base/error.h"

#include <fmt/format.h>

namespace shardsim {
namespace {

std::string sentence(const std::string& text) {
  return text.empty() || text.back() == '.' || text.back() == '?' ? text : fmt::format("{}.", text);
}

// Names of files and values come from outside: what steers a terminal does not go through.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
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

Error::Error(Failure failure, const Place& place, const std::string& wrong, const std::string& remedy)
    : std::runtime_error(printable(message(place, wrong, remedy))), failure_(failure), place_(place) {}

Error input_error(const Place& place, const std::string& wrong, const std::string& remedy) {
  return {Failure::input, place, wrong, remedy};
}

Error run_error(const std::string& what_failed, const std::string& remedy) {
  return {Failure::run, Place{}, what_failed, remedy};
}

}  // namespace shardsim
