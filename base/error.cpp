#include "base/error.h"

#include <fmt/format.h>

#include "base/text.h"

namespace shardsim {
namespace {

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
    : std::runtime_error(printable(message(place, wrong, remedy))), failure_(failure), place_(place) {}

Error input_error(const Place& place, const std::string& wrong, const std::string& remedy) {
  return {Failure::input, place, wrong, remedy};
}

Error run_error(const std::string& what_failed, const std::string& remedy) {
  return {Failure::run, Place{}, what_failed, remedy};
}

}  // namespace shardsim
