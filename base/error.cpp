#include "base/error.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <new>
#include <string>

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

Error out_of_memory(const std::string& file) {
  return {Failure::run, Place{file}, "out of memory",
          "Give the process more memory (ulimit -v), or use fewer ranks or a smaller case"};
}

bool memory_is_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

Error system_failure(const std::system_error& error) {
  const std::string why = error.code().message();
  switch (error.code().value()) {
    case EAGAIN:  // also where there is no room for the stack of a thread
      return run_error("a thread cannot be started: " + why,
                       "Allow more threads (ulimit -u) or more memory (ulimit -v), or use fewer ranks and threads");
    case EMFILE:
    case ENFILE:
      return run_error("no file descriptor is left: " + why, "Allow more of them (ulimit -n), or use fewer ranks");
    case ENOMEM:
      return out_of_memory();
    default:
      return run_error("the system refused: " + why, "Look at the limits of the process (ulimit -a)");
  }
}

// Nothing in the handler allocates: the line is made beforehand.
void end_where_memory_lacks_anywhere() {
  static const std::string line = "error: " + std::string(out_of_memory().what()) + "\n";
  static const std::terminate_handler before = std::get_terminate();
  std::set_terminate([] {
    try {
      if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      static std::atomic_flag said;
      while (said.test_and_set()) ::pause();  // another thread is ending the process
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
      ::_exit(1);
    } catch (...) {  // a fault of ours
    }
    before();
  });
}

}  // namespace shardsim
