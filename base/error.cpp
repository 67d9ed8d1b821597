#include "base/error.h"

namespace shardsim {
namespace {

std::string sentence(const std::string& text) {
  if (text.empty() || text.back() == '.' || text.back() == '?') return text;
  return text + ".";
}

std::string message(const Place& place, const std::string& wrong, const std::string& remedy) {
  const std::string where = place.text();
  std::string text = where.empty() ? "" : where + ": ";
  text += sentence(wrong);
  if (!remedy.empty()) text += " " + sentence(remedy);
  return text;
}

}  // namespace

std::string Place::text() const {
  if (line <= 0) return source;
  std::string text = source + ":" + std::to_string(line);
  if (column > 0) text += ":" + std::to_string(column);
  return text;
}

Error::Error(Failure failure, const Place& place, const std::string& wrong, const std::string& remedy)
    : std::runtime_error(message(place, wrong, remedy)), failure_(failure), place_(place) {}

Error input_error(const Place& place, const std::string& wrong, const std::string& remedy) {
  return {Failure::input, place, wrong, remedy};
}

Error run_error(const std::string& what_failed, const std::string& remedy) {
  return {Failure::run, Place{}, what_failed, remedy};
}

}  // namespace shardsim
